// SPDX-License-Identifier: Apache-2.0
//
// Placement: what local filters and scores say of every node for pods of one shape, remembered. A
// pod of the shape asks only about nodes that have changed since the one before it, and finds the
// best of the others at once.
//
// Exact: with everything forgotten before each pod the same node is chosen. The best is the highest
// total of weighted scores; of equal totals the node that comes first by name, where Kubernetes
// throws dice.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/string_map.h"
#include "scheduler/framework.h"
#include "scheduler/refusals.h"
#include "scheduler/tournament.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// What must be equal for pods to share a placement, beside SameShape.
struct PlacementKey {
  std::uint64_t shape = 0;
  std::uint32_t profile = 0;
  std::vector<std::uint64_t> classes;  // of each local filter that is asked, in order: its number
                                       // and FilterPlugin::ClassOf
  friend bool operator==(const PlacementKey&, const PlacementKey&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const PlacementKey& key) {
    return H::combine(std::move(h), key.shape, key.profile, key.classes);
  }
};

// One thread.
class Placement {
 public:
  Placement() = default;
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  // Forgets everything. What it was kept in serves again, unless that is far more than a cluster of
  // so many nodes needs: where every pod has a shape of its own one of these is begun for each.
  void Reset(std::size_t nodes);

  // Takes note of nodes that came or went. Those that must be looked at again, by rank. Each is to
  // be answered by Refuse or Admit, then Finish called; without it they come again. Not those that
  // refuse the pod still, though it may be for another reason.
  std::vector<NodeInfo*> Stale(const World& world);
  // The latter, by rank, for when reasons are wanted. Each is to be answered by Refuse.
  std::vector<NodeInfo*> Outdated(const World& world);
  // Knows of the nodes that there are. Without it, or Stale, nothing below may be asked.
  void Fit(const World& world) {
    if (nodes_version_ != world.nodes_version()) Rank(world);
  }
  // Nodes that are not known to refuse the pod as they are now, by rank. Asks for nothing.
  void Open(const World& world, std::vector<const NodeInfo*>& open);
  // Whether what is known of it is of the node as it is now.
  bool Knows(const NodeInfo& node) const { return IsKnown(entries_[node.index], node); }
  // The number that the refusal has here.
  std::uint32_t Refuse(const NodeInfo& node, const Refusals::Known& refusal);
  // The same reason for another node: the number is one that Refuse gave since Stale.
  void RefuseAgain(const NodeInfo& node, std::uint32_t number);
  void Admit(const NodeInfo& node);
  void Finish();

  // The score plugins that are asked, as a set of bits, and how many of them have raw scores to
  // be normalized. Others than last time: every score is forgotten.
  void SetScorers(std::uint64_t scorers, std::size_t raw);
  // Admitted nodes without a score, by rank. Each is to be answered by SetScores.
  std::vector<NodeInfo*> Unscored(const World& world);
  // `totals`: weighted, of plugins that do not normalize, by place in `nodes`. `raw`: of those that
  // do, one after the other for each node.
  void SetScores(std::span<NodeInfo* const> nodes, std::span<const std::int64_t> totals,
                 std::span<const std::int64_t> raw);

  std::size_t admitted() const { return admitted_; }
  bool Admitted(const NodeInfo& node) const { return entries_[node.index].refusal == kAdmitted; }
  // The best by total, if there is any.
  std::optional<std::size_t> BestRank() const { return best_.Best(); }
  // Leaves a node out of BestRank until Restore.
  void LeaveOut(std::size_t rank);
  void Restore();
  std::int64_t Total(const NodeInfo& node) const { return entries_[node.index].total; }
  std::int64_t Raw(const NodeInfo& node, std::size_t i) const {
    return raw_[node.index * raw_per_node_ + i];
  }
  // Whether all admitted nodes have the same raw score: then it cannot tell them apart.
  bool RawIsEqual(std::size_t i) const { return distinct_[i].size() <= 1; }

