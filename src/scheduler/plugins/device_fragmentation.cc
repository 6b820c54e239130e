// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/device_fragmentation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/numeric/int128.h"
#include "allocator/attempt.h"
#include "scheduler/plugins/dynamic_resources_state.h"

namespace dray::scheduler {
namespace {

// FNV-1a: the same in every process.
std::uint64_t StableHash(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

packing::PackerOptions OptionsOf(const DeviceFragmentationArgs& args) {
  packing::PackerOptions options;
  options.sequences.count = static_cast<std::uint32_t>(args.sequences);
  options.sequences.seed = static_cast<std::uint64_t>(args.seed);
  options.history.half_life = static_cast<double>(args.half_life);
  options.variety.half_life = options.history.half_life;
  return options;
}

}  // namespace

DeviceFragmentation::DeviceFragmentation(World& world, const DeviceFragmentationArgs& args)
    : world_(world), args_(args), units_(world), packer_(OptionsOf(args)) {}

void DeviceFragmentation::SetNode(NodeIndex index) {
  if (node_versions_.size() <= index) node_versions_.resize(index + 1);
  NodeInfo* node = world_.node(index);
  if (node == nullptr || node->node == nullptr || !world_.RefreshDevices(*node).ok()) {
    packer_.Remove(index);
    units_.Forget(index);
    node_versions_[index] = 0;
    return;
  }
  if (node_versions_[index] == node->version) return;
  node_versions_[index] = node->version;
  packer_.Set(index, units_.StateOf(*node));
}

void DeviceFragmentation::Sync() {
  // What is found on nodes may change what units are: an attribute turns out to be another one for
  // nearly every device, or sets are to match. Then all nodes are looked at again. That happens a few
  // times at most: an attribute does not become telling again.
  while (true) {
    const std::uint64_t units = units_.version();
    const bool all =
        synced_ == 0 || synced_nodes_ != world_.nodes_version() || synced_units_ != units;
    const World::ChangedNodes changed =
        all ? World::ChangedNodes{.all = true} : world_.ChangedSince(synced_);
    if (synced_units_ != units) node_versions_.clear();
    if (synced_kinds_ != units_.kinds_version()) {
      // Requests that were learned are of kinds that do not exist any more.
      synced_kinds_ = units_.kinds_version();
      packer_ = packing::Packer(OptionsOf(args_));
      asked_.Clear();
    }
    if (changed.all) {
      for (NodeIndex index = 0; index < world_.node_indices(); ++index) SetNode(index);
    } else {
      for (const NodeIndex index : changed.nodes) SetNode(index);
    }
    synced_ = world_.version();
    synced_nodes_ = world_.nodes_version();
    synced_units_ = units;
    if (units_.version() == units) return;
  }
}

void DeviceFragmentation::LearnTypical() {
  if (args_.requests.empty() ||
      (typical_units_ == units_.version() && typical_kinds_ == units_.kinds() &&
       typical_classes_ == world_.classes_version())) {
    return;
  }
  std::vector<packing::Request> requests;
  double total = 0;
  for (const TypicalRequest& typical : args_.requests) {
    total += typical.weight;
    api::ResourceClaim claim;
    claim.spec.devices = typical.devices;
    const std::vector<std::shared_ptr<const api::ResourceClaim>> claims = {
        std::make_shared<const api::ResourceClaim>(std::move(claim))};
    const KnownPlan known =
        typical.devices.requests.empty() ? KnownPlan() : typical_plans_.Get(claims, world_);
    PodInfo pod;
    pod.requests = Resources::From(typical.resources, world_.resource_names());
    requests.push_back(units_.RequestOf(pod, known.plan.get()));
  }
  // A request that must match may have changed what units are.
  Sync();
  packer_ = packing::Packer(OptionsOf(args_));
  asked_.Clear();
  node_versions_.clear();
  for (NodeIndex index = 0; index < world_.node_indices(); ++index) SetNode(index);
  // As if so many had come.
  constexpr double kPods = 1000;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    packer_.Learn(requests[i], kPods * args_.requests[i].weight / total);
  }
  typical_units_ = units_.version();
  typical_kinds_ = units_.kinds();
  typical_classes_ = world_.classes_version();
}

PluginStatus DeviceFragmentation::PreFilter(CycleState& state, const PodInfo& pod, World&) {
  Sync();
  LearnTypical();
  State& own = state.Get<State>();
  own.plugin = this;
  std::shared_ptr<const allocator::Plan> plan;
  std::uint64_t plan_number = 0;
  if (const auto* devices = state.Find<DynamicResourcesState>();
      devices != nullptr && devices->usual != nullptr) {
    plan = devices->usual->plan.plan;
    plan_number = plan == nullptr ? 0 : devices->usual->plan.number;
  }
  const std::uint64_t key = absl::HashOf(pod.requests.milli_cpu, pod.requests.memory, plan_number);
  Asked* asked = asked_.Find(key);
  if (asked == nullptr) {
    asked_.Trim();
    asked = &asked_.Put(key, {});
  }
  if (asked->units != units_.version() || asked->kinds != units_.kinds() ||
      packer_.history().entries().size() <= asked->number ||
      packer_.history().entries()[asked->number].version != asked->version) {
    const packing::Request request = units_.RequestOf(pod, plan.get());
    if (synced_units_ != units_.version()) Sync();
    asked->number = packer_.Find(request);
    asked->version = packer_.history().entries()[asked->number].version;
    asked->units = units_.version();
    asked->kinds = units_.kinds();
  }
  own.request = asked->number;
  // The same everywhere, unlike absl's hashes, which begin with an address.
  const std::uint64_t uid = StableHash(pod.pod->metadata.uid);
  const std::uint64_t seed = static_cast<std::uint64_t>(args_.seed);
  own.salt = static_cast<std::uint32_t>(packing::Dice(seed ^ uid).Next());
  if (args_.requests.empty() && counted_.Find(uid) == nullptr) {
    counted_.Trim();
    counted_.Put(uid, true);
    packer_.Learn(packer_.history().entries()[asked->number].request);
  }
  return PluginStatus::Success();
}

PluginStatus DeviceFragmentation::PreScore(CycleState& state, const PodInfo&, World&) {
  const State* own = state.Find<State>();
  if (own == nullptr || !own->request || units_.kinds() == 0) return PluginStatus::Skip();
  return PluginStatus::Success();
}

std::int64_t DeviceFragmentation::Score(CycleState&, const PodInfo&, const NodeInfo&) { return 0; }

// By cost, then by free cpu beside free units: 28 and 10 bits, which is below kMaxNodeScore points.
namespace {
constexpr double kRange = 64;  // units; what costs more is as bad as that
constexpr double kLevels = 1 << 28;
constexpr std::int64_t kEasiest = std::numeric_limits<std::int64_t>::min();
}  // namespace

std::int64_t DeviceFragmentation::ScoreOf(std::int64_t cost, std::int64_t ease) const {
  constexpr double kPerOctave = 48;
  const double units = static_cast<double>(cost) / packing::kWhole / packer_.sequences();
  const double better = std::clamp((kRange - units) / (2 * kRange), 0.0, 1.0);
  const auto level = static_cast<std::int64_t>(std::min(better * kLevels, kLevels - 1));
  const double beside = std::log2(1 + static_cast<double>(-ease)) * kPerOctave;
  const std::int64_t easy =
      ease == kEasiest ? 1023 : static_cast<std::int64_t>(std::clamp(beside, 0.0, 1023.0));
  return (level << 10) | easy;
}

std::int64_t DeviceFragmentation::WorseThan(std::int64_t cost) const {
  const double unit = static_cast<double>(packing::kWhole) * packer_.sequences();
  // Outside of the range all costs are the same.
  if (static_cast<double>(cost) > kRange * unit - 1) return packing::Packer::kNever - 1;
  const auto level = static_cast<std::int64_t>(2 * kRange * unit / kLevels) + 2;
  return std::max(cost, static_cast<std::int64_t>(-kRange * unit)) + level;
}

// A place on a ring: who comes first after the pod's own is chosen.
std::uint64_t DeviceFragmentation::Luck(const CycleState& state, const PodInfo&,
                                        const NodeInfo& node) const {
  const packing::Packer::Member member = packing::Packer::MemberOf(node.index);
  const std::uint32_t behind = member.luck - state.Find<State>()->salt;
  return (std::uint64_t{behind} << 32) | member.node;
}

void DeviceFragmentation::FindBest(RequestNumber request, std::span<const std::int64_t> bounds) {
  using Slot = packing::Packer::Slot;
  std::int64_t highest = 0;
  std::int64_t limit = packing::Packer::kNever - 1;
  best_.clear();
  const auto look = [&](Slot slot) {
    const auto cost = packer_.CostAt(slot, request, limit);
    if (!cost) return;
    const std::int64_t score = ScoreOf(cost->cost, cost->ease);
    limit = std::min(limit, WorseThan(cost->cost));
    if (!best_.empty() && score < highest) return;
    if (score > highest) best_.clear();
    best_.push_back(slot);
    highest = score;
  };
  const auto may = [&](Slot slot) {
    return bounds[slot] <= limit && (left_out_.empty() || !left_out_[slot]);
  };
  // The one that may be best says how good others must be.
  std::optional<Slot> first;
  for (Slot slot = 0; slot < bounds.size(); ++slot) {
    if ((!first || bounds[slot] < bounds[*first]) && may(slot)) first = slot;
  }
  if (!first) return;
  look(*first);
  candidates_.clear();
  for (Slot slot = 0; slot < bounds.size(); ++slot) {
    if (slot != *first && may(slot)) candidates_.emplace_back(bounds[slot], slot);
  }
  std::ranges::make_heap(candidates_, std::greater<>());
  for (auto end = candidates_.end(); end != candidates_.begin(); --end) {
    if (candidates_.front().first > limit) break;
    look(candidates_.front().second);
    std::pop_heap(candidates_.begin(), end, std::greater<>());
  }
}

std::optional<NodeIndex> DeviceFragmentation::FineBest(
    CycleState& state, const PodInfo&, const std::function<Answer(NodeIndex)>& ask) {
  using Member = packing::Packer::Member;
  const State& own = state.Get<State>();
  const std::span<const std::int64_t> bounds = packer_.LowerBounds(*own.request);
  left_out_.clear();
  struct Ring {
    std::span<const Member> members;
    std::size_t next = 0;
    std::size_t left = 0;
  };
  absl::InlinedVector<Ring, 4> rings;
  while (true) {
    FindBest(*own.request, bounds);
    if (best_.empty()) return std::nullopt;
    rings.clear();
    for (const packing::Packer::Slot slot : best_) {
      const auto members = packer_.MembersOf(slot);
      const auto at = std::ranges::lower_bound(members, Member{.luck = own.salt});
      rings.push_back({members, static_cast<std::size_t>(at - members.begin()), members.size()});
    }
    while (true) {
      Ring* first = nullptr;
      std::pair<std::uint32_t, NodeIndex> least;
      for (Ring& ring : rings) {
        if (ring.left == 0) continue;
        const Member& member = ring.members[ring.next % ring.members.size()];
        const std::pair key(member.luck - own.salt, member.node);
        if (first != nullptr && key >= least) continue;
        first = &ring;
        least = key;
      }
      if (first == nullptr) break;
      ++first->next;
      --first->left;
      switch (ask(least.second)) {
        case Answer::kYes:
          return least.second;
        case Answer::kNo:
          break;
        case Answer::kEnough:
          return std::nullopt;
      }
    }
    left_out_.resize(bounds.size());
    for (const packing::Packer::Slot slot : best_) left_out_[slot] = true;
  }
}

void DeviceFragmentation::FineScores(CycleState& state, const PodInfo&,
                                     std::span<const NodeInfo* const> nodes,
                                     std::span<const std::int64_t> others, std::int64_t weight,
                                     std::span<std::int64_t> scores) {
  const RequestNumber request = *state.Get<State>().request;
  const bool equal = std::ranges::all_of(others, [&](std::int64_t o) { return o == others[0]; });
  const std::span<const std::int64_t> lower = packer_.LowerBounds(request);
  // Those that may be best come first; once what a node could have at best is below what the best
  // one has, nobody else needs to be looked at.
  using Total = absl::int128;
  const auto total = [&](std::size_t n, std::int64_t score) {
    return Total(others[n]) * kFineScore + Total(weight) * score;
  };
  std::vector<std::pair<Total, std::uint32_t>> bounds(nodes.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    const NodeIndex index = nodes[n]->index;
    const packing::Packer::Slot slot = packer_.SlotOf(index);
    const std::int64_t bound = slot < lower.size() ? lower[slot] : packing::Packer::kNever;
    scores[n] = bound == packing::Packer::kNever ? 0 : ScoreOf(bound, kEasiest);
    bounds[n] = {total(n, scores[n]), ~n};
  }
  std::ranges::make_heap(bounds);
  std::optional<Total> best;
  std::int64_t least = packing::Packer::kNever - 1;
  for (auto end = bounds.end(); end != bounds.begin(); --end) {
    std::pop_heap(bounds.begin(), end);
    const auto& [bound, inverse] = *(end - 1);
    if (best && bound < *best) break;
    const std::uint32_t n = ~inverse;
    const NodeIndex index = nodes[n]->index;
    const auto cost = packer_.CostOf(index, request, equal ? least : packing::Packer::kNever);
    scores[n] = cost ? ScoreOf(cost->cost, cost->ease) : 0;
    if (cost) least = std::min(least, WorseThan(cost->cost));
    const Total reached = total(n, scores[n]);
    if (!best || reached > *best) best = reached;
  }
}

const allocator::DevicePreference* DeviceFragmentation::PreferenceFor(const CycleState& state,
                                                                      const NodeInfo& node) {
  const State* own = state.Find<State>();
  const packing::NodeState* known = packer_.Find(node.index);
  if (own == nullptr || !own->request || known == nullptr || node.devices == nullptr)
    return nullptr;
  const auto cost = packer_.CostOf(node.index, *own->request);
  if (!cost || !cost->start) return nullptr;
  known = packer_.Find(node.index);
  const packing::Unit& first = known->units[cost->start->unit];
  const auto amounts = [](const packing::NodeState& of, const packing::Unit& unit) {
    return std::span(of.free).subspan(unit.first, unit.dims);
  };
  // Units like the one that was chosen, then the fullest group, then the fullest unit.
  const packing::NodeState now = units_.StateOf(node);
  std::vector<std::int64_t> groups;
  for (const packing::Unit& unit : now.units) {
    if (groups.size() <= unit.group) groups.resize(unit.group + 1);
    groups[unit.group] += packing::FreeOf(now, unit);
  }
  rank_.assign(node.devices->devices().size(), std::numeric_limits<std::uint64_t>::max());
  for (std::uint32_t d = 0; d < rank_.size(); ++d) {
    const auto number = units_.UnitOf(node, d);
    if (!number) continue;
    const packing::Unit& unit = now.units[*number];
    const bool like = unit.kind == first.kind && unit.group == first.group &&
                      std::ranges::equal(amounts(now, unit), amounts(*known, first));
    const auto group =
        static_cast<std::uint64_t>(groups[unit.group]) & ((std::uint64_t{1} << 32) - 1);
    const auto free = static_cast<std::uint64_t>(packing::FreeOf(now, unit));
    rank_[d] = (like ? 0 : std::uint64_t{1} << 62) | (group << 24) | free;
  }
  return this;
}

std::vector<std::uint32_t> DeviceFragmentation::Order(
    const allocator::Attempt& attempt, const allocator::State&,
    const allocator::Candidates& candidates) const {
  std::vector<std::uint32_t> order;
  for (std::uint32_t d = 0; d < attempt.device_count(); ++d) {
    if (candidates.devices.Test(d) || candidates.faulty.Test(d)) order.push_back(d);
  }
  std::ranges::stable_sort(order, {}, [&](std::uint32_t d) { return rank_[d]; });
  return order;
}

packing::FragmentationByKind DeviceFragmentation::Fragmentation() {
  Sync();
  packing::FragmentationMeter meter(packer_.history());
  for (NodeIndex index = 0; index < world_.node_indices(); ++index) {
    if (const packing::NodeState* state = packer_.Find(index)) meter.Add(*state);
  }
  return meter.sum();
}

const allocator::DevicePreference* PreferenceFor(CycleState& state, const NodeInfo& node) {
  const auto* own = state.Find<DeviceFragmentation::State>();
  return own == nullptr || own->plugin == nullptr ? nullptr
                                                  : own->plugin->PreferenceFor(state, node);
}

}  // namespace dray::scheduler
