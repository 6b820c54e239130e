// SPDX-License-Identifier: Apache-2.0
#include "packing/packer.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dray::packing {

Packer::Packer(PackerOptions options)
    : options_(options), history_(options.history), variety_(options.variety) {}

Packer::RequestNumber Packer::Learn(const Request& request, double times) {
  seen_ += times;
  variety_.Learn(request, times);
  return history_.Learn(request, times);
}

void Packer::Replace(RequestNumber number, const Request& request) {
  history_.Replace(number, request);
  next_draw_ = 0;
}

void Packer::Refresh() {
  if (sequences_ == nullptr || seen_ >= next_draw_) {
    sequences_ = std::make_unique<Sequences>(history_, options_.sequences, ++round_);
    ++value_epoch_;
    ++price_epoch_;
    ++statistics_.redraws;
    // Once it decays the history does not grow; then a part of it has been replaced.
    next_draw_ = seen_ + (options_.growth - 1) * history_.total() + options_.grown_by;
    prices_stale_ = true;
    Purge();
  }
  if (prices_stale_ || seen_ >= next_prices_) {
    const std::vector<Prices::Priced> before(prices_.priced().begin(), prices_.priced().end());
    if (!prices_.Update(history_)) {
      prices_.Reset(history_);
      for (const State& state : states_) {
        if (state.slot == kNoSlot) continue;
        prices_.Count(state.state, static_cast<int>(members_[state.slot].size()));
      }
    }
    prices_.Renew();
    RenewScale(before, std::exchange(unseen_, variety_.Worth()));
    prices_stale_ = false;
    next_prices_ = seen_ + options_.price_every;
    ++price_epoch_;
  }
}

// Room for a class never grows by a placement, so what a placement loses by prices falls at most as
// much as the price that has fallen most. Classes that had no price before only add to it.
void Packer::RenewScale(std::span<const Prices::Priced> before, double unseen_before) {
  double fallen = unseen_before > 0 ? unseen_ / unseen_before : 1e9;
  for (const Prices::Priced& old : before) {
    const auto now = std::ranges::find(prices_.priced(), old.demand, &Prices::Priced::demand);
    fallen = std::min(fallen, now == prices_.priced().end() ? 0 : now->price / old.price);
  }
  scale_ *= fallen;
  if (scale_ > 1e-6 && scale_ < 1e6) return;
  scale_ = 1;
  ++scales_;
}

// Forgets states that no node is in.
void Packer::Purge() {
  next_.clear();
  known_.clear();
  losses_.clear();
  std::vector<State> kept;
  std::vector<StateNumber> numbers(states_.size(), kNone);
  for (StateNumber i = 0; i < states_.size(); ++i) {
    if (states_[i].slot == kNoSlot) continue;
    numbers[i] = static_cast<StateNumber>(kept.size());
    kept.push_back(std::move(states_[i]));
  }
  states_ = std::move(kept);
  numbers_.clear();
  for (StateNumber i = 0; i < states_.size(); ++i) numbers_.emplace(states_[i].state, i);
  for (std::vector<StateNumber>* const list : {&nodes_, &slots_}) {
    for (StateNumber& state : *list) {
      if (state != kNone) state = numbers[state];
    }
  }
}

Packer::StateNumber Packer::Intern(NodeState state) {
  const auto [at, added] = numbers_.try_emplace(state, static_cast<StateNumber>(states_.size()));
  if (added) {
    const std::int64_t free = FreeOf(state);
    states_.push_back({.state = std::move(state), .free = free});
  }
  return at->second;
}

void Packer::Set(NodeNumber node, NodeState state) {
  if (node >= nodes_.size()) nodes_.resize(node + 1, kNone);
  if (state.units.size() > kMaxUnits) {
    state.units.resize(kMaxUnits);
    state.free.resize(state.units.back().first + state.units.back().dims);
  }
  Normalize(state);
  const StateNumber now = nodes_[node];
  if (now != kNone && states_[now].state == state) return;
  Remove(node);
  if (states_.size() >= options_.states) Purge();
  const StateNumber number = Intern(std::move(state));
  prices_.Count(states_[number].state, 1);
  Enter(node, number);
}

