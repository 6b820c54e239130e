// SPDX-License-Identifier: Apache-2.0
//
// The phases of scheduling a pod, one small interface each. A plugin implements those it needs.
//
// A cycle: PreFilter once, Filter per node, PostFilter when no node is left, Score per node that
// is, Reserve on the chosen node, PreBind, Bind. What one phase learns for the next is in
// CycleState.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/cluster.h"
#include "scheduler/node_info.h"
#include "scheduler/pod_info.h"
#include "scheduler/reason.h"

namespace dray::scheduler {

class World;

// An answer of a phase.
struct PluginStatus {
  enum class Code : std::uint8_t {
    kSuccess,
    kSkip,           // PreFilter, Score: this plugin has nothing to say about the pod
    kUnschedulable,  // not now; removing pods from the node may help
    kUnresolvable,   // not now, and removing pods does not help
    kWait,           // PreBind: ask again later
    kError,          // we could not find out
  };
  Code code = Code::kSuccess;
  std::vector<Reason> reasons;  // unless kSkip, and kSuccess but of PostFilter

  bool ok() const { return code == Code::kSuccess; }
  static PluginStatus Success() { return {}; }
  static PluginStatus Skip() { return {Code::kSkip, {}}; }
  static PluginStatus Unschedulable(Reason reason) {
    return {Code::kUnschedulable, {std::move(reason)}};
  }
  static PluginStatus Unresolvable(Reason reason) {
    return {Code::kUnresolvable, {std::move(reason)}};
  }
  static PluginStatus Error(std::string text) {
    return {Code::kError, {Reason{.code = "error", .text = std::move(text)}}};
  }
};

// What the phases of one cycle tell each other: each plugin its own type. One thread; several
// workers have a view each.
class CycleState {
 public:
  // The same things for another worker. Only as long as workers do not write to them, see
  // FilterPlugin; what one adds is its own.
  CycleState ForWorker(std::size_t worker) const {
    CycleState view = *this;
    view.worker_ = worker;
    return view;
  }
  // Who asks: 0 is the scheduling thread, below Executor::workers().
  std::size_t worker() const { return worker_; }

  template <typename T>
  T& Get() {
    auto& entry = data_[std::type_index(typeid(T))];
    if (entry == nullptr) entry = std::make_shared<T>();
    return *static_cast<T*>(entry.get());
  }
  template <typename T>
  const T* Find() const {
    const auto it = data_.find(std::type_index(typeid(T)));
    return it == data_.end() ? nullptr : static_cast<const T*>(it->second.get());
  }

 private:
  absl::flat_hash_map<std::type_index, std::shared_ptr<void>> data_;
  std::size_t worker_ = 0;
};

// Several workers may ask plugins about different nodes at the same time, but never about two nodes
// of one shard (sweep.h). Nodes come to a shard in runs: neighbours lie together in memory.
inline constexpr std::size_t kNodeShards = 128;
inline constexpr std::size_t kNodesInARun = 16;
inline std::size_t ShardOf(const NodeInfo& node) { return node.index / kNodesInARun % kNodeShards; }
// Of so many nodes: the shards that have any, and the most that one has.
inline std::size_t ShardsOf(std::size_t nodes) {
  return std::clamp<std::size_t>((nodes + kNodesInARun - 1) / kNodesInARun, 1, kNodeShards);
}
inline std::size_t MostOfAShard(std::size_t nodes) {
  constexpr std::size_t kRound = kNodeShards * kNodesInARun;
  return std::min(nodes, (nodes + kRound - 1) / kRound * kNodesInARun);
}

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view name() const = 0;  // Kubernetes's: "NodeResourcesFit"
};

// Called before a pod enters the active queue. kSuccess or kUnresolvable (it waits, and no hint but
// the plugin's own wakes it).
class PreEnqueuePlugin : public virtual Plugin {
 public:
  virtual PluginStatus PreEnqueue(const PodInfo& pod) = 0;
};

// Which changes may make a pod fit that this plugin refused.
enum class Hint : std::uint8_t { kSkip, kQueue };
class HintPlugin : public virtual Plugin {
 public:
  // Called with every change of an object while pods wait because of this plugin. `old` is null for
  // additions, and for a deletion that is none: of a pod that could not be bound, or goes elsewhere,
  // and gives back what was kept for it.
  virtual Hint Wake(const PodInfo& pod, const api::Change& change, const api::Object* old) = 0;
};

// Called once per pod and cycle, before any node is looked at. kSuccess, kSkip (its Filter is not
// called in this cycle), kUnresolvable (no node will do), kError.
class PreFilterPlugin : public virtual Plugin {
 public:
  virtual PluginStatus PreFilter(CycleState& state, const PodInfo& pod, World& world) = 0;
};

// Whether the pod can run on the node. kSuccess, kUnschedulable, kUnresolvable, kError (the cycle
// ends). Depends on the pod, the node and what PreFilter left in the state, and must say truly
// whether it looks at anything beyond the pod's class and the node: then the answer is not kept.
//
// Filter, Score and DetailGroup are asked about different nodes by several workers at once. They
// may read the world, the state and the plugin, and write what is the worker's
// (CycleState::worker), the node's or its shard's (ShardOf), and nothing else that is not safe to
// share. All other calls come one at a time.
class FilterPlugin : public virtual Plugin {
 public:
  virtual PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  // Whether, for this pod, the answer for a node can change only when that node changes
  // (NodeInfo::version), or what it says in ConcernedAt. Asked after PreFilter.
  virtual bool Local(const CycleState& state, const PodInfo& pod) const = 0;
  // With Local: what the answer, and this plugin's score, depend on beyond the pod's shape
  // (PodInfo::shape) and the node, as a number: equal numbers, equal answers. Asked after
  // PreFilter.
  virtual std::uint64_t ClassOf(const CycleState& state, const PodInfo& pod) const {
    static_cast<void>(state), static_cast<void>(pod);
    return 0;
  }
  // With Local: the version of the world's last change that concerns more than single nodes
  // (World::global_version) and may have changed an answer, or this plugin's score, for pods of this
  // class; 0: none can. Asked after PreFilter.
  virtual std::uint64_t ConcernedAt(const CycleState& state, const PodInfo& pod) {
    static_cast<void>(state), static_cast<void>(pod);
    return 0;
  }
  // With Local: whether a node that was refused for these reasons stays refused, by this filter at
  // least, while others only take more of it (NodeInfo::eased).
  virtual bool Lasts(std::span<const Reason> reasons) const {
    static_cast<void>(reasons);
    return false;
  }
};

