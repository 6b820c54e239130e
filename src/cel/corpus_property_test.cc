// SPDX-License-Identifier: Apache-2.0
//
// Every expression of the recorded cases: parses or does not as recorded, with the recorded text
// where that is not a generated syntax error; prints back to the same tree; has a node at every
// place that was complained about. The counts are printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "cel/parser.h"
#include "cel/unparse.h"
#include "testing/recorded_cases.h"

namespace dray::cel {
namespace {

using api::DocumentNode;

constexpr std::string_view kCompilationFailed = "compilation failed: ";

// What an expression is recorded to do.
struct Recorded {
  std::string name;
  std::string expression;
  MacroSet macros = MacroSet::Dra();
  std::vector<std::string> texts;     // full compile errors
  std::vector<std::string> messages;  // bare ones
};

// Whether a message comes from parsing; the rest are the type checker's.
bool IsParseMessage(std::string_view message) {
  constexpr std::array<std::string_view, 14> kBeginnings = {
      "Syntax error: ",
      "reserved identifier: ",
      "invalid int literal",
      "invalid uint literal",
      "invalid double literal",
      "argument must be a simple name",
      "argument is not an identifier",
      "duplicate variable name: ",
      "iteration variable overwrites accumulator variable",
      "invalid argument to has() macro",
      "max recursion depth exceeded",
      "expression recursion limit exceeded: ",
      "error recovery ",
      "unsupported syntax"};
  return std::ranges::any_of(kBeginnings, [&](auto b) { return message.starts_with(b); });
}

struct Place {
  Location at;
  std::string message;
};

// The messages of a full text, with their places.
std::vector<Place> PlacesOf(const std::string& text) {
  static const std::regex pattern("ERROR: <input>:(-?[0-9]+):(-?[0-9]+): ([^\n]*)");
  std::vector<Place> out;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) {
    out.push_back({{std::stoi((*i)[1]), std::stoi((*i)[2]) - 1}, (*i)[3]});
  }
  return out;
}

std::string TextOf(const DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member == nullptr ? "" : member->value.text;
}

void AddTexts(const DocumentNode& node, Recorded& out) {
  for (const api::Member& member : node.members) {
    if ((member.key == "compileError" || member.key == "detail") &&
        member.value.text.starts_with(kCompilationFailed)) {
      out.texts.push_back(member.value.text.substr(kCompilationFailed.size()));
    }
    if (member.key == "compileMessages" || member.key == "messages") {
      for (const DocumentNode& item : member.value.items) out.messages.push_back(item.text);
    }
    AddTexts(member.value, out);
  }
  for (const DocumentNode& item : node.items) AddTexts(item, out);
}

// Every object below `node` that has an expression.
void Gather(const DocumentNode& node, const std::string& file, std::vector<Recorded>& out) {
  std::vector<std::string> expressions;
  for (const char* key : {"expr", "expression"}) {
    if (const api::Member* found = node.Find(key)) expressions.push_back(found->value.text);
  }
  if (const api::Member* found = node.Find("expressions")) {
    // Errors are not told apart by expression, so only a single one is of use.
    if (found->value.items.size() == 1) expressions.push_back(found->value.items[0].text);
  }
  for (const std::string& expression : expressions) {
    Recorded recorded{.name = file + " " + TextOf(node, "name"), .expression = expression};
    AddTexts(node, recorded);
    if (file.starts_with("cel-spec")) recorded.macros = MacroSet::All();
    if (node.Find("disableMacros") != nullptr) recorded.macros = MacroSet();
    out.push_back(std::move(recorded));
  }
  if (!expressions.empty()) return;
  for (const api::Member& member : node.members) Gather(member.value, file, out);
  for (const DocumentNode& item : node.items) Gather(item, file, out);
}

std::vector<Recorded> ReadFolder(const std::filesystem::path& folder) {
  std::vector<Recorded> out;
  for (const auto& file : testing::JsonFilesIn(folder)) {
    std::vector<api::Diagnostic> diagnostics;
    const DocumentNode root = api::ParseJson(testing::ReadFile(file), diagnostics);
    EXPECT_TRUE(diagnostics.empty()) << file;
    Gather(root, folder.filename().string() + "/" + file.filename().string(), out);
  }
  return out;
}

// Where nodes and entries are, as (line, column).
std::set<std::pair<int, int>> NodePlaces(const Source& source, const Ast& ast) {
  std::set<std::pair<int, int>> out;
  const auto add = [&](Offset offset) {
    const Location at = source.LocationAt(offset);
    out.insert({at.line, at.column});
  };
  for (std::uint32_t i = 0; i < ast.size(); ++i) {
    add(ast.offset({i}));
    if (ast.kind({i}) != ExprKind::kMap) continue;
    for (const MapEntry& entry : ast.map({i})) add(entry.offset);
  }
  return out;
}

class CorpusTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Refused, and with the recorded words unless those are a generated parser's.
  void CheckRefused(const Recorded& recorded, const Source& source, const ParseResult& result) {
    ++refused_;
    ASSERT_FALSE(result.ok()) << recorded.name << ": " << recorded.expression;
    const auto generated = [](const std::string& text) {
      return text.find("Syntax error: ") != std::string::npos;
    };
    for (const std::string& text : recorded.texts) {
      if (generated(text)) continue;
      ++texts_;
      EXPECT_EQ(Render(source, result.issues), text) << recorded.name;
    }
    if (recorded.messages.empty() || std::ranges::any_of(recorded.messages, generated)) return;
    std::vector<std::string> messages;
    for (const Issue& issue : result.issues) messages.push_back(issue.message);
    EXPECT_EQ(messages, recorded.messages) << recorded.name << ": " << recorded.expression;
    ++texts_;
  }

