// SPDX-License-Identifier: Apache-2.0
//
// From what a change touched to states: pool by pool, device by device.
#include <algorithm>
#include <limits>

#include "api/resource_slice.h"
#include "fleet/fleet.h"
#include "fleet/internal/values.h"
#include "fmt/format.h"
#include "inventory/capacity_names.h"
#include "inventory/pool_counters.h"

namespace dray::fleet {

using inventory::Amount;
using inventory::DeviceRow;
using inventory::NameId;

namespace {

bool Repels(const api::DeviceTaint& taint) {
  return taint.effect == api::kTaintEffectNoSchedule || taint.effect == api::kTaintEffectNoExecute;
}

bool SameDevice(const std::optional<std::string>& wanted, std::string_view name) {
  return !wanted || *wanted == name;
}

}  // namespace

// What is left of a pool's counters, and which groups are placed.
struct Fleet::PoolDraw {
  const inventory::PoolCounters* counters = nullptr;  // null: there are none
  std::vector<Amount> left;
  std::vector<ledger::GroupState> groups;  // by set
  bool overdrawn = false;
};

bool Fleet::Settle() {
  SettleClasses();
  if (all_dirty_) {
    all_dirty_ = false;
    for (Id id = 0; id < pools_.size(); ++id) dirty_pools_.insert(id);
  }
  const std::vector<Id> pools(dirty_slices_.begin(), dirty_slices_.end());
  dirty_slices_.clear();
  for (const Id pool : pools) ReduceSlices(pool);
  SettleShapes(pools);
  for (const Id pool : dirty_pools_) {
    dirty_usage_.erase(pool);
    ReducePool(pool);
  }
  for (const Id pool : dirty_usage_) ReduceUsage(pool);
  for (const Id device : dirty_devices_) {
    const Id pool = devices_[device].pool;
    if (dirty_pools_.contains(pool)) continue;
    ReduceDevice(device, DrawOfPool(pools_[pool]));
  }
  dirty_pools_.clear();
  dirty_usage_.clear();
  dirty_devices_.clear();
  SettleClaims();
  ledger_.Reclaim();
  if (dictionary_->CollectionDue()) {
    dictionary_->Collect([this](inventory::Marker& marker) {
      inventory_.Mark(marker);
      ledger_.Mark(marker);
    });
  }
  if (!changed_) return false;
  changed_ = false;
  ++revision_;
  KeepBatch();
  Forget();
  return true;
}

Fleet::PoolDraw Fleet::DrawOfPool(const Pool& pool) const {
  PoolDraw draw;
  if (!features_.partitionable_devices || pool.tables.empty()) return draw;
  const inventory::Slices& slices = inventory_.snapshot().OfPool(pool.id);
  if (slices.empty() || !slices.summary().counters) return draw;
  const inventory::PoolCounters& counters = slices.counters(*dictionary_);
  draw.counters = &counters;
  for (const auto& set : counters.sets()) {
    for (const auto& counter : set.row->counters) draw.left.push_back(counter.amount);
  }
  draw.groups.resize(counters.sets().size());
  if (pool.usage != nullptr) {
    for (const ledger::DeviceUsage& usage : pool.usage->devices) {
      const DeviceRow* row = counters.Find(usage.device);
      std::vector<std::pair<NameId, inventory::GroupsId>> live;
      if (row != nullptr) {
        for (const inventory::SetConsumption& use : dictionary_->At(row->consumption)) {
          live.emplace_back(use.counter_set, use.groups);
          const auto set = counters.FindSet(use.counter_set);
          if (!set) continue;
          for (const inventory::CounterAmount& counter : use.counters) {
            const auto number = counters.FindCounter(*set, counter.counter);
            if (number) draw.left[*number] -= counter.amount;
          }
        }
      }
      ledger::ForEachPlacement(usage, live, [&](NameId name, inventory::GroupsId groups) {
        const auto set = counters.FindSet(name);
        if (!set) return;
        if (features_.compatibility_groups) {
          draw.groups[*set].Place(dictionary_->At(groups));
        } else if (groups != inventory::GroupsId::kNone) {
          draw.groups[*set].kind = ledger::GroupState::Kind::kClosed;
        }
      });
    }
  }
  draw.overdrawn = std::ranges::any_of(draw.left, [](Amount amount) { return amount < 0; });
  return draw;
}

Draw Fleet::DrawOf(const Device& device, const PoolDraw& pool) const {
  Draw draw;
  if (pool.counters == nullptr || device.slice == nullptr) return draw;
  const DeviceRow& row = device.slice->devices()[device.row];
  const auto uses = dictionary_->At(row.consumption);
  draw.whole = !uses.empty();
  draw.overdrawn = !uses.empty() && pool.overdrawn;
  for (const inventory::SetConsumption& use : uses) {
    const auto set = pool.counters->FindSet(use.counter_set);
    if (!set) continue;
    const inventory::PoolCounters::Set& of = pool.counters->sets()[*set];
    const std::string_view set_name = dictionary_->View(use.counter_set);
    std::size_t all = 0;
    for (const inventory::CounterAmount& counter : use.counters) {
      const auto number = pool.counters->FindCounter(*set, counter.counter);
      if (!number) continue;
      const Amount whole = of.row->counters[*number - of.first_counter].amount;
      draw.counters.push_back({.set = set_name,
                               .name = dictionary_->View(counter.counter),
                               .needs = counter.amount,
                               .left = pool.left[*number],
                               .all = whole});
      if (counter.amount >= whole) ++all;
      if (draw.why.empty() && pool.left[*number] < counter.amount) {
        draw.why =
            fmt::format("blocked: it takes {} of {} from counter set {}, which has {} of {} left",
                        internal::AmountText(counter.amount), draw.counters.back().name, set_name,
                        internal::AmountText(pool.left[*number]), internal::AmountText(whole));
      }
    }
    if (all < of.row->counters.size()) draw.whole = false;
    if (draw.why.empty() && !pool.groups[*set].Admits(dictionary_->At(use.groups))) {
      draw.why = internal::GroupsText(pool.groups[*set], dictionary_->At(use.groups), set_name,
                                      *dictionary_);
    }
  }
  if (draw.why.empty() && row.has_groups && !features_.compatibility_groups) {
    draw.why = "blocked: it declares compatibility groups, and that feature is off";
  }
  if (draw.why.empty() && draw.overdrawn) {
    draw.why = "blocked: more of the pool's counters is in use than there is";
  }
  return draw;
}

Draw Fleet::DrawOf(const Device& device) const {
  return DrawOf(device, DrawOfPool(pools_[device.pool]));
}

std::uint8_t Fleet::FillOf(const Device& device, const ledger::DeviceUsage& usage) const {
  const auto entries = device.slice->capacities(device.slice->devices()[device.row]);
  Amount most = 0;
  for (const ledger::ConsumedCapacity& consumed : usage.consumed) {
    const auto at =
        inventory::FindCapacity(consumed.capacity, *device.slice, entries, *dictionary_);
    if (!at) continue;
    const Amount whole = dictionary_->At(entries[*at].capacity).amount;
    if (whole <= 0) continue;
    // Exact, but where a hundred times as much would not fit.
    constexpr Amount kLarge = std::numeric_limits<std::int64_t>::max();
    const Amount share = consumed.amount > kLarge * kLarge
                             ? consumed.amount / (whole / 100 + 1)
                             : (consumed.amount * 100 + whole - 1) / whole;
    most = std::max(most, share);
  }
  return static_cast<std::uint8_t>(std::min<Amount>(most, 100));
}

void Fleet::SetDevice(Id id, State state, std::uint8_t fill, Marks marks) {
  Device& device = devices_[id];
  if (device.state == state && device.fill == fill && device.marks == marks) return;
  if (device.state == State::kRemoved) {
    ++live_devices_;
    Announce(id);
  }
  if (state == State::kRemoved) --live_devices_;
  if (state == State::kRemoved || device.state == State::kRemoved) {
    // Claims may name a device that is not there: with admin access nobody holds it.
    if (const auto held = holders_.find(NameOf(device)); held != holders_.end()) {
      dirty_claims_.insert(held->second.begin(), held->second.end());
    }
  }
  device.state = state;
  device.fill = fill;
  device.marks = marks;
  StampDevice(id);
}

void Fleet::ReduceDevice(Id id, const PoolDraw& draw) {
  ++looked_at_;
  const Device& device = devices_[id];
  const Pool& pool = pools_[device.pool];
  const ledger::DeviceUsage* usage = UsageOf(device);
  if (device.slice == nullptr && (usage == nullptr || options_.claims_unknown)) {
    SetDevice(id, State::kRemoved, 0, 0);
    return;
  }
  const std::string key = NameOf(device);
  Marks marks = 0;
  const bool away =
      device.node != kNone && (nodes_[static_cast<Id>(device.node)].flags & kNotReady);
  if (away || (pool.flags & (kIncomplete | kInvalid)) != 0 || unhealthy_.contains(key)) {
    marks |= kUnhealthy;
  }
  if (admin_.contains(key)) marks |= kAdmin;
  if (device.slice == nullptr) {
    SetDevice(id, State::kGone, 0, marks);
    return;
  }
  const DeviceRow& row = device.slice->devices()[device.row];
  if (features_.device_taints) {
    bool tainted = std::ranges::any_of(dictionary_->At(row.taints), Repels);
    for (const inventory::TaintRule& rule : inventory_.snapshot().taint_rules()) {
      tainted = tainted ||
                (Repels(rule.taint) && SameDevice(rule.selector.driver, strings_.At(pool.driver)) &&
                 SameDevice(rule.selector.pool, strings_.At(pool.name)) &&
                 SameDevice(rule.selector.device, strings_.At(device.name)));
    }
    if (tainted) marks |= kTainted;
  }
  if (options_.claims_unknown) {
    SetDevice(id, State::kUnknown, 0, marks);
  } else if (usage != nullptr) {
    const bool whole =
        !features_.consumable_capacity || usage->exclusive > 0 || !row.allow_multiple_allocations;
    SetDevice(id, whole ? State::kHeld : State::kShared, whole ? 0 : FillOf(device, *usage), marks);
  } else {
    const Draw own = DrawOf(device, draw);
    const State state = own.why.empty() ? State::kFree
                        : own.whole     ? State::kPartitioned
                                        : State::kBlocked;
    SetDevice(id, state, 0, marks);
  }
}

void Fleet::ReducePool(Id id) {
  Pool& pool = pools_[id];
  if (pool.id == inventory::PoolId::kNone) return;
  const std::shared_ptr<const ledger::PoolUsage> before = std::move(pool.usage);
  pool.usage = ledger_.snapshot().Share(pool.id);
  bool more = false;
  if (pool.usage != nullptr) {
    for (const ledger::DeviceUsage& usage : pool.usage->devices) {
      const auto [it, fresh] = pool.by_name.try_emplace(usage.device, 0);
      if (!fresh) continue;
      it->second = DeviceOf(id, dictionary_->View(usage.device));
      Device& gone = devices_[it->second];
      if (gone.state == State::kRemoved) {
        gone.node = pool.node;
        gone.shape = ShapeOf(gone);
      }
      pool.devices.push_back(it->second);
      more = true;
    }
  }
  if (more) {
    std::ranges::sort(pool.devices);
    pool.devices.erase(std::unique(pool.devices.begin(), pool.devices.end()), pool.devices.end());
  }
  const PoolDraw draw = DrawOfPool(pool);
  for (const Id device : pool.devices) ReduceDevice(device, draw);
  std::erase_if(pool.devices, [&](Id device) { return devices_[device].state == State::kRemoved; });
  absl::erase_if(pool.by_name, [&](const auto& entry) {
    return devices_[entry.second].state == State::kRemoved;
  });
  if (!pool.tables.empty() || !pool.devices.empty()) return;
  // Nothing is left of it but its number.
  SetPoolNodes(pool, {});
  pool_ids_.erase(pool.id);
  pool.id = inventory::PoolId::kNone;
  pool.flags = kPoolRemoved;
  StampPool(id);
}

// Only what is in use is another: where devices draw on nothing together, only those are looked at
// that are.
void Fleet::ReduceUsage(Id id) {
  Pool& pool = pools_[id];
  const std::shared_ptr<const ledger::PoolUsage> now = ledger_.snapshot().Share(pool.id);
  const bool alone =
      pool.tables.empty() || !inventory_.snapshot().OfPool(pool.id).summary().counters;
  std::vector<Id> devices;
  bool simple = alone;
  const auto look = [&](NameId name) {
    const auto it = pool.by_name.find(name);
    simple = simple && it != pool.by_name.end() && devices_[it->second].slice != nullptr;
    if (simple) devices.push_back(it->second);
  };
  static const std::vector<ledger::DeviceUsage> kNothing;
  const auto& before = pool.usage == nullptr ? kNothing : pool.usage->devices;
  const auto& after = now == nullptr ? kNothing : now->devices;
  auto a = before.begin();
  auto b = after.begin();
  while (simple && (a != before.end() || b != after.end())) {
    if (b == after.end() || (a != before.end() && a->device < b->device)) {
      look((a++)->device);
    } else if (a == before.end() || b->device < a->device) {
      look((b++)->device);
    } else {
      if (!(*a == *b)) look(a->device);
      ++a;
      ++b;
    }
  }
  if (!simple) {
    ReducePool(id);
    return;
  }
  pool.usage = now;
  for (const Id device : devices) ReduceDevice(device, {});
}

}  // namespace dray::fleet
