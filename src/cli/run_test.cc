// SPDX-License-Identifier: Apache-2.0
//
// Command lines: commands, flags, help, exit codes.
#include "cli/run.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "api/document.h"
#include "api/gates.h"
#include "cli/cli_test_support.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "registry/handler.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

api::DocumentNode Json(const std::string& text) {
  std::vector<api::Diagnostic> diagnostics;
  api::DocumentNode node = api::ParseJson(text, diagnostics);
  EXPECT_THAT(diagnostics, IsEmpty()) << text;
  return node;
}

TEST(Commands, HelpListsThemWithExamples) {
  for (const auto& line : std::vector<std::vector<std::string>>{{"--help"}, {"-h"}, {"help"}, {}}) {
    const Outcome outcome = RunLine(line);
    EXPECT_EQ(outcome.code, kExitOk);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("validate"), HasSubstr("features"),
                                   HasSubstr("version"), HasSubstr("Examples:")));
    EXPECT_THAT(outcome.err, IsEmpty());
  }
}

TEST(Commands, EachTeachesWithExamples) {
  for (const std::string command : {"validate", "features", "version"}) {
    const Outcome outcome = RunLine({command, "--help"});
    EXPECT_EQ(outcome.code, kExitOk);
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("Examples:"), HasSubstr("dray " + command)));
    EXPECT_EQ(RunLine({"help", command}).out, outcome.out);
  }
}

