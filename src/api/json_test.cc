// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "api/document.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using ::testing::HasSubstr;

template <typename T>
T MustDecode(std::string_view json, DecodeOptions options = {}) {
  JsonDecoder decoder;
  auto value = decoder.Decode<T>(json, options);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? *std::move(value) : T{};
}

template <typename T>
std::string ErrorOf(std::string_view json, DecodeOptions options = {}) {
  JsonDecoder decoder;
  const auto value = decoder.Decode<T>(json, options);
  EXPECT_FALSE(value.ok());
  return value.ok() ? "" : std::string(base::Message(value.status()));
}

TEST(Json, ReadsEveryShape) {
  const auto device = MustDecode<Device>(R"({
    "name": "gpu-0",
    "attributes": {"b": {"int": -5}, "a": {"bool": true}, "c": {"strings": ["x", "y"]}, "d": {"bools": [true, false]}},
    "capacity": {"memory": {"value": "80Gi", "requestPolicy": {"default": 1, "validRange": {"min": "1"}}}},
    "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05.9+01:00"}],
    "allNodes": false})");
  EXPECT_EQ(device.name, "gpu-0");
  EXPECT_EQ(device.attributes.Find("b")->int_value, -5);
  EXPECT_EQ(device.attributes.Find("a")->bool_value, true);
  EXPECT_EQ((*device.attributes.Find("c")->Lists().string_values)[1], "y");
  EXPECT_TRUE((*device.attributes.Find("d")->Lists().bool_values)[0].value);
  EXPECT_EQ(device.capacity.Find("memory")->value.ToString(), "80Gi");
  EXPECT_EQ(device.capacity.Find("memory")->request_policy->default_value->Value(), 1);
  EXPECT_EQ(device.taints[0].time_added->ToRfc3339(), "2026-01-02T02:04:05Z");
  EXPECT_EQ(device.all_nodes, false);
  EXPECT_FALSE(device.binds_to_node.has_value());
}

TEST(Json, MapsAreWrittenSortedAndFieldsInTableOrder) {
  const auto device =
      MustDecode<Device>(R"({"capacity":{"z":{"value":"1"},"a":{"value":"2"}},"name":"d"})");
  EXPECT_EQ(EncodeJson(device), R"({"name":"d","capacity":{"a":{"value":"2"},"z":{"value":"1"}}})");
}

TEST(Json, NullIsTheSameAsMissing) {
  EXPECT_EQ(MustDecode<Device>(R"({"name":null,"attributes":null,"nodeName":null,"taints":null})"),
            Device{});
}

TEST(Json, AnEmptyListThatIsThereDiffersFromAMissingOneWhereTheApiCares) {
  const auto spec = MustDecode<ResourceSliceSpec>(R"({"devices":[]})");
  EXPECT_TRUE(spec.devices.has_value());
  EXPECT_FALSE(MustDecode<ResourceSliceSpec>("{}").devices.has_value());
  EXPECT_THAT(EncodeJson(spec), HasSubstr(R"("devices":[])"));
}

TEST(Json, UnknownFieldsSurviveARoundTrip) {
  constexpr std::string_view kText =
      R"({"name":"d","future":{"a":[1,2.50,"x\ny",null,true],"b":{}},"later":18446744073709551615})";
  const auto device = MustDecode<Device>(kText);
  EXPECT_EQ(EncodeJson(device), kText);
  EXPECT_EQ(MustDecode<Device>(EncodeJson(device)), device);
}

TEST(Json, OpaqueParametersKeepTheirDigits) {
  constexpr std::string_view kText =
      R"({"driver":"d","parameters":{"ratio":1.10,"big":12345678901234567890123}})";
  EXPECT_EQ(EncodeJson(MustDecode<OpaqueDeviceConfiguration>(kText)), kText);
}

TEST(Json, FieldsWithoutOmitemptyAreWrittenEmpty) {
  EXPECT_EQ(EncodeJson(ResourceClaimSpec{}), R"({"devices":{"requests":null}})");
  EXPECT_EQ(EncodeJson(CapacityRequestPolicy{}), R"({"default":null})");
}

TEST(Json, TheLastOfRepeatedFieldsCounts) {
  EXPECT_EQ(MustDecode<ResourcePool>(R"({"name":"a","name":"b"})").name, "b");
  const auto capacity = MustDecode<CapacityRequirements>(R"({"requests":{"m":"1","m":"2"}})");
  EXPECT_EQ(capacity.requests.size(), 1U);
  EXPECT_EQ(capacity.requests.Find("m")->Value(), 2);
  EXPECT_EQ(
      MustDecode<DeviceConstraint>(R"({"requests":["a","b"],"requests":["c"]})").requests.size(),
      1U);
}

TEST(Json, StrictReadingNamesUnknownAndRepeatedFields) {
  EXPECT_EQ(ErrorOf<ResourcePool>(R"({"nmae":"a"})", {.strict = true}),
            "1:2: nmae: unknown field \"nmae\" (did you mean name?)");
  EXPECT_THAT(ErrorOf<ResourcePool>(R"({"name":"a","name":"b"})", {.strict = true}),
              HasSubstr("duplicate field \"name\""));
  EXPECT_THAT(ErrorOf<ResourcePool>(R"({"kind":"a","kind":"b"})", {.strict = true}),
              HasSubstr("duplicate field \"kind\""));
  EXPECT_THAT(ErrorOf<CapacityRequirements>(R"({"requests":{"m":"1","m":"2"}})", {.strict = true}),
              HasSubstr("duplicate field \"requests[m]\""));
}

