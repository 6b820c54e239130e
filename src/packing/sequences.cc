// SPDX-License-Identifier: Apache-2.0
#include "packing/sequences.h"

#include <algorithm>
#include <array>
#include <limits>

#include "packing/place.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dray::packing {

std::uint64_t Dice::Next() {  // splitmix64
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Sequences::Sequences(const History& history, const SequenceOptions& options, std::uint64_t round)
    : options_(options) {
  double sum = 0;
  for (const History::Entry& entry : history.entries()) {
    const double seen = history.SeenOf(entry);
    if (seen <= 0 || rows_.size() == std::numeric_limits<std::uint16_t>::max()) continue;
    const Request& request = entry.request;
    Row row{.needs = request.needs, .weight = WeightOf(request)};
    row.simple = request.demands.size() <= 1;
    if (row.simple && !request.demands.empty()) {
      const Demand& demand = request.demands.front();
      row.count = demand.count;
      row.simple = demand.match < 0 && !demand.options.empty() &&
                   (demand.count == 1 || demand.options[0].whole);
      for (const Option& option : demand.options) {
        row.kinds |= KindBit(option.kind);
        const bool same = option.amounts.size() == 1 && option.whole == demand.options[0].whole &&
                          option.amounts == demand.options[0].amounts;
        row.simple = row.simple && same;
      }
      if (row.simple) {
        row.amount = demand.options[0].whole ? kWhole : demand.options[0].amounts[0];
      }
    }
    simple_ = simple_ && row.simple;
    rows_.push_back(row);
    requests_.push_back(request);
    up_to_.push_back(sum += seen);
  }
  for (const Row& row : rows_) {
    if (row.weight == 0 || !row.simple) continue;
    const auto alike = std::ranges::find_if(alike_, [&](const Row& other) {
      return other.weight == row.weight && other.kinds == row.kinds && other.amount == row.amount &&
             other.count == row.count;
    });
    if (alike == alike_.end()) {
      alike_.push_back(row);
      continue;
    }
    for (std::size_t s = 0; s < kScalars; ++s) {
      alike->needs[s] = std::min(alike->needs[s], row.needs[s]);
    }
  }
  Dice dice(options.seed * 0x2545f4914f6cdd1du + round);
  sequences_.resize(options.count);
  for (Sequence& sequence : sequences_) sequence.dice = Dice(dice.Next());
#if defined(__x86_64__)
  lanes_ = __builtin_cpu_supports("avx2") != 0;
#endif
  blocks_.resize((options.count + kLanes - 1) / kLanes);
}

std::uint16_t Sequences::At(Sequence& sequence, std::size_t step) {
  constexpr double kScale = 1.0 / 9007199254740992.0;  // 2^-53
  while (sequence.requests.size() <= step) {
    const double at = static_cast<double>(sequence.dice.Next() >> 11) * kScale * up_to_.back();
    const auto row =
        static_cast<std::size_t>(std::ranges::upper_bound(up_to_, at) - up_to_.begin());
    sequence.requests.push_back(static_cast<std::uint16_t>(std::min(row, up_to_.size() - 1)));
  }
  return sequence.requests[step];
}

bool Sequences::FastFor(const NodeState& state) const {
  return simple_ && state.units.size() <= kMostUnits &&
         std::ranges::all_of(state.units,
                             [](const Unit& u) { return u.dims == 1 && u.group == 0; });
}

void Sequences::Extend(std::size_t block, std::size_t steps) {
  // More than any node can give, and still far from the end of numbers.
  constexpr std::int64_t kHeavy = std::int64_t{kMostUnits + 1} * kWhole;
  std::vector<Step>& list = blocks_[block];
  while (list.size() < steps) {
    Step& step = list.emplace_back();
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t number = block * kLanes + lane;
      // The last block may have lanes without a sequence: they ask for too much.
      const Row row = number < sequences_.size() ? rows_[At(sequences_[number], list.size() - 1)]
                                                 : Row{.needs = {}, .weight = kHeavy};
      step.cpu[lane] = row.needs[kCpu];
      step.memory[lane] = row.needs[kMemory];
      step.pods[lane] = row.needs[kPods];
      step.weight[lane] = static_cast<std::int32_t>(std::min(row.weight, kHeavy));
      step.count[lane] =
          static_cast<std::int32_t>(std::min<std::uint32_t>(row.count, kMostUnits + 1));
      step.most_count = std::max(step.most_count, step.count[lane]);
      // Who takes no unit takes nothing of any.
      const Kinds kinds = row.count == 0 ? ~Kinds{0} : row.kinds;
      step.amount[lane] = row.count == 0 ? 0 : row.amount;
      step.kinds_low[lane] = static_cast<std::int32_t>(kinds & 0xffffffff);
      step.kinds_high[lane] = static_cast<std::int32_t>(kinds >> 32);
    }
  }
}

