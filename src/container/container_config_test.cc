// SPDX-License-Identifier: Apache-2.0
#include "container/container_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/json.h"
#include "testing/status_matchers.h"

namespace dray::container {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
namespace oci = cdi::oci;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    sandbox_.hostname = "pod-1";
    config_.name = "main";
    config_.command = {"/bin/sh"};
    place_ = {.pause_pid = 42,
              .rootfs = "rootfs",
              .cgroups_path = "/dray/podx/main",
              .capabilities = AllCapabilities()};
  }
  oci::Config Build() {
    const auto made = BuildConfig(sandbox_, config_, image_, place_);
    EXPECT_THAT(made, IsOk());
    return made.ok() ? *made : oci::Config();
  }
  Status Fault() { return BuildConfig(sandbox_, config_, image_, place_).status(); }

  SandboxConfig sandbox_;
  ContainerConfig config_;
  image::ImageConfig image_;
  ContainerPlace place_;
};

TEST(CommandOf, IsPutTogetherAsKubernetesDoes) {
  const image::ImageConfig image{.entrypoint = {"e"}, .cmd = {"c"}};
  EXPECT_THAT(CommandOf({}, image), IsOkAndHolds(ElementsAre("e", "c")));
  EXPECT_THAT(CommandOf({.args = {"a"}}, image), IsOkAndHolds(ElementsAre("e", "a")));
  EXPECT_THAT(CommandOf({.command = {"x"}}, image), IsOkAndHolds(ElementsAre("x")));
  EXPECT_THAT(CommandOf({.command = {"x"}, .args = {"a"}}, image),
              IsOkAndHolds(ElementsAre("x", "a")));
  EXPECT_THAT(CommandOf({.name = "main", .image = "i"}, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("no command")));
}

TEST_F(ConfigTest, EnvironmentIsTheImagesThenThePods) {
  image_.env = {"PATH=/image", "A=image", "odd", "=x"};
  config_.env = {{"A", "pod"}, {"B", "b=c"}};
  EXPECT_THAT(Build().process.env, ElementsAre("PATH=/image", "A=pod", "HOSTNAME=pod-1", "B=b=c"));
  image_.env.clear();
  config_.tty = true;
  EXPECT_THAT(Build().process.env, ElementsAre(HasSubstr("PATH=/usr/local/sbin"), "HOSTNAME=pod-1",
                                               "TERM=xterm", "A=pod", "B=b=c"));
}

TEST_F(ConfigTest, SysctlsAndProfilesArePassedOn) {
  EXPECT_EQ(Build().process.apparmor_profile, "");
  sandbox_.sysctls = {{"net.ipv4.tcp_syncookies", "1"}};
  config_.security.app_armor = AppArmor::kLocalhost;
  config_.security.app_armor_profile = "mine";
  const oci::Config made = Build();
  EXPECT_EQ(*made.linux_.sysctl.Find("net.ipv4.tcp_syncookies"), "1");
  EXPECT_EQ(made.process.apparmor_profile, "mine");
  EXPECT_THAT(api::EncodeJson(made), HasSubstr(R"("apparmorProfile":"mine")"));
}

TEST_F(ConfigTest, PidsAreThoseOfATarget) {
  place_.target_pid = 77;
  EXPECT_THAT(Build().linux_.namespaces, Contains(oci::Namespace{"pid", "/proc/77/ns/pid"}));
  // Who sees everybody needs none.
  sandbox_.shared_pids = true;
  EXPECT_THAT(Build().linux_.namespaces, Contains(oci::Namespace{"pid", "/proc/42/ns/pid"}));
}

TEST_F(ConfigTest, UserIsThePodsOrTheImages) {
  place_.passwd = "root:x:0:0::/:/bin/sh\nweb:x:33:34::/:/bin/sh\nbroken\n";
  place_.group = "web:x:35:\n";
  image_.user = "web";
  EXPECT_EQ(Build().process.user.uid, 33);
  EXPECT_EQ(Build().process.user.gid, 34);
  image_.user = "web:web";
  EXPECT_EQ(Build().process.user.gid, 35);
  image_.user = "1000:2000";
  EXPECT_EQ(Build().process.user.uid, 1000);
  EXPECT_EQ(Build().process.user.gid, 2000);
  config_.security = {.user = 7, .group = 8, .groups = {9, 10, 9}};
  EXPECT_EQ(Build().process.user,
            (oci::User{.uid = 7, .gid = 8, .umask = {}, .additional_gids = {9, 10}}));
  config_.security = {};
  image_.user = "nobody";
  EXPECT_THAT(Fault(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"nobody\"")));
}

