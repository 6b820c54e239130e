// SPDX-License-Identifier: Apache-2.0
//
// What somebody is told who starts dray on an etcd that cannot be used: one sentence each. TLS, users
// and rights: test/e2e/etcd_secure.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "etcd/server.h"
#include "rpc/fake_etcd_for_test.h"
#include "store/etcd/etcd_for_test.h"
#include "testing/status_matchers.h"

namespace dray::etcd {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

plane::PlaneOptions At(const std::string& endpoint, std::string prefix = "/dray") {
  plane::PlaneOptions options;
  options.store =
      plane::StoreAddress::In({.endpoints = {{.address = endpoint}}, .prefix = std::move(prefix)});
  options.scheduler = options.controllers = options.nodes = false;
  return options;
}

TEST(EtcdMessages, NobodyAnswers) {
  Server server;
  EXPECT_THAT(server.TryStart(At("127.0.0.1:1")),
              StatusIs(StatusCode::kUnavailable,
                       AllOf(HasSubstr("no member of etcd answers"), HasSubstr("127.0.0.1:1"))));
}

TEST(EtcdMessages, TooOldIsRefusedAndOldIsWarnedOf) {
  for (const std::string version : {"3.4.23", "3.5.12"}) {
    rpc::FakeEtcd etcd;
    etcd.SetVersion(version);
    Server server;
    EXPECT_THAT(server.TryStart(At(etcd.address())),
                StatusIs(StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("etcd " + version), HasSubstr("3.5.13 or newer"))));
  }
  for (const auto& [version, warned] : {std::pair("3.5.13", true), std::pair("3.5.27", true),
                                        std::pair("3.5.28", false), std::pair("3.6.0", false)}) {
    rpc::FakeEtcd etcd;
    etcd.SetVersion(version);
    Server server;
    ASSERT_THAT(server.TryStart(At(etcd.address())), IsOk()) << version;
    server.Stop();
    const auto warning = HasSubstr("3.5.28 or newer does not");
    if (warned) {
      EXPECT_THAT(server.Logged(), AllOf(HasSubstr(version), warning));
    } else {
      EXPECT_THAT(server.Logged(), Not(warning));
    }
  }
}

TEST(EtcdMessages, WhoDecidesAloneIsAlone) {
  DRAY_NEEDS_ETCD();
  const std::string prefix = store::FreshPrefix();
  const std::string etcd = store::SharedEtcd().client(0);
  plane::PlaneOptions alone = At(etcd, prefix);
  alone.etcd.alone = true;
  Server first;
  ASSERT_THAT(first.TryStart(alone), IsOk());
  Server second(&first);
  EXPECT_THAT(second.TryStart(alone),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("must be alone"), HasSubstr(prefix + "/"))));
  EXPECT_THAT(second.TryStart(At(etcd, prefix)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("must be alone")));
  // Not beside servers that others share, either.
  first.Stop();
  ASSERT_THAT(second.TryStart(At(etcd, prefix)), IsOk());
  EXPECT_THAT(first.TryStart(alone),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("this one must be alone")));
  // Another prefix is another cluster.
  Server elsewhere;
  plane::PlaneOptions other = At(etcd, store::FreshPrefix());
  other.etcd.alone = true;
  EXPECT_THAT(elsewhere.TryStart(other), IsOk());
}

TEST(EtcdMessages, ServersOfOneStoreHaveOneAuthority) {
  DRAY_NEEDS_ETCD();
  const auto options = At(store::SharedEtcd().client(0), store::FreshPrefix());
  Server first;
  ASSERT_THAT(first.TryStart(options), IsOk());
  Server stranger;
  EXPECT_THAT(stranger.TryStart(options),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("pki/ca.crt, pki/ca.key")));
}

}  // namespace
}  // namespace dray::etcd
