// SPDX-License-Identifier: Apache-2.0
#include "rest/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/device_class.h"
#include "fmt/format.h"
#include "rest/api_error.h"
#include "rest/tree.h"

namespace dray::rest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const api::KindInfo& Class() { return *api::FindKind("resource.k8s.io/v1", "DeviceClass"); }

StatusOr<DecodedBody> Decode(std::string_view body,
                             FieldValidation validation = FieldValidation::kWarn,
                             BodyFormat format = BodyFormat::kJson) {
  api::JsonDecoder decoder;
  return DecodeBody(decoder, body, format, Class(), validation);
}

struct BadBody {
  std::string name;
  std::string body;
  std::string message;  // a part of it
  FieldValidation validation = FieldValidation::kWarn;
  friend void PrintTo(const BadBody& c, std::ostream* os) { *os << c.name; }
};

// As a tree they would take a hundred times their bytes.
TEST(DecodeBody, TooManyValuesAreRefusedBeforeTheyAreRead) {
  std::string json = R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","x":[0)";
  std::string yaml = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nx:\n";
  for (int i = 0; i < 500'000; ++i) {
    json += ",0";
    yaml += "- 0\n";
  }
  for (const auto& decoded :
       {Decode(json + "]}"), Decode(yaml, FieldValidation::kWarn, BodyFormat::kYaml)}) {
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(FromStatus(decoded.status()).code, 413);
    EXPECT_THAT(FromStatus(decoded.status()).message, HasSubstr("more than 500000 values"));
  }
  EXPECT_FALSE(ReadTree(json + "]}").ok());
  // What only looks like values is text.
  const std::string text(1'000'000, ',');
  EXPECT_TRUE(ReadTree("[\"\\\"" + text + "\"]").ok());
}