TEST_F(ConfigTest, CapabilitiesAreTheUsualOnesAsFarAsTheyCanBeHad) {
  EXPECT_THAT(Build().process.capabilities->bounding, SizeIs(14));
  config_.security.drop_capabilities = {"ALL"};
  config_.security.add_capabilities = {"net_admin", "CAP_SYS_TIME"};
  EXPECT_THAT(Build().process.capabilities->effective,
              ElementsAre("CAP_NET_ADMIN", "CAP_SYS_TIME"));
  EXPECT_THAT(Build().process.capabilities->ambient, IsEmpty());
  place_.capabilities = {"CAP_NET_ADMIN"};
  EXPECT_THAT(Build().process.capabilities->bounding, ElementsAre("CAP_NET_ADMIN"));
  config_.security.add_capabilities = {"FLY"};
  EXPECT_THAT(Fault(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("FLY")));
  config_.security = {.privileged = true};
  place_.capabilities = AllCapabilities();
  EXPECT_EQ(Build().process.capabilities->bounding, AllCapabilities());
  EXPECT_THAT(Build().linux_.masked_paths, IsEmpty());
  EXPECT_TRUE(Build().linux_.resources->devices[0].allow);
}

TEST_F(ConfigTest, NamespacesAreThoseOfTheSandbox) {
  EXPECT_THAT(Build().linux_.namespaces,
              ElementsAre(oci::Namespace{"pid", ""}, oci::Namespace{"network", "/proc/42/ns/net"},
                          oci::Namespace{"uts", "/proc/42/ns/uts"},
                          oci::Namespace{"ipc", "/proc/42/ns/ipc"}, oci::Namespace{"mount", ""}));
  EXPECT_EQ(Build().hostname, "");
  sandbox_.shared_pids = true;
  EXPECT_EQ(Build().linux_.namespaces[0].path, "/proc/42/ns/pid");
  sandbox_ = {.host_network = true, .host_pid = true, .host_ipc = true};
  EXPECT_THAT(Build().linux_.namespaces, ElementsAre(oci::Namespace{"mount", ""}));
  EXPECT_THAT(Build().mounts, Not(Contains(Field(&oci::Mount::destination, "/dev/mqueue"))));
}

TEST_F(ConfigTest, MountsReplaceAndComeAfterWhatTheyAreIn) {
  config_.mounts = {{.container_path = "/data/deep", .host_path = "/b"},
                    {.container_path = "/data", .host_path = "/a", .read_only = true},
                    {.container_path = "/dev/shm", .host_path = "/shm"}};
  const std::vector<oci::Mount> mounts = Build().mounts;
  std::vector<std::string> order;
  for (const oci::Mount& mount : mounts) order.push_back(mount.destination);
  EXPECT_THAT(order, ElementsAre("/proc", "/dev", "/sys", "/data", "/dev/pts", "/dev/mqueue",
                                 "/data/deep", "/dev/shm"));
  EXPECT_EQ(mounts[3], (oci::Mount{"/data", "bind", "/a", {"rbind", "rprivate", "ro"}, {}}));
  EXPECT_EQ(mounts[7].source, "/shm");
}

