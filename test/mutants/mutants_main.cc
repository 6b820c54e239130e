// SPDX-License-Identifier: Apache-2.0
//
// allocator_mutants: whether the random tests would find a fault of the allocator. Switches on one
// fault of faults.txt after the other, each in a process of its own, and asks what
// allocator_property_test asks, about the same kinds of instances: the answer of the search, and
// what it believes of partial choices.
//
//   allocator_mutants --instances 12000 --seed 1 --jobs 2
//   allocator_mutants --only twins-for-admin
//
// Exit 0: every fault that is not harmless was found.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "CLI/CLI.hpp"
#include "engine/agreement.h"
#include "engine/beliefs.h"
#include "engine/engine.h"
#include "fmt/format.h"
#include "model/generator_profiles.h"
#include "mutants/fault.h"

namespace dray::engine {
namespace {

struct Fault {
  std::string_view name;
  std::string_view harmless;  // why nobody can find it
};
constexpr Fault kFaults[] = {
#include "faults.inc"
};
constexpr std::size_t kFaultCount = std::size(kFaults);

struct Options {
  std::uint64_t instances = 12'000;
  std::uint64_t tiny = 3'000;
  std::uint64_t enough = 1;
  std::uint64_t seed = std::random_device{}();
  std::uint64_t jobs = 1;
  std::string only;
  bool beliefs = false;
};

// What a test made of a fault: how many instances it looked at, and how many of these showed it.
struct Found {
  std::uint64_t looked = 0;
  std::uint64_t wrong = 0;
};
constexpr std::array<std::string_view, 6> kTests = {"answer",       "bounds", "linear",
                                                    "fingerprints", "twins",  "oracle"};
constexpr std::size_t kMostKinds = 64;

// Of one fault; in memory that parent and child share.
struct Report {
  std::array<Found, kTests.size()> found;
  std::array<std::uint32_t, kMostKinds> kinds;  // by kind of instance: wrong answers
  bool died = false;                            // or did not end
  bool any() const {
    return died || std::ranges::any_of(found, [](const Found& f) { return f.wrong > 0; });
  }
};

// An instance and the right answer.
struct Case {
  model::Instance instance;
  model::Outcome right;
  std::size_t kind = 0;
};

// Instances are named after their profile and their seed; relatives of hard cases in more detail.
std::string_view KindOf(std::string_view name) {
  return name.substr(0, std::min(name.find('_'), name.rfind('-')));
}

class Campaign {
 public:
  explicit Campaign(const Options& options) : options_(options) {
    std::map<std::string_view, std::size_t> kinds;
    cases_.resize(options.instances);
    for (std::uint64_t i = 0; i < options.instances; ++i) {
      Case& one = cases_[i];
      one.instance = model::InstanceOf(options.seed + i);
      one.right = Ask(one.instance);
      const std::string_view name = KindOf(one.instance.name);
      one.kind = kinds.try_emplace(name, kinds.size()).first->second;
    }
    kind_names_.resize(kinds.size());
    for (const auto& [name, number] : kinds) kind_names_[number] = name;
    for (std::uint64_t i = 0; i < options.tiny; ++i) {
      tiny_.push_back(model::TinyInstanceOf(options.seed + i));
    }
  }

  // In a process of its own.
  void Try(int fault, Report& report) const {
    faults::on = fault;
    Found& answers = report.found[0];
    for (const Case& one : cases_) {
      if (answers.wrong >= options_.enough) break;
      ++answers.looked;
      if (SameAnswer(one.right, Ask(one.instance))) continue;
      ++answers.wrong;
      ++report.kinds[one.kind];
    }
    if (answers.wrong > 0 && !options_.beliefs) return;
    constexpr std::array kBeliefs = {WrongBounds, WrongLinear, WrongFingerprints, WrongTwins,
                                     WrongOracle};
    for (std::size_t b = 0; b < kBeliefs.size(); ++b) {
      Found& found = report.found[1 + b];
      Judged judged;
      for (const model::Instance& instance : tiny_) {
        if (found.wrong >= options_.enough) break;
        ++found.looked;
        const Prepared prepared(instance);
        found.wrong += static_cast<std::uint64_t>(kBeliefs[b](prepared, judged) > 0);
      }
    }
  }

