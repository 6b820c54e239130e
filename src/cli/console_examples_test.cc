// SPDX-License-Identifier: Apache-2.0
//
// Why something of examples/ is pending, as `dray explain` and as the console say it: the same
// sentences, causes, cures and reasons.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/document.h"
#include "cli/cli_test_support.h"
#include "console/planning.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "testing/objects_from.h"

namespace dray::cli {
namespace {

using api::DocumentNode;

console::Scene SceneOf(std::string_view text) {
  return {.objects = testing::ObjectsFrom(text),
          .now = base::Time::FromUnix(1'780'000'000),
          .device_id = [](auto, auto, auto) { return std::optional<std::uint32_t>(); },
          .node_id = [](auto) { return std::optional<std::uint32_t>(); },
          .expired = [] { return false; }};
}

DocumentNode Parsed(const std::string& text) {
  std::vector<api::Diagnostic> diagnostics;
  DocumentNode node = api::ParseJson(text, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << text;
  return node;
}

std::string TextOf(const DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member == nullptr ? "" : member->value.text;
}

// Empty: it is not there. The console's clock is a second after all that is there, so who had just
// come when the command looked has been there for that long.
std::string PartOf(const DocumentNode& node, std::string_view key) {
  constexpr std::string_view kJustCome = "\"about\":\"for 1s\",";
  const api::Member* member = node.Find(key);
  std::string text = member == nullptr ? "" : api::ToJson(member->value);
  for (std::size_t at = 0; (at = text.find(kJustCome, at)) != std::string::npos;) {
    text.erase(at, kJustCome.size());
  }
  return text;
}

void ExpectSame(const DocumentNode& page, const DocumentNode& command) {
  SCOPED_TRACE(fmt::format("{} {}/{}", TextOf(command, "kind"), TextOf(command, "namespace"),
                           TextOf(command, "name")));
  EXPECT_FALSE(TextOf(command, "answer").empty());
  for (const char* part : {"kind", "namespace", "name", "state", "since", "owners", "claims",
                           "answer", "cause", "cures", "hints", "reasons", "explanation"}) {
    EXPECT_EQ(PartOf(page, part), PartOf(command, part)) << part;
  }
}

// What the plan made now was made a while ago: the console's clock is after all that is there.
std::string Earlier(std::string text) {
  constexpr std::string_view kNow = "2026-05-28T20:26:40Z";
  constexpr std::string_view kBefore = "2026-05-28T20:20:00Z";
  for (std::size_t at = 0; (at = text.find(kNow, at)) != std::string::npos;) {
    text.replace(at, kNow.size(), kBefore);
  }
  return text;
}

// What of a world is pending when all that fits is placed; how many pods and claims were compared.
std::size_t Compare(const std::string& world) {
  SCOPED_TRACE(world);
  const std::string folder = (SourceFolder() / "examples" / world).string();
  const std::string text = Earlier(RunLine({"plan", "-R", "-f", folder, "-o", "objects"}).out);
  const DocumentNode command =
      Parsed(RunLine({"explain", "-f", "-", "-o", "json"}, {.in = text}).out);
  const auto pending = console::ExplainScene({.pending = true}, SceneOf(text), {});
  EXPECT_EQ(pending.code, 200);
  const DocumentNode page = Parsed(pending.json);
  EXPECT_EQ(PartOf(page, "causes"), PartOf(command, "causes"));
  EXPECT_EQ(PartOf(page, "podsNotCreated"), PartOf(command, "podsNotCreated"));
  const std::vector<DocumentNode>& outcomes = command.Find("outcomes")->value.items;
  // One of each cause stands for the others.
  for (const DocumentNode& one : page.Find("outcomes")->value.items) {
    const auto same = std::ranges::find_if(outcomes, [&](const DocumentNode& other) {
      return PartOf(one, "kind") == PartOf(other, "kind") &&
             PartOf(one, "namespace") == PartOf(other, "namespace") &&
             PartOf(one, "name") == PartOf(other, "name");
    });
    if (same == outcomes.end()) {
      ADD_FAILURE() << api::ToJson(one);
    } else {
      ExpectSame(one, *same);
    }
  }
  // Each by its name.
  for (const DocumentNode& outcome : outcomes) {
    const auto named = console::ExplainScene(
        {.target = console::ObjectName{TextOf(outcome, "kind"), TextOf(outcome, "namespace"),
                                       TextOf(outcome, "name")}},
        SceneOf(text), {});
    EXPECT_EQ(named.code, 200) << named.json;
    const DocumentNode answer = Parsed(named.json);
    EXPECT_EQ(answer.Find("outcomes")->value.items.size(), 1U);
    ExpectSame(answer.Find("outcomes")->value.items.front(), outcome);
  }
  return outcomes.size();
}

TEST(ConsoleExamples, WhatIsPendingIsExplainedAsTheCommandExplainsIt) {
  if (!std::filesystem::exists(SourceFolder() / "examples")) GTEST_SKIP() << "not run by CTest";
  std::size_t compared = 0;
  for (const char* world :
       {"everyday", "kep-5004-extended-resources", "kep-5075-consumable-capacity",
        "kep-5491-list-attributes", "kep-5963-compatibility-groups", "kep-6080-derived-attributes",
        "plan", "preemption"}) {
    compared += Compare(world);
  }
  EXPECT_GE(compared, 5U);
}

}  // namespace
}  // namespace dray::cli