  // Null when the node was admitted.
  const Refusal* RefusalOf(const NodeInfo& node) const;
  // Which filters refuse some node.
  void MarkRefusing(std::vector<bool>& filters) const;
  // A number for the refusal of a node: equal numbers, equal refusals. Only for refused ones.
  std::uint32_t RefusalNumber(const NodeInfo& node) const {
    return static_cast<std::uint32_t>(entries_[node.index].refusal);
  }
  // Kept for as long as the answer for the node is.
  std::optional<std::uint64_t>& DetailGroup(const NodeInfo& node) {
    return entries_[node.index].detail_group;
  }

  // What details nodes were grouped by may have changed without an answer having changed: forgets
  // the groups, unless they were made at this version of the world.
  void GroupAt(std::uint64_t global_version);

  std::shared_ptr<const PodInfo> example;  // a pod of the shape
  std::uint64_t concerned = 0;             // FilterPlugin::ConcernedAt, when this was begun

 private:
  static constexpr std::int32_t kUnknown = -2;
  static constexpr std::int32_t kAdmitted = -1;
  struct Entry {
    std::uint64_t version = 0;  // of the node, when it was asked about
    std::int64_t total = 0;
    std::optional<std::uint64_t> detail_group;
    std::int32_t refusal = kUnknown;  // kAdmitted, or of refusals_
    bool scored = false;
    bool lasts = false;     // refused as long as the node is not eased
    bool outdated = false;  // among outdated_
  };
  struct Counted {
    Refusals::Known known;
    std::size_t nodes = 0;
  };

  static bool IsKnown(const Entry& entry, const NodeInfo& node) {
    return entry.version == node.version || (entry.lasts && node.eased <= entry.version);
  }
  void Rank(const World& world);
  void Clear(NodeIndex index);
  void ForgetScore(NodeIndex index);
  void UncountRaw(NodeIndex index);

  std::vector<Entry> entries_;       // by NodeIndex
  std::vector<std::uint32_t> rank_;  // by NodeIndex, as of nodes_version_
  std::size_t admitted_ = 0;
  Tournament best_;  // by rank
  std::vector<std::pair<std::size_t, std::int64_t>> left_out_;
  std::vector<NodeIndex> unscored_;
  std::vector<NodeIndex> outdated_;  // refused, and have changed since

  std::uint64_t scorers_ = 0;
  std::size_t raw_per_node_ = 0;
  std::vector<std::int64_t> raw_;  // by NodeIndex and scorer
  // Per scorer: which raw scores admitted nodes have, and how many.
  std::vector<absl::flat_hash_map<std::int64_t, std::size_t>> distinct_;

  std::vector<Counted> refusals_;
  std::vector<std::uint32_t> free_refusals_;
  base::StringMap<std::uint32_t> refusal_numbers_;

  std::uint64_t seen_ = 0;    // World::version when everything was answered
  std::uint64_t asking_ = 0;  // the same, of the round that is under way
  std::uint64_t nodes_version_ = 0;
  std::uint64_t grouped_at_ = 0;  // World::global_version
  bool begun_ = false;
};

// The placements of the shapes that were asked for lately. One thread.
class Placements {
 public:
  // At most so many shapes, and beyond kShapes only as long as answers for all nodes are not more
  // than kAnswers: where shapes alternate, one that is forgotten is asked about everywhere again.
  static constexpr std::size_t kShapes = 64;
  static constexpr std::size_t kAnswers = std::size_t{1} << 20;
  explicit Placements(std::size_t limit) : limit_(limit) {}

  // That of the pod's shape, an empty one when there is none or something has concerned all nodes
  // since: `concerned` is the latest FilterPlugin::ConcernedAt. Stays until the next call.
  Placement& Get(const PlacementKey& key, const std::shared_ptr<const PodInfo>& pod,
                 const World& world, std::uint64_t concerned = 0);
  void Clear();
  std::size_t size() const { return used_.size(); }

 private:
  using Used = std::list<std::pair<PlacementKey, std::unique_ptr<Placement>>>;
  std::size_t limit_;
  Used used_;  // last used first
  absl::flat_hash_map<PlacementKey, Used::iterator> by_key_;
};

}  // namespace dray::scheduler
