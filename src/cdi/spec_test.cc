// SPDX-License-Identifier: Apache-2.0
#include "cdi/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cdi/names.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::cdi {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// A spec with one device whose edits are `edits`, and `more` at the top.
std::string SpecText(std::string_view edits, std::string_view version = "1.1.0",
                     std::string_view more = "") {
  return fmt::format(
      "{{\"cdiVersion\": \"{}\", \"kind\": \"example.com/gpu\", {}\"devices\": [{{\"name\": \"a\", "
      "\"containerEdits\": {}}}]}}",
      version, more, edits);
}

TEST(ReadSpec, ReadsEveryFieldFromYaml) {
  const auto spec = ReadSpec(R"(
cdiVersion: 1.1.0
kind: example.com/gpu
annotations: {example.com/a: b}
devices:
- name: gpu:0
  annotations: {c: d}
  containerEdits:
    env: [A=1, B=]
    deviceNodes:
    - {path: /dev/x, hostPath: /dev/y, type: c, major: 1, minor: 3, fileMode: 438, permissions: rw, uid: 1, gid: 2}
    netDevices: [{hostInterfaceName: eth1, name: net1}]
    hooks: [{hookName: createContainer, path: /bin/true, args: ["true", x], env: [H=1], timeout: 3}]
    mounts: [{hostPath: /a, containerPath: /b, options: [ro, bind], type: none}]
    intelRdt: {closID: one, l3CacheSchema: "L3:0=f", memBwSchema: "MB:0=20", schemata: [x], enableMonitoring: true}
    additionalGids: [5, 6]
containerEdits:
  env: [FILE=1]
)");
  ASSERT_THAT(spec, IsOk());
  Spec want{.cdi_version = "1.1.0", .kind = "example.com/gpu"};
  want.annotations["example.com/a"] = "b";
  want.container_edits.env = {"FILE=1"};
  Device& device = want.devices.emplace_back();
  device.name = "gpu:0";
  device.annotations["c"] = "d";
  ContainerEdits& edits = device.container_edits;
  edits.env = {"A=1", "B="};
  edits.device_nodes = {{.path = "/dev/x",
                         .host_path = "/dev/y",
                         .type = "c",
                         .major = 1,
                         .minor = 3,
                         .file_mode = 438,
                         .permissions = "rw",
                         .uid = 1,
                         .gid = 2}};
  edits.net_devices = {{.host_interface_name = "eth1", .name = "net1"}};
  edits.hooks = {{.hook_name = "createContainer",
                  .path = "/bin/true",
                  .args = {"true", "x"},
                  .env = {"H=1"},
                  .timeout = 3}};
  edits.mounts = {
      {.host_path = "/a", .container_path = "/b", .options = {"ro", "bind"}, .type = "none"}};
  edits.intel_rdt = IntelRdt{.clos_id = "one",
                             .l3_cache_schema = "L3:0=f",
                             .mem_bw_schema = "MB:0=20",
                             .schemata = {"x"},
                             .enable_monitoring = true};
  edits.additional_gids = {5, 6};
  EXPECT_EQ(*spec, want);

  const auto written = WriteSpec(*spec);
  ASSERT_THAT(written, IsOk());
  EXPECT_THAT(ReadSpec(*written), IsOkAndHolds(want));
}

struct BadSpec {
  std::string name;
  std::string text;
  std::string says;
  friend void PrintTo(const BadSpec& c, std::ostream* os) { *os << c.name; }
};
class BadSpecTest : public ::testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecTest, IsRefusedWithFieldAndReason) {
  EXPECT_THAT(ReadSpec(GetParam().text),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(GetParam().says)));
}

