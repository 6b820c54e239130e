// SPDX-License-Identifier: Apache-2.0
#include "cel/device_view.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "api/json.h"
#include "cel/columnar_devices_for_test.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_errors.h"
#include "cel/device_values.h"
#include "cel/program.h"
#include "cel/values.h"
#include "testing/status_matchers.h"

namespace dray::cel {
namespace {

std::shared_ptr<const Program> ProgramOf(std::string_view text) {
  const auto compiled = Compile(text, DeviceEnvironment(DeviceEnvironmentOptions::Stored()));
  EXPECT_TRUE(compiled.ok()) << compiled.error;
  auto program = Program::Compile(*compiled.checked);
  EXPECT_TRUE(program.ok());
  return *program;
}

api::Device Decode(std::string_view json) {
  api::JsonDecoder decoder;
  auto device = decoder.Decode<api::Device>(json);
  EXPECT_TRUE(device.ok());
  return *device;
}

api::Device Gpu() {
  return Decode(R"({"name": "gpu-0", "allowMultipleAllocations": true, "attributes": {
      "productName": {"string": "H100"}, "index": {"int": 3}, "driverVersion": {"version": "1.2.3"},
      "broken": {"version": "x"}, "other.com/numa": {"int": 1}},
      "capacity": {"memory": {"value": "80Gi"}}})");
}

// With the view of a decoded device and with that of a table; they have to agree.
std::string Result(std::string_view text) {
  const auto program = ProgramOf(text);
  const api::Device device = Gpu();
  Arena arena;
  const ApiDeviceView plain(program->device_reads(), "d.com", device);
  const std::string got = ToDebugString(Evaluate(*program, plain, arena).value);
  ColumnarDevices devices;
  const std::size_t row = devices.Add("d.com", device);
  const ColumnarBinding binding(*program, devices);
  const ColumnarView columnar(devices, binding, row);
  EXPECT_EQ(ToDebugString(Evaluate(*program, columnar, arena).value), got) << text;
  return got;
}

TEST(DeviceView, AnswersReads) {
  EXPECT_EQ(Result(R"(device.driver)"), "\"d.com\"");
  EXPECT_EQ(Result(R"(device.name)"), "\"gpu-0\"");
  EXPECT_EQ(Result(R"(device.allowMultipleAllocations)"), "true");
  EXPECT_EQ(Result(R"(device.attributes["d.com"].index)"), "3");
  EXPECT_EQ(Result(R"(device.attributes["other.com"].numa)"), "1");
  EXPECT_EQ(Result(R"(device.attributes["d.com"].driverVersion.minor())"), "2");
  EXPECT_EQ(Result(R"(string(device.capacity["d.com"].memory.asInteger()))"), "\"85899345920\"");
}

TEST(DeviceView, AnswersPresenceAndOptionals) {
  EXPECT_EQ(Result(R"(has(device.attributes["d.com"].index))"), "true");
  EXPECT_EQ(Result(R"(has(device.attributes["d.com"].other))"), "false");
  EXPECT_EQ(Result(R"(has(device.attributes["x.com"].index))"), "false");
  EXPECT_EQ(Result(R"(device.attributes["d.com"].?index.orValue(9))"), "3");
  EXPECT_EQ(Result(R"(device.attributes["d.com"].?other.orValue(9))"), "9");
}

TEST(DeviceView, AVersionThatDoesNotParseIsAnErrorWhenRead) {
  EXPECT_NE(Result(R"(has(device.attributes["d.com"].broken))").find("parse semantic version"),
            std::string::npos);
  EXPECT_EQ(Result(R"(device.attributes["d.com"].broken.major() > 0 || true)"), "true");
}

TEST(DeviceView, OtherUsesOfTheDeviceGetAnObject) {
  EXPECT_EQ(Result(R"(size(device.attributes))"), "2");
  EXPECT_EQ(Result(R"(device.attributes["d.com"].exists(k, k == "index"))"), "true");
  EXPECT_EQ(Result(R"("numa" in device.attributes["other.com"])"), "true");
  EXPECT_EQ(Result(R"(device.attributes[device.driver]["index"])"), "3");
}

TEST(DeviceView, NamesWithASlashAreNotReads) {
  // "other.com/numa" is the name numa of another domain, not one of the driver's.
  EXPECT_EQ(Result(R"("other.com/numa" in device.attributes["d.com"])"), "false");
  EXPECT_EQ(Result(R"(device.attributes["d.com"][?"other.com/numa"].orValue(9))"), "9");
  EXPECT_EQ(Result(R"(device.attributes["other.com"][?"numa"].orValue(9))"), "1");
}

