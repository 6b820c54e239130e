// SPDX-License-Identifier: Apache-2.0
#include "api/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/json.h"
#include "api/namespace.h"

namespace dray::api {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string YamlAsJson(std::string_view text) {
  std::vector<Diagnostic> diagnostics;
  std::string out;
  for (const DocumentNode& node : ParseYaml(text, diagnostics)) {
    if (!out.empty()) out += "\n";
    out += ToJson(node);
  }
  for (const Diagnostic& diagnostic : diagnostics) out += "!" + ToString(diagnostic);
  return out;
}

TEST(Yaml, ScalarsAreWhatKubectlMakesOfThem) {
  EXPECT_EQ(
      YamlAsJson("[yes, No, on, 'yes', ~, null, '', 1, -0x10, 010, 0o10, 0b11, 1_000, 1.50, 1e3, "
                 ".5, 10Gi, 2020-01-01]"),
      R"([true,false,true,"yes",null,null,"",1,-16,8,8,3,1000,1.5,1000,0.5,"10Gi","2020-01-01"])");
  EXPECT_EQ(YamlAsJson("[!!str 1, \"\\u00e9\", 0xZZ, -, 1.2.3, 18446744073709551615, 1:30]"),
            R"(["1","é","0xZZ","-","1.2.3",18446744073709551615,"1:30"])");
  EXPECT_EQ(YamlAsJson("{1: a, y: b, 1.5: c}"), R"({"1":"a","true":"b","1.5":"c"})");
  EXPECT_THAT(YamlAsJson("{null: c}"), HasSubstr("null cannot be a key"));
  EXPECT_THAT(YamlAsJson("{~: c}"), HasSubstr("null cannot be a key"));
}

TEST(Yaml, NumbersAreWhatGoMakesOfThem) {
  EXPECT_EQ(YamlAsJson("[_1, 1_, -_1, 1_000.5, .5_0, +7, -0, -0.0, 08, 1e-7, 1e21, 123456789e12]"),
            R"(["_1",1,-1,1000.5,".5_0",7,0,-0,8,1e-7,1e+21,123456789000000000000])");
  // Beyond 64 bits they are floats, and no longer the integers that were written.
  EXPECT_EQ(YamlAsJson("[-9223372036854775808, -9223372036854775809, 18446744073709551616]"),
            "[-9223372036854775808,-9223372036854776000,18446744073709552000]");
}

TEST(Yaml, TagsSayWhatAScalarIs) {
  EXPECT_EQ(YamlAsJson("[!!binary aGk=, !!binary \"aGk=\", !!int \"5\", !!float 1, !mine 5, ! 5]"),
            R"(["hi","hi",5,1,"5","5"])");
  EXPECT_EQ(YamlAsJson("a: !!binary |\n  aGVs\n  bG8=\n"), R"({"a":"hello"})");
  for (const char* wrong : {"!!int abc", "!!int 1.5", "!!bool 1", "!!null x", "!!binary a",
                            "!!binary \"a===\"", "!!binary /w=="}) {
    EXPECT_THAT(YamlAsJson(std::string("a: ") + wrong), HasSubstr("!1:4")) << wrong;
  }
}

TEST(Yaml, AByteOrderMarkIsPassedOver) {
  EXPECT_EQ(YamlAsJson("\xEF\xBB\xBF"
                       "a: 1"),
            R"({"a":1})");
}

TEST(Yaml, ReadsManyDocumentsAndLeavesEmptyOnesOut) {
  EXPECT_EQ(YamlAsJson("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n...\n"), "{\"a\":1}\n{\"b\":2}");
}

TEST(Yaml, AnchorsAliasesAndMergeKeysAreExpanded) {
  EXPECT_EQ(
      YamlAsJson(
          "base: &b {x: 1, w: 2}\nuse: {<<: *b, w: 3}\nlist: {<<: [*b, {z: 4}]}\nalso: *b\n"),
      R"({"base":{"x":1,"w":2},"use":{"w":3,"x":1},"list":{"x":1,"w":2,"z":4},"also":{"x":1,"w":2}})");
  EXPECT_THAT(YamlAsJson("a: *nowhere"), HasSubstr("nowhere"));
}

TEST(Yaml, AnAliasBombIsRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    std::string line = "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) line += "*a" + std::to_string(i - 1) + (k < 9 ? ", " : "]\n");
    bomb += line;
  }
  EXPECT_THAT(YamlAsJson(bomb), HasSubstr("aliases expand to more than"));
}

