// SPDX-License-Identifier: Apache-2.0
//
// Where the two decoders could disagree, and what hostile input may cost. fuzz/json_decode_fuzz.cc
// and fuzz/yaml_decode_fuzz.cc look for more of the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/event.h"
#include "api/json.h"
#include "api/kinds.h"
#include "api/namespace.h"
#include "api/pod.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <typename T>
T Read(std::string_view json) {
  JsonDecoder decoder;
  const auto value = decoder.Decode<T>(json);
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? *value : T();
}

std::string Brackets(int depth, std::string_view inside) {
  return std::string(static_cast<std::size_t>(depth), '[') + std::string(inside) +
         std::string(static_cast<std::size_t>(depth), ']');
}

std::string FirstMessage(const std::vector<Diagnostic>& diagnostics) {
  return diagnostics.empty() ? "" : diagnostics.front().message;
}

TEST(Codec, LastOfTwoKindsCounts) {
  JsonDecoder decoder;
  const auto meta = decoder.PeekType(R"({"apiVersion":"v1","kind":"Node","kind":"Pod"})");
  ASSERT_TRUE(meta.ok());
  EXPECT_EQ(meta->kind, "Pod");
  // A kind that is no string is none.
  EXPECT_EQ(decoder.PeekType(R"({"kind":"Pod","kind":5})")->kind, "");
}

TEST(Codec, LastOfTwoUnknownFieldsCountsInTheFirstsPlace) {
  const auto pod = Read<Pod>(R"({"new":1,"other":2,"new":{"a":3}})");
  EXPECT_EQ(EncodeJson(pod), R"({"new":{"a":3},"other":2})");
  // 0.5 sends the same through the tree.
  const auto tree = Read<Pod>(R"({"new":1,"other":0.5,"new":{"a":3}})");
  EXPECT_EQ(EncodeJson(tree), R"({"new":{"a":3},"other":0.5})");
}

TEST(Codec, DepthIsBoundedAlikeInBothDecoders) {
  const std::string fits = R"({"x":)" + Brackets(kMaxDocumentDepth - 1, "1") + "}";
  const std::string deeper = R"({"x":)" + Brackets(kMaxDocumentDepth, "1") + "}";
  EXPECT_EQ(EncodeJson(Read<Pod>(fits)), fits);
  JsonDecoder decoder;
  EXPECT_THAT(decoder.Decode<Pod>(deeper).status().ToString(), HasSubstr("nested deeper"));
  std::vector<Diagnostic> diagnostics;
  ParseJson(fits, diagnostics);
  EXPECT_THAT(diagnostics, IsEmpty());
}

TEST(Codec, MicroTimeIsReadAsExactlyAsItIsWritten) {
  const auto event = Read<Event>(R"({"eventTime":"2026-01-02T03:04:05.123456789Z"})");
  EXPECT_EQ(event.event_time->time.nanos(), 123'456'000);
  EXPECT_EQ(Read<Event>(EncodeJson(event)), event);
}

// The offset carries it into the year 10000, which nobody can read.
TEST(Codec, TimeThatCannotBeWrittenIsRefused) {
  JsonDecoder decoder;
  const auto pod = decoder.Decode<Pod>(R"({"status":{"startTime":"9999-12-31T23:59:59-23:59"}})");
  EXPECT_THAT(pod.status().ToString(), HasSubstr("a year from 0000 to 9999"));
}

// A search per field would take minutes here.
TEST(Codec, ManyUnknownFieldsAreReadInReasonableTime) {
  std::string json = "{\"u\":0.5";
  std::string labels;
  for (int i = 0; i < 200'000; ++i) {
    json += fmt::format(",\"f{}\":1", i);
    labels += fmt::format("{}\"l{}\":\"\"", i == 0 ? "" : ",", i);
  }
  json += ",\"metadata\":{\"labels\":{" + labels + "}}}";
  EXPECT_THAT(Read<Namespace>(json).metadata.labels, SizeIs(200'000));
}

TEST(Yaml, AliasesDoNotNestDeeperThanADocumentMay) {
  std::string text = "a0: &a0 " + Brackets(90, "x") + "\n";
  for (int i = 1; i < 4; ++i) {
    text += fmt::format("a{}: &a{} {}\n", i, i, Brackets(90, fmt::format("*a{}", i - 1)));
  }
  std::vector<Diagnostic> diagnostics;
  EXPECT_THAT(ParseYaml(text, diagnostics), IsEmpty());
  EXPECT_THAT(FirstMessage(diagnostics), HasSubstr("nested deeper"));
}

// Every anchor keeps a copy of what is inside it: 150 of them around a long list.
TEST(Yaml, AnchorsInsideEachOtherAreBounded) {
  std::string text;
  for (int i = 0; i < 150; ++i) text += fmt::format("&a{} [", i);
  for (int i = 0; i < 20'000; ++i) text += "x,";
  text += std::string(150, ']');
  std::vector<Diagnostic> diagnostics;
  EXPECT_THAT(ParseYaml(text, diagnostics), IsEmpty());
  EXPECT_THAT(FirstMessage(diagnostics), HasSubstr("anchors and aliases expand"));
}

TEST(Yaml, MergeKeysTakeWhatTheMapHasNot) {
  std::vector<Diagnostic> diagnostics;
  const auto documents =
      ParseYaml("b: &b {i: 1, j: 2}\nm: &m {j: 3, k: 4}\na: {<<: [*b, *m], i: 9}\n", diagnostics);
  ASSERT_THAT(documents, ElementsAre(Field(&DocumentNode::kind, DocumentNode::Kind::kMap)));
  EXPECT_EQ(ToJson(documents[0].Find("a")->value), R"({"i":9,"j":2,"k":4})");
}

}  // namespace
}  // namespace dray::api
