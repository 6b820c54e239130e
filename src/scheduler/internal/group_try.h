// SPDX-License-Identifier: Apache-2.0
//
// One attempt at a group of pods: who is tried, and how far it has come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bit_set.h"
#include "scheduler/internal/scheduler_impl.h"
#include "scheduler/plugins/victim_search.h"

namespace dray::scheduler {

// Whether the pod has to be where certain others are.
bool WantsToBeNear(const api::Pod& pod);
// Whether the constraint refuses nodes; otherwise it only tells better ones from worse.
bool DecidesOfNodes(const api::TopologySpreadConstraint& constraint);

// One of the places, a rack or a zone, that a group may be in.
struct Scheduler::Impl::GroupDomain {
  std::string label;         // "key=value"
  base::BitSet nodes;        // by rank
  std::int64_t at_most = 0;  // how full the whole group would make it
};

struct Scheduler::Impl::GroupTry {
  std::string key;
  std::shared_ptr<const api::PodGroup> object;
  std::uint32_t profile = 0;
  std::vector<QueuedPod> members;
  // Of pods that are not among them: room for one member is not kept from another one.
  std::vector<Nomination> nominations;
  std::size_t scheduled = 0;  // before
  std::size_t least = 0;      // how many of the members must be placed
  std::size_t remaining = 0;  // that were not tried, since it was clear that they would not do
  std::vector<Binding> placed;
  std::vector<std::size_t> unplaced;  // of members; those that were not reached, too
  std::map<std::size_t, PodExplanation> explanations;  // of some of them
  std::set<std::string> refused_by;
  std::optional<PluginStatus> error;
  std::string joint;          // what the search said
  std::size_t could_run = 0;  // by what it said
  // Of a question what would be if others were gone: nothing of it is told.
  bool trial = false;
  std::uint64_t steps = 0;  // nodes asked and steps searched
  // Those that are refused are tried again although no change may help: others may make room for them then.
  bool retry = false;
  // Pods are leaving for the group, or were sent away now: what was nominated stays.
  bool makes_room = false;
  std::vector<std::uint64_t> alike;  // by member: QueuedPod::alike; empty: not known yet
  std::map<std::size_t, std::string> nominated;  // by member: now
  std::string preemption;                        // what is said of it; empty: nothing
  // The domain that is being tried; null: the group may be anywhere.
  const GroupDomain* domain = nullptr;
  std::optional<std::size_t> domains;  // how many there are, if the group must be in one
};

// What a group would get if some pods were gone.
struct Scheduler::Impl::GroupRoom {
  struct Place {
    std::size_t member = 0;
    std::string node;
    std::vector<DeviceHold::Kept> devices;
  };
  std::vector<Place> places;
  Victims victims;
  std::vector<DeviceHold::Leaving> leaving;
};

}  // namespace dray::scheduler
