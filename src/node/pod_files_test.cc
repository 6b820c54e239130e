// SPDX-License-Identifier: Apache-2.0
#include "node/pod_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files/temporary_folder.h"
#include "testing/objects_from.h"

namespace dray::node {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

api::Pod PodFrom(std::string_view spec) {
  return *testing::ObjectsFrom(R"(
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop}
spec:
  containers: [{name: c, image: i}]
)" + std::string(spec))[0]
              .As<api::Pod>();
}

TEST(PodFiles, APodKnowsItsName) {
  EXPECT_EQ(*HostnameOf(PodFrom("")), "web-0");
  EXPECT_EQ(*HostnameOf(PodFrom("  hostname: h\n  subdomain: s\n")), "h");
  EXPECT_EQ(*HostnameOf(PodFrom("  hostname: h\n  subdomain: s\n  setHostnameAsFQDN: true\n")),
            "h.s.shop.svc.cluster.local");
  EXPECT_EQ(*HostnameOf(PodFrom("  hostname: h\n  hostnameOverride: example.com\n")),
            "example.com");
  const std::string label(60, 'a');
  EXPECT_FALSE(
      HostnameOf(PodFrom("  hostname: " + label + "\n  subdomain: s\n  setHostnameAsFQDN: true\n"))
          .ok());
}

TEST(PodFiles, HostsNameThePodAndItsAliases) {
  const api::Pod pod = PodFrom(
      "  hostname: h\n  subdomain: s\n  hostAliases: [{ip: 192.0.2.9, hostnames: [db, "
      "db.example]}]\n");
  const std::string text = HostsText(pod, {"10.0.0.7", "fd00::7"}, "secret of the host");
  EXPECT_THAT(text, HasSubstr("127.0.0.1\tlocalhost\n"));
  EXPECT_THAT(text, HasSubstr("10.0.0.7\th.s.shop.svc.cluster.local\th\n"));
  EXPECT_THAT(text, HasSubstr("fd00::7\th.s.shop.svc.cluster.local\th\n"));
  EXPECT_THAT(text, HasSubstr("192.0.2.9\tdb\tdb.example\n"));
  EXPECT_THAT(text, Not(HasSubstr("secret of the host")));
  EXPECT_THAT(HostsText(PodFrom(""), {}, ""), HasSubstr("127.0.0.1\tweb-0\n"));
  EXPECT_THAT(HostsText(PodFrom("  hostNetwork: true\n"), {"192.0.2.1"}, "192.0.2.1 machine"),
              HasSubstr("192.0.2.1 machine\n"));
}

TEST(PodFiles, DnsIsTheHostsAndWhatThePodAdds) {
  constexpr std::string_view kHost =
      "# made by hand\nsearch lan\nnameserver 192.0.2.53\noptions ndots:1 edns0\n";
  EXPECT_EQ(*ResolvText(PodFrom("  dnsPolicy: Default\n"), kHost),
            "search lan\nnameserver 192.0.2.53\noptions ndots:1 edns0\n");
  const std::string own =
      "  dnsConfig: {nameservers: [192.0.2.1, 192.0.2.53], searches: [a.b], "
      "options: [{name: ndots, value: \"5\"}, {name: debug}]}\n";
  EXPECT_EQ(*ResolvText(PodFrom("  dnsPolicy: Default\n" + own), kHost),
            "search lan a.b\nnameserver 192.0.2.53\nnameserver 192.0.2.1\n"
            "options edns0 ndots:5 debug\n");
  EXPECT_EQ(*ResolvText(PodFrom("  dnsPolicy: None\n" + own), kHost),
            "search a.b\nnameserver 192.0.2.1\nnameserver 192.0.2.53\noptions ndots:5 debug\n");
  EXPECT_FALSE(ResolvText(PodFrom("  dnsConfig: {nameservers: 3}\n"), kHost).ok());
}

TEST(PodFiles, AContainersOwnMountsWin) {
  std::vector<container::Mount> mounts = {{.container_path = "/etc/hosts", .host_path = "/mine"}};
  AddPodFiles("/pod", mounts);
  ASSERT_EQ(mounts.size(), 3u);
  EXPECT_EQ(mounts[0].host_path, "/mine");
  EXPECT_EQ(mounts[1].host_path, "/pod/resolv.conf");
}

TEST(PodFiles, AreWritten) {
  const files::TemporaryFolder folder;
  ASSERT_TRUE(WritePodFiles(PodFrom(""), {"10.0.0.7"}, folder / "pod").ok());
  EXPECT_EQ(*files::ReadWhole(folder / "pod/hostname"), "web-0\n");
  EXPECT_THAT(*files::ReadWhole(folder / "pod/etc-hosts"), HasSubstr("10.0.0.7\tweb-0\n"));
}

}  // namespace
}  // namespace dray::node