#if defined(__x86_64__)
#define DRAY_PACKING_LANES __attribute__((target("avx2")))
#else
#define DRAY_PACKING_LANES
#endif

namespace {

using Lanes = std::int32_t __attribute__((vector_size(32)));
// The same where numbers lie: a load for a vector that was stored in halves would wait for both.
using StoredLanes = std::int32_t __attribute__((vector_size(32), aligned(4), may_alias));
#define DRAY_PACKING_LOAD(numbers) (*reinterpret_cast<const StoredLanes*>((numbers).data()))

// Of what a comparison gave.
DRAY_PACKING_LANES inline bool AnyLane(const Lanes& lanes) {
#if defined(__x86_64__)
  return _mm256_movemask_ps(reinterpret_cast<__m256>(lanes)) != 0;
#else
  std::int32_t any = 0;
  for (std::size_t lane = 0; lane < sizeof(Lanes) / sizeof(std::int32_t); ++lane)
    any |= lanes[lane];
  return any != 0;
#endif
}

// Where a unit of the kind will do.
DRAY_PACKING_LANES inline Lanes Wanted(const Lanes& kinds_low, const Lanes& kinds_high,
                                       std::uint16_t kind) {
  return ((kind < 32 ? kinds_low : kinds_high) & (Lanes{} + (std::int32_t{1} << (kind & 31)))) != 0;
}

}  // namespace

// What a request that takes a unit takes at least, of those that may fit the state as it is: once
// less is left, nothing is placed any more, since room never grows.
Least Sequences::LeastFor(const NodeState& state) const {
  Least least;
  for (const Row& row : alike_) {
    bool fits = true;
    for (std::size_t s = 0; s < kScalars; ++s) fits &= row.needs[s] <= state.left[s];
    if (!fits) continue;
    std::uint32_t found = 0;
    for (const Unit& unit : state.units) {
      found +=
          (row.kinds & KindBit(unit.kind)) != 0 && state.free[unit.first] >= row.amount ? 1 : 0;
    }
    if (found < row.count) continue;
    least.any = true;
    least.weight = std::min(least.weight, row.weight);
    least.amount = std::min(least.amount, row.amount);
    for (std::size_t s = 0; s < kScalars; ++s) {
      least.needs[s] = std::min(least.needs[s], row.needs[s]);
    }
  }
  return least;
}