void Packer::Remove(NodeNumber node) {
  if (node >= nodes_.size() || nodes_[node] == kNone) return;
  prices_.Count(states_[nodes_[node]].state, -1);
  Leave(node);
}

Packer::Member Packer::MemberOf(NodeNumber node) {
  return {.luck = static_cast<std::uint32_t>(Dice(node).Next() >> 32), .node = node};
}

void Packer::Enter(NodeNumber node, StateNumber number) {
  nodes_[node] = number;
  Slot& slot = states_[number].slot;
  if (slot == kNoSlot) {
    if (free_slots_.empty()) {
      free_slots_.push_back(static_cast<Slot>(slots_.size()));
      slots_.push_back(kNone);
      members_.emplace_back();
    }
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = number;
    ValueIsDue(slot);
  }
  std::vector<Member>& members = members_[slot];
  const Member member = MemberOf(node);
  members.insert(std::ranges::lower_bound(members, member), member);
}

void Packer::Leave(NodeNumber node) {
  State& state = states_[std::exchange(nodes_[node], kNone)];
  std::vector<Member>& members = members_[state.slot];
  members.erase(std::ranges::lower_bound(members, MemberOf(node)));
  if (!members.empty()) return;
  slots_[state.slot] = kNone;
  free_slots_.push_back(state.slot);
  ValueIsDue(std::exchange(state.slot, kNoSlot));
}

// States may change for ever while nobody asks about bounds: then all are due, which needs no list.
void Packer::ValueIsDue(Slot slot) {
  if (slot_values_epoch_ != value_epoch_) return;
  slot_values_due_.push_back(slot);
  if (slot_values_due_.size() > 2 * slots_.size()) slot_values_epoch_ = 0;
}

const NodeState* Packer::Find(NodeNumber node) const {
  if (node >= nodes_.size() || nodes_[node] == kNone) return nullptr;
  return &states_[nodes_[node]].state;
}

std::int64_t Packer::Value(StateNumber number, std::int64_t at_least) {
  State& state = states_[number];
  if (state.value_epoch != value_epoch_ || !options_.memory) {
    state.value = {};
    state.value_epoch = value_epoch_;
  }
  const std::uint32_t count = options_.sequences.count;
  if (state.value.done < count) {
    statistics_.values += state.value.done == 0 ? 1 : 0;
    statistics_.sequences -= state.value.done;
    sequences_->Continue(state.state, options_.memory ? at_least : 0, state.value);
    statistics_.sequences += state.value.done;
  }
  return state.value.placed + state.free * (count - state.value.done);
}

std::int64_t Packer::Scarcity(StateNumber number) {
  State& state = states_[number];
  if (state.price_epoch != price_epoch_ || !options_.memory) {
    double worth = prices_.priced().empty() ? 0 : prices_.WorthOf(state.state);
    if (unseen_ > 0) worth += unseen_ * static_cast<double>(RoomForSets(state.state));
    state.scarcity = std::llround(worth * options_.sequences.count);
    state.price_epoch = price_epoch_;
  }
  return state.scarcity;
}

std::int64_t Packer::EaseOf(const State& state) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (state.free <= 0) return -kMost;
  const double ratio =
      static_cast<double>(state.state.left[kCpu]) * kWhole / static_cast<double>(state.free);
  return -static_cast<std::int64_t>(std::clamp(ratio, 0.0, static_cast<double>(kMost - 1)));
}

const Packer::NextList& Packer::NextOf(StateNumber state, RequestNumber request) {
  const std::uint64_t key = (std::uint64_t{request} << 32) | state;
  const auto [at, added] = next_.try_emplace(key);
  if (!added && options_.memory) return at->second;
  NextList list;
  ++statistics_.successors;
  const NodeState from = states_[state].state;  // a copy: states_ grows
  for (Successor& next : Successors(from, history_.entries()[request].request)) {
    list.push_back({Intern(std::move(next.state)), next.start});
  }
  // Interning adds no entry here, so `at` is still where it was.
  return at->second = std::move(list);
}

