// SPDX-License-Identifier: Apache-2.0
//
// What a shell is told may come next, and a real bash that asks.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/gates.h"
#include "cli/cli_test_support.h"
#include "cli/internal/completion.h"
#include "cli/internal/outline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> Words(const std::vector<std::string>& line) {
  std::vector<std::string> words;
  for (const auto& one : internal::Complete(line).candidates) words.push_back(one.word);
  return words;
}
bool Files(const std::vector<std::string>& line) { return internal::Complete(line).files; }

TEST(Completion, CommandsComeFirst) {
  EXPECT_THAT(Words({""}), AllOf(Contains("plan"), Contains("up"), Contains("completion")));
  EXPECT_THAT(Words({"pl"}), ElementsAre("plan"));
  EXPECT_THAT(Words({"help", "val"}), ElementsAre("validate"));
  EXPECT_THAT(Words({"-n", "team", "expl"}), ElementsAre("explain"));
  EXPECT_THAT(Words({"-"}), ElementsAre("--help", "--version"));
  EXPECT_THAT(Words({"nonsense", ""}), IsEmpty());
  EXPECT_THAT(Words({}), IsEmpty());
}

TEST(Completion, FlagsAreThoseOfTheCommand) {
  EXPECT_THAT(Words({"plan", "--file"}), ElementsAre("--filename"));
  EXPECT_THAT(Words({"plan", "-"}), AllOf(Contains("-f"), Contains("--help"), Contains("-h")));
  EXPECT_THAT(Words({"version", "--file"}), IsEmpty());
}

TEST(Completion, ValuesAreThoseOfTheFlag) {
  EXPECT_THAT(Words({"features", "-o", ""}), ElementsAre("text", "json"));
  EXPECT_THAT(Words({"features", "-o", "j"}), ElementsAre("json"));
  EXPECT_THAT(Words({"features", "--output=j"}), ElementsAre("--output=json"));
  EXPECT_THAT(Words({"up", "--without", "nodes,s"}), ElementsAre("nodes,scheduler"));
  EXPECT_THAT(Words({"completion", ""}), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(Words({"image", "b"}), ElementsAre("build"));
  EXPECT_TRUE(Files({"plan", "-f", ""}));
  EXPECT_TRUE(Files({"up", "--data="}));
  EXPECT_FALSE(Files({"features", "-o", ""}));
  EXPECT_FALSE(Files({"version", ""}));
}

TEST(Completion, GatesAreKnown) {
  EXPECT_EQ(Words({"up", "--feature-gates", ""}).size(), 2 * api::GateTable().size());
  EXPECT_THAT(Words({"up", "--feature-gates=DRADerived"}),
              ElementsAre("--feature-gates=DRADerivedAttributes=true",
                          "--feature-gates=DRADerivedAttributes=false"));
  EXPECT_THAT(Words({"up", "--feature-gates", "DRADerivedAttributes=true,DRAListType"}),
              AllOf(Not(IsEmpty()), Each(StartsWith("DRADerivedAttributes=true,DRAListType"))));
}

// A flag that somebody adds is completed without another line of code, whatever its command.
TEST(Completion, EveryFlagOfEveryCommandIsOffered) {
  std::size_t flags = 0;
  for (const internal::CommandOutline& command : internal::OutlineOfAll()) {
    const std::vector<std::string> offered = Words({command.name, "-"});
    for (const internal::FlagOutline& flag : command.flags) {
      EXPECT_THAT(flag.text, Not(IsEmpty())) << command.name << " " << flag.names[0];
      for (const std::string& name : flag.names) {
        EXPECT_THAT(offered, Contains(name)) << command.name;
        ++flags;
      }
    }
  }
  EXPECT_GT(flags, 100U);
}

TEST(Completion, TheTextIsWhatKubectlReads) {
  const Outcome outcome = RunLine({"__complete", "version", "-o", ""});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_EQ(outcome.out, "text\njson\n:4\n");
  EXPECT_THAT(RunLine({"__complete", "comp"}).out,
              AllOf(StartsWith("completion\tPrint "), HasSubstr("\n:4\n")));
  EXPECT_EQ(RunLine({"__complete", "plan", "-f", "x"}).out, ":0\n");
}

TEST(Completion, ShellsThatAreNotKnownAreRefused) {
  EXPECT_EQ(RunLine({"completion", "csh"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"completion"}).code, kExitUsage);
}

// What `script` prints in a bash that has the completion and a program `dray` on its PATH.
std::string InBash(const std::string& script) {
  const char* binary = std::getenv("DRAY_BINARY");
  if (binary == nullptr || !std::filesystem::exists(binary)) return "";
  const std::string line =
      "PATH=$(dirname " + std::string(binary) + "):$PATH bash --norc -c '" + script + "' 2>&1";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(line.c_str(), "r"), &pclose);
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    text += static_cast<char>(c);
  }
  return text;
}

std::string TabIn(const std::string& line) {
  return InBash(
      "source <(dray completion bash); compopt() { printf \"compopt %s %s\\n\" \"$@\"; }; "
      "COMP_LINE=\"" +
      line + "\"; COMP_POINT=${#COMP_LINE}; _dray; echo \"${COMPREPLY[*]}\"");
}

TEST(Completion, ARealBashCompletes) {
  if (InBash("dray version").find("dray ") == std::string::npos) {
    GTEST_SKIP() << "the dray binary is not built";
  }
  EXPECT_EQ(TabIn("dray pl"), "plan\n");
  EXPECT_EQ(TabIn("dray features -o "), "text json\n");
  EXPECT_EQ(TabIn("dray features --output=t"), "text\n");
  EXPECT_EQ(TabIn("dray plan -f exa"), "compopt -o default\n\n");
}

}  // namespace
}  // namespace dray::cli
