// SPDX-License-Identifier: Apache-2.0
//
// What belongs to others stays as they wrote it: parameters, device data, fields of newer versions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/document.h"
#include "api/internal/json_cursor.h"
#include "api/json.h"
#include "api/resource_claim.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

// A claim whose second configuration has these parameters, between texts that mislead whoever
// searches for them.
std::string ClaimWith(std::string_view parameters, std::string_view extra = "") {
  return fmt::format(
      R"({{"metadata":{{"name":"c","annotations":{{"a":"\"parameters\":{{\\\"x\\\":1}}"}}}},"spec":{{"devices":{{)"
      R"("config":[{{"opaque":{{"driver":"one","parameters":{{"first":"\u00e4"}}}}}},{{"opaque":{{"driver":"two","parameters": {} }}}}]}}}}{}}})",
      parameters, extra);
}

const std::string& ParametersOf(const ResourceClaim& claim) {
  return claim.spec.devices.config[1].opaque->parameters.text;
}

ResourceClaim Fast(const std::string& json) {
  JsonDecoder decoder;
  auto claim = decoder.Decode<ResourceClaim>(json);
  EXPECT_TRUE(claim.ok()) << claim.status() << "\n" << json;
  return claim.ok() ? *std::move(claim) : ResourceClaim{};
}

ResourceClaim Explained(const std::string& json) {
  std::vector<Diagnostic> diagnostics;
  const DocumentNode root = ParseJson(json, diagnostics);
  ResourceClaim claim;
  DecodeNode(root, TypeInfoOf<ResourceClaim>(), &claim, Severity::kWarning, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics) {
    EXPECT_NE(diagnostic.severity, Severity::kError) << diagnostic.message << "\n" << json;
  }
  return claim;
}

TEST(RawJson, EachTokenStaysAsItIsWritten) {
  for (const std::string_view parameters :
       {R"({})", R"([])", R"({"a":"b"})", R"({"a":"\u003cx\u003e \u0026"})", R"({"a":"\u00e4ä"})",
        R"({"a":"\/\b\f\n\r\t\\\""})", R"({"\u0061":{"\/":[]}})",
        R"({"n":[1.0,1e3,1E+3,0.10,-0,-0.0,0,12345678901234567890]})",
        R"({"deep":[[[{"x":null,"y":[true,false]}]]]})", R"({"same":1,"same":2})",
        R"({"emoji":"\ud83d\ude00"})", R"({"control":"\u0000\u001f"})"}) {
    const std::string json = ClaimWith(parameters);
    EXPECT_EQ(ParametersOf(Fast(json)), parameters);
    EXPECT_EQ(ParametersOf(Explained(json)), parameters);
    EXPECT_THAT(EncodeJson(Fast(json)), ::testing::HasSubstr(parameters));
  }
}

TEST(RawJson, BlanksBetweenTokensGoAndThoseInStringsStay) {
  const std::string json = ClaimWith("{ \"a b\" :\n[ 1.0 ,\t\"c  \\\" d\" ] , \"e\" : { } }");
  EXPECT_EQ(ParametersOf(Fast(json)), R"({"a b":[1.0,"c  \" d"],"e":{}})");
  EXPECT_EQ(ParametersOf(Explained(json)), R"({"a b":[1.0,"c  \" d"],"e":{}})");
}

TEST(RawJson, FieldsOfNewerVersionsStayAsTheyAreWritten) {
  const std::string json = ClaimWith("{}", R"(,"newer":{"\u003c":1.0,"b":"\/"},"older":-0)");
  for (const ResourceClaim& claim : {Fast(json), Explained(json)}) {
    EXPECT_THAT(EncodeJson(claim), ::testing::HasSubstr(R"("newer":{"\u003c":1.0,"b":"\/"})"));
    EXPECT_THAT(EncodeJson(claim), ::testing::HasSubstr(R"("older":-0)"));
  }
}

