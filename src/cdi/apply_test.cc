// SPDX-License-Identifier: Apache-2.0
//
// Every row of the table of chapter 14.2, and their order.
#include "cdi/apply.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/json.h"
#include "testing/status_matchers.h"

namespace dray::cdi {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StatusOr<HostDevice> Zero(const std::string& path) {
  if (path == "/dev/zero") return HostDevice{.type = "c", .major = 1, .minor = 5};
  if (path == "/dev/sda") return HostDevice{.type = "b", .major = 8, .minor = 0};
  if (path == "/run/pipe") return HostDevice{.type = "p"};
  return base::FailedPrecondition("a CDI device needs " + path);
}

Status ApplyTo(oci::Config& config, const ContainerEdits& edits) {
  return Apply(edits, &Zero, config);
}

TEST(Apply, EnvReplacesOrIsAppended) {
  oci::Config config;
  config.process.env = {"PATH=/bin", "A=1", "AB=2"};
  ASSERT_THAT(ApplyTo(config, {.env = {"A=x=y", "NEW=", "NEW=2"}}), IsOk());
  EXPECT_THAT(config.process.env, ElementsAre("PATH=/bin", "A=x=y", "AB=2", "NEW=2"));
}

TEST(Apply, ADeviceTakesFromTheHostWhatItDoesNotSay) {
  oci::Config config;
  config.linux_.devices = {{.path = "/dev/x", .type = "c", .major = 9, .minor = 9},
                           {.path = "/dev/y", .type = "c", .major = 9, .minor = 8}};
  ASSERT_THAT(ApplyTo(config, {.device_nodes = {{.path = "/dev/x", .host_path = "/dev/zero"},
                                                {.path = "/dev/sda", .permissions = "r"},
                                                {.path = "/run/pipe"}}}),
              IsOk());
  EXPECT_THAT(config.linux_.devices,
              ElementsAre(oci::Device{.path = "/dev/y", .type = "c", .major = 9, .minor = 8},
                          oci::Device{.path = "/dev/x", .type = "c", .major = 1, .minor = 5},
                          oci::Device{.path = "/dev/sda", .type = "b", .major = 8, .minor = 0},
                          oci::Device{.path = "/run/pipe", .type = "p"}));
  ASSERT_TRUE(config.linux_.resources.has_value());
  EXPECT_THAT(
      config.linux_.resources->devices,
      ElementsAre(
          oci::DeviceRule{.allow = true, .type = "c", .major = 1, .minor = 5, .access = "rwm"},
          oci::DeviceRule{.allow = true, .type = "b", .major = 8, .minor = 0, .access = "r"}));
}

TEST(Apply, ADeviceThatSaysAllIsNotLookedUp) {
  oci::Config config;
  ASSERT_THAT(ApplyTo(config, {.device_nodes = {{.path = "/dev/none",
                                                 .type = "c",
                                                 .major = 4,
                                                 .minor = 2,
                                                 .file_mode = 0600,
                                                 .permissions = "none",
                                                 .uid = 7}}}),
              IsOk());
  EXPECT_THAT(
      config.linux_.devices,
      ElementsAre(oci::Device{
          .path = "/dev/none", .type = "c", .major = 4, .minor = 2, .file_mode = 0600, .uid = 7}));
  EXPECT_FALSE(config.linux_.resources.has_value());
}

TEST(Apply, ADeviceBelongsToTheProcess) {
  oci::Config config;
  config.process.user = {.uid = 1000, .gid = 0};
  ASSERT_THAT(
      ApplyTo(config, {.device_nodes = {{.path = "/dev/zero"}, {.path = "/dev/sda", .uid = 0}}}),
      IsOk());
  EXPECT_EQ(config.linux_.devices[0].uid, 1000);
  EXPECT_EQ(config.linux_.devices[0].gid, std::nullopt);
  EXPECT_EQ(config.linux_.devices[1].uid, 0);
}

TEST(Apply, AFailureChangesNothing) {
  oci::Config config;
  const oci::Config before = config;
  EXPECT_THAT(ApplyTo(config, {.env = {"A=1"}, .device_nodes = {{.path = "/dev/gone"}}}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("/dev/gone")));
  EXPECT_EQ(config, before);
  EXPECT_THAT(ApplyTo(config, {.device_nodes = {{.path = "/dev/zero", .type = "b"}}}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("of type b")));
  EXPECT_EQ(config, before);
}

TEST(Apply, MountsReplaceAndAreSortedByDepth) {
  oci::Config config;
  config.mounts = {{.destination = "/a/b/c", .type = "tmpfs"},
                   {.destination = "/proc", .type = "proc"},
                   {.destination = "/b", .source = "old"}};
  ASSERT_THAT(
      ApplyTo(config, {.mounts = {{.host_path = "/h1", .container_path = "/b", .options = {"bind"}},
                                  {.host_path = "/h2", .container_path = "/a/./b"},
                                  {.host_path = "/h3", .container_path = "/", .type = "bind"}}}),
      IsOk());
  EXPECT_THAT(config.mounts,
              ElementsAre(oci::Mount{.destination = "/", .type = "bind", .source = "/h3"},
                          oci::Mount{.destination = "/proc", .type = "proc"},
                          oci::Mount{.destination = "/b", .source = "/h1", .options = {"bind"}},
                          oci::Mount{.destination = "/a/./b", .source = "/h2"},
                          oci::Mount{.destination = "/a/b/c", .type = "tmpfs"}));
}

TEST(Apply, WithoutMountsTheOrderStays) {
  oci::Config config;
  config.mounts = {{.destination = "/a/b"}, {.destination = "/a"}};
  ASSERT_THAT(ApplyTo(config, {.env = {"A=1"}}), IsOk());
  EXPECT_EQ(config.mounts[0].destination, "/a/b");
}

TEST(Apply, WithAUserNamespaceBindMountsAreMapped) {
  oci::Config config;
  config.linux_.namespaces = {{.type = "user"}};
  ASSERT_THAT(
      ApplyTo(config, {.mounts = {{.host_path = "/a", .container_path = "/a", .options = {"rbind"}},
                                  {.host_path = "t", .container_path = "/b", .type = "tmpfs"}}}),
      IsOk());
  EXPECT_THAT(config.mounts[0].options, ElementsAre("rbind", "idmap"));
  EXPECT_THAT(config.mounts[1].options, IsEmpty());
}

TEST(Apply, HooksAreAppendedUnderTheirNames) {
  oci::Config config;
  config.hooks.emplace().poststop = {{.path = "/first"}};
  std::vector<Hook> hooks;
  for (const char* name : {"prestart", "createRuntime", "createContainer", "startContainer",
                           "poststart", "poststop"}) {
    hooks.push_back({.hook_name = name, .path = "/bin/hook", .args = {name}, .timeout = 2});
  }
  ASSERT_THAT(ApplyTo(config, {.hooks = hooks}), IsOk());
  const auto args = [](const std::vector<oci::Hook>& list) { return list.back().args; };
  EXPECT_THAT(args(config.hooks->prestart), ElementsAre("prestart"));
  EXPECT_THAT(args(config.hooks->create_runtime), ElementsAre("createRuntime"));
  EXPECT_THAT(args(config.hooks->create_container), ElementsAre("createContainer"));
  EXPECT_THAT(args(config.hooks->start_container), ElementsAre("startContainer"));
  EXPECT_THAT(args(config.hooks->poststart), ElementsAre("poststart"));
  EXPECT_THAT(config.hooks->poststop,
              ElementsAre(oci::Hook{.path = "/first"},
                          oci::Hook{.path = "/bin/hook", .args = {"poststop"}, .timeout = 2}));
}

TEST(Apply, TheRest) {
  oci::Config config;
  config.process.user.additional_gids = {5};
  config.linux_.intel_rdt = oci::IntelRdt{.clos_id = "old", .mem_bw_schema = "old"};
  ASSERT_THAT(ApplyTo(config, {.net_devices = {{.host_interface_name = "eth1", .name = "net1"}},
                               .intel_rdt = IntelRdt{.clos_id = "new"},
                               .additional_gids = {6, 0, 5, 6}}),
              IsOk());
  EXPECT_THAT(config.process.user.additional_gids, ElementsAre(5, 6));
  EXPECT_EQ(config.linux_.intel_rdt, oci::IntelRdt{.clos_id = "new"});
  ASSERT_NE(config.linux_.net_devices.Find("eth1"), nullptr);
  EXPECT_EQ(config.linux_.net_devices.Find("eth1")->name, "net1");
}

// A configuration of somebody else keeps what is not ours.
TEST(OciConfig, KeepsWhatItDoesNotKnow) {
  const std::string text =
      R"({"ociVersion":"1.0.2","process":{"user":{"uid":0,"gid":0},"cwd":"/","rlimits":[{"type":"RLIMIT_NOFILE","hard":1,"soft":1}]},)"
      R"("root":{"path":"rootfs"},"linux":{"resources":{"devices":[{"allow":false,"access":"rwm"}]},"seccomp":{"defaultAction":"SCMP_ACT_ALLOW"}}})";
  api::JsonDecoder decoder;
  const auto config = decoder.Decode<oci::Config>(text);
  ASSERT_THAT(config, IsOk());
  EXPECT_EQ(api::EncodeJson(*config), text);
}

}  // namespace
}  // namespace dray::cdi
