// SPDX-License-Identifier: Apache-2.0
//
// DeviceUnits: nodes, devices and claims as packing sees them (packing/shape.h).
//
// A unit is a device, with a dimension for each capacity where it is shared, or a set of counters
// with one for each counter. Units are of one kind when their driver, their capacities and what
// they publish are the same, but for attributes that are another one for nearly every device
// (numbers, serials, addresses). So what a request takes of a kind is found out with one device.
//
// What is left out: devices that several nodes can use, requests for all devices of a node, and
// those with admin access, which take nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "allocator/attempt.h"
#include "allocator/plan.h"
#include "packing/shape.h"
#include "scheduler/node_info.h"
#include "scheduler/pod_info.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// One thread.
class DeviceUnits {
 public:
  explicit DeviceUnits(World& world) : world_(world) {}

  // What is left on a node whose devices are up to date. Not normalized: see UnitOf.
  packing::NodeState StateOf(const NodeInfo& node);
  void Forget(NodeIndex node);
  // The unit of a device, of what StateOf has returned; nothing: it is left out.
  std::optional<std::uint32_t> UnitOf(const NodeInfo& node, std::uint32_t device) const;

  // What the pod and its claims take; null: it has none to be allocated.
  packing::Request RequestOf(const PodInfo& pod, const allocator::Plan* plan);
  // Changes when states and requests mean something else: both are to be made anew.
  std::uint64_t version() const { return version_; }
  // Changes when the numbers of kinds mean others.
  std::uint64_t kinds_version() const { return kinds_version_; }
  // The driver's.
  std::string NameOf(std::uint16_t kind) const { return kinds_[kind].name; }
  std::size_t kinds() const { return kinds_.size(); }

  // More values than this, or so many devices of one node that all have different ones, and an
  // attribute does not make kinds.
  static constexpr std::size_t kMostValues = 16;
  static constexpr std::size_t kAllDifferent = 3;
  static constexpr std::size_t kMostDims = 16;

 private:
  struct UnitLayout {
    std::uint16_t kind = 0;
    std::uint16_t group = 0;
    bool set = false;         // of counters; otherwise a device
    std::uint32_t index = 0;  // of the set or device
    std::uint16_t dims = 1;
  };
  struct Layout {
    std::weak_ptr<const inventory::NodeDevices> of;
    std::uint64_t version = 0;  // of DeviceUnits
    std::vector<UnitLayout> units;
    std::vector<std::int32_t> unit_of;  // by device; -1: left out
  };
  struct Kind {
    std::string key;
    std::string name;
    NodeIndex example = 0;  // a node that has one
  };
  // The attribute that devices of matched sets must share; the first one that anybody asks for.
  struct Matched {
    std::string attribute;
    inventory::NameId name;
    std::optional<inventory::NameId> domain;
    std::optional<inventory::NameId> bare;
  };

  bool IsOf(const Layout& layout, const NodeInfo& node) const;
  void MakeLayout(Layout& layout, const NodeInfo& node);
  // Finds attributes that number the devices of a node. True: one did make kinds until now.
  bool FindNumbering(const inventory::NodeDevices& devices);
  std::uint16_t KindOf(std::string key, std::string name, NodeIndex node);
  // Whether the attribute makes kinds. True with `changed`: it did so until now.
  bool Tells(inventory::NameId driver, const inventory::AttributeEntry& attribute, bool* changed);
  std::string KeyOf(const inventory::NodeDevices& devices, const inventory::NodeDevice& device,
                    std::string* name, bool* changed);
  std::uint16_t GroupOf(const inventory::NodeDevice& device,
                        std::vector<inventory::ValueId>& values) const;
  // A node with units of the kind, up to date; null when there is none any more.
  const NodeInfo* ExampleOf(std::uint16_t kind);
  void AddOptions(packing::Demand& demand, const allocator::Plan& plan,
                  const allocator::Alternative& alternative,
                  std::span<const allocator::ConstraintPlan> constraints, std::uint16_t kind);
  void Track(const allocator::Plan& plan);

  World& world_;
  std::vector<Layout> layouts_;  // by node
  std::vector<Kind> kinds_;
  absl::flat_hash_map<std::string, std::uint16_t> kind_numbers_;
  absl::flat_hash_map<std::uint64_t, absl::flat_hash_set<std::uint32_t>>
      values_;  // by driver, name
  std::optional<Matched> matched_;
  std::uint64_t version_ = 1;
  std::uint64_t kinds_version_ = 0;
};

}  // namespace dray::scheduler