TEST(RawJson, IsTheSameInOtherWords) {
  const auto same = [](std::string_view a, std::string_view b) {
    return RawJson{std::string(a)} == RawJson{std::string(b)};
  };
  EXPECT_TRUE(same(R"({"a":"\u003c"})", R"({ "a" : "<" })"));
  EXPECT_TRUE(same(R"({"\u0061":1})", R"({"a":1})"));
  EXPECT_TRUE(same(R"("\/")", R"("/")"));
  EXPECT_TRUE(same("", ""));
  EXPECT_FALSE(same("", "null"));
  EXPECT_FALSE(same("{}", "[]"));
  EXPECT_FALSE(same(R"({"a":1})", R"({"a":1.0})"));
  EXPECT_FALSE(same(R"({"a":1,"b":2})", R"({"b":2,"a":1})"));
  EXPECT_FALSE(same(R"({"a":"<"})", R"({"a":"\\u003c"})"));
  EXPECT_FALSE(same(R"("a")", R"("a\"")"));
  EXPECT_FALSE(same(R"("a b")", R"("ab")"));
  EXPECT_FALSE(same(R"(["a"])", R"(["a","b"])"));
  EXPECT_FALSE(same("[1]", "[10]"));
  EXPECT_FALSE(same("[1,2]", "[1,2"));
  EXPECT_FALSE(same("[1", "[1 "));  // neither is JSON
}

// Each character in one of the ways in which it can be written, blanks where they may be.
TEST(RawJson, IsTheSameHoweverItIsWrittenAndOnlyThen) {
  const std::vector<std::vector<std::string>> characters = {{"a", R"(\u0061)"},
                                                            {R"(\")", R"(\u0022)"},
                                                            {R"(\\)", R"(\u005c)"},
                                                            {"/", R"(\/)", R"(\u002F)"},
                                                            {R"(\n)", R"(\u000a)"},
                                                            {R"(\t)", R"(\u0009)"},
                                                            {"é", R"(\u00e9)"},
                                                            {"<", R"(\u003C)"},
                                                            {" "},
                                                            {"u"},
                                                            {"0"}};
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto written = [&](const std::vector<std::vector<std::size_t>>& strings) {
    const auto blank = [&] { return std::string(below(3) == 0 ? " " : ""); };
    std::string text = "[";
    for (const std::vector<std::size_t>& string : strings) {
      if (text.size() > 1) text += "," + blank();
      text += "\"";
      for (const std::size_t c : string) text += characters[c][below(characters[c].size())];
      text += "\"" + blank();
    }
    return RawJson{text + "]"};
  };
  int differ = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::vector<std::size_t>> strings(1 + below(3));
    for (auto& string : strings) {
      string.resize(below(5));
      for (std::size_t& c : string) c = below(characters.size());
    }
    auto others = strings;
    std::vector<std::size_t>& changed = others[below(others.size())];
    const std::size_t how = below(4);
    if (how == 0) changed.push_back(below(characters.size()));
    if (how == 1 && !changed.empty()) changed[below(changed.size())] = below(characters.size());
    if (how == 2) others.emplace_back();
    const RawJson a = written(strings);
    const RawJson b = written(others);
    EXPECT_EQ(a == b, strings == others) << a.text << "\n" << b.text;
    differ += strings != others;
  }
  EXPECT_GT(differ, 1000);
}

TEST(JsonCursor, FindsValuesInTheDocumentsOrder) {
  internal::JsonCursor cursor(R"( {"a" : [1, {"b":"]}\""} , []], "c":{"d":{"e":2}} } )");
  const auto find = [&](std::vector<std::uint32_t> path) { return cursor.Find(path); };
  EXPECT_EQ(find({0, 0}), "1");
  EXPECT_EQ(find({0, 1}), R"({"b":"]}\""})");
  EXPECT_EQ(find({0, 1, 0}), R"("]}\"")");
  EXPECT_EQ(find({0, 2}), "[]");
  EXPECT_EQ(find({1, 0, 0}), "2");
  EXPECT_EQ(find({2}), "");
}

// Nasty values, written in one of the many ways in which each can be.
class Writer {
 public:
  explicit Writer(std::mt19937& random) : random_(random) {}

  std::string Value(int depth) {
    switch (Below(depth > 0 ? 7 : 5)) {
      case 0:
        return Pick({"null", "true", "false"});
      case 1:
        return Pick({"0", "-0", "1", "-17", "1.0", "1e3", "1E-2", "0.10", "-0.0", "1e0",
                     "9223372036854775807", "18446744073709551615"});
      case 5:
      case 6:
        return Container(depth);
      default:
        return String();
    }
  }

  std::string Container(int depth) {
    const bool map = Below(2) == 0;
    std::string out = map ? "{" : "[";
    const std::size_t size = Below(4);
    for (std::size_t i = 0; i < size; ++i) {
      if (i > 0) out += ',';
      if (map) out += fmt::format("{}:", String());
      out += Value(depth - 1);
    }
    return out + (map ? "}" : "]");
  }

