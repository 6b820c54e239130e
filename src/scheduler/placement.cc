// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace dray::scheduler {
namespace {

// Of so many nodes one: when that many have changed, all of them are looked through, which costs
// less than sorting those that have.
constexpr std::size_t kLookThrough = 16;

void SortByRank(std::vector<NodeInfo*>& nodes) {
  // Mostly they come in that order.
  if (std::ranges::is_sorted(nodes, std::less_equal<>(), &NodeInfo::rank)) return;
  std::ranges::sort(nodes, {}, &NodeInfo::rank);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

}  // namespace

void Placement::Reset(std::size_t nodes) {
  if (entries_.capacity() > 2 * nodes + 64) {
    entries_ = {};
    rank_ = {};
    best_ = {};
    left_out_ = {};
    unscored_ = {};
    outdated_ = {};
    raw_ = {};
  }
  entries_.clear();
  rank_.clear();
  admitted_ = 0;
  best_.Reset(0);
  left_out_.clear();
  unscored_.clear();
  outdated_.clear();
  scorers_ = 0;
  raw_per_node_ = 0;
  raw_.clear();
  distinct_.clear();
  refusals_.clear();
  free_refusals_.clear();
  refusal_numbers_.clear();
  seen_ = 0;
  asking_ = 0;
  nodes_version_ = 0;
  grouped_at_ = 0;
  begun_ = false;
  example = nullptr;
  concerned = 0;
}

// Nodes have come or gone: places in the tournament are others, answers are not.
void Placement::Rank(const World& world) {
  const auto nodes = world.nodes();
  entries_.resize(world.node_indices());
  raw_.resize(world.node_indices() * raw_per_node_);
  for (NodeIndex index = 0; index < entries_.size(); ++index) {
    if (world.node(index) == nullptr) Clear(index);
  }
  rank_.assign(world.node_indices(), 0);
  best_.Reset(nodes.size());
  for (const NodeInfo* node : nodes) {
    rank_[node->index] = node->rank;
    const Entry& entry = entries_[node->index];
    if (entry.refusal == kAdmitted && entry.scored) best_.Put(node->rank, entry.total);
  }
  best_.Build();
  nodes_version_ = world.nodes_version();
}

std::vector<NodeInfo*> Placement::Stale(const World& world) {
  const bool first = !std::exchange(begun_, true);
  if (first || nodes_version_ != world.nodes_version()) Rank(world);
  asking_ = world.version();
  std::vector<NodeInfo*> stale;
  const auto look_at = [&](NodeInfo* node) {
    Entry& entry = entries_[node->index];
    if (!IsKnown(entry, *node)) {
      stale.push_back(node);
    } else if (entry.version != node->version && !std::exchange(entry.outdated, true)) {
      outdated_.push_back(node->index);
    }
  };
  const World::ChangedNodes changed =
      world.ChangedSince(seen_, world.nodes().size() / kLookThrough + 8);
  if (first || changed.all) {
    for (NodeInfo* node : world.nodes()) look_at(node);
    return stale;
  }
  for (const NodeIndex index : changed.nodes) {
    NodeInfo* node = world.node(index);
    if (node != nullptr) look_at(node);
  }
  SortByRank(stale);
  return stale;
}

std::vector<NodeInfo*> Placement::Outdated(const World& world) {
  std::vector<NodeInfo*> nodes;
  for (const NodeIndex index : outdated_) {
    NodeInfo* node = world.node(index);
    // It may have been answered since, or be another one.
    if (node != nullptr && std::exchange(entries_[index].outdated, false)) nodes.push_back(node);
  }
  outdated_.clear();
  SortByRank(nodes);
  return nodes;
}

void Placement::Open(const World& world, std::vector<const NodeInfo*>& open) {
  Fit(world);
  for (const NodeInfo* node : world.nodes()) {
    const Entry& entry = entries_[node->index];
    if (entry.refusal < 0 || !IsKnown(entry, *node)) open.push_back(node);
  }
}

void Placement::Clear(NodeIndex index) {
  Entry& entry = entries_[index];
  if (entry.refusal == kAdmitted) {
    ForgetScore(index);
    --admitted_;
  } else if (entry.refusal >= 0) {
    Counted& counted = refusals_[static_cast<std::size_t>(entry.refusal)];
    if (--counted.nodes == 0) {
      refusal_numbers_.erase(counted.known.key);
      counted.known = {};
      free_refusals_.push_back(static_cast<std::uint32_t>(entry.refusal));
    }
  }
  entry = {};
}

void Placement::ForgetScore(NodeIndex index) {
  Entry& entry = entries_[index];
  if (!entry.scored) return;
  entry.scored = false;
  UncountRaw(index);
  best_.Set(rank_[index], Tournament::kNone);
}

void Placement::UncountRaw(NodeIndex index) {
  for (std::size_t i = 0; i < raw_per_node_; ++i) {
    const auto count = distinct_[i].find(raw_[index * raw_per_node_ + i]);
    if (--count->second == 0) distinct_[i].erase(count);
  }
}

std::uint32_t Placement::Refuse(const NodeInfo& node, const Refusals::Known& refusal) {
  Clear(node.index);
  auto found = refusal_numbers_.find(refusal.key);
  if (found == refusal_numbers_.end()) {
    if (free_refusals_.empty()) {
      free_refusals_.push_back(static_cast<std::uint32_t>(refusals_.size()));
      refusals_.emplace_back();
    }
    const std::uint32_t number = free_refusals_.back();
    free_refusals_.pop_back();
    refusals_[number].known = refusal;
    found = refusal_numbers_.emplace(refusal.key, number).first;
  }
  const std::uint32_t number = found->second;
  RefuseAgain(node, number);
  return number;
}

void Placement::RefuseAgain(const NodeInfo& node, std::uint32_t number) {
  Clear(node.index);
  ++refusals_[number].nodes;
  entries_[node.index].version = node.version;
  entries_[node.index].refusal = static_cast<std::int32_t>(number);
  entries_[node.index].lasts = refusals_[number].known.refusal->lasts;
}

void Placement::Admit(const NodeInfo& node) {
  Clear(node.index);
  entries_[node.index].version = node.version;
  entries_[node.index].refusal = kAdmitted;
  unscored_.push_back(node.index);
  ++admitted_;
}

void Placement::Finish() { seen_ = asking_; }

void Placement::SetScorers(std::uint64_t scorers, std::size_t raw) {
  if (scorers == scorers_ && raw == raw_per_node_) return;
  unscored_.clear();  // all of them are
  for (NodeIndex index = 0; index < entries_.size(); ++index) {
    if (entries_[index].refusal != kAdmitted) continue;
    ForgetScore(index);
    unscored_.push_back(index);
  }
  scorers_ = scorers;
  raw_per_node_ = raw;
  raw_.assign(entries_.size() * raw, 0);
  distinct_.assign(raw, {});
}

std::vector<NodeInfo*> Placement::Unscored(const World& world) {
  std::vector<NodeInfo*> nodes;
  for (const NodeIndex index : unscored_) {
    NodeInfo* node = world.node(index);
    if (node != nullptr && entries_[index].refusal == kAdmitted && !entries_[index].scored) {
      nodes.push_back(node);
    }
  }
  unscored_.clear();
  SortByRank(nodes);
  return nodes;
}

void Placement::SetScores(std::span<NodeInfo* const> nodes, std::span<const std::int64_t> totals,
                          std::span<const std::int64_t> raw) {
  // All rounds of the tournament anew, or each node's way to the top: about log n places.
  const bool many = nodes.size() >= rank_.size() / 8;
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    const NodeInfo& node = *nodes[place];
    Entry& entry = entries_[node.index];
    entry.total = totals[place];
    entry.scored = true;
    std::ranges::copy(raw.subspan(place * raw_per_node_, raw_per_node_),
                      raw_.begin() + static_cast<std::ptrdiff_t>(node.index * raw_per_node_));
    many ? best_.Put(node.rank, entry.total) : best_.Set(node.rank, entry.total);
  }
  if (many) best_.Build();
  // Neighbours mostly have the same.
  for (std::size_t i = 0; i < raw_per_node_; ++i) {
    for (std::size_t place = 0; place < nodes.size();) {
      const std::int64_t score = raw[place * raw_per_node_ + i];
      std::size_t end = place + 1;
      while (end < nodes.size() && raw[end * raw_per_node_ + i] == score) ++end;
      distinct_[i][score] += end - place;
      place = end;
    }
  }
}