// Comparisons give -1 where they hold, so that adding one counts down and `&` selects.
DRAY_PACKING_LANES std::int64_t Sequences::RunLanes(const NodeState& state, std::size_t block,
                                                    std::int32_t free, std::int32_t limit,
                                                    const Least& least) {
  static_assert(sizeof(Lanes) == sizeof(Numbers));
  const Lanes zero = {};
  const Lanes none = zero + std::numeric_limits<std::int32_t>::max();
  std::array<Lanes, kMostUnits> amounts;
  std::array<Lanes, kMostUnits> fitting;  // the amount, or `none` where the request does not fit
  std::array<std::uint16_t, kMostUnits> kinds;
  std::size_t units = 0;
  bool mixed = false;
  for (const Unit& unit : state.units) {
    if (state.free[unit.first] < least.amount) continue;
    amounts[units] = zero + state.free[unit.first];
    kinds[units] = unit.kind;
    mixed = mixed || unit.kind != kinds[0];
    ++units;
  }
  Lanes cpu = zero + state.left[kCpu];
  Lanes memory = zero + state.left[kMemory];
  Lanes pods = zero + state.left[kPods];
  Lanes left = zero + free;
  Lanes asked = zero;
  Lanes most = zero + kWhole;  // no unit has more
  const auto least_weight = static_cast<std::int32_t>(least.weight);
  for (std::size_t i = 0; i < options_.longest; ++i) {
    const Lanes goes_on = (most >= least.amount) & (asked < limit) & (left >= least_weight) &
                          (cpu >= least.needs[kCpu]) & (memory >= least.needs[kMemory]) &
                          (pods >= least.needs[kPods]);
    if (!AnyLane(goes_on)) break;
    if (i == blocks_[block].size()) Extend(block, 2 * i + 8);
    const Step& step = blocks_[block][i];
    const Lanes step_cpu = DRAY_PACKING_LOAD(step.cpu);
    const Lanes step_memory = DRAY_PACKING_LOAD(step.memory);
    const Lanes step_pods = DRAY_PACKING_LOAD(step.pods);
    const Lanes weight = DRAY_PACKING_LOAD(step.weight);
    const Lanes amount = DRAY_PACKING_LOAD(step.amount);
    asked += weight & goes_on;
    Lanes may = goes_on & (step_cpu <= cpu) & (step_memory <= memory) & (step_pods <= pods) &
                (weight <= left) & (amount <= most);
    const Lanes kinds_low = DRAY_PACKING_LOAD(step.kinds_low);
    const Lanes kinds_high = DRAY_PACKING_LOAD(step.kinds_high);
    Lanes wanted = Wanted(kinds_low, kinds_high, kinds[0]);
    if (!mixed) may &= wanted;
    if (!AnyLane(may)) continue;
    Lanes best = none;
    for (std::size_t u = 0; u < units; ++u) {
      fitting[u] = amounts[u] >= amount ? amounts[u] : none;
      if (mixed) {
        if (u > 0 && kinds[u] != kinds[u - 1]) wanted = Wanted(kinds_low, kinds_high, kinds[u]);
        fitting[u] = wanted ? fitting[u] : none;
      }
      best = fitting[u] < best ? fitting[u] : best;
    }
    const Lanes count = DRAY_PACKING_LOAD(step.count);
    if (step.most_count <= 1) {
      may &= best < none;
      if (!AnyLane(may)) continue;
      // The first of those that are equally full.
      Lanes searching = may;
      most = zero;
      for (std::size_t u = 0; u < units; ++u) {
        const Lanes takes = (fitting[u] == best) & searching;
        searching &= ~takes;
        amounts[u] -= amount & takes;
        most = amounts[u] > most ? amounts[u] : most;
      }
    } else {
      Lanes found = zero;
      for (std::size_t u = 0; u < units; ++u) found -= fitting[u] < none;
      may &= found >= count;
      if (!AnyLane(may)) continue;
      // Several are whole ones, and so all that fit are equally full.
      Lanes missing = count & may;
      most = zero;
      for (std::size_t u = 0; u < units; ++u) {
        const Lanes takes = (fitting[u] == best) & (missing > 0);
        missing += takes;
        amounts[u] -= amount & takes;
        most = amounts[u] > most ? amounts[u] : most;
      }
    }
    cpu -= step_cpu & may;
    memory -= step_memory & may;
    pods -= step_pods & may;
    left -= weight & may;
  }
  std::int64_t placed = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (block * kLanes + lane < sequences_.size()) placed += free - left[lane];
  }
  return placed;
}

