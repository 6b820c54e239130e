// SPDX-License-Identifier: Apache-2.0
#include "simulator/cluster_builder.h"

#include <algorithm>
#include <utility>

#include "api/strategy.h"
#include "api/validation.h"
#include "cel/device_env.h"
#include "fmt/format.h"
#include "simulator/internal/scenario_reader.h"

namespace dray::simulator {
namespace {

constexpr std::string_view kDefaultCpu = "64";
constexpr std::string_view kDefaultMemory = "512Gi";
constexpr std::string_view kDefaultPods = "110";

bool IsAdvanced(const api::Device& device) {
  return !device.taints.empty() || !device.consumes_counters.empty();
}

void PutIfMissing(api::Map<base::Quantity>& amounts, std::string_view name, std::string_view text) {
  if (amounts.Find(name) == nullptr) amounts[name] = *base::Quantity::Parse(text);
}

}  // namespace

ClusterBuilder::ClusterBuilder(const Scenario& scenario) : scenario_(scenario) {
  for (const NodeGroup& group : scenario.node_groups) {
    auto& drivers = devices_.emplace_back(group.drivers.size());
    for (std::size_t d = 0; d < drivers.size(); ++d) {
      const DriverDevices& driver = group.drivers[d];
      if (std::ranges::none_of(driver.devices,
                               [](const Copies& c) { return c.made_from.Uses("node"); })) {
        drivers[d] = Devices(driver, 0);
      }
    }
  }
  for (const Workload& workload : scenario.workloads) {
    auto& pod = pods_.emplace_back();
    if (!workload.pod.Uses("index")) pod = Make<api::PodTemplateSpec>(workload.pod, {});
  }
}

std::string ClusterBuilder::NodeName(const NodeGroup& group, std::int64_t node) {
  return fmt::format("{}-{:06}", group.name, node);
}

template <typename T>
T ClusterBuilder::Make(const Template& made_from, const Variables& variables) {
  T value;
  internal::DecodeStrictly(made_from.Expand(variables, faults_), made_from.field(),
                           api::TypeInfoOf<T>(), &value, faults_);
  return value;
}

std::vector<api::Device> ClusterBuilder::Devices(const DriverDevices& driver, std::int64_t node) {
  std::vector<api::Device> devices;
  for (const Copies& copies : driver.devices) {
    for (std::int64_t i = 0; i < copies.count; ++i) {
      devices.push_back(Make<api::Device>(copies.made_from, {.index = i, .node = node}));
    }
  }
  return devices;
}
std::vector<api::CounterSet> ClusterBuilder::CounterSets(const DriverDevices& driver,
                                                         std::int64_t node) {
  std::vector<api::CounterSet> sets;
  for (const Copies& copies : driver.counter_sets) {
    for (std::int64_t i = 0; i < copies.count; ++i) {
      sets.push_back(Make<api::CounterSet>(copies.made_from, {.index = i, .node = node}));
    }
  }
  return sets;
}

api::Node ClusterBuilder::Node(std::size_t group_index, std::int64_t index) {
  const NodeGroup& group = scenario_.node_groups[group_index];
  api::Node node;
  node.metadata.name = NodeName(group, index);
  node.metadata.labels = Make<api::Map<std::string>>(group.labels, {.node = index});
  node.metadata.labels[api::kHostnameLabel] = node.metadata.name;
  for (const auto& [label, value] :
       {std::pair("kubernetes.io/os", "linux"), std::pair("kubernetes.io/arch", "amd64")}) {
    if (!node.metadata.labels.contains(label)) node.metadata.labels[label] = value;
  }
  node.spec.taints = group.taints;
  api::Map<base::Quantity>& amounts = node.status.allocatable;
  amounts = Make<api::Map<base::Quantity>>(group.allocatable, {.node = index});
  PutIfMissing(amounts, api::kResourceCpu, kDefaultCpu);
  PutIfMissing(amounts, api::kResourceMemory, kDefaultMemory);
  PutIfMissing(amounts, api::kResourcePods, kDefaultPods);
  node.status.capacity = amounts;
  node.status.conditions.push_back(
      {.type = std::string(api::kNodeReadyCondition), .status = "True"});
  return node;
}

std::vector<api::ResourceSlice> ClusterBuilder::Slices(std::size_t group_index, std::int64_t node) {
  const NodeGroup& group = scenario_.node_groups[group_index];
  std::vector<api::ResourceSlice> slices;
  for (std::size_t d = 0; d < group.drivers.size(); ++d) {
    const DriverDevices& driver = group.drivers[d];
    const std::size_t first = slices.size();
    const auto add = [&]() -> api::ResourceSliceSpec& {
      api::ResourceSlice& slice = slices.emplace_back();
      slice.metadata.name =
          fmt::format("{}-{}-{}", NodeName(group, node), driver.driver, slices.size() - first - 1);
      slice.spec.driver = driver.driver;
      slice.spec.pool.name = NodeName(group, node);
      slice.spec.pool.generation = 1;
      slice.spec.node_name = slice.spec.pool.name;
      return slice.spec;
    };
    std::vector<api::CounterSet> sets = CounterSets(driver, node);
    for (std::size_t i = 0; i < sets.size(); i += api::kResourceSliceMaxCounterSets) {
      const auto begin = sets.begin() + static_cast<std::ptrdiff_t>(i);
      const auto end = begin + static_cast<std::ptrdiff_t>(
                                   std::min(api::kResourceSliceMaxCounterSets, sets.size() - i));
      add().shared_counters.emplace(std::move_iterator(begin), std::move_iterator(end));
    }
    const auto& fixed = devices_[group_index][d];
    std::vector<api::Device> devices = fixed ? *fixed : Devices(driver, node);
    const std::size_t most = std::ranges::any_of(devices, IsAdvanced)
                                 ? api::kResourceSliceMaxDevicesWithAdvancedFeatures
                                 : api::kResourceSliceMaxDevices;
    for (std::size_t i = 0; i < devices.size(); i += most) {
      const auto begin = devices.begin() + static_cast<std::ptrdiff_t>(i);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(most, devices.size() - i));
      add().devices.emplace(std::move_iterator(begin), std::move_iterator(end));
    }
    for (std::size_t i = first; i < slices.size(); ++i) {
      slices[i].spec.pool.resource_slice_count = static_cast<std::int64_t>(slices.size() - first);
    }
  }
  return slices;
}

