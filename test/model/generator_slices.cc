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

api::DeviceCapacity RandomCapacity(Dice& dice) {
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

void AddAttributes(Dice& dice, const Themes& themes, const std::string& driver,
                   api::Device& device) {
  if (dice.Chance(0.9)) device.attributes[kNuma].int_value = dice.Range(0, 2);
  if (dice.Chance(0.8)) device.attributes["size.example.com/tier"].int_value = dice.Range(0, 3);
  if (dice.Chance(0.6)) {
    const std::string key = dice.Chance(0.3) ? driver + "/model" : "model";
    device.attributes[key].string_value = dice.Pick({"a", "b", "c"});
  }
  if (dice.Chance(0.2)) device.attributes["firmware"].version_value = dice.Pick({"1.0.0", "1.2.0"});
  if (dice.Chance(0.2)) device.attributes["spare"].bool_value = dice.Chance(0.5);
  if (!themes.lists || !dice.Chance(0.9)) return;
  std::vector<std::string> roots;
  const int n = dice.Range(dice.Chance(0.1) ? 0 : 1, 3);
  for (int i = 0; i < n; ++i) roots.push_back(dice.Pick({"p0", "p1", "p2", "p3"}));
  api::DeviceAttribute& attribute = device.attributes[kRoots];
  if (n == 1 && dice.Chance(0.5)) {
    attribute.string_value = roots[0];
  } else if (dice.Chance(0.3)) {
    attribute.MutableLists().list_value = api::ListAttribute{.string_value = roots};
  } else {
    attribute.MutableLists().string_values = roots;
  }
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
    const std::string key = dice.Chance(0.2) ? driver + "/memory" : "memory";
    device.capacity[key] = RandomCapacity(dice);
    if (dice.Chance(0.3)) device.capacity["cores"] = RandomCapacity(dice);
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
        slice.spec.devices->push_back(RandomDevice(dice, themes, pool.driver,
                                                   fmt::format("dev-{}-{}", p, made++), pool.sets));
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
        counters.spec.shared_counters->push_back(std::move(set));
      }
      slices.push_back(std::move(counters));
    }
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
