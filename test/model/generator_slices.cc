// SPDX-License-Identifier: Apache-2.0
//
// Random pools and devices.
#include <algorithm>

#include "fmt/format.h"
#include "model/generator_internal.h"

namespace dray::model::generator {
namespace {

api::NodeSelector ZoneSelector(Dice& dice) {
  api::NodeSelectorRequirement r{.key = "zone", .operator_ = "In", .values = {"z1"}};
  if (dice.Chance(0.5)) r.values.push_back("z2");
  if (dice.Chance(0.2)) r = {.key = "slots", .operator_ = "Gt", .values = {"2"}};
  if (dice.Chance(0.1)) r = {.key = "zone", .operator_ = "NotIn", .values = {"z9"}};
  api::NodeSelectorTerm term;
  term.match_expressions.push_back(std::move(r));
  if (dice.Chance(0.1)) {
    term.match_fields.push_back(
        {.key = "metadata.name", .operator_ = "NotIn", .values = {kOtherNode}});
  }
  api::NodeSelector selector;
  selector.node_selector_terms.push_back(std::move(term));
  return selector;
}

// What validation lets through, or did once: nothing to give, less than nothing, a policy that
// nobody can meet.
api::DeviceCapacity OddCapacity(Dice& dice) {
  api::DeviceCapacity capacity{.value = Amount(dice.Pick({"0", "0", "1m", "1n", "-4", "4"}))};
  capacity.request_policy = api::CapacityRequestPolicy{};
  api::CapacityRequestPolicy& policy = *capacity.request_policy;
  if (dice.Chance(0.7)) policy.default_value = Amount(dice.Pick({"0", "9", "1m", "1500u"}));
  switch (dice.Range(0, 2)) {
    case 0:
      policy.valid_values = {Amount("0"), Amount("1500u"), Amount("3")};
      break;
    case 1: {
      api::CapacityRequestPolicyRange range{.min = Amount(dice.Pick({"-1", "0", "2500m"}))};
      if (dice.Chance(0.5)) range.max = Amount(dice.Pick({"0", "3", "3500m"}));
      if (range.min->Sign() >= 0 && dice.Chance(0.5))
        range.step = Amount(dice.Pick({"1500m", "7"}));
      // Without one nothing is rounded, and the steps are counted from nothing.
      if (dice.Chance(0.3)) range.min.reset();
      policy.valid_range = range;
      break;
    }
    default:
      break;
  }
  return capacity;
}

api::DeviceCapacity RandomCapacity(Dice& dice, const Themes& themes) {
  if (themes.odd_amounts && dice.Chance(0.5)) return OddCapacity(dice);
  api::DeviceCapacity capacity{.value = Amount(dice.Pick({"4", "8", "10", "2500m"}))};
  switch (dice.Range(0, 5)) {
    case 0: {
      api::CapacityRequestPolicy policy{.default_value = Amount("2")};
      policy.valid_values = {Amount("2"), Amount("4"), Amount("8")};
      capacity.request_policy = policy;
      break;
    }
    case 1: {
      api::CapacityRequestPolicyRange range{.min = Amount("1")};
      if (dice.Chance(0.5)) range.max = Amount("6");
      if (dice.Chance(0.6)) range.step = Amount(dice.Pick({"1", "2", "3"}));
      capacity.request_policy = api::CapacityRequestPolicy{.default_value = Amount("1")};
      capacity.request_policy->valid_range = range;
      break;
    }
    case 2: {
      api::CapacityRequestPolicyRange range{.min = Amount("500m"), .step = Amount("250m")};
      capacity.request_policy = api::CapacityRequestPolicy{};
      if (dice.Chance(0.7)) capacity.request_policy->default_value = Amount("500m");
      if (dice.Chance(0.3)) range.max = Amount("3");
      capacity.request_policy->valid_range = range;
      break;
    }
    case 3:
      capacity.request_policy = api::CapacityRequestPolicy{.default_value = Amount("1")};
      break;
    default:
      break;
  }
  return capacity;
}

void AddTaints(Dice& dice, api::Device& device) {
  const int n = dice.Range(0, 2);
  for (int i = 0; i < n; ++i) {
    device.taints.push_back({.key = dice.Pick({"sick", "old"}),
                             .value = dice.Pick({"", "x"}),
                             .effect = dice.Pick({"NoSchedule", "NoExecute", "None"})});
  }
}

void AddConsumption(Dice& dice, const Themes& themes, int sets, api::Device& device) {
  std::vector<int> which;
  for (int i = 0; i < sets; ++i) which.push_back(i);
  dice.Shuffle(which);
  which.resize(static_cast<std::size_t>(dice.Chance(0.25) ? std::min(2, sets) : 1));
  for (const int set : which) {
    api::DeviceCounterConsumption use{.counter_set = fmt::format("set-{}", set)};
    use.counters["mem"].value = Amount(std::to_string(dice.Range(1, 6)));
    if (themes.odd_amounts && dice.Chance(0.3)) {
      use.counters["mem"].value = Amount(dice.Pick({"0", "500m", "1n"}));
    }
    if (dice.Chance(0.4)) use.counters["sm"].value = Amount(std::to_string(dice.Range(0, 3)));
    if (themes.groups && dice.Chance(0.8)) {
      use.compatibility_groups = {dice.Pick({"mig", "vgpu", "mps"})};
      if (dice.Chance(0.3) && use.compatibility_groups[0] != "shared") {
        use.compatibility_groups.push_back("shared");
      }
    }
    device.consumes_counters.push_back(std::move(use));
  }
}

// Steps that no validation lets in, and that only some requests come across.
void BreakSteps(Dice& dice, api::Device& device) {
  api::DeviceCapacity capacity{.value = Amount("8")};
  capacity.request_policy = api::CapacityRequestPolicy{};
  if (dice.Chance(0.7)) capacity.request_policy->default_value = Amount("2");
  api::CapacityRequestPolicyRange range{.step = Amount(dice.Pick({"0", "-1"}))};
  if (dice.Chance(0.7)) range.min = Amount(dice.Pick({"1", "6"}));
  if (dice.Chance(0.3)) range.max = Amount("4");
  capacity.request_policy->valid_range = range;
  device.capacity[dice.Chance(0.5) ? "memory" : "cores"] = capacity;
}

api::Device RandomDevice(Dice& dice, const Themes& themes, const std::string& driver,
                         const std::string& name, int sets) {
  api::Device device;
  device.name = name;
  AddAttributes(dice, themes, driver, device);
  if (themes.capacity && dice.Chance(0.8)) {
    const bool qualified = dice.Chance(themes.two_spellings ? 0.5 : 0.2);
    const bool both = themes.two_spellings && dice.Chance(0.2);
    if (qualified || both) device.capacity[driver + "/memory"] = RandomCapacity(dice, themes);
    if (!qualified || both) device.capacity["memory"] = RandomCapacity(dice, themes);
    if (dice.Chance(0.3)) device.capacity["cores"] = RandomCapacity(dice, themes);
  }
  if (themes.multi && dice.Chance(0.7)) device.allow_multiple_allocations = true;
  if (themes.taints && dice.Chance(0.5)) AddTaints(dice, device);
  if (themes.binding && dice.Chance(0.3)) {
    device.binding_conditions = {"ready"};
    if (dice.Chance(0.5)) device.binding_failure_conditions = {"failed"};
    if (dice.Chance(0.5)) device.binds_to_node = true;
  }
  if (sets > 0 && dice.Chance(0.8)) AddConsumption(dice, themes, sets, device);
  if (themes.errors && dice.Chance(0.1)) device.attributes["novalue"] = {};
  if (themes.errors && themes.capacity && dice.Chance(0.3)) BreakSteps(dice, device);
  return device;
}

void TargetDevice(Dice& dice, api::Device& device) {
  switch (dice.Range(0, 3)) {
    case 0:
      device.all_nodes = true;
      break;
    case 1:
      device.node_selector = ZoneSelector(dice);
      break;
    default:
      device.node_name = std::string(dice.Chance(0.75) ? kNode : kOtherNode);
  }
}

struct PoolShape {
  std::string driver;
  std::string name;
  int sets = 0;
};

api::ResourceSlice NewSlice(const PoolShape& pool, const std::string& name) {
  api::ResourceSlice slice;
  slice.metadata.name = name;
  slice.spec.driver = pool.driver;
  slice.spec.pool = {.name = pool.name, .generation = 2, .resource_slice_count = 1};
  return slice;
}

void Target(Dice& dice, const Themes& themes, api::ResourceSlice& slice) {
  if (themes.per_device && dice.Chance(0.5)) {
    slice.spec.per_device_node_selection = true;
    for (api::Device& device : *slice.spec.devices) TargetDevice(dice, device);
  } else if (themes.node_selectors && dice.Chance(0.6)) {
    slice.spec.node_selector = ZoneSelector(dice);
  } else if (dice.Chance(0.15)) {
    slice.spec.all_nodes = true;
  } else if (themes.other_nodes && dice.Chance(0.3)) {
    slice.spec.node_name = kOtherNode;
  } else {
    slice.spec.node_name = kNode;
  }
}

// The driver that the first pool does not have.
std::string OtherThan(const Instance& instance) {
  for (const api::ResourceSlice& slice : instance.slices) {
    if (slice.spec.pool.name == "pool-0") return slice.spec.driver == kGpu ? kNic : kGpu;
  }
  return kNic;
}

// Devices that nobody tolerates, in slices before and behind the others: whoever counts devices
// counts them, too.
void AddPadding(Dice& dice, int devices, const PoolShape& pool,
                std::vector<api::ResourceSlice>& slices) {
  for (const char* where : {"a-padding", "z-padding"}) {
    const int here = where[0] == 'z' ? devices : dice.Range(0, devices);
    devices -= here;
    for (int made = 0; made < here;) {
      api::ResourceSlice slice = NewSlice(pool, fmt::format("{}-{:03}", where, made));
      slice.spec.node_name = kNode;
      slice.spec.devices.emplace();
      for (int i = 0; i < 64 && made < here; ++i, ++made) {
        api::Device device;
        device.name = fmt::format("{}-{:03}", where, made);
        device.attributes[kNuma].int_value = dice.Range(0, 2);
        device.taints.push_back({.key = "padding", .effect = "NoSchedule"});
        slice.spec.devices->push_back(std::move(device));
      }
      slices.push_back(std::move(slice));
    }
  }
}

// Damages a pool in one of the ways in which pools are incomplete, invalid or outdated.
void Break(Dice& dice, const PoolShape& pool, std::vector<api::ResourceSlice>& slices) {
  api::ResourceSlice& any =
      slices[static_cast<std::size_t>(dice.Range(0, static_cast<int>(slices.size()) - 1))];
  switch (dice.Range(0, 4)) {
    case 0:
      for (auto& slice : slices) ++slice.spec.pool.resource_slice_count;
      break;
    case 1:
      if (any.spec.devices && !any.spec.devices->empty()) {
        any.spec.devices->push_back(any.spec.devices->front());
      }
      break;
    case 2:
      if (any.spec.devices && !any.spec.devices->empty()) {
        any.spec.devices->front().consumes_counters.push_back({.counter_set = "nowhere"});
      }
      break;
    case 3: {  // a newer generation that another node has already
      api::ResourceSlice newer = NewSlice(pool, pool.name + "-newer");
      newer.spec.pool.generation = 3;
      newer.spec.pool.resource_slice_count = dice.Range(1, 2);
      newer.spec.node_name = dice.Chance(0.7) ? kOtherNode : kNode;
      newer.spec.devices.emplace();
      if (dice.Chance(0.5)) {
        for (auto& slice : slices) ++slice.spec.pool.resource_slice_count;
      }
      slices.push_back(std::move(newer));
      break;
    }
    default: {  // an older one that was left behind
      api::ResourceSlice older = any;
      older.metadata.name += "-older";
      older.spec.pool.generation = 1;
      slices.push_back(std::move(older));
    }
  }
}

}  // namespace

void AddSlices(Dice& dice, const Themes& themes, const GeneratorOptions& options,
               Instance& instance) {
  const int pools = dice.Range(1, options.max_pools);
  int left = dice.Range(dice.Chance(0.05) ? 0 : options.max_devices / 2, options.max_devices);
  for (int p = 0; p < pools; ++p) {
    PoolShape pool{.driver = dice.Chance(p == 0 ? 0.85 : 0.5) ? kGpu : kNic,
                   .name = fmt::format("pool-{}", p)};
    // The first pool's name again, and its devices' names, under the other driver.
    const bool again = p == 1 && themes.same_pools;
    if (again) pool = {.driver = OtherThan(instance), .name = "pool-0"};
    if (themes.counters && dice.Chance(0.8)) pool.sets = dice.Range(1, 2);
    int mine = p + 1 == pools ? left : dice.Range(0, left);
    left -= mine;
    std::vector<api::ResourceSlice> slices;
    const int parts = dice.Chance(0.35) ? 2 : 1;
    int made = 0;
    for (int part = 0; part < parts; ++part) {
      // Names that sort in another order than they are listed.
      api::ResourceSlice slice =
          NewSlice(pool, fmt::format("slice-{}-{}-{}", dice.Range(0, 9), p, part));
      slice.spec.devices.emplace();
      const int here = part + 1 == parts ? mine : dice.Range(0, mine);
      mine -= here;
      for (int i = 0; i < here; ++i) {
        slice.spec.devices->push_back(RandomDevice(
            dice, themes, pool.driver, fmt::format("dev-{}-{}", again ? 0 : p, made++), pool.sets));
      }
      Target(dice, themes, slice);
      if (themes.skip_operations && dice.Chance(0.4)) slice.spec.skip_node_operations = {"*"};
      slices.push_back(std::move(slice));
    }
    if (pool.sets > 0) {
      api::ResourceSlice counters = NewSlice(pool, fmt::format("counters-{}", p));
      counters.spec.node_name = dice.Chance(0.8) ? kNode : kOtherNode;
      counters.spec.shared_counters.emplace();
      for (int i = 0; i < pool.sets; ++i) {
        api::CounterSet set{.name = fmt::format("set-{}", i)};
        set.counters["mem"].value = Amount(std::to_string(dice.Range(4, 12)));
        set.counters["sm"].value = Amount(std::to_string(dice.Range(2, 6)));
        if (themes.odd_amounts && dice.Chance(0.3)) {
          set.counters["mem"].value = Amount(dice.Pick({"0", "2500m", "5n", "9E"}));
        }
        counters.spec.shared_counters->push_back(std::move(set));
      }
      slices.push_back(std::move(counters));
    }
    if (options.padding > 0 && p == 0) AddPadding(dice, options.padding, pool, slices);
    for (auto& slice : slices) {
      slice.spec.pool.resource_slice_count = static_cast<std::int64_t>(slices.size());
    }
    if (themes.broken_pools && dice.Chance(0.6)) Break(dice, pool, slices);
    for (auto& slice : slices) instance.slices.push_back(std::move(slice));
  }
  dice.Shuffle(instance.slices);
  if (!dice.Chance(options.taint_rules)) return;
  api::DeviceTaintRule rule;
  rule.metadata.name = "rule";
  rule.spec.taint = {.key = "sick", .effect = "NoSchedule"};
  if (dice.Chance(0.9)) rule.spec.device_selector.emplace();
  if (rule.spec.device_selector && dice.Chance(0.6)) rule.spec.device_selector->driver = kGpu;
  if (rule.spec.device_selector && dice.Chance(0.4)) rule.spec.device_selector->pool = "pool-0";
  if (rule.spec.device_selector && dice.Chance(0.4)) rule.spec.device_selector->device = "dev-0-0";
  instance.taint_rules.push_back(std::move(rule));
}

}  // namespace dray::model::generator
