// SPDX-License-Identifier: Apache-2.0
#include "ledger/internal/holding.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace dray::ledger::internal {
namespace {

// A result with what it owns of the Holding's ranges.
struct Part {
  const Held& held;
  std::span<const ConsumedCapacity> consumed;
  std::span<const GroupSnapshot> groups;
};

template <typename F>
void ForEachIn(PoolId pool, const Holding& holding, F f) {
  std::size_t consumed = 0, groups = 0;
  for (const Held& held : holding.results) {
    if (held.pool == pool) {
      f(Part{held, std::span(holding.consumed).subspan(consumed, held.consumed),
             std::span(holding.groups).subspan(groups, held.groups)});
    }
    consumed += held.consumed;
    groups += held.groups;
  }
}

void AddConsumed(DeviceUsage& usage, NameId capacity, Amount amount) {
  const auto at =
      std::ranges::lower_bound(usage.consumed, capacity, {}, &ConsumedCapacity::capacity);
  if (at == usage.consumed.end() || at->capacity != capacity) {
    usage.consumed.insert(at, {capacity, amount});
  } else if (at->amount += amount; at->amount == 0) {
    usage.consumed.erase(at);
  }
}

std::vector<GroupSnapshot>::iterator FindSnapshot(DeviceUsage& usage, const GroupSnapshot& wanted) {
  const auto key = [](const GroupSnapshot& s) { return std::pair(s.counter_set, s.groups); };
  return std::ranges::lower_bound(usage.groups, key(wanted), {}, key);
}
bool IsSame(const GroupSnapshot& a, const GroupSnapshot& b) {
  return a.counter_set == b.counter_set && a.groups == b.groups;
}

void Add(PoolUsage& pool, Holder holder, const Part& part) {
  auto at = std::ranges::lower_bound(pool.devices, part.held.device, {}, &DeviceUsage::device);
  if (at == pool.devices.end() || at->device != part.held.device) {
    at = pool.devices.insert(at, DeviceUsage{.device = part.held.device});
  }
  DeviceUsage& usage = *at;
  ++(part.held.share ? usage.shares : usage.exclusive);
  usage.holders.push_back(holder);
  for (const ConsumedCapacity& c : part.consumed) AddConsumed(usage, c.capacity, c.amount);
  for (const GroupSnapshot& snapshot : part.groups) {
    const auto found = FindSnapshot(usage, snapshot);
    if (found != usage.groups.end() && IsSame(*found, snapshot)) {
      ++found->count;
    } else {
      usage.groups.insert(found, snapshot);
    }
  }
}

// A device that nobody has any more stays as a row, for the caller to take out.
DeviceUsage& SubtractOnly(PoolUsage& pool, Holder holder, const Part& part) {
  const auto at =
      std::ranges::lower_bound(pool.devices, part.held.device, {}, &DeviceUsage::device);
  DRAY_CHECK(at != pool.devices.end() && at->device == part.held.device,
             "a held device is not in the ledger");
  DeviceUsage& usage = *at;
  --(part.held.share ? usage.shares : usage.exclusive);
  if (const auto mine = std::ranges::find(usage.holders, holder); mine != usage.holders.end()) {
    usage.holders.erase(mine);
  }
  for (const ConsumedCapacity& c : part.consumed) AddConsumed(usage, c.capacity, -c.amount);
  for (const GroupSnapshot& snapshot : part.groups) {
    const auto found = FindSnapshot(usage, snapshot);
    DRAY_CHECK(found != usage.groups.end() && IsSame(*found, snapshot),
               "a recorded snapshot is not in the ledger");
    if (--found->count == 0) usage.groups.erase(found);
  }
  return usage;
}

void Subtract(PoolUsage& pool, Holder holder, const Part& part) {
  const DeviceUsage& usage = SubtractOnly(pool, holder, part);
  if (usage.results() == 0)
    pool.devices.erase(pool.devices.begin() + (&usage - pool.devices.data()));
}

}  // namespace

std::size_t Holding::MemoryBytes() const {
  return results.capacity() * sizeof(Held) + consumed.capacity() * sizeof(ConsumedCapacity) +
         groups.capacity() * sizeof(GroupSnapshot);
}

Holding HoldingOf(const api::AllocationResult& allocation, inventory::Dictionary& dictionary) {
  Holding holding;
  holding.results.reserve(allocation.devices.results.size());
  for (const api::DeviceRequestAllocationResult& result : allocation.devices.results) {
    if (result.admin_access.value_or(false)) continue;
    Held held{.pool = dictionary.InternPool(result.driver, result.pool),
              .device = dictionary.Intern(result.device),
              .share = result.share_id.has_value()};
    if (held.share) {
      for (const auto& [name, quantity] : result.consumed_capacity) {
        const Amount amount = inventory::ToAmount(quantity);
        if (amount == 0) continue;
        holding.consumed.push_back({dictionary.Intern(name), amount});
        ++held.consumed;
      }
    }
    for (const auto& [set, groups] : result.compatibility_groups) {
      holding.groups.push_back({dictionary.Intern(set), dictionary.InternGroups(groups), 1});
      ++held.groups;
    }
    holding.results.push_back(held);
  }
  return holding;
}

std::vector<PoolId> Replace(Pools& pools, Holder holder, const Holding& before,
                            const Holding& after) {
  std::vector<PoolId> touched;
  touched.reserve(before.results.size() + after.results.size());
  for (const Holding* holding : {&before, &after}) {
    for (const Held& held : holding->results) touched.push_back(held.pool);
  }
  std::ranges::sort(touched);
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const PoolId pool : touched) {
    const auto id = static_cast<std::size_t>(pool);
    const PoolUsage* old = pools.At(id).get();
    auto usage = old == nullptr ? std::make_shared<PoolUsage>() : std::make_shared<PoolUsage>(*old);
    ForEachIn(pool, before, [&](const Part& part) { Subtract(*usage, holder, part); });
    ForEachIn(pool, after, [&](const Part& part) { Add(*usage, holder, part); });
    if (usage->devices.empty()) usage = nullptr;
    pools.Set(id, std::move(usage));
  }
  return touched;
}

void Apply(Pools& pools, std::span<const Step> steps) {
  std::vector<std::pair<PoolId, const Step*>> by_pool;
  for (const Step& step : steps) {
    for (const Held& held : step.holding->results) by_pool.push_back({held.pool, &step});
  }
  // First those that take away, each once a pool.
  std::ranges::sort(by_pool, {}, [&](const auto& entry) {
    return std::tuple(entry.first, entry.second->add, entry.second - steps.data());
  });
  by_pool.erase(std::unique(by_pool.begin(), by_pool.end()), by_pool.end());
  for (auto at = by_pool.begin(); at != by_pool.end();) {
    const PoolId pool = at->first;
    const auto id = static_cast<std::size_t>(pool);
    const PoolUsage* old = pools.At(id).get();
    auto usage = old == nullptr ? std::make_shared<PoolUsage>() : std::make_shared<PoolUsage>(*old);
    for (; at != by_pool.end() && at->first == pool; ++at) {
      const Step& step = *at->second;
      ForEachIn(pool, *step.holding, [&](const Part& part) {
        step.add ? Add(*usage, step.holder, part)
                 : static_cast<void>(SubtractOnly(*usage, step.holder, part));
      });
    }
    std::erase_if(usage->devices, [](const DeviceUsage& one) { return one.results() == 0; });
    if (usage->devices.empty()) usage = nullptr;
    pools.Set(id, std::move(usage));
  }
}

}  // namespace dray::ledger::internal
