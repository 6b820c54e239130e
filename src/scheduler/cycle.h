// SPDX-License-Identifier: Apache-2.0
//
// Cycle: one attempt to find a node for a pod, from PreFilter to the choice.
//
// Local filters are asked before the others, which are asked only about nodes that are left: so it
// is with and without remembered answers, and a node's reason is the same in both.
//
// Many nodes are asked about by several workers. Their answers are taken by one, in the order of
// nodes and up to the first error, so that nobody can tell how many there were.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "scheduler/cycle_data.h"
#include "scheduler/explanation.h"
#include "scheduler/framework.h"
#include "scheduler/placement.h"
#include "scheduler/plugin_set.h"
#include "scheduler/sweep.h"
#include "scheduler/timing.h"
#include "scheduler/what_if.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// Pods that are to get a node as soon as those that were sent away from it are gone. Room on it is
// theirs before pods that are not more important: those must fit beside them. It is not kept while
// the pod is being bound: then it has what it needs.
struct Nomination {
  std::shared_ptr<const PodInfo> pod;
  std::string node;
  // Others of its gang run already, and too few without it: the room is as good as taken, for everybody.
  bool begun = false;
};

// One thread, which workers help with Filter, Score and DetailGroup.
class Cycle final : public WhatIf {
 public:
  struct Environment {
    const PluginSet& plugins;
    World& world;
    std::uint32_t profile = 0;
    Placements* placements = nullptr;  // null: nothing is remembered
    const std::vector<Nomination>* nominations = nullptr;
    Timing* timing = nullptr;  // null: nobody measures
    Sweep sweep;
  };
  Cycle(Environment environment, std::shared_ptr<const PodInfo> pod);
  ~Cycle() override;

  // The node to run on; null: see status().
  NodeInfo* Choose();
  // Instead, for a node that was chosen otherwise: PreFilter alone, after which Filter may be asked.
  bool Prepare() { return End(Phase::kPreFilter, PreFilter()); }
  // kSuccess, kUnschedulable when no node will do, kUnresolvable when that was clear before any was
  // looked at, kError.
  const PluginStatus& status() const { return status_; }

  CycleState& state() { return state_; }
  // For what comes after this attempt.
  CycleState TakeState() { return std::move(state_); }
  // The plugins that refused the pod, or some node, by name; in their order.
  std::vector<std::string> RefusedBy();
  // The same for pods that were refused by nodes and that the same changes can help, those of their
  // own objects aside, if their labels and namespaces are the same, too. Nothing: of this pod
  // nothing of the kind can be said.
  std::optional<PlacementKey> Alike() const;
  // What the nodes say, grouped, with details. After Choose found none.
  void Explain(PodExplanation& explanation);
  // How many nodes were asked anew.
  std::uint64_t evaluated() const { return evaluated_; }

  std::vector<const NodeInfo*> Curable(const CycleState& state) const override;
  std::size_t NodeCount(const CycleState& state) const override;
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override;
  void Count(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
             int delta) override;
  DevicePreemptionPlugin* Devices(const CycleState& state) override;

 private:
  // What the filters say of one node. As small as that: one of them is written for every node, by
  // whichever worker asked, and all of them are read by one.
  struct Answer {
    static constexpr std::uint32_t kAccepted = 0xffffffff;
    std::uint32_t refusal = kAccepted;  // of Told::refusals
    std::uint16_t worker = 0;           // who was told
    PluginStatus::Code code = PluginStatus::Code::kSuccess;
  };
  // What one worker was told.
  struct alignas(64) Told {
    Refusals refusals;
    std::vector<std::uint32_t> numbers;  // by refusal: its number in the placement
  };
  // A call that is measured.
  struct Call {
    std::size_t filter = 0;
    PluginStatus::Code code = PluginStatus::Code::kSuccess;
    std::chrono::nanoseconds took{0};
  };
  // With null: the node is accepted.
  using Take = std::function<void(const NodeInfo& node, Told* refused_by, std::uint32_t refusal)>;