std::optional<Cost> Packer::CostOf(NodeNumber node, RequestNumber request, std::int64_t at_most) {
  const Slot slot = SlotOf(node);
  return slot == kNoSlot ? std::nullopt : CostAt(slot, request, at_most);
}

std::optional<Cost> Packer::CostAt(Slot slot, RequestNumber request, std::int64_t at_most) {
  Refresh();
  if (states_.size() >= options_.states) Purge();
  const StateNumber state = slots_[slot];
  NewVersion(request);
  if (known_.size() <= request) known_.resize(request + 1);
  std::vector<Known>& known = known_[request];
  if (known.size() < slots_.size()) known.resize(slots_.size());
  Known& answer = known[slot];
  if (answer.state == state && answer.epoch == price_epoch_ && options_.memory &&
      (answer.exact || answer.cost.cost > at_most)) {
    return answer.fits ? std::optional(answer.cost) : std::nullopt;
  }
  answer = {.epoch = price_epoch_, .state = state, .exact = true};
  const NextList& list = NextOf(state, request);
  Losses& losses = LossesOf(request);
  losses.states[slot] = state;
  losses.values[slot] = kNever;
  if (list.empty()) return std::nullopt;
  const std::int64_t value = Value(state, 0);
  const std::int64_t scarcity = Scarcity(state);
  const std::int64_t before = value + scarcity;
  std::int64_t rarer = kNever;
  for (const Next& next : list) {
    // To matter it must cost no more than what is known to be had, here or elsewhere.
    const std::int64_t limit = answer.fits ? std::min(at_most, answer.cost.cost) : at_most;
    const std::int64_t scarce = Scarcity(next.state);
    const std::int64_t at_least =
        limit == std::numeric_limits<std::int64_t>::max() ? 0 : before - scarce - limit;
    const std::int64_t left = Value(next.state, at_least);
    losses.values[slot] = std::min(losses.values[slot], value - left);
    rarer = std::min(rarer, scarcity - scarce);
    const Cost cost{
        .cost = before - scarce - left, .ease = EaseOf(states_[next.state]), .start = next.start};
    if (cost.cost > at_most) answer.exact = false;
    if (!answer.fits ||
        std::pair(cost.cost, cost.ease) < std::pair(answer.cost.cost, answer.cost.ease)) {
      answer.cost = cost;
    }
    answer.fits = true;
  }
  if (answer.cost.cost <= at_most) answer.exact = true;
  // Less what rounding may have added.
  losses.scarcities[slot] = static_cast<double>(std::max<std::int64_t>(rarer - 1, 0)) / scale_;
  return answer.cost;
}

void Packer::NewVersion(RequestNumber request) {
  if (versions_.size() <= request) versions_.resize(request + 1);
  if (versions_[request] == history_.entries()[request].version) return;
  // Another request has got the number.
  versions_[request] = history_.entries()[request].version;
  if (known_.size() > request) known_[request].clear();
  if (losses_.size() > request) losses_[request] = {};
  absl::erase_if(next_, [&](const auto& entry) { return entry.first >> 32 == request; });
}

Packer::Losses& Packer::LossesOf(RequestNumber request) {
  if (losses_.size() <= request) losses_.resize(request + 1);
  Losses& losses = losses_[request];
  if (losses.epoch != value_epoch_) {
    losses = {.epoch = value_epoch_, .scales = scales_};
  }
  if (losses.scales != scales_) {
    losses.scales = scales_;
    std::ranges::fill(losses.scarcities, 0);
  }
  losses.states.resize(slots_.size(), kNone);
  losses.values.resize(slots_.size());
  losses.scarcities.resize(slots_.size());
  return losses;
}