// Few values, each of them long.
TEST(Yaml, AnAliasBombOfTextIsRefused) {
  std::string bomb = "a: &a " + std::string(100'000, 'x') + "\nb: [";
  for (int i = 0; i < 400; ++i) bomb += "*a, ";
  EXPECT_THAT(YamlAsJson(bomb + "x]\n"), HasSubstr("expand to more than 33554432 bytes"));
}

TEST(Yaml, SyntaxErrorsHaveAPositionAndKeepWhatCameBefore) {
  const std::string text = YamlAsJson("a: 1\n---\nb: [1, 2\nc: 3\n");
  EXPECT_THAT(text, HasSubstr("{\"a\":1}"));
  EXPECT_THAT(text, HasSubstr("!4:"));
  EXPECT_THAT(YamlAsJson("a:\n\t- b\n"), HasSubstr("tabs cannot indent YAML"));
}

TEST(Yaml, DeepNestingIsRefused) {
  EXPECT_THAT(YamlAsJson(std::string(5000, '[')), HasSubstr("nested deeper than"));
}

TEST(Yaml, NumbersWithoutAJsonFormAreRefused) {
  EXPECT_THAT(YamlAsJson("a: .inf"), HasSubstr("no JSON form"));
}

TEST(DecodeNode, AMissingSeparatorBetweenDocumentsIsSuspected) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n",
      diagnostics);
  Namespace object;
  DecodeNode(documents.at(0), TypeInfoOf<Namespace>(), &object, Severity::kWarning, diagnostics);
  ASSERT_THAT(diagnostics, SizeIs(3));
  for (const Diagnostic& diagnostic : diagnostics) {
    EXPECT_THAT(ToString(diagnostic), HasSubstr("is a line --- missing between two objects?"));
  }
  EXPECT_EQ(object.metadata.name, "b");
}

TEST(JsonDocument, ValuesAndKeysKnowTheirPosition) {
  std::vector<Diagnostic> diagnostics;
  const DocumentNode root = ParseJson("{\n  \"a\": {\"b\": [1,\n   true]}}", diagnostics);
  ASSERT_THAT(diagnostics, IsEmpty());
  const Member& a = root.members[0];
  EXPECT_EQ(a.key_position, (Position{2, 3}));
  EXPECT_EQ(a.value.position, (Position{2, 8}));
  ASSERT_THAT(a.value.members[0].value.items, SizeIs(2));
  EXPECT_EQ(a.value.members[0].value.items[1].position, (Position{3, 4}));
}

TEST(Locate, FindsFieldsItemsAndKeysAndTheClosestThatThereIs) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(
      "spec:\n"
      "  devices:\n"
      "  - name: a\n"
      "    attributes:\n"
      "      x.com/y: {int: 1}\n"
      "  - name: b\n",
      diagnostics);
  ASSERT_THAT(documents, SizeIs(1));
  const base::FieldPath devices = base::FieldPath("spec") / "devices";
  EXPECT_EQ(Locate(documents[0], devices.Index(1) / "name"), (Position{6, 5}));
  EXPECT_EQ(Locate(documents[0], (devices.Index(0) / "attributes").Key("x.com/y")),
            (Position{5, 7}));
  EXPECT_EQ(Locate(documents[0], devices.Index(1) / "capacity"), (Position{6, 5}))
      << "the device itself";
  EXPECT_EQ(Locate(documents[0], devices.Index(7)), (Position{2, 3})) << "the list";
}

TEST(Locate, SeesThroughV1beta1Nesting) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(
      "requests:\n"
      "- name: a\n"
      "  count: 0\n"
      "devices:\n"
      "- name: d\n"
      "  basic:\n"
      "    taints: []\n",
      diagnostics);
  ASSERT_THAT(documents, SizeIs(1));
  EXPECT_EQ(Locate(documents[0], base::FieldPath("requests").Index(0) / "exactly" / "count"),
            (Position{3, 3}));
  EXPECT_EQ(Locate(documents[0], base::FieldPath("devices").Index(0) / "taints"), (Position{7, 5}));
}

}  // namespace
}  // namespace dray::api