  bool PreFilter();
  PlacementKey KeyOfShape() const;
  // Asks `filters` about a node, up to the first that refuses it. For any worker. `calls`: where
  // they are measured.
  Answer AskOf(CycleState& state, const NodeInfo& node, const std::vector<std::size_t>& filters,
               Told& told, std::vector<Call>* calls) const;
  // Asks about all of `nodes`, and gives the answers to `take` in their order. False: one could not
  // be had, and the cycle has failed.
  bool AskOfAll(std::span<const NodeInfo* const> nodes, const std::vector<std::size_t>& filters,
                const Take& take);
  // The best node by a FineScorer, where only that tells nodes apart: nodes that have changed are
  // asked about from the best on, and mostly the first will do. The others are asked about when the
  // pods of the shape need them. Null: it is not known yet, and everything is asked.
  NodeInfo* ChooseLazily();
  void FindPlacement();
  bool FilterLocal();
  // Asks about nodes of which it is known that they refuse the pod, and not why they do now.
  bool AskOutdated();
  bool AskLocal(const std::vector<NodeInfo*>& nodes);
  bool FilterOthers();
  bool PreScore();
  // Which score plugins have something to say about the nodes in feasible_.
  bool AskScorers();
  void ScoreLocal();
  NodeInfo* Best();
  NodeInfo* BestOfAll();
  // With what a FineScorer says.
  std::vector<absl::int128> FineTotals(std::span<const NodeInfo* const> nodes,
                                       std::span<const std::int64_t> totals);
  // The first of the highest totals on which room that is kept for others is kept.
  template <typename Total>
  NodeInfo* BestOf(std::span<const NodeInfo* const> nodes, const std::vector<Total>& totals);
  NodeInfo* Nominated();
  // Whether the pod fits beside those that the node is kept for. If not, the node has refused it.
  bool KeepsNominations(const NodeInfo& node);
  // What a filter says of a node with the pods that it is kept for on it, and with devices that are
  // held in this view. Nothing: none of either goes before the pod, or everything fits.
  std::optional<Refusal> RefusalBeside(CycleState& state, const PodInfo& pod, const NodeInfo& node,
                                       HeldDevices::View view);
  // Instead of a filter's words, of a node that would do but for devices that are held for others: for whom.
  void SayForWhom(Refusal& refusal, const NodeInfo& node);
  // Whether devices of the node are held for pods that go before this one.
  bool HoldsDevices(const CycleState& state, const PodInfo& pod, const NodeInfo& node);
  // Of the first filter that refuses the node, which may be a changed copy.
  std::optional<Refusal> RefusalBy(CycleState& state, const PodInfo& pod, const NodeInfo& node);
  void Fail(PluginStatus status, const Plugin& plugin);
  // A call of a plugin, measured where somebody wants to know.
  template <typename Call>
  PluginStatus Ask(Phase phase, const Plugin& plugin, Call call) {
    return env_.timing == nullptr ? call() : env_.timing->Ask(phase, plugin, call);
  }
  // The phase is over. Whether it went well, as `done`.
  bool End(Phase phase, bool done);

  // Explanations.
  struct RefusedNodes {
    const Refusal* refusal = nullptr;
    std::vector<const NodeInfo*> nodes;
  };
  std::vector<RefusedNodes> RefusedAlike();
  // Finds the detail groups of refused nodes beforehand, where they are many.
  void GroupDetails();
  std::vector<Reason> AllReasons(const NodeInfo& node, const Refusal& refusal,
                                 const std::vector<Reason>& detailed);

  bool Passed(const NodeInfo& node) const;
  const Refusal* RefusalOf(const NodeInfo& node) const;
  std::span<const NodeInfo* const> Feasible();

  Environment env_;
  std::shared_ptr<const PodInfo> pod_;
  CycleState state_;
  PluginStatus status_;
  std::vector<std::size_t> local_;   // filters that are asked, of PluginSet::filters()
  std::vector<std::size_t> others_;  // the same, of those that are not local
  std::vector<std::size_t> final_;   // local scores that need no normalization
  std::vector<std::size_t> raw_;     // local scores that do
  std::vector<std::size_t> anew_;    // scores that are not local
  std::optional<std::size_t> fine_;  // the one that is finer than points (FineScorer)
  std::unique_ptr<Placement> own_;   // with nothing remembered
  Placement* placement_ = nullptr;
  absl::flat_hash_map<NodeIndex, std::shared_ptr<const Refusal>> refused_by_others_;
  std::vector<const NodeInfo*> feasible_;
  bool feasible_known_ = false;
  bool lazy_ = false;  // as long as nodes that have not been asked about are feasible, too
  bool nodes_asked_ = false;
  std::string refused_before_;  // the plugin whose PreFilter refused the pod
  std::uint64_t evaluated_ = 0;
};

}  // namespace dray::scheduler
