// SPDX-License-Identifier: Apache-2.0
//
// GroupSearch: where all pods of a group could go at once, with which devices: `gang` asked with nodes as
// places, filters as what fits on one, and DynamicResources for the claims of all that go there.
//
// Claims that several pods name are allocated once. Where their devices reach is where these pods can be,
// so the search is done for each set of nodes that devices reach in common (DeviceReach), larger ones
// first. What one of them leaves open is not known to be impossible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bit_set.h"
#include "base/string_map.h"
#include "gang/search.h"
#include "scheduler/cycle.h"
#include "scheduler/plugins/device_reach.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/world.h"

namespace dray::scheduler {

// One thread, for one attempt: the world does not change meanwhile.
class GroupSearch {
 public:
  // A cycle of the pod after its PreFilter; null: that has refused it.
  using Prepare = std::function<std::unique_ptr<Cycle>(const std::shared_ptr<const PodInfo>& pod)>;
  // All outlive it. `devices` may be null.
  GroupSearch(World& world, DynamicResources* devices, Prepare prepare);
  ~GroupSearch();

  // Who is to be placed. False: PreFilter refuses one of them, and no node will do.
  bool Add(std::span<const std::shared_ptr<const PodInfo>> pods);

  struct Found {
    struct Load {
      NodeInfo* node = nullptr;
      std::vector<std::size_t> pods;  // in the order of Add
    };
    std::vector<Load> loads;
    PresetDevices devices;  // of all of them
  };
  // So many of the pods at least, on these nodes (by rank; null: on all). Nothing: see below.
  std::optional<Found> Run(std::size_t least, const base::BitSet* nodes = nullptr);

  // After nothing was found: whether that is proved, and how many could run, if it is at most, else at least.
  bool proved() const { return proved_; }
  std::size_t could_run() const { return proved_ ? at_most_ : found_; }
  // More about it, for messages.
  const std::string& more() const { return more_; }
  // Of the budget that a search has.
  std::uint64_t spent() const;

 private:
  struct Kind;
  struct Shared;
  class Places;
  struct Assignment;

  void FindShared(std::span<const std::shared_ptr<const PodInfo>> pods);
  bool FindDomains();
  // Whether the claims can be had for pods all over the domain, with nothing of the group elsewhere.
  DynamicResources::Together FitAlone(const Shared& shared, const base::BitSet& domain);
  std::optional<Found> Try(const Assignment& assignment, std::size_t least);
  std::optional<Found> Choose(Places& places, const std::vector<gang::Load>& loads);
  void Note(const gang::Answer& answer, bool known, std::size_t least);

  World& world_;
  DynamicResources* devices_;
  const Prepare prepare_;
  std::vector<std::shared_ptr<const PodInfo>> pods_;
  std::vector<Kind> kinds_;
  std::vector<Shared> shared_;
  std::unique_ptr<DeviceReach> reach_;
  base::BitSet nodes_;  // that may be used
  std::uint64_t left_;  // of the budget
  bool proved_ = true;
  std::size_t found_ = 0;
  std::size_t at_most_ = 0;
  std::string more_;
};

}  // namespace dray::scheduler