 private:
  std::size_t Below(std::size_t n) { return random_() % n; }
  std::string Pick(std::vector<std::string> from) { return from[Below(from.size())]; }
  std::string String() {
    std::string out = "\"";
    for (std::size_t i = Below(5); i > 0; --i) {
      out += Pick({"a", "<",    ">",    "&",   "\\u003c", "\\u0026", "\\/",
                   "/", "\\\\", "\\\"", "\\n", "ä",       "\\u00e4", "\\ud83d\\ude00",
                   "{", "]",    ":",    ",",   " ",       "\\u0000", "parameters"});
    }
    return out + '"';
  }

  std::mt19937& random_;
};

std::string WithBlanks(const std::string& json, std::mt19937& random) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const bool token = std::string_view("{}[]:,").find(json[i]) != std::string_view::npos;
    if (!in_string && token && random() % 2 == 0) out += " \n\t"[random() % 3];
    out += json[i];
    if (!in_string && token && random() % 2 == 0) out += ' ';
    if (json[i] == '\\' && in_string) {
      out += json[++i];
    } else if (json[i] == '"') {
      in_string = !in_string;
    }
  }
  return out;
}

TEST(RawJson, WhateverIsReadIsWrittenBack) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  Writer writer(random);
  for (int i = 0; i < 3000; ++i) {
    const std::string parameters = writer.Container(4);
    const std::string json = ClaimWith(WithBlanks(parameters, random));
    ASSERT_EQ(ParametersOf(Fast(json)), parameters) << json;
    ASSERT_EQ(ParametersOf(Explained(json)), parameters) << json;
    ASSERT_EQ(ParametersOf(Fast(EncodeJson(Fast(json)))), parameters);
    ASSERT_TRUE(RawJson{parameters} == RawJson{WithBlanks(parameters, random)});
  }
}

// Every value of a document with its path, byte by byte.
class SlowWalk {
 public:
  using Path = std::vector<std::uint32_t>;
  explicit SlowWalk(const std::string& json) : json_(json) { Value({}); }
  const std::vector<std::pair<Path, std::string>>& values() const { return values_; }

 private:
  void Blanks() {
    while (at_ < json_.size() && std::string_view(" \n\t\r").find(json_[at_]) != std::string::npos)
      ++at_;
  }
  void Text() {
    for (++at_; json_[at_] != '"'; ++at_) at_ += json_[at_] == '\\' ? 1 : 0;
    ++at_;
  }
  void Value(const Path& path) {
    Blanks();
    const std::size_t begin = at_;
    const std::size_t place = values_.size();
    values_.push_back({path, ""});
    if (json_[at_] == '"') {
      Text();
    } else if (json_[at_] == '{' || json_[at_] == '[') {
      const bool map = json_[at_++] == '{';
      Blanks();
      for (std::uint32_t i = 0; json_[at_] != '}' && json_[at_] != ']'; ++i) {
        if (json_[at_] == ',') ++at_;
        Blanks();
        if (map) {
          Text();
          Blanks();
          ++at_;
        }
        Path inner = path;
        inner.push_back(i);
        Value(inner);
        Blanks();
      }
      ++at_;
    } else {
      while (at_ < json_.size() &&
             std::string_view(",:]} \n\t\r").find(json_[at_]) == std::string::npos)
        ++at_;
    }
    values_[place].second = json_.substr(begin, at_ - begin);
  }

  const std::string json_;
  std::size_t at_ = 0;
  std::vector<std::pair<Path, std::string>> values_;
};

TEST(JsonCursor, WhicheverValuesAreAskedForInOrderAreFound) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  Writer writer(random);
  for (int i = 0; i < 2000; ++i) {
    const std::string compact = writer.Container(5);
    const std::string json = i % 2 == 0 ? compact : WithBlanks(compact, random);
    const SlowWalk all(json);
    internal::JsonCursor cursor(json);
    const unsigned share = 1 + random() % 6;
    for (const auto& [path, text] : all.values()) {
      if (random() % share != 0) continue;
      ASSERT_EQ(cursor.Find(path), text) << json;
    }
    std::string out;
    internal::AppendCompact(json, out);
    ASSERT_EQ(out, compact);
  }
}

}  // namespace
}  // namespace dray::api