  void CheckParsed(const Recorded& recorded, const Source& source, const ParseResult& result,
                   const ParseOptions& options) {
    ++parsed_;
    ASSERT_TRUE(result.ok()) << recorded.name << ": " << Render(source, result.issues);
    nodes_ += result.ast->size();
    const std::string printed = Unparse(*result.ast);
    const Source again(printed);
    const ParseResult reparsed = Parse(again, options);
    ASSERT_TRUE(reparsed.ok()) << recorded.expression << "\n" << Render(again, reparsed.issues);
    EXPECT_TRUE(SameTree(*result.ast, *reparsed.ast)) << recorded.expression << "\n" << printed;
    EXPECT_EQ(Unparse(*reparsed.ast), printed);

    const auto places = NodePlaces(source, *result.ast);
    for (const std::string& text : recorded.texts) {
      for (const Place& place : PlacesOf(text)) {
        ++places_;
        EXPECT_TRUE(places.contains({place.at.line, place.at.column})) << recorded.name << "\n"
                                                                       << text;
      }
    }
  }

  int parsed_ = 0, refused_ = 0, texts_ = 0, places_ = 0, foreign_ = 0;
  std::size_t nodes_ = 0;
};

TEST_P(CorpusTest, ParsesAsRecordedAndPrintsBack) {
  const auto folder = testing::SharedFolder(std::string("conformance/") + GetParam());
  if (!folder) GTEST_SKIP() << "no recorded cases";
  std::chrono::nanoseconds slowest{0};
  for (const Recorded& recorded : ReadFolder(*folder)) {
    const Source source(recorded.expression);
    const ParseOptions options{.macros = recorded.macros};
    const auto start = std::chrono::steady_clock::now();
    const ParseResult result = Parse(source, options);
    slowest = std::max<std::chrono::nanoseconds>(slowest, std::chrono::steady_clock::now() - start);

    bool refused = std::ranges::any_of(recorded.messages, IsParseMessage);
    for (const std::string& text : recorded.texts) {
      refused |= std::ranges::any_of(
          PlacesOf(text), [](const Place& place) { return IsParseMessage(place.message); });
    }
    if (refused) {
      CheckRefused(recorded, source, result);
    } else if (recorded.expression.find("cel.iterVar(") != std::string::npos) {
      // A macro of the specification's own test environment, used as a loop variable.
      ++foreign_;
    } else {
      CheckParsed(recorded, source, result, options);
    }
  }
  EXPECT_GT(parsed_, 0);
  EXPECT_LT(slowest, std::chrono::seconds(1));
  std::cout << GetParam() << ": " << parsed_ << " expressions parse and print back (" << nodes_
            << " nodes), " << refused_ << " are refused (" << texts_ << " texts compared), "
            << places_ << " recorded places have a node, " << foreign_
            << " need a macro of the test environment; slowest parse " << slowest.count() / 1000
            << " us\n";
}

INSTANTIATE_TEST_SUITE_P(Recorded, CorpusTest, ::testing::Values("cel-spec", "cel-dra", "cel-k8s"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace dray::cel
