// SPDX-License-Identifier: Apache-2.0
//
// Properties of lists of moves on random small clusters, held against a slow model that knows nothing
// but numbers: devices and cpu of each node, what each pod takes of them. It walks through all lists
// of moves of a length, from none on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "planner/defrag_for_test.h"

namespace dray::planner {
namespace {

constexpr std::size_t kMaxMoves = 3;

int Rounds() {
  const char* given = std::getenv("DRAY_INSTANCES");
  return given == nullptr ? 400 : std::atoi(given);
}

struct ModelPod {
  std::string name;
  int gpus = 0;
  int cpu = 0;
  int priority = 0;
  bool stays = false;
  int node = -1;  // waits
};
struct ModelNode {
  int gpus = 0;
  int cpu = 8;
};

// Everybody's number is their name's.
struct Model {
  std::vector<ModelNode> nodes;
  std::vector<ModelPod> pods;  // those that wait come last
  std::size_t running = 0;

  bool Fits(const std::vector<int>& at, int pod, int node) const {
    int gpus = nodes[node].gpus - pods[pod].gpus;
    int cpu = nodes[node].cpu - pods[pod].cpu;
    for (std::size_t i = 0; i < pods.size(); ++i) {
      if (at[i] != node) continue;
      gpus -= pods[i].gpus;
      cpu -= pods[i].cpu;
    }
    return gpus >= 0 && cpu >= 0;
  }
  std::vector<int> Now() const {
    std::vector<int> at;
    for (const ModelPod& pod : pods) at.push_back(pod.node);
    return at;
  }
};

// What is asked for: that those who wait have places, or that so many nodes are empty.
struct Ask {
  bool pods = true;
  int nodes = 0;
};

class Brute {
 public:
  Brute(const Model& model, const Ask& ask, int limit) : model_(model), ask_(ask), limit_(limit) {}

  // The fewest moves, and the least important pods of any list of so many.
  std::optional<std::vector<int>> Best() {
    for (std::size_t k = 0; k <= kMaxMoves; ++k) {
      std::vector<int> at = model_.Now();
      std::vector<bool> moved(model_.running);
      std::vector<int> priorities;
      Step(at, moved, priorities, k);
      if (best_) return best_;
    }
    return std::nullopt;
  }

 private:
  bool AllPlaced(std::vector<int>& at, std::size_t pod) const {
    if (pod == model_.pods.size()) return true;
    for (std::size_t node = 0; node < model_.nodes.size(); ++node) {
      if (!model_.Fits(at, static_cast<int>(pod), static_cast<int>(node))) continue;
      at[pod] = static_cast<int>(node);
      const bool all = AllPlaced(at, pod + 1);
      at[pod] = -1;
      if (all) return true;
    }
    return false;
  }
  bool Reached(std::vector<int>& at) const {
    if (ask_.pods) return AllPlaced(at, model_.running);
    int empty = 0;
    for (std::size_t node = 0; node < model_.nodes.size(); ++node) {
      empty += std::ranges::find(at, static_cast<int>(node)) == at.end() ? 1 : 0;
    }
    return empty >= ask_.nodes;
  }
  void Step(std::vector<int>& at, std::vector<bool>& moved, std::vector<int>& priorities,
            std::size_t left) {
    if (left == 0) {
      std::vector<int> cost = priorities;
      std::ranges::sort(cost, std::greater());
      if ((!best_ || cost < *best_) && Reached(at)) best_ = cost;
      return;
    }
    for (std::size_t pod = 0; pod < model_.running; ++pod) {
      if (moved[pod] || model_.pods[pod].stays || model_.pods[pod].priority > limit_) continue;
      const int from = at[pod];
      at[pod] = -1;
      moved[pod] = true;
      priorities.push_back(model_.pods[pod].priority);
      for (std::size_t node = 0; node < model_.nodes.size(); ++node) {
        const int to = static_cast<int>(node);
        if (to == from || !model_.Fits(at, static_cast<int>(pod), to)) continue;
        at[pod] = to;
        Step(at, moved, priorities, left - 1);
        at[pod] = -1;
      }
      priorities.pop_back();
      moved[pod] = false;
      at[pod] = from;
    }
  }