api::Pod ClusterBuilder::Pod(std::size_t workload_index, std::int64_t index) {
  const Workload& workload = scenario_.workloads[workload_index];
  const auto& fixed = pods_[workload_index];
  api::PodTemplateSpec made =
      fixed ? *fixed : Make<api::PodTemplateSpec>(workload.pod, {.index = index});
  api::Pod pod;
  pod.metadata = std::move(made.metadata);
  pod.metadata.namespace_ = workload.namespace_;
  pod.metadata.name = fmt::format("{}-{}", workload.name, index);
  pod.spec = std::move(made.spec);
  // What nobody looks at here need not be written.
  for (std::size_t i = 0; i < pod.spec.containers.size(); ++i) {
    api::Container& container = pod.spec.containers[i];
    if (container.name.empty()) container.name = fmt::format("c{}", i);
    if (container.image.empty()) container.image = "example.com/image";
  }
  if (pod.spec.containers.empty()) {
    pod.spec.containers.push_back({.name = "c0", .image = "example.com/image"});
  }
  return pod;
}

std::optional<api::Object> ClusterBuilder::MakeObject(const Copies& copies, std::int64_t index) {
  std::optional<api::Object> object = internal::DecodeObjectStrictly(
      copies.made_from.Expand({.index = index}, faults_), copies.made_from.field(), faults_);
  if (object && object->kind().namespaced && object->metadata().namespace_.empty()) {
    object->MutableMetadata().namespace_ = "default";
  }
  return object;
}

std::vector<api::Object> ClusterBuilder::Everything() {
  std::vector<api::Object> objects;
  for (const Copies& copies : scenario_.objects) {
    for (std::int64_t i = 0; i < copies.count; ++i) {
      if (auto object = MakeObject(copies, i)) objects.push_back(std::move(*object));
    }
  }
  for (std::size_t g = 0; g < scenario_.node_groups.size(); ++g) {
    for (std::int64_t n = 0; n < scenario_.node_groups[g].count; ++n) {
      objects.push_back(api::Object::Of(Node(g, n)));
      for (api::ResourceSlice& slice : Slices(g, n)) {
        objects.push_back(api::Object::Of(std::move(slice)));
      }
    }
  }
  return objects;
}

void ClusterBuilder::CheckObject(const Template& made_from, api::Object object,
                                 const api::FeatureGates& gates) {
  static const cel::DeviceExpressionChecker expressions;
  api::SetDefaults(object, base::Time());
  api::PrepareForCreate(object, {.gates = gates, .now = base::Time()});
  const api::ErrorList errors =
      api::ValidateCreate(object, {.gates = gates, .expressions = &expressions});
  for (const api::FieldError& error : errors) {
    faults_.push_back(
        {made_from.position(), made_from.field().ToString(),
         fmt::format("{} {}: {}", object.kind().kind, object.metadata().name, error.Message()),
         ""});
  }
}

std::vector<Fault> ClusterBuilder::Check(const api::FeatureGates& gates) {
  const auto first_and_last = [](std::int64_t count) {
    std::vector<std::int64_t> both;
    if (count > 0) both.push_back(0);
    if (count > 1) both.push_back(count - 1);
    return both;
  };
  for (const Copies& copies : scenario_.objects) {
    for (const std::int64_t i : first_and_last(copies.count)) {
      if (auto object = MakeObject(copies, i)) {
        CheckObject(copies.made_from, std::move(*object), gates);
      }
    }
  }
  for (std::size_t g = 0; g < scenario_.node_groups.size(); ++g) {
    const NodeGroup& group = scenario_.node_groups[g];
    for (const std::int64_t n : first_and_last(group.count)) {
      CheckObject(group.labels, api::Object::Of(Node(g, n)), gates);
      for (api::ResourceSlice& slice : Slices(g, n)) {
        const auto driver =
            std::ranges::find(group.drivers, slice.spec.driver, &DriverDevices::driver);
        const Template& about =
            driver->devices.empty() ? group.labels : driver->devices.front().made_from;
        CheckObject(about, api::Object::Of(std::move(slice)), gates);
      }
    }
  }
  for (std::size_t w = 0; w < scenario_.workloads.size(); ++w) {
    for (const std::int64_t i : first_and_last(scenario_.workloads[w].count.value_or(1))) {
      CheckObject(scenario_.workloads[w].pod, api::Object::Of(Pod(w, i)), gates);
    }
  }
  // The same fault in the first and the last is one.
  std::vector<Fault> faults;
  for (Fault& fault : faults_) {
    if (std::ranges::none_of(faults, [&](const Fault& other) {
          return other.field == fault.field && other.message == fault.message;
        })) {
      faults.push_back(std::move(fault));
    }
  }
  faults_.clear();
  return faults;
}

}  // namespace dray::simulator