std::size_t Widest(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(Commands, HelpFitsTheTerminal) {
  for (const std::string command : {"explain", "up", "simulate", "scheduler"}) {
    const std::string wide = RunLine({command, "--help"}).out;
    const std::string narrow = RunLine({command, "--help"}, {.columns = 80}).out;
    EXPECT_GT(Widest(wide), 80U) << command;
    // But for command lines, which somebody copies.
    const std::string flags = narrow.substr(0, narrow.find("Examples:"));
    EXPECT_LE(Widest(flags), 80U) << flags;
    EXPECT_THAT(narrow.substr(flags.size()), HasSubstr("dray " + command));
    // The same words, in the same order.
    std::istringstream a(wide);
    std::istringstream b(narrow);
    const std::vector<std::string> words{std::istream_iterator<std::string>(a), {}};
    const std::vector<std::string> broken{std::istream_iterator<std::string>(b), {}};
    EXPECT_EQ(words, broken);
  }
  EXPECT_THAT(
      RunLine({"explain", "--help"}, {.columns = 80}).out,
      HasSubstr("  -f,--filename FILE|DIR|- ...\n"
                "                              File, folder (its *.yaml, *.yml and *.json) or -\n"
                "                              for standard input; may be repeated\n"));
  EXPECT_LE(Widest(RunLine({"version", "--help"}, {.columns = 3}).out), 60U);
}

TEST(Commands, AnUnknownOneIsAUsageErrorWithASuggestion) {
  const Outcome outcome = RunLine({"validat", "-f", "x"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_EQ(outcome.err,
            "error: unknown command \"validat\"\n  hint: did you mean \"validate\"?\n");
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(RunLine({"frobnicate"}).err, HasSubstr("'dray --help' lists the commands"));
}

TEST(Commands, AnUnknownFlagIsAUsageErrorWithASuggestion) {
  const Outcome outcome = RunLine({"validate", "--stric", "-f", "-"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_EQ(outcome.err, "error: unknown flag \"--stric\"\n  hint: did you mean --strict?\n");
  EXPECT_EQ(RunLine({"--nonsense"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"features", "--nonsense"}).code, kExitUsage);
}

TEST(Commands, AFlagWithAWrongOrMissingValueIsAUsageError) {
  EXPECT_EQ(RunLine({"validate", "-f", "-", "-o", "xml"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"validate", "-f", "-", "--color", "blue"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"validate", "-f"}).code, kExitUsage);
}

TEST(Commands, ValidateWithoutFilesSaysHowToNameThem) {
  EXPECT_EQ(RunLine({"validate"}).code, kExitUsage);
  EXPECT_THAT(RunLine({"validate"}).err, HasSubstr("-f"));
  EXPECT_THAT(RunLine({"validate", "claim.yaml"}).err, HasSubstr("-f claim.yaml"));
}

TEST(Commands, OfKubectlsPluginAreCalledByTheirNameOnce) {
  const Outcome outcome = RunLine({"explain", "--help"}, {.plugin = true});
  EXPECT_THAT(outcome.out, HasSubstr("kubectl dray explain"));
  EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("kubectl kubectl")));
}

TEST(Commands, FlagsThatSayWhereMayComeFirst) {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeName: n1, containers: [{name: c, "
      "image: i}]}\n";
  const Outcome outcome = RunLine({"-n", "team", "plan", "-f", "-", "-o", "wide"}, {.in = pod});
  EXPECT_EQ(outcome.code, kExitOk) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("team"));
  EXPECT_THAT(RunLine({"--namespace=team", "plan", "-f", "-", "-o", "wide"}, {.in = pod}).out,
              HasSubstr("team"));
}

TEST(Kubeconfig, SaysWhatIsWrongWithWhomItIsFor) {
  const Outcome unknown = RunLine({"kubeconfig", "robot/r2"});
  EXPECT_EQ(unknown.code, kExitUsage);
  EXPECT_THAT(unknown.err, HasSubstr("expected node/NAME, driver/NAME"));
  const Outcome nobody = RunLine({"kubeconfig"});
  EXPECT_EQ(nobody.code, kExitUsage);
}

TEST(Kubeconfig, NeedsTheFolderOfAServer) {
  const Outcome outcome = RunLine({"kubeconfig", "node/n1", "--data", "/nonexistent/data"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("no CA in /nonexistent/data"), HasSubstr("--data")));
}

TEST(Features, AreATableInTheOrderOfTheirNames) {
  const Outcome outcome = RunLine({"features"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out, StartsWith("NAME "));
  for (const api::GateInfo& info : api::GateTable()) {
    EXPECT_THAT(outcome.out, HasSubstr("\n" + std::string(info.name) + " "));
  }
  ExpectGolden(SourceFolder() / "src/cli/testdata/features.txt", outcome.out);
}

TEST(Features, AreAListWhereTheTableDoesNotFit) {
  const Outcome narrow = RunLine({"features"}, {.columns = 80});
  EXPECT_LE(Widest(narrow.out), 80U);
  EXPECT_THAT(narrow.out,
              HasSubstr("DRAAdminAccess\n    requests that reach devices in use by others, "
                        "in labelled namespaces\n    (KEP-5018)\n    GA; on here, on in "
                        "Kubernetes\n    needs DynamicResourceAllocation\n"));
  EXPECT_EQ(RunLine({"features"}, {.columns = 400}).out, RunLine({"features"}).out);
}

TEST(Features, AreJsonToo) {
  const api::DocumentNode document = Json(RunLine({"features", "-o", "json"}).out);
  const api::Member* features = document.Find("features");
  ASSERT_NE(features, nullptr);
  ASSERT_EQ(features->value.items.size(), api::GateTable().size());
  const api::DocumentNode& first = features->value.items.front();
  for (const char* key : {"name", "stage", "default", "kubernetesDefault", "kubernetesLocked",
                          "dependsOn", "summary"}) {
    EXPECT_NE(first.Find(key), nullptr) << key;
  }
}

// In the words of kubectl, not of the library that reads the line.
TEST(Commands, WrongFlagsAreToldPlainly) {
  struct Case {
    std::vector<std::string> line;
    std::string error;
  };
  for (const auto& [line, error] : std::vector<Case>{
           {{"plan", "-o", "xml"},
            "--output: unsupported value \"xml\": must be \"table\", \"wide\", \"json\", "
            "\"yaml\", \"name\" or \"objects\""},
           {{"plan", "-f"}, "flag needs an argument: --filename FILE|DIR|-"},
           {{"plan", "-n"}, "flag needs an argument: --namespace NS"},
           {{"plan", "-o", "json", "-o", "yaml"}, "--output: must be given only once"},
           {{"up", "--nodes", "many"}, "--nodes: \"many\" must be a number from 1 to 10000"},
           {{"up", "-v", "x"}, "-v: \"x\" must be a number from 0 to 10"},
           {{"defrag", "--free-nodes", "0"}, "--free-nodes: \"0\" must be a positive number"},
           {{"simulate", "--seed", "x", "s.yaml"}, "--seed: \"x\" is not a valid value"},
           {{"completion"}, "missing argument bash|zsh|fish"},
           {{"kubeconfig"}, "missing argument KIND/NAME"},
           {{"store", "copy"}, "missing flag --from STORE"},
       }) {
    const Outcome outcome = RunLine(line);
    EXPECT_EQ(outcome.code, kExitUsage) << error;
    EXPECT_EQ(outcome.err,
              "error: " + error + "\n  hint: see 'dray " + line.front() + " --help'\n");
  }
}

TEST(Version, IsThatOfTheProject) {
  const Outcome outcome = RunLine({"version"});
  EXPECT_EQ(outcome.code, kExitOk);
  EXPECT_THAT(outcome.out, StartsWith("dray "));
  EXPECT_EQ(RunLine({"--version"}).out, outcome.out);
  const api::DocumentNode document = Json(RunLine({"version", "-o", "json"}).out);
  // What servers say they are, so that kubectl's version and this one agree.
  ASSERT_NE(document.Find("kubernetesVersion"), nullptr);
  const std::string kubernetes = document.Find("kubernetesVersion")->value.text;
  EXPECT_EQ(kubernetes, registry::HandlerOptions().version);
  EXPECT_THAT(outcome.out, HasSubstr("(Kubernetes API " + kubernetes + ")"));
  ASSERT_NE(document.Find("version"), nullptr);
  EXPECT_THAT(outcome.out, HasSubstr("dray " + document.Find("version")->value.text));
}

}  // namespace
}  // namespace dray::cli