  const Model& model_;
  const Ask ask_;
  const int limit_;
  std::optional<std::vector<int>> best_;
};

Model RandomModel(std::mt19937& random, bool waiting) {
  const auto up_to = [&](std::uint32_t n) { return static_cast<int>(random() % (n + 1)); };
  Model model;
  const int nodes = 2 + up_to(2);
  for (int i = 0; i < nodes; ++i) model.nodes.push_back({.gpus = 2 + up_to(2)});
  std::vector<int> at;
  for (int i = 2 + up_to(6); i > 0; --i) {
    ModelPod pod{.name = fmt::format("p{}", model.pods.size()),
                 .gpus = up_to(2),
                 .cpu = 1 + up_to(3),
                 .priority = up_to(2),
                 .stays = up_to(5) == 0};
    model.pods.push_back(pod);
    at.push_back(-1);
    const int node = up_to(nodes - 1);
    if (!model.Fits(at, static_cast<int>(at.size()) - 1, node)) {
      model.pods.pop_back();
      at.pop_back();
      continue;
    }
    at.back() = model.pods.back().node = node;
  }
  model.running = model.pods.size();
  for (int i = waiting ? 1 + up_to(5) / 5 : 0; i > 0; --i) {
    model.pods.push_back(
        {.name = fmt::format("w{}", i), .gpus = 1 + up_to(2), .cpu = 1 + up_to(3), .priority = 2});
  }
  return model;
}

std::string YamlOf(const Model& model) {
  std::string yaml = ClassYaml();
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    yaml += NodeYaml(fmt::format("n{}", i), model.nodes[i].gpus);
  }
  std::map<int, int> taken;
  for (const ModelPod& pod : model.pods) {
    if (pod.node < 0) {
      const std::string priority = fmt::format("  priority: {}\n", pod.priority);
      yaml += pod.gpus == 0 ? PodYaml(pod.name, priority, std::to_string(pod.cpu))
                            : PodYaml(pod.name,
                                      fmt::format("  resourceClaims:\n  - name: gpus\n    "
                                                  "resourceClaimTemplateName: gpus-{}\n{}",
                                                  pod.gpus, priority),
                                      std::to_string(pod.cpu));
      continue;
    }
    Running running{.name = pod.name,
                    .node = fmt::format("n{}", pod.node),
                    .cpu = std::to_string(pod.cpu),
                    .priority = pod.priority,
                    .controlled = !pod.stays};
    for (int i = 0; i < pod.gpus; ++i) running.gpus.push_back(taken[pod.node]++);
    yaml += RunningYaml(running);
  }
  return yaml;
}

// The list's moves one by one, by numbers. What is not true of it, or nothing.
std::string Fault(Model model, const Defrag& found, const Ask& ask) {
  const auto pod_of = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(model.pods, name, &ModelPod::name) -
                                    model.pods.begin());
  };
  const auto node_of = [](const std::string& name) { return std::atoi(name.c_str() + 1); };
  std::vector<int> at = model.Now();
  std::vector<std::string> moved;
  for (const Move& move : found.moves) {
    const std::size_t pod = pod_of(move.pod.name);
    if (pod >= model.running) return move.pod.name + " does not run";
    if (model.pods[pod].stays) return move.pod.name + " has to stay";
    if (std::ranges::find(moved, move.pod.name) != moved.end()) return move.pod.name + " twice";
    moved.push_back(move.pod.name);
    if (at[pod] != node_of(move.from)) return move.pod.name + " is not on " + move.from;
    at[pod] = -1;
    if (!model.Fits(at, static_cast<int>(pod), node_of(move.to))) {
      return fmt::format("{} has no room on {}", move.pod.name, move.to);
    }
    at[pod] = node_of(move.to);
  }
  for (const Arrival& arrival : found.arrivals) {
    const std::size_t pod = pod_of(arrival.pod.name);
    if (!model.Fits(at, static_cast<int>(pod), node_of(arrival.node))) {
      return fmt::format("{} has no room on {}", arrival.pod.name, arrival.node);
    }
    at[pod] = node_of(arrival.node);
  }
  if (ask.pods && std::ranges::find(at, -1) != at.end()) return "somebody still waits";
  if (!ask.pods) {
    if (found.free_nodes.size() != static_cast<std::size_t>(ask.nodes)) return "too few nodes";
    for (const std::string& node : found.free_nodes) {
      if (std::ranges::find(at, node_of(node)) != at.end()) return node + " is not empty";
    }
  }
  return "";
}

