// SPDX-License-Identifier: Apache-2.0
//
// allocator_agreement: asks dray's search, the search without its look-ahead, and the slow model
// about as many random instances as one likes, on several processes, and says where they differ.
//
//   allocator_agreement --instances 1000000 --seed 1 --jobs 2 --keep /tmp
//
// Exit 0: nobody contradicted anybody. The same seeds give the same instances everywhere.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "engine/agreement.h"
#include "fmt/format.h"
#include "model/generator_profiles.h"

namespace dray::engine {
namespace {

struct Options {
  std::uint64_t instances = 10'000;
  std::uint64_t seed = std::random_device{}();
  std::uint64_t jobs = 1;
  std::uint64_t progress = 0;
  std::string keep;
  bool large = false;
  double slow = 0.05;  // seconds
  Limits limits;
};

// Every `jobs`-th instance from `job` on.
Tally RunJob(const Options& options, std::uint64_t job) {
  Tally tally;
  for (std::uint64_t i = job; i < options.instances; i += options.jobs) {
    const std::uint64_t seed = options.seed + i;
    const model::Instance instance =
        options.large ? model::LargeInstanceOf(seed) : model::InstanceOf(seed);
    const Agreement agreement = AskAll(instance, options.limits);
    tally.Count(agreement);
    const bool slow = agreement.seconds > options.slow;
    if (slow) {
      fmt::print("SLOW seed {} {}: {} in {:.3f} s, {} steps\n", seed, instance.name,
                 model::ToString(agreement.dray.kind), agreement.seconds, agreement.dray.steps);
    }
    if (!agreement.complaint.empty()) {
      fmt::print("CONTRADICTION seed {} {}{}\n", seed, instance.name, agreement.complaint);
    }
    if (agreement.dray.kind == model::Outcome::Kind::kBudget) {
      fmt::print("GAVE UP seed {} {}\n", seed, instance.name);
    }
    // Whoever ends it early wants to know as well.
    std::fflush(stdout);
    if (!options.keep.empty() &&
        (!agreement.complaint.empty() || agreement.dray.kind == model::Outcome::Kind::kBudget)) {
      std::ofstream(fmt::format("{}/{}.json", options.keep, instance.name))
          << model::WriteInstance(instance);
    }
    if (options.progress > 0 && job == 0 && tally.instances % options.progress == 0) {
      fmt::print("job 0: {}\n", tally.ToString());
      std::fflush(stdout);
    }
  }
  std::fflush(stdout);
  return tally;
}

// Jobs are processes, so that one that dies is noticed and takes nobody along.
int RunAll(const Options& options) {
  fmt::print("seeds {} to {}\n", options.seed, options.seed + options.instances - 1);
  std::fflush(stdout);
  std::vector<std::array<int, 2>> pipes(options.jobs);
  std::vector<pid_t> children;
  for (std::uint64_t job = 0; job < options.jobs; ++job) {
    if (pipe(pipes[job].data()) != 0) return 2;
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child == 0) {
      const Tally tally = RunJob(options, job);
      const bool told = write(pipes[job][1], &tally, sizeof tally) == sizeof tally;
      _exit(told ? 0 : 2);
    }
    close(pipes[job][1]);
    children.push_back(child);
  }
  Tally sum;
  bool died = false;
  for (std::uint64_t job = 0; job < options.jobs; ++job) {
    Tally tally;
    if (read(pipes[job][0], &tally, sizeof tally) == sizeof tally) sum.Add(tally);
    int status = 0;
    waitpid(children[job], &status, 0);
    if (status == 0) continue;
    died = true;
    fmt::print("job {} ended with status {}\n", job, status);
  }
  fmt::print("{}\n", sum.ToString());
  return died || sum.wrong > 0 ? 1 : 0;
}

}  // namespace
}  // namespace dray::engine

int main(int argc, char** argv) {
  dray::engine::Options options;
  CLI::App app("Holds dray's search against its plain form and against the model.");
  app.add_option("--instances", options.instances, "how many");
  app.add_option("--seed", options.seed, "the first one's; random when not given");
  app.add_option("--jobs", options.jobs, "processes");
  app.add_option("--progress", options.progress, "says something every so many instances");
  app.add_option("--keep", options.keep, "folder for instances that went wrong");
  app.add_flag("--large", options.large, "instances that are too large for the model");
  app.add_option("--slow", options.slow, "says so when dray needs more seconds than that");
  app.add_option("--model-steps", options.limits.model_steps, "what the model may spend");
  app.add_option("--plain-work", options.limits.plain_work, "what the plain search may spend");
  CLI11_PARSE(app, argc, argv);
  return dray::engine::RunAll(options);
}