std::int64_t Sequences::RunOne(const NodeState& state, Sequence& sequence, std::int64_t free,
                               std::int64_t limit, const Least& least) {
  constexpr Amount kNone = std::numeric_limits<Amount>::max();
  std::array<Amount, kMostUnits> amounts;
  std::array<Amount, kMostUnits> before;
  const std::size_t units = state.units.size();
  for (std::size_t u = 0; u < units; ++u) amounts[u] = state.free[state.units[u].first];
  Scalars scalars = state.left;
  std::int64_t left = free;
  std::int64_t asked = 0;
  const auto goes_on = [&] {
    return asked < limit && left >= least.weight && scalars[kCpu] >= least.needs[kCpu] &&
           scalars[kMemory] >= least.needs[kMemory] && scalars[kPods] >= least.needs[kPods];
  };
  for (std::size_t i = 0; i < options_.longest && goes_on(); ++i) {
    const Row& row = rows_[At(sequence, i)];
    asked += row.weight;
    if (row.needs[kCpu] > scalars[kCpu] || row.needs[kMemory] > scalars[kMemory] ||
        row.needs[kPods] > scalars[kPods] || row.weight > left) {
      continue;
    }
    std::copy_n(amounts.begin(), units, before.begin());
    std::uint32_t taken = 0;
    for (; taken < row.count; ++taken) {
      Amount best = kNone;
      std::size_t at = 0;
      for (std::size_t u = 0; u < units; ++u) {
        const Amount amount = amounts[u];
        if (amount < row.amount || amount >= best) continue;
        if ((row.kinds & KindBit(state.units[u].kind)) == 0) continue;
        best = amount;
        at = u;
      }
      if (best == kNone) break;
      amounts[at] -= row.amount;
    }
    if (taken < row.count) {
      std::copy_n(before.begin(), units, amounts.begin());
      continue;
    }
    for (std::size_t s = 0; s < kScalars; ++s) scalars[s] -= row.needs[s];
    left -= row.weight;
  }
  return free - left;
}

std::int64_t Sequences::RunSlowly(NodeState state, Sequence& sequence, std::int64_t limit) {
  std::int64_t asked = 0;
  const std::int64_t before = FreeOf(state);
  for (std::size_t i = 0; asked < limit && i < options_.longest; ++i) {
    const std::uint16_t number = At(sequence, i);
    const Row& row = rows_[number];
    asked += row.weight;
    bool enough = true;
    for (std::size_t s = 0; s < kScalars; ++s) enough &= row.needs[s] <= state.left[s];
    if (!enough) continue;
    NodeState tried = state;
    if (Place(tried, requests_[number])) state = std::move(tried);
  }
  return before - FreeOf(state);
}

std::int64_t Sequences::ValueOf(const NodeState& state) {
  PartialValue value;
  Continue(state, 0, value);
  return value.placed;
}

void Sequences::Continue(const NodeState& state, std::int64_t at_least, PartialValue& value) {
  const std::int64_t free = FreeOf(state);
  if (rows_.empty() || free <= 0) {
    value.done = options_.count;
    return;
  }
  const std::int64_t limit = options_.times * free + options_.more;
  const bool fast = FastFor(state);
  if (fast && value.done == 0) value.least = LeastFor(state);
  const Least& least = value.least;
  if (fast && !least.any) {
    value.done = options_.count;
    return;
  }
  while (value.done < options_.count) {
    // All that is left to run can place everything, at best.
    const std::int64_t most = value.placed + free * (options_.count - value.done);
    if (most < at_least) return;
    if (fast && lanes_) {
      value.placed += RunLanes(state, value.done / kLanes, static_cast<std::int32_t>(free),
                               static_cast<std::int32_t>(limit), least);
      value.done = std::min<std::uint32_t>(value.done + kLanes, options_.count);
    } else if (fast) {
      value.placed += RunOne(state, sequences_[value.done], free, limit, least);
      ++value.done;
    } else {
      value.placed += RunSlowly(state, sequences_[value.done], limit);
      ++value.done;
    }
  }
}

std::int64_t Sequences::SlowValueOf(const NodeState& state) {
  const std::int64_t free = FreeOf(state);
  if (rows_.empty() || free <= 0) return 0;
  const std::int64_t limit = options_.times * free + options_.more;
  std::int64_t value = 0;
  for (Sequence& sequence : sequences_) value += RunSlowly(state, sequence, limit);
  return value;
}

}  // namespace dray::packing
