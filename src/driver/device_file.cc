// SPDX-License-Identifier: Apache-2.0
#include "driver/device_file.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/document.h"
#include "api/gates.h"
#include "api/json.h"
#include "api/kinds.h"
#include "api/validation.h"
#include "api/yaml_text.h"
#include "base/check.h"
#include "base/seconds.h"
#include "driver/placeholders.h"
#include "fmt/format.h"

namespace dray::driver {

using api::Field;
using api::Presence;
using api::Struct;
using api::StructInfo;

const StructInfo& InfoOf(const DescribedHealth*) {
  using T = DescribedHealth;
  static const StructInfo info =
      Struct<T>("Health", {
                              Field<&T::status>("status", {.presence = Presence::kAlways}),
                              Field<&T::message>("message"),
                              Field<&T::timeout_seconds>("timeoutSeconds"),
                          });
  return info;
}

const StructInfo& InfoOf(const DescribedDevice*) {
  using T = DescribedDevice;
  static const StructInfo info = [] {
    // The rows of a device reach into what begins where the entry does.
    const T probe;
    DRAY_CHECK(static_cast<const void*>(&probe) == static_cast<const void*>(&probe.device));
    std::vector<api::FieldInfo> rows = InfoOf(static_cast<const api::Device*>(nullptr)).fields;
    rows.push_back(Field<&T::cdi>("cdi"));
    rows.push_back(Field<&T::health>("health"));
    return Struct<T>("Device", std::move(rows));
  }();
  return info;
}

const StructInfo& InfoOf(const DescribedSlice*) {
  using T = DescribedSlice;
  static const StructInfo info =
      Struct<T>("Slice", {
                             Field<&T::devices>("devices"),
                             Field<&T::shared_counters>("sharedCounters"),
                             Field<&T::per_device_node_selection>("perDeviceNodeSelection"),
                             Field<&T::partition_type_attribute>("partitionTypeAttribute"),
                             Field<&T::skip_node_operations>("skipNodeOperations"),
                         });
  return info;
}

const StructInfo& InfoOf(const DescribedPool*) {
  using T = DescribedPool;
  static const StructInfo info = Struct<T>("Pool", {
                                                       Field<&T::name>("name"),
                                                       Field<&T::generation>("generation"),
                                                       Field<&T::node_selector>("nodeSelector"),
                                                       Field<&T::all_nodes>("allNodes"),
                                                       Field<&T::slices>("slices"),
                                                       Field<&T::devices>("devices"),
                                                       Field<&T::shared_counters>("sharedCounters"),
                                                   });
  return info;
}

const StructInfo& InfoOf(const DeviceFile*) {
  using T = DeviceFile;
  static const StructInfo info = Struct<T>("Devices", {
                                                          Field<&T::driver>("driver"),
                                                          Field<&T::pools>("pools"),
                                                      });
  return info;
}

namespace {

std::string_view NameOf(const DescribedPool& pool, std::string_view node) {
  return pool.name.empty() ? node : std::string_view(pool.name);
}

template <typename F>
void ForEachDevice(const DescribedPool& pool, F f) {
  for (const DescribedDevice& device : pool.devices) f(device);
  for (const DescribedSlice& slice : pool.slices) {
    for (const DescribedDevice& device : slice.devices) f(device);
  }
}

std::vector<api::Device> Plain(const std::vector<DescribedDevice>& devices) {
  std::vector<api::Device> plain;
  for (const DescribedDevice& device : devices) plain.push_back(device.device);
  return plain;
}

bool ChoosesNodes(const DescribedPool& pool) {
  return pool.node_selector.has_value() || pool.all_nodes ||
         std::ranges::any_of(pool.slices, &DescribedSlice::per_device_node_selection);
}

WantedPool WantedOf(const DescribedPool& pool) {
  WantedPool wanted = PoolOf(Plain(pool.devices), pool.shared_counters);
  wanted.generation = pool.generation;
  wanted.node_selector = pool.node_selector;
  wanted.all_nodes = pool.all_nodes;
  for (const DescribedSlice& slice : pool.slices) {
    wanted.slices.push_back({.devices = Plain(slice.devices),
                             .shared_counters = slice.shared_counters,
                             .per_device_node_selection = slice.per_device_node_selection,
                             .partition_type_attribute = slice.partition_type_attribute,
                             .skip_node_operations = slice.skip_node_operations});
  }
  return wanted;
}

// Where a fault is, for people.
class Faults {
 public:
  explicit Faults(const api::DocumentNode& root) : root_(root) {}
  void Add(const base::FieldPath& path, std::string_view message) {
    const api::Position at = api::Locate(root_, path);
    texts_.push_back(at.line > 0 ? fmt::format("line {}: {}", at.line, message)
                                 : std::string(message));
  }
  void Add(std::string text) { texts_.push_back(std::move(text)); }
  Status ToStatus() const {
    if (texts_.empty()) return {};
    return base::InvalidArgument(fmt::format("{}", fmt::join(texts_, "\n")));
  }

