// SPDX-License-Identifier: Apache-2.0
//
// The devices of a cluster as a tree: node, driver, pool, device, and who has it; what is left of
// shared devices and of counters, and what keeps a device that nobody has from being given. Names
// and numbers only: commands and pages draw it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "api/document.h"
#include "api/gates.h"
#include "api/label_selector.h"
#include "base/status.h"
#include "base/time.h"
#include "planner/plan.h"

namespace dray::planner {

enum class DeviceState : std::uint8_t {
  kFree,
  kHeld,
  kShared,    // somebody has a share of it
  kBlocked,   // nobody has it, and nobody can: counters or compatibility groups
  kUnusable,  // its pool is incomplete or invalid
  kGone,      // somebody has it, and no slice does
};
// "Free"
std::string_view NameOf(DeviceState state);

struct DeviceHolder {
  std::string claim;              // "namespace/name"
  std::vector<std::string> pods;  // of the claim's namespace
  std::string share_id;
  std::vector<std::pair<std::string, std::string>> consumed;  // capacity by name
  bool admin_access = false;        // for administration: others can have the device all the same
  std::optional<base::Time> since;  // when the first of the pods began
  std::optional<std::int32_t> priority;

  std::string namespace_() const { return claim.substr(0, claim.find('/')); }
};

struct AmountLeft {
  std::string name;
  std::string value;
  std::string left;
};

struct DeviceEntry {
  std::string name;
  DeviceState state = DeviceState::kFree;
  std::vector<DeviceHolder> holders;
  std::vector<AmountLeft> capacity;
  bool shareable = false;
  std::vector<std::string> blocked_by;  // "memory of gpu-0: 40Gi needed, 30Gi left"
  std::vector<std::string> taints;      // "key=value:NoSchedule"
  std::vector<std::pair<std::string, std::string>> attributes;
};

struct CounterSetEntry {
  std::string name;
  std::vector<AmountLeft> counters;
  std::vector<std::string> groups;  // compatibility groups that more devices must have
};

struct PoolEntry {
  std::string driver;
  std::string name;
  std::string problem;  // "incomplete: ..."; empty: none
  std::vector<CounterSetEntry> counter_sets;
  std::vector<DeviceEntry> devices;  // as published

  std::size_t Count(DeviceState state) const;
};

struct NodeEntry {
  std::string name;
  std::vector<std::string> marks;  // "cordoned", "not ready"
  std::vector<PoolEntry> pools;    // by driver and name
};

struct DeviceTree {
  std::vector<NodeEntry> nodes;  // by name; with devices
  std::vector<PoolEntry> pools;  // whose devices are not one node's
  std::size_t nodes_without = 0;

  std::size_t Devices() const;
  std::size_t Count(DeviceState state) const;
};

// What is shown; empty: everything.
struct DeviceFilter {
  std::vector<std::string> nodes;
  api::LabelMatcher labels;  // of nodes
  std::string namespace_;    // only devices that somebody of it has
};

// Kept from changes. One thread.
class DeviceTreeBuilder {
 public:
  explicit DeviceTreeBuilder(const api::FeatureGates& gates);
  ~DeviceTreeBuilder();

  // The kinds that matter; changes of others are ignored.
  static std::vector<const api::KindInfo*> Kinds();
  void Apply(const api::Change& change);
  // InvalidArgument: a slice's node selector cannot be read.
  StatusOr<DeviceTree> Build(const DeviceFilter& filter = {});
  // Whether there is such a node, and which there are.
  bool HasNode(std::string_view name) const;
  std::vector<std::string> NodeNames() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Of objects that were read. Nodes that only slices name are taken to exist as `assume` says; what
// was assumed is in `notes`.
void ApplyObjects(std::vector<api::Object> objects, AssumeNodes assume,
                  std::vector<std::string>& notes, DeviceTreeBuilder& builder);

// {"nodes":[],"pools":[],"summary":{}}
api::DocumentNode ToJson(const DeviceTree& tree);

}  // namespace dray::planner