TEST(DeviceView, ProgramsListTheirReadsOnce) {
  const auto program = ProgramOf(R"(device.attributes["d.com"].index == 1 ||
      device.attributes["d.com"].index == 2 || device.driver == "x")");
  ASSERT_EQ(program->device_reads().size(), 2U);
  EXPECT_EQ(program->device_reads()[0].qualified, "d.com/index");
  EXPECT_TRUE(program->only_device_reads());
  EXPECT_FALSE(ProgramOf("size(device.attributes) > 0")->only_device_reads());
}

TEST(DeviceView, CostLimitEndsWithinARead) {
  const auto program = ProgramOf(R"(device.attributes["d.com"].index == 3)");
  const api::Device device = Gpu();
  for (std::uint64_t limit = 0; limit < 6; ++limit) {
    Arena arena;
    const DeviceValue object("d.com", device, arena);
    const Value variable = object.value();
    const auto by_steps = Evaluate(*program, std::span(&variable, 1), arena, {.cost = limit});
    const ApiDeviceView view(program->device_reads(), "d.com", device);
    const auto by_read = Evaluate(*program, view, arena, {.cost = limit});
    EXPECT_EQ(by_read.cost, by_steps.cost) << limit;
    EXPECT_EQ(ToDebugString(by_read.value), ToDebugString(by_steps.value)) << limit;
  }
}

std::string Failure(std::string_view text) {
  const auto result = Match(*ProgramOf(text), "d.com", Gpu());
  return result.ok() ? "" : std::string(base::Message(result.status()));
}

TEST(DeviceErrors, MissingAttributeSaysWhatThereIs) {
  EXPECT_EQ(Failure(R"(device.attributes["d.com"].productname == "H100")"),
            "no such key: productname: the device has no attribute \"productname\" in domain "
            "\"d.com\"; it has broken, driverVersion, index, productName; did you mean "
            "\"productName\"?");
  EXPECT_EQ(Failure(R"(device.capacity["d.com"].disk.isGreaterThan(quantity("1")))"),
            "no such key: disk: the device has no capacity \"disk\" in domain \"d.com\"; it has "
            "memory");
}

TEST(DeviceErrors, UnknownDomainSaysWhichThereAre) {
  EXPECT_EQ(Failure(R"(device.attributes["e.com"].index == 1)"),
            "no such key: index: the device has no attributes in domain \"e.com\", only in d.com, "
            "other.com; did you mean \"d.com\"?");
  EXPECT_EQ(
      Failure(R"(device.capacity["elsewhere.org"].memory.isInteger())"),
      "no such key: memory: the device has no capacities in domain \"elsewhere.org\", only in "
      "d.com");
}

TEST(DeviceErrors, AbsorbedErrorsAreNotReported) {
  EXPECT_EQ(Failure(R"(device.attributes["d.com"].nothing == 1 || true)"), "");
}

TEST(DeviceErrors, ListsOfNamesAreShort) {
  api::Device device;
  for (int i = 0; i < 12; ++i) {
    device.attributes["name" + std::to_string(i)].int_value = i;
  }
  const auto result =
      Match(*ProgramOf(R"(device.attributes["d.com"].zzzzzzzz == 1)"), "d.com", device);
  ASSERT_FALSE(result.ok());
  EXPECT_TRUE(std::string(base::Message(result.status())).ends_with("and 4 more"))
      << result.status();
}

TEST(DeviceErrors, OtherErrorsKeepTheirWords) {
  EXPECT_EQ(Failure("1 / 0 == 1"), "division by zero");
}

std::string Hint(std::string_view text) {
  const auto program = ProgramOf(text);
  const api::Device device = Gpu();
  const ApiDeviceView view(program->device_reads(), "d.com", device);
  Arena arena;
  return ErrorHint(*program, view, TryMatch(*program, view, arena).value);
}

TEST(DeviceErrors, AHintSaysHowToAskFirst) {
  EXPECT_EQ(Hint(R"(device.attributes["d.com"].numa == 0)"),
            "not every device has it: ask first, as in \"numa\" in device.attributes[\"d.com\"] "
            "&& ...");
  EXPECT_EQ(Hint(R"(device.capacity["d.com"].disk.isInteger())"),
            "not every device has it: ask first, as in \"disk\" in device.capacity[\"d.com\"] && "
            "...");
}

TEST(DeviceErrors, AHintDoesNotRepeatTheMessage) {
  EXPECT_EQ(Hint(R"(device.attributes["d.com"].productname == "H100")"), "");
  EXPECT_EQ(Hint("1 / 0 == 1"), "");
}

// The path is no read, so only the key is known.
TEST(DeviceErrors, AHintFindsKeysOfBoundMaps) {
  EXPECT_EQ(Hint(R"(cel.bind(a, device.attributes["d.com"], a.productname == "H100"))"),
            "did you mean productName?");
  EXPECT_EQ(
      Hint(R"(cel.bind(a, device.attributes["d.com"], a.numa == 0))"),
      "not every device has it: ask first, as in \"numa\" in device.attributes[\"...\"] && ...");
}

}  // namespace
}  // namespace dray::cel
