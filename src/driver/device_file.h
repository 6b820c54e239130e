// SPDX-License-Identifier: Apache-2.0
//
// A file of devices: pools of slices as ResourceSlice.spec has them, and beside each device what a
// container needs to use it and how it is. Whoever has such a file has a driver (described_driver.h).
//
//   pools:
//   - name: cameras                # none: the node's name
//     allNodes: true               # or nodeSelector: devices that several nodes reach
//     devices:                     # or slices: a list of {devices: ...} and {sharedCounters: ...}
//     - name: front
//       attributes: {resolution: {string: 4k}}
//       cdi:
//         deviceNodes: [{path: /dev/video0}]
//         env: ["CAMERA=${device}", "CLAIM=${claim.namespace}/${claim.name}"]
//       health: {status: Healthy}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_table.h"
#include "api/node_selector.h"
#include "api/resource_slice.h"
#include "base/status.h"
#include "cdi/spec.h"
#include "driver/wanted_pools.h"
#include "rpc/messages.h"

namespace dray::driver {

struct DescribedHealth {
  std::string status = "Healthy";  // Healthy, Unhealthy, Unknown
  std::string message;
  std::int64_t timeout_seconds = 0;  // 0: the agent's own
  friend bool operator==(const DescribedHealth&, const DescribedHealth&) = default;
};
const api::StructInfo& InfoOf(const DescribedHealth*);

struct DescribedDevice {
  api::Device device;  // first: its fields are fields of the entry
  std::optional<cdi::ContainerEdits> cdi;
  std::optional<DescribedHealth> health;
  friend bool operator==(const DescribedDevice&, const DescribedDevice&) = default;
};
const api::StructInfo& InfoOf(const DescribedDevice*);

struct DescribedSlice {
  std::vector<DescribedDevice> devices;
  std::vector<api::CounterSet> shared_counters;
  bool per_device_node_selection = false;
  std::optional<std::string> partition_type_attribute;
  std::vector<std::string> skip_node_operations;
  friend bool operator==(const DescribedSlice&, const DescribedSlice&) = default;
};
const api::StructInfo& InfoOf(const DescribedSlice*);

struct DescribedPool {
  std::string name;
  std::int64_t generation = 0;
  api::Box<api::NodeSelector> node_selector;
  bool all_nodes = false;
  std::vector<DescribedSlice> slices;
  // Instead of slices: cut into as many as are needed.
  std::vector<DescribedDevice> devices;
  std::vector<api::CounterSet> shared_counters;
  friend bool operator==(const DescribedPool&, const DescribedPool&) = default;
};
const api::StructInfo& InfoOf(const DescribedPool*);

struct DeviceFile {
  std::string driver;  // empty: whoever starts the driver says
  std::vector<DescribedPool> pools;
  friend bool operator==(const DeviceFile&, const DeviceFile&) = default;
};
const api::StructInfo& InfoOf(const DeviceFile*);

// InvalidArgument with every fault of the text, each with its line: fields that there are not, values
// that no API server would take, placeholders that mean nothing.
StatusOr<DeviceFile> ReadDeviceFile(std::string_view text);
// YAML that reads back.
std::string ToYaml(const DeviceFile& file);

// What is published of it for a node. Pools without a name are the node's.
WantedPools PoolsOf(const DeviceFile& file, std::string_view node);
// What is published of it for several nodes, by whoever does that for the cluster: pools with a node
// selector, for all nodes, or whose devices say where they are.
WantedPools ClusterPoolsOf(const DeviceFile& file);
// Null: it has no such device.
const DescribedDevice* FindDevice(const DeviceFile& file, std::string_view node,
                                  std::string_view pool, std::string_view device);
// What is to be told of its devices; those that say nothing are healthy.
std::vector<rpc::DeviceHealth> HealthOf(const DeviceFile& file, std::string_view node);
StatusOr<rpc::Health> ParseHealth(std::string_view text);

}  // namespace dray::driver