// A key may be as long as a body, and what is wrong below it as often as there is room: told in full,
// three megabytes became hundreds of gigabytes.
TEST(DecodeBody, WhatIsWrongBelowALongKeyIsToldInFewWords) {
  const std::string key(50'000, 'k');
  const auto many = [](auto&& member) {
    std::string members;
    for (int i = 0; i < 3000; ++i) members += (i == 0 ? "" : ",") + member(i);
    return members;
  };
  const auto unknown = many([](int i) { return fmt::format(R"("u{}":0)", i); });
  const auto repeated = many([](int) { return std::string(R"("a":0)"); });
  const auto numbers = many([](int) { return std::string("1"); });
  const auto slice = [&](const std::string& attribute) {
    return fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","spec":{{"devices":[{{"name":)"
        R"("d","attributes":{{"{}":{}}}}}]}}}})",
        key, attribute);
  };
  const api::KindInfo& kind = *api::FindKind("resource.k8s.io/v1", "ResourceSlice");
  api::JsonDecoder decoder;
  for (const std::string& body :
       {slice("{" + unknown + "}"), slice(R"({"string":"x","x":{)" + repeated + "}}")}) {
    const auto warned = DecodeBody(decoder, body, BodyFormat::kJson, kind, FieldValidation::kWarn);
    ASSERT_TRUE(warned.ok()) << base::Message(warned.status()).substr(0, 200);
    EXPECT_EQ(warned->warnings.size(), 100u);
    for (const std::string& warning : warned->warnings) EXPECT_LT(warning.size(), 600u);
    const auto refused =
        DecodeBody(decoder, body, BodyFormat::kJson, kind, FieldValidation::kStrict);
    EXPECT_LT(base::Message(refused.status()).size(), 100'000u);
  }
  const auto mistaken = DecodeBody(decoder, slice(R"({"strings":[)" + numbers + "]}"),
                                   BodyFormat::kJson, kind, FieldValidation::kWarn);
  ASSERT_FALSE(mistaken.ok());
  EXPECT_LT(base::Message(mistaken.status()).size(), 1'000'000u);
  EXPECT_THAT(std::string(base::Message(mistaken.status())), HasSubstr("it has more faults"));
}

class BadBodyTest : public ::testing::TestWithParam<BadBody> {};

TEST_P(BadBodyTest, IsABadRequestThatSaysWhy) {
  const auto decoded = Decode(GetParam().body, GetParam().validation);
  ASSERT_FALSE(decoded.ok());
  const ApiError error = FromStatus(decoded.status());
  EXPECT_EQ(error.code, 400);
  EXPECT_EQ(error.reason, "BadRequest");
  EXPECT_THAT(error.message, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Bodies, BadBodyTest,
    ::testing::ValuesIn(std::vector<BadBody>{
        {"cut_off", R"({"apiVersion":)",
         "the object provided is unrecognized (must be of type DeviceClass): couldn't get "
         "version/kind; json parse error: "},
        {"another_kind", R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice"})",
         "ResourceSlice in version \"v1\" cannot be handled as a DeviceClass: converting "
         "(v1.ResourceSlice) to (resource.DeviceClass): unknown conversion"},
        {"no_such_kind", R"({"apiVersion":"resource.k8s.io/v1","kind":"Nonsense"})",
         "no kind \"Nonsense\" is registered for version \"resource.k8s.io/v1\""},
        {"another_version", R"({"apiVersion":"resource.k8s.io/v1beta1","kind":"DeviceClass"})",
         "the API version in the data (resource.k8s.io/v1beta1) does not match the expected API "
         "version (resource.k8s.io/v1)"},
        {"a_list", R"([])", "must be of type DeviceClass"},
        {"wrong_type", R"({"spec":{"extendedResourceName":3}})",
         "DeviceClass in version \"v1\" cannot be handled as a DeviceClass: "
         "spec.extendedResourceName: "},
        {"unknown_field", R"({"metadata":{"name":"a"},"spec":{"selektors":[],"x":1}})",
         "cannot be handled as a DeviceClass: strict decoding error: unknown field "
         "\"spec.selektors\", unknown field \"spec.x\"",
         FieldValidation::kStrict},
        {"field_twice", R"({"metadata":{"name":"a","name":"b"}})",
         "strict decoding error: duplicate field \"metadata.name\"", FieldValidation::kStrict},
    }),
    [](const auto& info) { return info.param.name; });

// What is missing is then said by the object's rules.
TEST(DecodeBody, NullSaysNothing) {
  for (const char* body : {"null", " null\n"}) {
    const auto decoded = Decode(body, FieldValidation::kStrict);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(decoded->object.metadata().name, "");
  }
  EXPECT_FALSE(Decode("nul", FieldValidation::kStrict).ok());
  EXPECT_FALSE(Decode("", FieldValidation::kStrict).ok());
}

TEST(DecodeBody, UnknownFieldsAreToldAndDropped) {
  const auto decoded = Decode(R"({"metadata":{"name":"a"},"spec":{"selektors":[]}})");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_THAT(decoded->warnings, ElementsAre("unknown field \"spec.selektors\""));
  EXPECT_EQ(decoded->object.ToJson(),
            R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"a"},)"
            R"("spec":{}})");
}

TEST(DecodeBody, UnknownFieldsAreDroppedSilentlyWhenIgnored) {
  const auto decoded =
      Decode(R"({"metadata":{"name":"a"},"spec":{"selektors":[]}})", FieldValidation::kIgnore);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_THAT(decoded->warnings, IsEmpty());
}

TEST(DecodeBody, OfFieldsThatComeTwiceTheLastCounts) {
  const auto decoded = Decode(R"({"metadata":{"name":"a","name":"b"}})");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->object.metadata().name, "b");
  EXPECT_THAT(decoded->warnings, ElementsAre("duplicate field \"metadata.name\""));
}

TEST(DecodeBody, TakesYaml) {
  const auto decoded = Decode("kind: DeviceClass\nmetadata:\n  name: a\n", FieldValidation::kStrict,
                              BodyFormat::kYaml);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->object.metadata().name, "a");
}

}  // namespace
}  // namespace dray::rest