// Of a thousand kinds of warnings none hides an error.
TEST(Json, SlipsWithoutEndAreNotAllTold) {
  DocumentNode node;
  node.kind = DocumentNode::Kind::kMap;
  for (int i = 0; i < 5000; ++i) node.members.push_back({.key = fmt::format("f{}", i)});
  node.members.push_back({.key = "name"});
  node.members.back().value.kind = DocumentNode::Kind::kBool;
  ResourcePool pool;
  std::vector<Diagnostic> diagnostics;
  DecodeNode(node, TypeInfoOf<ResourcePool>(), &pool, Severity::kWarning, diagnostics);
  ASSERT_EQ(diagnostics.size(), 1002u);
  EXPECT_EQ(diagnostics[999].reason, "UnknownField");
  EXPECT_EQ(diagnostics[1000].reason, "TooMany");
  EXPECT_EQ(diagnostics[1001].reason, "TypeMismatch");
  EXPECT_EQ(diagnostics[1001].severity, Severity::kError);
}

TEST(Json, ErrorsSayWhereWhatAndWhatWouldBeRight) {
  EXPECT_EQ(ErrorOf<ResourcePool>("{\n  \"name\": \"a\",\n  \"generation\": \"1\"\n}"),
            "3:17: generation: expected an integer, got the string \"1\" (leave the quotes away)");
  EXPECT_EQ(ErrorOf<ResourcePool>(R"({"name":7})"),
            "1:9: name: expected a string, got the number 7 (put it in quotes)");
  EXPECT_THAT(ErrorOf<ResourcePool>(R"({"generation":9223372036854775808})"),
              HasSubstr("expected an integer"));
  EXPECT_THAT(ErrorOf<ResourcePool>(R"({"generation":1.0})"),
              HasSubstr("expected an integer, got the number 1.0"));
  EXPECT_THAT(ErrorOf<Counter>(R"({"value":"1Xi"})"), HasSubstr("1:10: value: "));
  EXPECT_THAT(ErrorOf<DeviceTaint>(R"({"timeAdded":"yesterday"})"), HasSubstr("1:14: timeAdded: "));
  EXPECT_THAT(ErrorOf<Device>(R"({"taints":{}})"), HasSubstr("expected a list, got an object"));
}

TEST(Json, AllMismatchesAreReportedAtOnce) {
  const std::string error = ErrorOf<ResourcePool>(R"({"name":7,"generation":"x"})");
  EXPECT_THAT(error, HasSubstr("name: expected a string"));
  EXPECT_THAT(error, HasSubstr("generation: expected an integer"));
}

TEST(Json, BrokenTextIsASyntaxErrorWithAPosition) {
  EXPECT_THAT(ErrorOf<Device>(""), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf<Device>("{\"name\": \"a\",\n \"x\": [1,}"), HasSubstr("2:"));
  EXPECT_THAT(ErrorOf<Device>(R"({"name":"a"} x)"), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf<Device>("{\"name\":\"\xff\"}"), HasSubstr("UTF-8"));
  EXPECT_THAT(ErrorOf<Device>("[]"), HasSubstr("expected an object, got a list"));
  EXPECT_THAT(ErrorOf<Device>("null"), HasSubstr("expected an object"));
}

TEST(Json, DeepNestingIsRefusedNotFollowed) {
  std::string deep = R"({"x":)";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  EXPECT_THAT(ErrorOf<Device>(deep), HasSubstr("not valid JSON"));
}

TEST(Json, IndentingChangesOnlyWhiteSpace) {
  EXPECT_EQ(IndentJson(R"({"a":[],"b":{"c":"x,{}:\"y"},"d":[1,2]})", 2),
            "{\n  \"a\": [],\n  \"b\": {\n    \"c\": \"x,{}:\\\"y\"\n  },\n  \"d\": [\n    1,\n    "
            "2\n  ]\n}");
}

TEST(SemanticEqual, ComparesAsServersDo) {
  const auto a = MustDecode<Device>(
      R"({"name":"d","capacity":{"m":{"value":"1024Mi"}},"attributes":{},"taints":[]})");
  const auto b = MustDecode<Device>(R"({"name":"d","capacity":{"m":{"value":"1Gi"}}})");
  EXPECT_TRUE(SemanticEqual(a, b));
  EXPECT_TRUE(
      SemanticEqual(MustDecode<ResourceSliceSpec>(R"({"devices":[]})"), ResourceSliceSpec{}));
  EXPECT_FALSE(SemanticEqual(a, MustDecode<Device>(R"({"name":"d"})")));
  EXPECT_FALSE(SemanticEqual(Device{}, MustDecode<Device>(R"({"allNodes":false})")));
  EXPECT_FALSE(SemanticEqual(Device{}, MustDecode<Device>(R"({"future":1})")));
}

}  // namespace
}  // namespace dray::api