  std::string Describe(const Fault& fault, const Report& report) const {
    std::string text;
    if (report.died) text += " dies";
    for (std::size_t t = 0; t < kTests.size(); ++t) {
      const Found& found = report.found[t];
      if (found.wrong == 0) continue;
      text += fmt::format(" {} 1/{}", kTests[t], found.looked / found.wrong);
      if (t > 0) continue;
      text += " (";
      for (std::size_t k = 0; k < kind_names_.size(); ++k) {
        if (report.kinds[k] > 0) text += fmt::format("{} {}, ", kind_names_[k], report.kinds[k]);
      }
      text.replace(text.size() - 2, 2, ")");
    }
    const std::string_view verdict = report.any()             ? "found"
                                     : fault.harmless.empty() ? "SURVIVES"
                                                              : "harmless";
    return fmt::format("{:8} {}:{}", verdict, fault.name, text);
  }

 private:
  static model::Outcome Ask(const model::Instance& instance) {
    World world(instance);
    allocator::Allocator allocator;
    return Decide(world, allocator, {});
  }

  const Options& options_;
  std::vector<Case> cases_;
  std::vector<std::string_view> kind_names_;
  std::vector<model::Instance> tiny_;
};

void Wait(const Campaign& campaign, std::map<pid_t, std::size_t>& running, Report* reports) {
  int status = 0;
  const pid_t ended = wait(&status);
  const auto it = running.find(ended);
  if (it == running.end()) return;
  Report& report = reports[it->second];
  report.died = status != 0;
  fmt::print("{}\n", campaign.Describe(kFaults[it->second], report));
  std::fflush(stdout);
  running.erase(it);
}

int RunAll(const Options& options) {
  fmt::print("seeds from {}: {} instances, {} tiny ones\n", options.seed, options.instances,
             options.tiny);
  std::fflush(stdout);
  const Campaign campaign(options);
  void* memory = mmap(nullptr, sizeof(Report) * kFaultCount, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 2;
  auto* reports = new (memory) Report[kFaultCount]();
  std::map<pid_t, std::size_t> running;
  std::vector<std::size_t> tried;
  for (std::size_t i = 0; i < kFaultCount; ++i) {
    if (!options.only.empty() && kFaults[i].name.find(options.only) == std::string_view::npos) {
      continue;
    }
    tried.push_back(i);
    while (running.size() >= options.jobs) Wait(campaign, running, reports);
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      // A fault may also be that something never ends.
      constexpr rlimit kSeconds{.rlim_cur = 240, .rlim_max = 240};
      setrlimit(RLIMIT_CPU, &kSeconds);
      campaign.Try(static_cast<int>(i) + 1, reports[i]);
      _exit(0);
    }
    running[child] = i;
  }
  while (!running.empty()) Wait(campaign, running, reports);
  std::size_t survivors = 0;
  for (const std::size_t i : tried) {
    survivors += static_cast<std::size_t>(!reports[i].any() && kFaults[i].harmless.empty());
  }
  fmt::print("{} faults, {} of them survive\n", tried.size(), survivors);
  return survivors > 0 ? 1 : 0;
}

}  // namespace
}  // namespace dray::engine

int main(int argc, char** argv) {
  dray::engine::Options options;
  CLI::App app("Switches on faults of the allocator and sees whether random tests find them.");
  app.add_option("--instances", options.instances, "how many are decided");
  app.add_option("--tiny", options.tiny, "how many have all their partial choices judged");
  app.add_option("--enough", options.enough, "goes on until so many instances show the fault");
  app.add_option("--seed", options.seed, "the first one's; random when not given");
  app.add_option("--jobs", options.jobs, "processes");
  app.add_flag("--beliefs", options.beliefs, "judges partial choices also if answers are wrong");
  app.add_option("--only", options.only, "faults with this in their name");
  CLI11_PARSE(app, argc, argv);
  return dray::engine::RunAll(options);
}
