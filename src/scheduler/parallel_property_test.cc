// SPDX-License-Identifier: Apache-2.0
//
// Several workers decide what one decides, and say the same, whatever happens and fails. With the
// thread sanitizer: they do not disturb each other either.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/fate_for_test.h"
#include "testing/eager_executor.h"

namespace dray::scheduler {
namespace {

// What an observer is told, but for durations.
class Counts final : public Observer {
 public:
  void OnAttempt(const AttemptReport& report) override {
    Count("attempt", report.profile, static_cast<int>(report.result), report.attempts);
  }
  void OnPhase(std::string_view profile, Phase phase, PluginStatus::Code code,
               std::chrono::nanoseconds) override {
    Count("phase", profile, static_cast<int>(phase), static_cast<std::uint32_t>(code));
  }
  void OnPlugin(std::string_view plugin, Phase phase, PluginStatus::Code code,
                std::chrono::nanoseconds) override {
    Count("plugin", plugin, static_cast<int>(phase), static_cast<std::uint32_t>(code));
  }
  void OnRefusal(const PodExplanation& explanation) override {
    Count("refusal", ToJson(explanation), 0, 0);
  }
  void OnPreemption(std::size_t victims) override {
    Count("preemption", "", static_cast<int>(victims), 0);
  }
  void OnBindingConditions(std::string_view, std::string_view driver, std::string_view status,
                           std::chrono::nanoseconds) override {
    Count("conditions", std::string(driver) + " " + std::string(status), 0, 0);
  }

  using Key = std::tuple<std::string, std::string, int, std::uint32_t>;
  const std::map<Key, int>& counts() const { return counts_; }

 private:
  void Count(std::string_view what, std::string_view who, int a, std::uint32_t b) {
    ++counts_[{std::string(what), std::string(who), a, b}];
  }
  std::map<Key, int> counts_;
};

// A scheduler with a cluster of its own.
struct Side {
  Side(std::uint32_t seed, Fate::Options fates, bool caches, base::Executor* executor)
      : cluster(OptionsWith(caches, executor)), fate(seed, cluster, fates) {}

  SchedulerOptions OptionsWith(bool caches, base::Executor* executor) {
    SchedulerOptions options;
    options.observer = &counts;
    options.plugin_sampling = 2;
    options.remembered_shapes = 4;
    options.caches = caches;
    options.executor = executor;
    options.parallel_from = 1;
    return options;
  }
  // Everything that is stored: nodes of pods, devices of claims, conditions, events.
  std::vector<std::string> Stored() {
    std::vector<std::string> objects;
    for (const api::KindInfo& kind : api::Kinds()) {
      if (kind.type != kind.hub) continue;
      for (const api::Object& object : cluster.cluster().All(kind)) {
        objects.push_back(object.ToJson());
      }
    }
    return objects;
  }
  std::vector<std::string> Explained() {
    std::vector<std::string> texts;
    for (int pod = 0; pod < 400; ++pod) {
      const auto* why = cluster.scheduler().Explain("ns/p" + std::to_string(pod));
      if (why != nullptr) texts.push_back(ToJson(*why));
    }
    return texts;
  }

  Counts counts;
  DeviceCluster cluster;
  Fate fate;
};

struct ParallelCase {
  std::uint32_t seed = 0;
  std::size_t workers = 2;
  bool caches = true;
  bool faults = false;
};
class ParallelProperty : public ::testing::TestWithParam<ParallelCase> {};

TEST_P(ParallelProperty, SeveralWorkersDecideWhatOneDecides) {
  const ParallelCase& param = GetParam();
  testing::EagerExecutor executor(param.workers);
  const Fate::Options fates{.faults = param.faults, .extended_resources = true};
  Side one(param.seed, fates, param.caches, nullptr);
  Side many(param.seed, fates, param.caches, &executor);
  for (Side* side : {&one, &many}) {
    api::DeviceClass served;
    served.metadata.name = "served";
    served.spec.extended_resource_name = "example.com/gpu";
    side->cluster.Create(std::move(served));
  }
  for (int step = 0; step < 80; ++step) {
    const int burst = 1 + one.fate.Below(4);
    ASSERT_EQ(burst, 1 + many.fate.Below(4));
    for (int i = 0; i < burst; ++i) {
      one.fate.Step();
      many.fate.Step();
    }
    if (step % 5 == 4) {
      one.cluster.clock().Advance(std::chrono::seconds(3));
      many.cluster.clock().Advance(std::chrono::seconds(3));
    }
    ASSERT_EQ(Told(one.cluster.scheduler().Run()), Told(many.cluster.scheduler().Run()))
        << "step " << step;
    if (step % 10 == 9) {
      ASSERT_EQ(one.Explained(), many.Explained()) << "step " << step;
    }
  }
  EXPECT_EQ(one.Stored(), many.Stored());
  EXPECT_EQ(one.counts.counts(), many.counts.counts());
  const Statistics& a = one.cluster.scheduler().statistics();
  const Statistics& b = many.cluster.scheduler().statistics();
  EXPECT_EQ(a.attempts, b.attempts);
  EXPECT_EQ(a.bound, b.bound);
  EXPECT_EQ(a.unschedulable, b.unschedulable);
  EXPECT_EQ(a.errors, b.errors);
  EXPECT_EQ(a.node_evaluations, b.node_evaluations);
  EXPECT_EQ(a.expressions.compiled, b.expressions.compiled);
  EXPECT_EQ(a.expressions.broken, b.expressions.broken);
  if (!param.faults) {
    // Where one meets an error, others may have been further on.
    EXPECT_EQ(a.allocator_steps, b.allocator_steps);
  }
  EXPECT_GT(b.bound, 10u);
  EXPECT_GT(b.unschedulable, 0u);
  EXPECT_EQ(b.errors > 0, param.faults);
  EXPECT_GT(executor.runs(), 100u);
  EXPECT_GT(many.fate.derived(), 5);
}

std::vector<ParallelCase> Cases() {
  std::vector<ParallelCase> cases;
  for (std::uint32_t seed = 0; seed < 6; ++seed) {
    for (const std::size_t workers : {2, 5}) {
      for (const bool faults : {false, true}) {
        cases.push_back({seed, workers, /*caches=*/seed % 2 == 0, faults});
      }
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Seeds, ParallelProperty, ::testing::ValuesIn(Cases()), [](const auto& i) {
  return "seed" + std::to_string(i.param.seed) + "workers" + std::to_string(i.param.workers) +
         (i.param.faults ? "faults" : "");
});

}  // namespace
}  // namespace dray::scheduler