INSTANTIATE_TEST_SUITE_P(
    Cdi, BadSpecTest,
    ::testing::ValuesIn(std::vector<BadSpec>{
        {"unknown_field", SpecText(R"({"env": ["A=1"], "envs": []})"), "envs"},
        {"unknown_field_at_the_top", SpecText(R"({"env": ["A=1"]})", "1.1.0", R"("x": 1, )"), "x"},
        {"repeated_field", SpecText(R"({"env": ["A=1"], "env": []})"), "env"},
        {"wrong_type", SpecText(R"({"env": "A=1"})"), "env"},
        {"no_version",
         R"({"kind": "a/b", "devices": [{"name": "a", "containerEdits": {"env": ["A=1"]}}]})",
         "cdiVersion: Required"},
        {"unknown_version", SpecText(R"({"env": ["A=1"]})", "0.9.0"), "cdiVersion: Unsupported"},
        {"version_with_v", SpecText(R"({"env": ["A=1"]})", "v1.0.0"), "cdiVersion: Unsupported"},
        // What every spec has came with 0.3.0.
        {"old_version", SpecText(R"({"env": ["A=1"]})", "0.2.0"), "must be at least 0.3.0"},
        {"version_too_low", SpecText(R"({"additionalGids": [1]})", "0.6.0"),
         "must be at least 0.7.0"},
        {"no_devices", R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": []})",
         "devices: Required"},
        {"no_kind",
         R"({"cdiVersion": "0.3.0", "devices": [{"name": "a", "containerEdits": {"env": ["A=1"]}}]})",
         "kind: Required"},
        {"kind_without_class",
         R"({"cdiVersion": "0.3.0", "kind": "a", "devices": [{"name": "a", "containerEdits": {"env": ["A=1"]}}]})",
         "vendor/class"},
        {"same_name_twice",
         R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": [{"name": "a", "containerEdits": {"env": ["A=1"]}},
            {"name": "a", "containerEdits": {"env": ["A=1"]}}]})",
         "devices[1].name: Duplicate"},
        {"device_name",
         R"({"cdiVersion": "0.3.0", "kind": "a/b", "devices": [{"name": "-a", "containerEdits": {"env": ["A=1"]}}]})",
         "devices[0].name: Invalid"},
        {"empty_edits", SpecText("{}"), "devices[0].containerEdits: Required"},
        {"env_without_value", SpecText(R"({"env": ["A"]})"), "NAME=value"},
        {"env_without_name", SpecText(R"({"env": ["=1"]})"), "NAME=value"},
        {"node_without_path", SpecText(R"({"deviceNodes": [{"type": "c"}]})"), "path: Required"},
        {"node_type", SpecText(R"({"deviceNodes": [{"path": "/a", "type": "x"}]})"),
         "type: Unsupported"},
        {"node_permissions", SpecText(R"({"deviceNodes": [{"path": "/a", "permissions": "rx"}]})"),
         "permissions"},
        {"node_major", SpecText(R"({"deviceNodes": [{"path": "/a", "major": -1}]})"), "major"},
        {"node_uid", SpecText(R"({"deviceNodes": [{"path": "/a", "uid": 4294967296}]})"), "uid"},
        {"hook_name", SpecText(R"({"hooks": [{"hookName": "before", "path": "/a"}]})"), "hookName"},
        {"hook_path", SpecText(R"({"hooks": [{"hookName": "poststop"}]})"), "path: Required"},
        {"hook_env",
         SpecText(R"({"hooks": [{"hookName": "poststop", "path": "/a", "env": ["x"]}]})"),
         "NAME=value"},
        {"mount_paths", SpecText(R"({"mounts": [{"containerPath": "/a"}]})"), "hostPath: Required"},
        {"net_name_twice",
         SpecText(
             R"({"netDevices": [{"hostInterfaceName": "a", "name": "n"}, {"hostInterfaceName": "b", "name": "n"}]})"),
         "netDevices[1].name: Duplicate"},
        {"clos_id", SpecText(R"({"intelRdt": {"closID": "a/b"}})"), "closID"},
        {"gid", SpecText(R"({"additionalGids": [-1]})"), "additionalGids[0]"},
        {"annotation_key",
         SpecText(R"({"env": ["A=1"]})", "1.1.0", R"("annotations": {"a b": "c"}, )"),
         "annotations"},
        {"two_documents",
         SpecText(R"({"env": ["A=1"]})") + "\n---\n" + SpecText(R"({"env": ["A=1"]})"),
         "2 documents"},
        {"nothing", "", "0 documents"},
        {"no_map", "[]", "expected an object"},
        {"syntax", "{", ""},
    }),
    [](const auto& info) { return info.param.name; });

struct VersionCase {
  std::string name;
  std::string edits;
  std::string device = "a";
  std::string kind = "example.com/gpu";
  std::string want;
  friend void PrintTo(const VersionCase& c, std::ostream* os) { *os << c.name; }
};
class VersionTest : public ::testing::TestWithParam<VersionCase> {};

