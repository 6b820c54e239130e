// SPDX-License-Identifier: Apache-2.0
#include "api/yaml_text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace dray::api {
namespace {

DocumentNode FromJson(const std::string& json) {
  std::vector<Diagnostic> diagnostics;
  DocumentNode node = ParseJson(json, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << json;
  return node;
}

std::string BackAsJson(const std::string& yaml) {
  std::vector<Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = ParseYaml(yaml, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << yaml;
  return documents.size() == 1 ? ToJson(documents[0]) : "not one document";
}

struct TextCase {
  std::string name;
  std::string json;
  std::string want;
  friend void PrintTo(const TextCase& c, std::ostream* os) { *os << c.name; }
};
class YamlTextTest : public ::testing::TestWithParam<TextCase> {};

TEST_P(YamlTextTest, IsWrittenAsKubectlDoesAndReadBack) {
  const DocumentNode node = FromJson(GetParam().json);
  EXPECT_EQ(ToYaml(node), GetParam().want);
  EXPECT_EQ(BackAsJson(ToYaml(node)), ToJson(node));
}

INSTANTIATE_TEST_SUITE_P(
    Api, YamlTextTest,
    ::testing::ValuesIn(std::vector<TextCase>{
        {"map", R"({"a":"x","b":{"c":1}})", "a: x\nb:\n  c: 1\n"},
        {"lists_stand_below_their_key", R"({"a":[{"b":"x","c":true},"w"]})",
         "a:\n- b: x\n  c: true\n- w\n"},
        {"lists_in_lists", R"({"a":[["x","w"],["z"]]})", "a:\n- - x\n  - w\n- - z\n"},
        {"a_list_at_the_top", R"(["x",{"b":["w"]}])", "- x\n- b:\n  - w\n"},
        {"empty_ones", R"({"a":{},"b":[],"c":null,"d":""})", "a: {}\nb: []\nc: null\nd: \"\"\n"},
        {"words_that_are_not_text", R"({"on":"yes","b":"Null","c":"nothing"})",
         "\"on\": \"yes\"\nb: \"Null\"\nc: nothing\n"},
        {"numbers_that_are_text", R"({"a":"1","b":"1e3","c":"0x1f","d":"100m","e":"1.5Gi"})",
         "a: \"1\"\nb: \"1e3\"\nc: \"0x1f\"\nd: 100m\ne: 1.5Gi\n"},
        {"times_and_ids", R"({"t":"2026-01-02T03:04:05Z","u":"5f8a0b1e-3f0d"})",
         "t: \"2026-01-02T03:04:05Z\"\nu: 5f8a0b1e-3f0d\n"},
        {"colons_and_comments", R"({"a":"b: c","d":"e #f","g":"h:i","j":"k#l"})",
         "a: \"b: c\"\nd: \"e #f\"\ng: h:i\nj: k#l\n"},
        {"lines", R"({"a":"x\ny\n","b":{"c":"x\n\ny"}})",
         "a: |\n  x\n  y\nb:\n  c: |-\n    x\n\n    y\n"},
        {"lines_that_a_block_would_change", R"({"a":" x\ny","b":"x \ny","c":"x\n\n"})",
         "a: \" x\\ny\"\nb: \"x \\ny\"\nc: \"x\\n\\n\"\n"},
        {"characters_that_yaml_refuses", "{\"a\":\"\x7f\xc2\x85\xe2\x80\xa8\xef\xbb\xbf\"}",
         "a: \"\\u007f\\u0085\\u2028\\ufeff\"\n"},
    }),
    [](const auto& info) { return info.param.name; });

DocumentNode RandomNode(std::mt19937& random, int depth) {
  static const std::vector<std::string> pieces = {"a",        "B",
                                                  "0",        "7",
                                                  "e",        "x",
                                                  ".",        "-",
                                                  "_",        ":",
                                                  " ",        "#",
                                                  "\n",       "'",
                                                  "\"",       "\\",
                                                  "{",        "]",
                                                  "&",        "*",
                                                  "!",        "|",
                                                  ">",        "%",
                                                  "@",        "`",
                                                  "~",        "?",
                                                  ",",        "=",
                                                  "\t",       "\xc3\xa9",
                                                  "\x7f",     "yes",
                                                  "null",     "+",
                                                  "\xc2\x85", "\xf0\x9f\x98\x80",
                                                  "\r"};
  const auto text = [&] {
    std::string out;
    for (std::uint32_t n = random() % 5; n > 0; --n) out += pieces[random() % pieces.size()];
    return out;
  };
  DocumentNode node;
  const std::uint32_t kind = random() % (depth > 0 ? 6 : 4);
  node.kind = static_cast<DocumentNode::Kind>(kind);
  if (node.kind == DocumentNode::Kind::kBool) node.boolean = random() % 2 == 0;
  if (node.kind == DocumentNode::Kind::kNumber) node.text = std::to_string(random() % 1000);
  if (node.kind == DocumentNode::Kind::kString) node.text = text();
  if (node.kind == DocumentNode::Kind::kList) {
    for (std::uint32_t n = random() % 4; n > 0; --n) {
      node.items.push_back(RandomNode(random, depth - 1));
    }
  }
  if (node.kind == DocumentNode::Kind::kMap) {
    for (std::uint32_t n = random() % 4; n > 0; --n) {
      node.members.push_back({text() + std::to_string(n), {}, RandomNode(random, depth - 1)});
    }
  }
  return node;
}

TEST(YamlText, AnyTreeIsReadBack) {
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    DocumentNode node;
    node.kind = DocumentNode::Kind::kMap;
    node.members.push_back({"root", {}, RandomNode(random, 4)});
    ASSERT_EQ(BackAsJson(ToYaml(node)), ToJson(node)) << "round " << i << "\n" << ToYaml(node);
  }
}

}  // namespace
}  // namespace dray::api