 private:
  const api::DocumentNode& root_;
  std::vector<std::string> texts_;
};

api::FeatureGates AllGates() {
  api::FeatureGates gates;
  for (const api::GateInfo& gate : api::GateTable()) gates.Set(gate.gate, true);
  return gates;
}

// As an API server that knows everything would: what it refuses could never be published.
void CheckSlices(const WantedPool& wanted, std::string_view name, Faults& faults) {
  std::set<std::string> said;
  for (const WantedSlice& slice : wanted.slices) {
    api::ResourceSlice object;
    object.metadata.name = "slice";
    object.spec.driver = "driver.example.com";
    object.spec.pool = {.name = std::string(name), .generation = 1, .resource_slice_count = 1};
    if (slice.per_device_node_selection) {
      object.spec.per_device_node_selection = true;
    } else {
      object.spec.node_name = "node";
    }
    if (!slice.shared_counters.empty()) object.spec.shared_counters = slice.shared_counters;
    if (!slice.devices.empty() || slice.shared_counters.empty())
      object.spec.devices = slice.devices;
    object.spec.partition_type_attribute = slice.partition_type_attribute;
    object.spec.skip_node_operations = slice.skip_node_operations;
    for (const api::FieldError& error :
         api::ValidateCreate(api::Object::Of(std::move(object)), {.gates = AllGates()})) {
      if (said.insert(error.Message()).second) {
        faults.Add(fmt::format("pool \"{}\": {}", name, error.Message()));
      }
    }
  }
}

void CheckDevice(const DescribedDevice& device, const base::FieldPath& path, Faults& faults) {
  if (device.cdi) {
    for (const api::FieldError& error : cdi::ValidateEdits(*device.cdi, path / "cdi")) {
      faults.Add(error.field, error.Message());
    }
    if (const Status fault = CheckPlaceholders(*device.cdi); !fault.ok()) {
      faults.Add(path / "cdi",
                 fmt::format("{}: {}", (path / "cdi").ToString(), base::Message(fault)));
    }
  }
  if (device.health) {
    if (const auto health = ParseHealth(device.health->status); !health.ok()) {
      faults.Add(path / "health", fmt::format("{}: {}", (path / "health").ToString(),
                                              base::Message(health.status())));
    }
  }
}

void CheckPoolEntry(const DescribedPool& pool, const base::FieldPath& path, Faults& faults) {
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    CheckDevice(pool.devices[i], (path / "devices").Index(i), faults);
  }
  for (std::size_t s = 0; s < pool.slices.size(); ++s) {
    const base::FieldPath slice = (path / "slices").Index(s) / "devices";
    for (std::size_t i = 0; i < pool.slices[s].devices.size(); ++i) {
      CheckDevice(pool.slices[s].devices[i], slice.Index(i), faults);
    }
  }
  const WantedPool wanted = WantedOf(pool);
  const std::string name = pool.name.empty() ? "node" : pool.name;
  if (pool.name.empty() && ChoosesNodes(pool)) {
    faults.Add(path, fmt::format("{}: a pool for several nodes needs a name", path.ToString()));
  }
  if (const Status fault = CheckPool(name, wanted, false); !fault.ok()) {
    faults.Add(path, base::Message(fault));
  }
  CheckSlices(wanted, name, faults);
}

}  // namespace