Packer::Extent Packer::ExtentOf(const Request& request) {
  Extent takes{.scalars = request.needs};
  for (const Demand& demand : request.demands) {
    if (demand.options.empty() || demand.count == 0) continue;
    Amount lightest = kWhole;
    bool whole = true;
    for (const Option& option : demand.options) {
      lightest = std::min(lightest, option.whole             ? kWhole
                                    : option.amounts.empty() ? 0
                                                             : option.amounts.front());
      whole = whole && option.whole;
    }
    takes.amount = std::max(takes.amount, lightest);
    takes.untouched += whole ? demand.count : 0;
    if (&demand == request.demands.begin()) takes.kinds = KindsOf(demand);
  }
  return takes;
}

Packer::Extent Packer::ExtentOf(const NodeState& state) {
  Extent has{.scalars = state.left};
  for (const Unit& unit : state.units) {
    has.amount = std::max(has.amount, state.free[unit.first]);
    has.untouched += Untouched(state, unit) ? 1 : 0;
    has.kinds |= KindBit(unit.kind);
  }
  return has;
}

std::span<const std::int64_t> Packer::LowerBounds(RequestNumber request) {
  Refresh();
  NewVersion(request);
  if (slot_values_epoch_ != value_epoch_) {
    slot_values_epoch_ = value_epoch_;
    slot_values_due_.clear();
    for (Slot slot = 0; slot < slots_.size(); ++slot) slot_values_due_.push_back(slot);
  }
  slot_values_.resize(slots_.size());
  slot_free_.resize(slots_.size());
  slot_extents_.resize(slots_.size());
  for (const Slot slot : slot_values_due_) {
    const StateNumber state = slots_[slot];
    slot_values_[slot] = state == kNone ? 0 : Value(state, 0);
    slot_free_[slot] = state == kNone ? 0 : states_[state].free;
    if (state != kNone) slot_extents_[slot] = ExtentOf(states_[state].state);
  }
  slot_values_due_.clear();
  const Losses& losses = LossesOf(request);
  const Request& asked = history_.entries()[request].request;
  const std::int64_t weight = LeastWeightOf(asked);
  const Extent takes = ExtentOf(asked);
  const auto never = [&](const Extent& has) {
    return (takes.scalars[kCpu] > has.scalars[kCpu]) |
           (takes.scalars[kMemory] > has.scalars[kMemory]) |
           (takes.scalars[kPods] > has.scalars[kPods]) | (takes.amount > has.amount) |
           (takes.untouched > has.untouched) | (takes.kinds != 0 && (takes.kinds & has.kinds) == 0);
  };
  const auto count = static_cast<std::int64_t>(options_.sequences.count);
  bounds_.resize(slots_.size());
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    // Of what is left afterwards at most all is of use, and what is scarce does not become more.
    const std::int64_t most = std::max<std::int64_t>(slot_free_[slot] - weight, 0) * count;
    const auto scarcity = static_cast<std::int64_t>(losses.scarcities[slot] * scale_);
    const std::int64_t value = losses.values[slot];
    const std::int64_t known =
        value == kNever ? kNever : value + std::max<std::int64_t>(scarcity - 1, 0);
    const bool same = losses.states[slot] == slots_[slot] && options_.memory;
    bounds_[slot] = slots_[slot] == kNone        ? kNever
                    : same                       ? known
                    : never(slot_extents_[slot]) ? kNever
                                                 : slot_values_[slot] - most;
  }
  return bounds_;
}

std::uint64_t Packer::epoch() {
  Refresh();
  return price_epoch_;
}

std::int64_t Packer::ValueOf(NodeNumber node) {
  Refresh();
  return node < nodes_.size() && nodes_[node] != kNone ? Value(nodes_[node], 0) : 0;
}

std::int64_t Packer::WorthOf(NodeNumber node) {
  Refresh();
  if (node >= nodes_.size() || nodes_[node] == kNone) return 0;
  return Value(nodes_[node], 0) + Scarcity(nodes_[node]);
}

Packer::Statistics Packer::statistics() const {
  Statistics statistics = statistics_;
  statistics.states = states_.size();
  return statistics;
}

}  // namespace dray::packing
