// SPDX-License-Identifier: Apache-2.0
//
// dray_conformance: recorded cases as tests. See suite.h; `--help` says the rest.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "conformance/engine.h"
#include "conformance/suite.h"
#include "fmt/format.h"
#include "gtest/gtest.h"

namespace dray::conformance {
namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kSkipped = 77;  // what CTest shows as "Skipped"

// A new kind of cases is one line here and one loader in suite.h.
constexpr Kind kKinds[] = {
    {.name = "allocator", .folder = "allocator", .load = LoadAllocatorCases},
    {.name = "allocator-hard", .folder = "../bench/allocator-hard", .load = LoadAllocatorCases},
    {.name = "capacity", .folder = "capacity", .load = LoadCapacityCases},
    {.name = "cel-dra", .folder = "cel-dra", .load = LoadCelDraCases},
    {.name = "cel-k8s", .folder = "cel-k8s", .load = LoadCelK8sCases},
    {.name = "cel-spec", .folder = "cel-spec", .load = LoadCelSpecCases},
    {.name = "compatibility-groups", .folder = "compatibility-groups", .load = LoadGroupCases},
    {.name = "quota", .folder = "quota", .load = LoadQuotaCases},
    {.name = "strategy", .folder = "strategy", .load = LoadStrategyCases},
    {.name = "validation", .folder = "validation", .load = LoadValidationCases},
};

const Kind* FindKind(std::string_view name) {
  const auto it = std::ranges::find(kKinds, name, &Kind::name);
  return it == std::end(kKinds) ? nullptr : it;
}

std::string KnownKinds() {
  std::string text;
  for (const Kind& kind : kKinds) {
    if (!text.empty()) text += ", ";
    text += kind.name;
  }
  return text;
}

struct Options {
  std::string kind;
  std::vector<std::string> folders;
  std::string skip_file;
  std::string filter;
  bool list = false;
  bool verbose = false;
  bool skip_missing = false;
};

// `file: case name | reason` per line, # comments. Keyed by "file: case name". Kinds have files of
// the same name, so that `kind/file: …` says which is meant; the other kinds' entries are left out.
using SkipList = std::map<std::string, std::string>;

std::string TitleOf(const Case& c) { return fmt::format("{}: {}", c.file, c.name); }

std::string Trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

// Nothing, and a message, when the file cannot be read or a line has no reason.
std::optional<SkipList> ReadSkipList(const std::string& path, const Kind& kind) {
  SkipList list;
  if (path.empty()) return list;
  std::ifstream in(path);
  if (!in) {
    fmt::print(stderr, "{}: cannot read the skip list\n", path);
    return std::nullopt;
  }
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = Trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    const auto bar = line.rfind('|');
    std::string title = Trim(line.substr(0, bar));
    const std::string reason = bar == std::string::npos ? "" : Trim(line.substr(bar + 1));
    if (title.empty() || reason.empty()) {
      fmt::print(stderr, "{}:{}: want `file: case name | reason`\n", path, number);
      return std::nullopt;
    }
    if (const auto slash = title.find('/'); slash < title.find(':')) {
      if (title.substr(0, slash) != kind.name) continue;
      title.erase(0, slash + 1);
    }
    list.emplace(title, reason);
  }
  return list;
}

// What happened, filled by the tests as they run. One thread.
struct Tally {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
  std::set<std::string> seen;  // entries of the skip list that matched a case

  void Fail(const std::string& title, std::string_view difference) {
    ++failed;
    fmt::print("FAIL {}: {}\n", title, difference);
  }
  void Skip(const std::string& title, std::string_view reason) {
    ++skipped;
    fmt::print("SKIP {}: {}\n", title, reason);
  }
};

class CaseTest : public ::testing::Test {
 public:
  CaseTest(const Case& c, const SkipList& skips, Tally& tally)
      : case_(c), skips_(skips), tally_(tally) {}

  void TestBody() override {
    const std::string title = TitleOf(case_);
    const auto skip = skips_.find(title);
    if (skip != skips_.end()) tally_.seen.insert(title);
    if (case_.needs) {
      tally_.Skip(title, fmt::format("needs {}", *case_.needs));
      GTEST_SKIP() << *case_.needs;
    }
    const std::optional<std::string> difference = case_.run();
    if (skip != skips_.end()) {
      if (!difference) {
        tally_.Fail(title, "passes, so it must leave the skip list");
        FAIL() << "on the skip list, but passes";
      }
      tally_.Skip(title, skip->second);
      GTEST_SKIP() << skip->second;
    }
    if (difference) {
      tally_.Fail(title, *difference);
      FAIL() << *difference;
    }
    ++tally_.passed;
  }

