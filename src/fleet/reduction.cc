// SPDX-License-Identifier: Apache-2.0
//
// From what a change touched to states: pool by pool, device by device.
#include <algorithm>
#include <limits>

#include "api/device_class.h"
#include "api/json.h"
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
using inventory::SliceTable;

namespace {

// An attribute of which more than so many values are known, and most devices have one of their own,
// is a serial number: shapes are about what devices have in common.
constexpr std::size_t kCommonValues = 64;

bool Repels(const api::DeviceTaint& taint) {
  return taint.effect == api::kTaintEffectNoSchedule || taint.effect == api::kTaintEffectNoExecute;
}

bool SameDevice(const std::optional<std::string>& wanted, std::string_view name) {
  return !wanted || *wanted == name;
}

ClaimState StateOf(const api::ResourceClaim& claim) {
  if (!claim.status.allocation.has_value()) return ClaimState::kPending;
  return claim.status.reserved_for.empty() ? ClaimState::kAllocated : ClaimState::kReserved;
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

// The newest changes are kept by themselves, so that who is a little behind costs what has changed.
void Fleet::KeepBatch() {
  constexpr std::size_t kMost = 50'000;
  batched_ += now_.size();
  batches_.emplace_back(revision_, std::exchange(now_, {}));
  while (batched_ > kMost && !batches_.empty()) {
    batched_ -= batches_.front().second.size();
    batches_.pop_front();
  }
}

Fleet::Changed Fleet::ChangedSince(std::uint64_t revision) const {
  Changed all;
  if (!batches_.empty() && batches_.front().first <= revision + 1) {
    const auto add = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (const auto& [at, batch] : batches_) {
      if (at <= revision) continue;
      add(all.nodes, batch.nodes);
      add(all.pools, batch.pools);
      add(all.devices, batch.devices);
      add(all.claims, batch.claims);
      add(all.pods, batch.pods);
    }
    const auto once = [](auto& list) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    };
    once(all.nodes);
    once(all.pools);
    once(all.devices);
    once(all.claims);
    once(all.pods);
    return all;
  }
  const auto ids = [&](std::vector<Id>& to, const auto& things, const auto& changed) {
    for (Id id = 0; id < things.size(); ++id) {
      if (changed(things[id]) > revision) to.push_back(id);
    }
  };
  const auto plain = [](const auto& thing) { return thing.changed; };
  ids(all.nodes, nodes_, plain);
  ids(all.pools, pools_, plain);
  ids(all.devices, devices_,
      [](const Device& device) { return std::max(device.changed, device.announced); });
  for (const auto& [key, claim] : claims_) {
    if (claim.changed > revision) all.claims.push_back(key);
  }
  for (const auto& [key, pod] : pods_) {
    if (pod.changed > revision) all.pods.push_back(key);
  }
  return all;
}

// --- Classes and shapes.

// Which devices a class matches is part of their shapes, so everybody begins anew.
void Fleet::SettleClasses() {
  if (!classes_changed_) return;
  classes_changed_ = false;
  class_names_.clear();
  class_selectors_.clear();
  for (const auto& [name, object] : class_objects_) {
    class_names_.push_back(name);
    auto& selectors = class_selectors_.emplace_back();
    for (const api::DeviceSelector& selector : object.As<api::DeviceClass>()->spec.selectors) {
      if (selector.cel) selectors.push_back(expressions_.Selector(selector.cel->expression));
    }
  }
  shapes_.clear();
  shape_ids_.clear();
  for (Device& device : devices_) {
    if (device.slice != nullptr) device.shape = ShapeOf(device);
  }
  // Those without a slice keep a shape that says nothing but their driver.
  for (Device& device : devices_) {
    if (device.slice == nullptr && device.state != State::kRemoved) device.shape = ShapeOf(device);
  }
  oldest_ = Stamp();
}

void Fleet::CountAttributes(const SliceTable& slice, const DeviceRow& row, int sign) {
  for (const inventory::AttributeEntry& entry : slice.attributes(row)) {
    const AttributeKey key(slice.driver().id(), entry.name.id());
    OwnAttribute& counted = attributes_[key];
    std::uint32_t& devices = counted.values[entry.value];
    devices += static_cast<std::uint32_t>(sign);
    counted.devices += static_cast<std::size_t>(sign);
    if (devices == 0) counted.values.erase(entry.value);
    flipped_.insert(key);
  }
}

bool Fleet::IsOwn(const Device& device, NameId attribute) const {
  if (device.slice == nullptr) return false;
  const auto it = attributes_.find(AttributeKey(device.slice->driver().id(), attribute.id()));
  return it != attributes_.end() && it->second.own;
}

Id Fleet::ShapeOf(const Device& device) {
  Shape shape{.driver = pools_[device.pool].driver};
  std::string key = fmt::format("{}", shape.driver);
  if (device.slice != nullptr) {
    const DeviceRow& row = device.slice->devices()[device.row];
    const std::string& driver = strings_.At(shape.driver);
    for (const inventory::AttributeEntry& entry : device.slice->attributes(row)) {
      if (IsOwn(device, entry.name)) continue;
      shape.attributes.emplace_back(
          strings_.Of(internal::Qualified(driver, dictionary_->View(entry.name))),
          internal::AttributeJson(dictionary_->Attribute(entry.value)));
    }
    std::ranges::sort(shape.attributes, {}, [&](const auto& attribute) -> const std::string& {
      return strings_.At(attribute.first);
    });
    for (const inventory::CapacityEntry& entry : device.slice->capacities(row)) {
      shape.capacity.emplace_back(
          strings_.Of(internal::Qualified(driver, dictionary_->View(entry.name))),
          strings_.Of(dictionary_->At(entry.capacity).capacity.value.ToString()));
    }
    shape.multiple = row.allow_multiple_allocations;
    for (std::uint32_t i = 0; i < class_selectors_.size(); ++i) {
      const bool match = std::ranges::all_of(class_selectors_[i], [&](const auto& expression) {
        return expression->program != nullptr &&
               expression->program->Match(*device.slice, row, nullptr) == inventory::Verdict::kYes;
      });
      if (match) shape.classes.push_back(i);
    }
    for (const auto& [name, value] : shape.attributes) key += fmt::format("a{}={}", name, value);
    for (const auto& [name, value] : shape.capacity) key += fmt::format("c{}={}", name, value);
    key += shape.multiple ? "m" : "";
    for (const std::uint32_t in : shape.classes) key += fmt::format("k{}", in);
  }
  const auto [it, fresh] = shape_ids_.try_emplace(std::move(key), static_cast<Id>(shapes_.size()));
  if (fresh) shapes_.push_back(std::move(shape));
  return it->second;
}

// Of all devices of these pools, and of those that have an attribute of which it is known now that
// everybody has a value of their own, or no longer.
void Fleet::SettleShapes(const std::vector<Id>& pools) {
  absl::flat_hash_set<std::uint32_t> drivers;
  for (const AttributeKey& key : flipped_) {
    const auto it = attributes_.find(key);
    if (it->second.devices == 0) {
      attributes_.erase(it);
      continue;
    }
    OwnAttribute& counted = it->second;
    const bool own =
        counted.values.size() > kCommonValues && counted.values.size() * 2 > counted.devices;
    if (own != counted.own) drivers.insert(key.first);
    counted.own = own;
  }
  flipped_.clear();
  const auto settle = [&](Id id) {
    Device& device = devices_[id];
    if (device.state == State::kRemoved && device.slice == nullptr) return;
    const Id shape = ShapeOf(device);
    if (shape == device.shape && device.announced > 0) return;
    device.shape = shape;
    Announce(id);
  };
  for (const Id pool : pools) {
    for (const Id device : pools_[pool].devices) settle(device);
  }
  if (drivers.empty()) return;
  for (Id id = 0; id < devices_.size(); ++id) {
    const Device& device = devices_[id];
    if (device.slice != nullptr && drivers.contains(device.slice->driver().id())) settle(id);
  }
}

void Fleet::Announce(Id device) {
  devices_[device].announced = Stamp();
  now_.devices.push_back(device);
}

// --- Slices.

std::int32_t Fleet::CardOf(Id pool, const SliceTable& /*slice*/, const DeviceRow& row) {
  const auto uses = dictionary_->At(row.consumption);
  if (uses.empty()) return kNone;
  const std::uint32_t name = strings_.Of(dictionary_->View(uses.front().counter_set));
  const auto [it, fresh] =
      card_ids_.try_emplace({pool, name}, static_cast<std::int32_t>(cards_.size()));
  if (fresh) cards_.push_back({pool, name});
  return it->second;
}

void Fleet::SetPoolNodes(Pool& pool, std::vector<Id> nodes) {
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  for (const Id id : nodes) {
    Node& node = nodes_[id];
    if (node.pools++ == 0 && (node.flags & kNodeRemoved) != 0) SetNode(id, kNoSuchNode, 0);
  }
  for (const Id id : pool.nodes) {
    Node& node = nodes_[id];
    if (--node.pools == 0 && !node.object) SetNode(id, kNodeRemoved, 0);
  }
  pool.nodes = std::move(nodes);
}

void Fleet::ReduceSlices(Id id) {
  Pool& pool = pools_[id];
  const inventory::Slices& slices = inventory_.snapshot().OfPool(pool.id);
  for (const Id device : pool.devices) {
    Device& known = devices_[device];
    if (known.slice == nullptr) continue;
    CountAttributes(*known.slice, known.slice->devices()[known.row], -1);
    known.slice = nullptr;
  }
  // Those that were there keep being looked at: they may be gone, or removed.
  std::vector<Id> devices = std::move(pool.devices);
  pool.by_name.clear();
  pool.tables.clear();
  std::uint8_t flags = 0;
  std::string why;
  const std::int64_t generation = slices.empty() ? 0 : slices.summary().newest_generation;
  std::vector<Id> nodes;
  std::int32_t node = kNone;
  bool first = true;
  bool per_device = false;
  for (const auto& slice : slices) {
    if (slice->generation() != generation) continue;
    if (first && static_cast<std::int64_t>(slices.summary().newest) != slice->slice_count()) {
      flags |= kIncomplete;
      why = fmt::format("the pool has {} of {} slices of generation {}", slices.summary().newest,
                        slice->slice_count(), generation);
    }
    const inventory::NodeChoice& choice = slice->node_choice();
    const std::int32_t at =
        choice.has_node ? static_cast<std::int32_t>(NodeOf(dictionary_->View(choice.node))) : kNone;
    node = first || node == at ? at : kNone;
    first = false;
    per_device |= slice->per_device_node_selection();
    if (at != kNone) nodes.push_back(static_cast<Id>(at));
    pool.tables.push_back(slice);
    // Slices that share counters have no devices, whatever they say.
    if (features_.partitionable_devices && slice->has_shared_counters()) continue;
    for (std::uint32_t row = 0; row < slice->devices().size(); ++row) {
      const DeviceRow& of = slice->devices()[row];
      const std::string_view name = dictionary_->View(of.name);
      const Id device = DeviceOf(id, name);
      const auto [it, fresh] = pool.by_name.try_emplace(of.name, device);
      if (!fresh) {
        flags |= kInvalid;
        why = fmt::format("two devices of the pool are named {}", name);
        continue;
      }
      Device& known = devices_[device];
      known.slice = slice.get();
      known.row = row;
      const inventory::NodeChoice& own = slice->choice(of);
      const std::int32_t its =
          own.has_node ? static_cast<std::int32_t>(NodeOf(dictionary_->View(own.node))) : kNone;
      if (its != kNone) nodes.push_back(static_cast<Id>(its));
      const std::int32_t card = CardOf(id, *slice, of);
      if (its != known.node || card != known.card) Announce(device);
      known.node = its;
      known.card = card;
      CountAttributes(*slice, of, 1);
      devices.push_back(device);
    }
  }
  if (features_.partitionable_devices && !slices.empty() && slices.summary().counters) {
    const std::string& fault = slices.counters(*dictionary_).why();
    if (!fault.empty()) {
      flags |= kInvalid;
      why = fault;
    }
  }
  std::ranges::sort(devices);
  devices.erase(std::unique(devices.begin(), devices.end()), devices.end());
  for (const Id device : devices) {
    Device& known = devices_[device];
    if (known.slice != nullptr || known.card == kNone) continue;
    known.card = kNone;
    Announce(device);
  }
  pool.devices = std::move(devices);
  if (per_device) {
    per_device_pools_.insert(id);
  } else {
    per_device_pools_.erase(id);
  }
  if (!slices.empty()) {
    SetPoolNodes(pool, std::move(nodes));
  } else {
    // Devices that are gone stay where they were.
    flags = pool.flags & kPoolRemoved;
    node = pool.node;
  }
  const auto count = static_cast<std::uint32_t>(pool.tables.size());
  if (flags != pool.flags || node != pool.node || count != pool.slices ||
      generation != pool.generation) {
    StampPool(id);
  }
  pool.flags = flags;
  pool.why = std::move(why);
  pool.node = node;
  pool.slices = count;
  pool.generation = generation;
  dirty_pools_.insert(id);
}

// --- States.

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

void Fleet::SettleClaims() {
  for (const Key& key : dirty_claims_) {
    const auto it = claims_.find(key);
    if (it == claims_.end()) continue;
    Claim& claim = it->second;
    Claim now;
    if (claim.object) {
      const auto& stored = *claim.object->As<api::ResourceClaim>();
      now.state = StateOf(stored);
      now.pods = PodsOf(stored);
      if (stored.status.allocation.has_value()) {
        for (const auto& result : stored.status.allocation->devices.results) {
          const auto device = FindDevice(result.driver, result.pool, result.device);
          if (device && devices_[*device].state != State::kRemoved) now.devices.push_back(*device);
        }
      }
    }
    if (claim.changed > 0 && claim.object && claim.state == now.state &&
        claim.devices == now.devices && claim.pods == now.pods) {
      continue;
    }
    claim.state = now.state;
    claim.devices = std::move(now.devices);
    claim.pods = std::move(now.pods);
    claim.changed = Stamp();
    now_.claims.push_back(key);
  }
  dirty_claims_.clear();
}

// What is kept to tell that it is gone, is not kept for ever.
void Fleet::Forget() {
  constexpr std::size_t kMost = 10'000;
  if (gone_entries_ <= kMost) return;
  gone_entries_ = 0;
  absl::erase_if(claims_, [](const auto& entry) { return !entry.second.object; });
  absl::erase_if(pods_, [](const auto& entry) { return !entry.second.object; });
  oldest_ = revision_;
}

bool Fleet::Wasteful() const {
  constexpr std::size_t kFew = 1'000;
  return devices_.size() > 2 * live_devices_ + kFew ||
         nodes_.size() > 2 * node_ids_.size() + kFew || shapes_.size() > live_devices_ + kFew ||
         label_sets_.size() > 2 * nodes_.size() + kFew || cards_.size() > live_devices_ + kFew ||
         pools_.size() > 2 * pool_ids_.size() + kFew;
}

}  // namespace dray::fleet