struct Counts {
  int reached = 0;
  int moved = 0;
  int impossible = 0;
  int unproven = 0;
};

void Compare(const Model& model, const Ask& ask, const DefragGoal& goal, int limit,
             Counts& counts) {
  const std::string yaml = YamlOf(model);
  const auto result = DefragOf(yaml, goal, {.max_moves = kMaxMoves});
  ASSERT_TRUE(result.ok()) << base::Message(result.status()) << "\n" << yaml;
  const Defrag& found = *result;
  SCOPED_TRACE(fmt::format("{}\n{}", fmt::join(Lines(found), "\n"), yaml));
  const auto best = Brute(model, ask, limit).Best();
  if (!found.reached) {
    ++counts.impossible;
    // Lists that were dropped for their order are told; with them, that there is no other is not known.
    const bool unproven = found.gave_up || (best && !found.reasons.empty());
    counts.unproven += unproven ? 1 : 0;
    ASSERT_TRUE(unproven || !best) << "there is a list of " << best->size();
    return;
  }
  ++counts.reached;
  ASSERT_EQ(Fault(model, found, ask), "");
  ASSERT_TRUE(best.has_value());
  counts.moved += best->empty() ? 0 : 1;
  ASSERT_GE(found.moves.size(), best->size());
  std::vector<int> priorities;
  for (const Move& move : found.moves) priorities.push_back(move.priority);
  std::ranges::sort(priorities, std::greater());
  counts.unproven += found.shortest && found.cheapest ? 0 : 1;
  if (found.shortest) {
    ASSERT_EQ(found.moves.size(), best->size());
  }
  if (found.cheapest) {
    ASSERT_EQ(priorities, *best);
  }
}

// Pods that find places by themselves keep those, so that there is one pod that waits, or two that
// find none.
TEST(DefragProperty, ListsForPodsAreValidShortestAndCheapest) {
  std::mt19937 random(20261118);
  Counts counts;
  for (int round = 0; round < Rounds(); ++round) {
    Model model = RandomModel(random, /*waiting=*/true);
    const Plan plan = PlanOf(YamlOf(model));
    const bool one_alone = std::ranges::any_of(
        plan.pods, [](const PodOutcome& pod) { return pod.state == State::kPlaced; });
    if (one_alone) continue;
    SCOPED_TRACE(fmt::format("round {}", round));
    Compare(model, {}, {}, 2, counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.moved * 40, Rounds());
  EXPECT_GT(counts.impossible * 20, Rounds());
  EXPECT_LT(counts.unproven * 20, Rounds());
}

TEST(DefragProperty, ListsForNodesAreValidShortestAndCheapest) {
  std::mt19937 random(20261119);
  Counts counts;
  for (int round = 0; round < Rounds(); ++round) {
    const Model model = RandomModel(random, /*waiting=*/false);
    const int nodes = 1 + static_cast<int>(random() % 2);
    SCOPED_TRACE(fmt::format("round {}, {} nodes", round, nodes));
    Compare(model, {.pods = false, .nodes = nodes}, {.node_count = static_cast<std::size_t>(nodes)},
            2, counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(counts.moved * 40, Rounds());
  EXPECT_GT(counts.impossible * 20, Rounds());
  EXPECT_LT(counts.unproven * 20, Rounds());
}

}  // namespace
}  // namespace dray::planner