StatusOr<rpc::Health> ParseHealth(std::string_view text) {
  if (text == "Healthy") return rpc::Health::kHealthy;
  if (text == "Unhealthy") return rpc::Health::kUnhealthy;
  if (text == "Unknown") return rpc::Health::kUnknown;
  return base::InvalidArgument(
      fmt::format("health is Healthy, Unhealthy or Unknown, not \"{}\"", text));
}

StatusOr<DeviceFile> ReadDeviceFile(std::string_view text) {
  std::vector<api::Diagnostic> diagnostics;
  const std::vector<api::DocumentNode> documents = api::ParseYaml(text, diagnostics);
  DeviceFile file;
  const api::DocumentNode none;
  const api::DocumentNode& root = documents.empty() ? none : documents[0];
  Faults faults(root);
  if (documents.size() > 1) faults.Add("expected one document, found several");
  if (!documents.empty()) {
    api::DecodeNode(root, api::TypeInfoOf<DeviceFile>(), &file, api::Severity::kError, diagnostics);
  }
  for (const api::Diagnostic& diagnostic : diagnostics) faults.Add(api::ToString(diagnostic));
  // What could not be read has been said; the rest would only repeat it.
  if (diagnostics.empty()) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < file.pools.size(); ++i) {
      const base::FieldPath path = base::FieldPath("pools").Index(i);
      if (!names.insert(file.pools[i].name).second) {
        faults.Add(path, fmt::format("pool \"{}\" appears twice", file.pools[i].name));
      }
      CheckPoolEntry(file.pools[i], path, faults);
    }
  }
  DRAY_RETURN_IF_ERROR(faults.ToStatus());
  return file;
}

std::string ToYaml(const DeviceFile& file) {
  std::vector<api::Diagnostic> diagnostics;
  return api::ToYaml(api::ParseJson(api::EncodeJson(file), diagnostics));
}

WantedPools PoolsOf(const DeviceFile& file, std::string_view node) {
  WantedPools pools;
  for (const DescribedPool& pool : file.pools) {
    if (!ChoosesNodes(pool)) pools.emplace(NameOf(pool, node), WantedOf(pool));
  }
  return pools;
}

WantedPools ClusterPoolsOf(const DeviceFile& file) {
  WantedPools pools;
  for (const DescribedPool& pool : file.pools) {
    if (ChoosesNodes(pool)) pools.emplace(pool.name, WantedOf(pool));
  }
  return pools;
}

const DescribedDevice* FindDevice(const DeviceFile& file, std::string_view node,
                                  std::string_view pool, std::string_view device) {
  const DescribedDevice* found = nullptr;
  for (const DescribedPool& candidate : file.pools) {
    if (NameOf(candidate, node) != pool) continue;
    ForEachDevice(candidate, [&](const DescribedDevice& entry) {
      if (entry.device.name == device) found = &entry;
    });
  }
  return found;
}

std::vector<rpc::DeviceHealth> HealthOf(const DeviceFile& file, std::string_view node) {
  std::vector<rpc::DeviceHealth> reports;
  for (const DescribedPool& pool : file.pools) {
    ForEachDevice(pool, [&](const DescribedDevice& device) {
      const DescribedHealth health = device.health.value_or(DescribedHealth{});
      reports.push_back({.pool = std::string(NameOf(pool, node)),
                         .device = device.device.name,
                         .health = ParseHealth(health.status).value_or(rpc::Health::kUnknown),
                         .timeout = base::BoundedSeconds(health.timeout_seconds),
                         .message = health.message});
    });
  }
  return reports;
}

}  // namespace dray::driver
