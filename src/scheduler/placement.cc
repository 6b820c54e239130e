// SPDX-License-Identifier: Apache-2.0
#include "scheduler/placement.h"

#include <algorithm>

namespace dray::scheduler {
namespace {

void SortByRank(std::vector<NodeInfo*>& nodes) {
  std::ranges::sort(nodes, {}, &NodeInfo::rank);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

}  // namespace

std::string Refusal::Key() const {
  std::string key = std::to_string(filter);
  key += code == PluginStatus::Code::kUnresolvable ? '!' : '?';
  for (const Reason& reason : reasons) {
    key.append(reason.code).append(1, '\0').append(reason.text).append(1, '\0');
    for (const Reason::Shortage& shortage : reason.shortages) {
      key.append(shortage.what).append(1, '\0').append(shortage.needed).append(1, '\0');
      key.append(shortage.free).append(1, '\0');
    }
    key += '\n';
  }
  return key;
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
  const World::ChangedNodes changed = world.ChangedSince(seen_);
  if (first || changed.all) {
    for (NodeInfo* node : world.nodes()) {
      if (entries_[node->index].version != node->version) stale.push_back(node);
    }
    return stale;
  }
  for (const NodeIndex index : changed.nodes) {
    NodeInfo* node = world.node(index);
    if (node != nullptr && entries_[index].version != node->version) stale.push_back(node);
  }
  SortByRank(stale);
  return stale;
}

void Placement::Clear(NodeIndex index) {
  Entry& entry = entries_[index];
  if (entry.refusal == kAdmitted) {
    ForgetScore(index);
    --admitted_;
  } else if (entry.refusal >= 0) {
    Counted& counted = refusals_[static_cast<std::size_t>(entry.refusal)];
    if (--counted.nodes == 0) {
      refusal_numbers_.erase(counted.key);
      free_refusals_.push_back(static_cast<std::uint32_t>(entry.refusal));
    }
  }
  entry = {};
}

void Placement::ForgetScore(NodeIndex index) {
  Entry& entry = entries_[index];
  if (!entry.scored) return;
  entry.scored = false;
  CountRaw(index, -1);
  best_.Set(rank_[index], Tournament::kNone);
}

void Placement::CountRaw(NodeIndex index, int by) {
  for (std::size_t i = 0; i < raw_per_node_; ++i) {
    auto& count = distinct_[i][raw_[index * raw_per_node_ + i]];
    count = by > 0 ? count + 1 : count - 1;
    if (count == 0) distinct_[i].erase(raw_[index * raw_per_node_ + i]);
  }
}

void Placement::Refuse(const NodeInfo& node, Refusal refusal, std::string key) {
  Clear(node.index);
  auto found = refusal_numbers_.find(key);
  if (found == refusal_numbers_.end()) {
    if (free_refusals_.empty()) {
      free_refusals_.push_back(static_cast<std::uint32_t>(refusals_.size()));
      refusals_.emplace_back();
    }
    const std::uint32_t number = free_refusals_.back();
    free_refusals_.pop_back();
    refusals_[number] = {.refusal = std::move(refusal), .key = key};
    found = refusal_numbers_.emplace(std::move(key), number).first;
  }
  ++refusals_[found->second].nodes;
  entries_[node.index].version = node.version;
  entries_[node.index].refusal = static_cast<std::int32_t>(found->second);
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

void Placement::SetScore(const NodeInfo& node, std::int64_t total,
                         std::span<const std::int64_t> raw) {
  Entry& entry = entries_[node.index];
  entry.total = total;
  entry.scored = true;
  std::ranges::copy(raw, raw_.begin() + static_cast<std::ptrdiff_t>(node.index * raw_per_node_));
  CountRaw(node.index, 1);
  best_.Set(node.rank, total);
}

void Placement::LeaveOut(std::size_t rank) {
  left_out_.emplace_back(rank, best_.At(rank));
  best_.Set(rank, Tournament::kNone);
}
void Placement::Restore() {
  for (const auto& [rank, score] : left_out_) best_.Set(rank, score);
  left_out_.clear();
}

const Refusal* Placement::RefusalOf(const NodeInfo& node) const {
  const std::int32_t refusal = entries_[node.index].refusal;
  return refusal < 0 ? nullptr : &refusals_[static_cast<std::size_t>(refusal)].refusal;
}

Placement& Placements::Get(const PlacementKey& key, const std::shared_ptr<const PodInfo>& pod,
                           const World& world) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    used_.splice(used_.begin(), used_, found->second);
    Placement& placement = *used_.front().second;
    if (placement.global_version == world.global_version() && SameShape(*placement.example, *pod)) {
      return placement;
    }
    used_.front().second = std::make_unique<Placement>();
  } else {
    used_.emplace_front(key, std::make_unique<Placement>());
    by_key_.emplace(key, used_.begin());
    if (used_.size() > limit_) {
      by_key_.erase(used_.back().first);
      used_.pop_back();
    }
  }
  Placement& placement = *used_.front().second;
  placement.example = pod;
  placement.global_version = world.global_version();
  return placement;
}

void Placements::Clear() {
  by_key_.clear();
  used_.clear();
}

}  // namespace dray::scheduler