// Says more about the refusals of its Filter than Filter does: for when saying it costs too much to
// be done for every node. Called after all filters, in the same cycle, for one node of each group.
class DetailPlugin : public virtual Plugin {
 public:
  // Equal for nodes about which Detail says the same.
  virtual std::uint64_t DetailGroup(CycleState& state, const PodInfo& pod,
                                    const NodeInfo& node) = 0;
  // Instead of the reasons that Filter gave.
  virtual std::vector<Reason> Detail(CycleState& state, const PodInfo& pod,
                                     const NodeInfo& node) = 0;
};

// Called when no node is left. May make room (preemption, giving claims back); kSuccess when the
// pod should be tried again soon, with reasons where it has to wait for something until then.
struct PostFilterResult {
  PluginStatus status;
  std::string nominated_node;
  // How many pods were sent away; nothing: the plugin sends none.
  std::optional<std::size_t> victims;
};
class PostFilterPlugin : public virtual Plugin {
 public:
  virtual PostFilterResult PostFilter(CycleState& state, const PodInfo& pod, World& world) = 0;
};

inline constexpr std::int64_t kMaxNodeScore = 100;

// Points of scores that are told apart by less: a point is so many of them.
inline constexpr std::int64_t kFineScore = 1'000'000'000'000;

// A score plugin whose scores are finer than points, and which looks at all nodes at once so that it
// need not look closely at those that cannot be the best.
class FineScorer {
 public:
  virtual ~FineScorer() = default;
  // `others`: what all other score plugins give the nodes, weighted, in points. `scores`: in
  // kFineScore-ths of a point, 0 to kMaxNodeScore points. Exact for the node with the highest
  // total, others' points and `weight` times this; for a node that cannot have it, anything with
  // which it has not. After PreScore, on the scheduling thread.
  virtual void FineScores(CycleState& state, const PodInfo& pod,
                          std::span<const NodeInfo* const> nodes,
                          std::span<const std::int64_t> others, std::int64_t weight,
                          std::span<std::int64_t> scores) = 0;
  // Of nodes with equal totals the one with the least of these is chosen: chance, which is the same
  // for the same pod and node however often it is asked, and never the same for two nodes.
  virtual std::uint64_t Luck(const CycleState& state, const PodInfo& pod,
                             const NodeInfo& node) const = 0;
  // What is said of a node: the pod may go there, it may not, or nobody else is to be asked about.
  enum class Answer : std::uint8_t { kYes, kNo, kEnough };
  // The node that would be chosen where all others' points are the same, of those for which `ask`
  // says yes; it is asked from the best on. Nothing: enough was asked, or by what the plugin knows
  // the pod fits nowhere.
  virtual std::optional<NodeIndex> FineBest(CycleState& state, const PodInfo& pod,
                                            const std::function<Answer(NodeIndex)>& ask) = 0;
};

// How much the pod is wanted on a node that passed: 0 to kMaxNodeScore after Normalize. PreScore
// may skip the plugin for the pod.
class ScorePlugin : public virtual Plugin {
 public:
  virtual PluginStatus PreScore(CycleState& state, const PodInfo& pod, World& world) = 0;
  virtual std::int64_t Score(CycleState& state, const PodInfo& pod, const NodeInfo& node) = 0;
  // Scores of all nodes that passed, in place, equal ones to equal ones. False: Score is final
  // already and, as a Local filter, changes only with its node.
  virtual bool Normalizes() const = 0;
  // Whether, for this pod, Score changes only with its node. Asked after PreScore.
  virtual bool LocalScore(const CycleState& state, const PodInfo& pod) const {
    static_cast<void>(state), static_cast<void>(pod);
    return !Normalizes();
  }
  virtual void Normalize(CycleState& state, const PodInfo& pod, std::span<std::int64_t> scores) = 0;
  // Not null: it scores in this way, and Score is not asked. One plugin of a profile may.
  virtual FineScorer* fine() { return nullptr; }
};

// Takes what Filter found for the chosen node, so that the next pod cannot.
class ReservePlugin : public virtual Plugin {
 public:
  // Called once per pod, after scoring. kSuccess, kUnschedulable or kError; unless kSuccess the
  // framework calls Unreserve on every reserve plugin, in reverse order.
  virtual PluginStatus Reserve(CycleState& state, const PodInfo& pod, const NodeInfo& node,
                               World& world) = 0;
  // Idempotent, cannot fail, and may be called although Reserve was not.
  virtual void Unreserve(CycleState& state, const PodInfo& pod, World& world) = 0;
};

// Writes what must be written before the pod is bound. kSuccess, kWait (called again when something
// changes or the clock says so), kUnschedulable, kError.
class PreBindPlugin : public virtual Plugin {
 public:
  virtual PluginStatus PreBind(CycleState& state, const PodInfo& pod, std::string_view node,
                               World& world) = 0;
};

}  // namespace dray::scheduler