 private:
  const Case& case_;
  const SkipList& skips_;
  Tally& tally_;
};

// gtest's filters give ':', '-', '*' and '?' a meaning.
std::string TestNameOf(const Case& c) {
  std::string name = c.file + "/" + c.name;
  std::ranges::replace_if(
      name, [](unsigned char ch) { return std::isalnum(ch) == 0 && ch != '/' && ch != '.'; }, '_');
  return name;
}

void Register(const Kind& kind, std::span<const Case> cases, const SkipList& skips, Tally& tally) {
  const std::string suite(kind.name);
  for (const Case& c : cases) {
    ::testing::RegisterTest(
        suite.c_str(), TestNameOf(c).c_str(), nullptr, nullptr, __FILE__, __LINE__,
        [&c, &skips, &tally]() -> CaseTest* { return new CaseTest(c, skips, tally); });
  }
}

int RunCases(const Kind& kind, std::span<const Case> cases, const SkipList& skips,
             const Options& options) {
  Tally tally;
  Register(kind, cases, skips, tally);
  if (!options.verbose) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int verdict = RUN_ALL_TESTS();
  // An entry that matches nothing is a leftover; with a filter most entries match nothing.
  if (options.filter.empty()) {
    for (const auto& [title, reason] : skips) {
      if (!tally.seen.contains(title))
        tally.Fail(title, "on the skip list, but there is no such case");
    }
  }
  fmt::print("{}: {} passed, {} failed, {} skipped\n", kind.name, tally.passed, tally.failed,
             tally.skipped);
  return tally.failed == 0 && verdict == 0 ? kOk : kFailed;
}

int Main(const Options& options) {
  const Kind* kind = FindKind(options.kind);
  if (kind == nullptr) {
    fmt::print(stderr, "unknown kind \"{}\"; known kinds: {}\n", options.kind, KnownKinds());
    return kUsage;
  }
  std::vector<Case> cases;
  for (const std::string& folder : options.folders) {
    if (!std::filesystem::is_directory(folder)) {
      fmt::print(options.skip_missing ? stdout : stderr,
                 "{}: {} is not a directory, nothing was run\n", kind->name, folder);
      return options.skip_missing ? kSkipped : kUsage;
    }
    for (Case& c : kind->load(folder)) {
      if (TitleOf(c).find(options.filter) != std::string::npos) cases.push_back(std::move(c));
    }
  }
  if (cases.empty()) {
    fmt::print(stderr, "{}: no cases in {}{}\n", kind->name, fmt::join(options.folders, ", "),
               options.filter.empty() ? "" : " that contain \"" + options.filter + "\"");
    return kUsage;
  }
  if (options.list) {
    for (const Case& c : cases) fmt::print("{}\n", TitleOf(c));
    return kOk;
  }
  const std::optional<SkipList> skips = ReadSkipList(options.skip_file, *kind);
  if (!skips) return kUsage;
  return RunCases(*kind, cases, *skips, options);
}

}  // namespace
}  // namespace dray::conformance

int main(int argc, char** argv) {
  using namespace dray::conformance;
  Options options;
  CLI::App app("Runs recorded cases. Exit: 0 all passed, 1 some failed, 2 nothing could be run.");
  app.add_option("kind", options.kind, "which cases: " + KnownKinds())->required();
  app.add_option("folder", options.folders, "folders with the cases' files")->required();
  app.add_option("--skip", options.skip_file, "known gaps: `file: case name | reason` per line");
  app.add_option("--filter", options.filter, "only cases whose `file: name` contains this");
  app.add_option("--engine", EngineChoice().name, "who answers allocator cases: " + KnownEngines())
      ->check([](const std::string& name) {
        return FindEngine(name) != nullptr ? "" : "known engines: " + KnownEngines();
      });
  app.add_option("--record", EngineChoice().record_folder,
                 "write the engine's own answers to allocator cases into this folder");
  app.add_flag("--list", options.list, "print the cases instead of running them");
  app.add_flag("--verbose", options.verbose, "let gtest print each test");
  app.add_flag("--skip-missing", options.skip_missing, "exit 77 when a folder does not exist");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  int gtest_argc = 1;
  ::testing::InitGoogleTest(&gtest_argc, argv);
  return Main(options);
}
