// SPDX-License-Identifier: Apache-2.0
#include "ledger/pool_draw.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"

namespace dray::ledger {
namespace {

using inventory::ConsumptionId;
using inventory::DeviceRow;
using inventory::Dictionary;
using inventory::PoolCounters;

// One PoolDraw in the making. One thread.
class Drawing {
 public:
  Drawing(const PoolCounters& counters, const Dictionary& dictionary, PoolDraw& out)
      : counters_(counters), dictionary_(dictionary), out_(out) {
    out_.left.reserve(counters.counters());
    for (const PoolCounters::Set& set : counters.sets()) {
      for (const auto& counter : set.row->counters) out_.left.push_back(counter.amount);
    }
    out_.sets.resize(counters.sets().size());
  }

  void Add(const PoolUsage& usage) {
    for (const DeviceUsage& device : usage.devices) {
      const DeviceRow* row = counters_.Find(device.device);
      if (row != nullptr) Subtract(row->consumption);
      // The others say nothing about groups.
      if (row != nullptr || !device.groups.empty()) Place(device, row);
    }
    out_.overdrawn = std::ranges::any_of(out_.left, [](Amount amount) { return amount < 0; });
  }

 private:
  void Subtract(ConsumptionId consumption) {
    for (const inventory::SetConsumption& use : dictionary_.At(consumption)) {
      const auto set = counters_.FindSet(use.counter_set);
      if (!set) continue;
      for (const inventory::CounterAmount& counter : use.counters) {
        const auto number = counters_.FindCounter(*set, counter.counter);
        if (number) out_.left[*number] -= counter.amount;
      }
    }
  }

  void Place(const DeviceUsage& usage, const DeviceRow* row) {
    absl::InlinedVector<std::pair<NameId, GroupsId>, 4> live;
    if (row != nullptr) {
      for (const inventory::SetConsumption& use : dictionary_.At(row->consumption)) {
        live.emplace_back(use.counter_set, use.groups);
      }
    }
    ForEachPlacement(usage, live, [&](NameId name, GroupsId groups) {
      const auto set = counters_.FindSet(name);
      if (set) out_.sets[*set].state.Place(dictionary_.At(groups));
    });
    for (const GroupSnapshot& snapshot : usage.groups) {
      if (snapshot.groups == GroupsId::kNone) continue;
      const auto set = counters_.FindSet(snapshot.counter_set);
      if (set) out_.sets[*set].recorded = true;
    }
  }

  const PoolCounters& counters_;
  const Dictionary& dictionary_;
  PoolDraw& out_;
};

}  // namespace

// Who needs it while it is being made waits: it would have to do the same.
std::shared_ptr<const PoolDraw> DrawOf(const PoolUsage& usage,
                                       const std::shared_ptr<const inventory::Slices>& slices,
                                       const PoolCounters& counters, const Dictionary& dictionary) {
  const base::MutexLock lock(usage.drawn.mutex_);
  std::shared_ptr<const PoolDraw>& last = usage.drawn.last_;
  if (last == nullptr || last->counters != &counters) {
    auto draw = std::make_shared<PoolDraw>();
    draw->slices = slices;
    draw->counters = &counters;
    Drawing(counters, dictionary, *draw).Add(usage);
    last = std::move(draw);
  }
  return last;
}

}  // namespace dray::ledger