TEST_F(ConfigTest, LimitsAreWrittenWhereThereAreAny) {
  EXPECT_FALSE(Build().linux_.resources->memory.has_value());
  EXPECT_FALSE(Build().linux_.resources->cpu.has_value());
  EXPECT_EQ(Build().process.oom_score_adj, std::nullopt);
  config_.limits = {.cpu_shares = 512, .cpu_quota = 50'000, .memory_bytes = 1 << 20, .pids = 10};
  const oci::Resources resources = *Build().linux_.resources;
  EXPECT_EQ(resources.memory->limit, 1 << 20);
  EXPECT_EQ(resources.cpu->shares, 512);
  EXPECT_EQ(resources.cpu->quota, 50'000);
  EXPECT_EQ(resources.cpu->period, 100'000);
  EXPECT_EQ(resources.pids->limit, 10);
}

TEST_F(ConfigTest, TheRest) {
  EXPECT_EQ(Build().process.cwd, "/");
  image_.working_dir = "/srv";
  EXPECT_EQ(Build().process.cwd, "/srv");
  config_.working_dir = "/tmp";
  config_.security.no_new_privileges = true;
  config_.security.read_only_root = true;
  config_.annotations = {{"a", "b"}};
  const oci::Config made = Build();
  EXPECT_EQ(made.process.cwd, "/tmp");
  EXPECT_TRUE(made.process.no_new_privileges);
  EXPECT_TRUE(made.root.readonly);
  EXPECT_EQ(*made.annotations.Find("a"), "b");
  EXPECT_EQ(made.linux_.cgroups_path, "/dray/podx/main");
  config_.working_dir = "tmp";
  EXPECT_THAT(Fault(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"tmp\"")));
}

TEST(Capabilities, AreReadFromAMask) {
  EXPECT_THAT(CapabilitiesIn(0b101), ElementsAre("CAP_CHOWN", "CAP_DAC_READ_SEARCH"));
  EXPECT_EQ(CapabilitiesIn(~std::uint64_t{0}), AllCapabilities());
  EXPECT_EQ(AllCapabilities()[24], "CAP_SYS_RESOURCE");
  EXPECT_EQ(AllCapabilities()[40], "CAP_CHECKPOINT_RESTORE");
}

// What runc gets for a plain container, all of it.
TEST_F(ConfigTest, Golden) {
  place_.capabilities = {"CAP_CHOWN", "CAP_KILL"};
  EXPECT_EQ(
      api::EncodeJson(Build()),
      R"({"ociVersion":"1.0.2","process":{"user":{"uid":0,"gid":0},"args":["/bin/sh"],)"
      R"("env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","HOSTNAME=pod-1"],"cwd":"/",)"
      R"("capabilities":{"bounding":["CAP_CHOWN","CAP_KILL"],"effective":["CAP_CHOWN","CAP_KILL"],"permitted":["CAP_CHOWN","CAP_KILL"]}},)"
      R"("root":{"path":"rootfs"},"mounts":[{"destination":"/proc","type":"proc","source":"proc","options":["nosuid","noexec","nodev"]},)"
      R"({"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","strictatime","mode=755","size=65536k"]},)"
      R"({"destination":"/sys","type":"sysfs","source":"sysfs","options":["nosuid","noexec","nodev","ro"]},)"
      R"({"destination":"/dev/pts","type":"devpts","source":"devpts","options":["nosuid","noexec","newinstance","ptmxmode=0666","mode=0620","gid=5"]},)"
      R"({"destination":"/dev/shm","type":"tmpfs","source":"shm","options":["nosuid","noexec","nodev","mode=1777","size=65536k"]},)"
      R"({"destination":"/dev/mqueue","type":"mqueue","source":"mqueue","options":["nosuid","noexec","nodev"]}],)"
      R"("linux":{"resources":{"devices":[{"allow":false,"access":"rwm"}]},"cgroupsPath":"/dray/podx/main",)"
      R"("namespaces":[{"type":"pid"},{"type":"network","path":"/proc/42/ns/net"},{"type":"uts","path":"/proc/42/ns/uts"},{"type":"ipc","path":"/proc/42/ns/ipc"},{"type":"mount"}],)"
      R"("maskedPaths":["/proc/asound","/proc/acpi","/proc/kcore","/proc/keys","/proc/latency_stats","/proc/timer_list","/proc/timer_stats","/proc/sched_debug","/proc/scsi","/sys/firmware"],)"
      R"("readonlyPaths":["/proc/bus","/proc/fs","/proc/irq","/proc/sys","/proc/sysrq-trigger"]}})");
}

}  // namespace
}  // namespace dray::container