TEST_P(VersionTest, IsTheLowestThatHasWhatTheSpecUses) {
  const VersionCase& c = GetParam();
  for (const bool in_file : {false, true}) {
    const auto spec = ReadSpec(fmt::format(
        "{{\"cdiVersion\": \"1.1.0\", \"kind\": \"{}\", \"devices\": [{{\"name\": \"{}\", "
        "\"containerEdits\": {}}}], \"containerEdits\": {}}}",
        c.kind, c.device, in_file ? R"({"env": ["A=1"]})" : c.edits, in_file ? c.edits : "{}"));
    ASSERT_THAT(spec, IsOk());
    EXPECT_EQ(LowestVersion(*spec), c.want);
    // With that version it is valid, with the one before it is not.
    Spec lowest = *spec;
    lowest.cdi_version = c.want;
    EXPECT_TRUE(Validate(lowest).empty());
    EXPECT_THAT(WriteSpec(*spec), IsOkAndHolds(HasSubstr(fmt::format("\"{}\"", c.want))));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cdi, VersionTest,
    ::testing::ValuesIn(std::vector<VersionCase>{
        {.name = "base",
         .edits = R"({"env": ["A=1"], "mounts": [{"hostPath": "/a", "containerPath": "/b"}]})",
         .want = "0.3.0"},
        {.name = "mount_type",
         .edits = R"({"mounts": [{"hostPath": "/a", "containerPath": "/b", "type": "tmpfs"}]})",
         .want = "0.4.0"},
        {.name = "host_path",
         .edits = R"({"deviceNodes": [{"path": "/a", "hostPath": "/b"}]})",
         .want = "0.5.0"},
        {.name = "digit_first", .edits = R"({"env": ["A=1"]})", .device = "0", .want = "0.5.0"},
        {.name = "dot_in_class",
         .edits = R"({"env": ["A=1"]})",
         .kind = "a.b/c.d",
         .want = "0.6.0"},
        {.name = "gids", .edits = R"({"additionalGids": [1]})", .want = "0.7.0"},
        {.name = "rdt", .edits = R"({"intelRdt": {"closID": "a"}})", .want = "0.7.0"},
        {.name = "net_devices",
         .edits = R"({"netDevices": [{"hostInterfaceName": "a", "name": "b"}]})",
         .want = "1.1.0"},
        {.name = "schemata", .edits = R"({"intelRdt": {"schemata": ["a"]}})", .want = "1.1.0"},
        {.name = "monitoring",
         .edits = R"({"intelRdt": {"enableMonitoring": true}})",
         .want = "1.1.0"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(LowestVersion, AnnotationsCameWith060) {
  const auto spec =
      ReadSpec(SpecText(R"({"env": ["A=1"]})", "0.6.0", R"("annotations": {"A": "b"}, )"));
  ASSERT_THAT(spec, IsOk());
  EXPECT_EQ(LowestVersion(*spec), "0.6.0");
}

TEST(WriteSpec, WhatIsWrongIsNotWritten) {
  EXPECT_THAT(WriteSpec({.kind = "a/b"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("devices: Required")));
}

TEST(ReadSpec, OfManyFaultsTheFirstAreTold) {
  std::string env;
  for (int i = 0; i < 100; ++i) env += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", i);
  EXPECT_THAT(ReadSpec(SpecText(fmt::format("{{\"env\": [{}]}}", env))),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("and 95 more")));
}

TEST(Names, HaveTheirForms) {
  EXPECT_TRUE(IsVendor("gpu.example.com"));
  EXPECT_TRUE(IsVendor("a"));
  EXPECT_TRUE(IsVendor("A_b-c.9"));
  EXPECT_FALSE(IsVendor(""));
  EXPECT_FALSE(IsVendor("9a"));
  EXPECT_FALSE(IsVendor("a-"));
  EXPECT_FALSE(IsVendor("a:b"));
  EXPECT_TRUE(IsDeviceName("0"));
  EXPECT_TRUE(IsDeviceName("0:1"));
  EXPECT_FALSE(IsDeviceName(":1"));
  EXPECT_FALSE(IsDeviceName("a/b"));
  const auto name = ParseQualifiedName("a.b/c=d:e");
  ASSERT_THAT(name, IsOk());
  EXPECT_EQ(name->kind, "a.b/c");
  EXPECT_EQ(name->name, "d:e");
  EXPECT_THAT(ParseQualifiedName("a/b"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("vendor/class=name")));
  EXPECT_THAT(ParseQualifiedName("a/b=-"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("device name \"-\"")));
  EXPECT_THAT(
      ParseQualifiedName("1/b=c"),
      StatusIs(StatusCode::kInvalidArgument, AllOf(HasSubstr("vendor"), HasSubstr("\"1\""))));
}

}  // namespace
}  // namespace dray::cdi