void Placement::LeaveOut(std::size_t rank) {
  left_out_.emplace_back(rank, best_.At(rank));
  best_.Set(rank, Tournament::kNone);
}
void Placement::Restore() {
  for (const auto& [rank, score] : left_out_) best_.Set(rank, score);
  left_out_.clear();
}

void Placement::GroupAt(std::uint64_t global_version) {
  if (std::exchange(grouped_at_, global_version) == global_version) return;
  for (Entry& entry : entries_) entry.detail_group.reset();
}

const Refusal* Placement::RefusalOf(const NodeInfo& node) const {
  const std::int32_t refusal = entries_[node.index].refusal;
  return refusal < 0 ? nullptr : refusals_[static_cast<std::size_t>(refusal)].known.refusal.get();
}

void Placement::MarkRefusing(std::vector<bool>& filters) const {
  for (const Counted& counted : refusals_) {
    if (counted.nodes > 0) filters[counted.known.refusal->filter] = true;
  }
}

Placement& Placements::Get(const PlacementKey& key, const std::shared_ptr<const PodInfo>& pod,
                           const World& world, std::uint64_t concerned) {
  const std::size_t answers = std::max<std::size_t>(1, world.node_indices());
  const std::size_t limit = std::min(limit_, std::max(kShapes, kAnswers / answers));
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    used_.splice(used_.begin(), used_, found->second);
    Placement& placement = *used_.front().second;
    if (placement.concerned == concerned && SameShape(*placement.example, *pod)) {
      return placement;
    }
  } else if (used_.size() >= limit && !used_.empty()) {
    // There may have been fewer nodes before.
    for (; used_.size() > limit; used_.pop_back()) by_key_.erase(used_.back().first);
    by_key_.erase(used_.back().first);
    used_.splice(used_.begin(), used_, std::prev(used_.end()));
    used_.front().first = key;
    by_key_.emplace(key, used_.begin());
  } else {
    used_.emplace_front(key, std::make_unique<Placement>());
    by_key_.emplace(key, used_.begin());
  }
  Placement& placement = *used_.front().second;
  placement.Reset(world.node_indices());
  placement.example = pod;
  placement.concerned = concerned;
  return placement;
}

void Placements::Clear() {
  by_key_.clear();
  used_.clear();
}

}  // namespace dray::scheduler
