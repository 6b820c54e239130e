// SPDX-License-Identifier: Apache-2.0
//
// Meter: how much of each class is in use, and how much of what is free is of use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/world.h"
#include "simulator/typical_request.h"

namespace dray::simulator {

// Parts of a device are counted in millionths.
inline constexpr std::int64_t kWholeDevice = 1'000'000;

// One class at one moment.
struct ClassUse {
  std::int64_t devices = 0;  // that its selectors match
  std::int64_t blocked = 0;  // of these nobody's, and not to be had: counters, groups, taints
  std::int64_t used = 0;     // parts: a whole device, or the largest share of a capacity
  std::int64_t free = 0;     // parts: neither used nor blocked
  // Parts of `free` that are of use to a pod like those that come, expected over these: none where
  // its node does not have all that it asks for; else those of devices that could serve it.
  std::int64_t servable = 0;

  // used / (used + free); 0 of nothing.
  double Utilisation() const;
  // 1 - servable / free; 0 of nothing.
  double Fragmentation() const;
  friend bool operator==(const ClassUse&, const ClassUse&) = default;
};
ClassUse& operator+=(ClassUse& a, const ClassUse& b);
ClassUse& operator-=(ClassUse& a, const ClassUse& b);

// Looks only at nodes that have changed since the last time. One thread; the world outlives it.
class Meter {
 public:
  // A class without a request of its own is measured against a request for one device.
  Meter(scheduler::World& world, std::vector<TypicalRequest> requests);

  const std::vector<TypicalRequest>& requests() const { return requests_; }
  // By the order of the requests.
  const std::vector<ClassUse>& Measure();

 private:
  struct Part;
  std::vector<ClassUse> OfNode(scheduler::NodeInfo& node) const;
  std::vector<ClassUse> OfUnbound() const;
  bool Matches(std::size_t request, const inventory::SliceTable& slice,
               const inventory::DeviceRow& row) const;
  Part PartOf(const ledger::NodeUsage& usage, std::size_t device,
              const api::Map<base::Quantity>& asked) const;
  // Of what is free on the node for one shape.
  std::int64_t UsefulTo(const RequestShape& shape, scheduler::NodeInfo& node,
                        const std::vector<std::size_t>& devices) const;
  void Forget(std::size_t node);

  scheduler::World& world_;
  std::vector<TypicalRequest> requests_;
  std::vector<std::vector<ClassUse>> nodes_;  // by NodeIndex
  std::vector<ClassUse> total_;               // of nodes_
  std::vector<ClassUse> measured_;            // with what is bound to no node
  std::uint64_t version_ = 0;
  std::uint64_t nodes_version_ = 0;
  bool first_ = true;
};

}  // namespace dray::simulator
