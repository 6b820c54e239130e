// SPDX-License-Identifier: Apache-2.0
//
// What has to be written so that the slices of a pool say what its driver wants: pure, no clock and
// no cluster.
//
// A reader of slices trusts a pool when it has seen as many slices of the highest generation as they
// themselves say there are. One slice can therefore be changed in place; as soon as two things
// change, everything gets the next generation, so that nobody sees half of it.
//
// Spec: docs/spec/node.md section 18.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta.h"
#include "api/resource_slice.h"
#include "driver/wanted_pools.h"

namespace dray::driver {

// Who publishes.
struct Publisher {
  std::string driver;
  std::string node;  // empty: its devices belong to no node
  // The node, for a driver that runs on one: slices go with it.
  std::optional<api::OwnerReference> owner;
};

struct DoomedSlice {
  std::string name;
  std::string uid;
  friend bool operator==(const DoomedSlice&, const DoomedSlice&) = default;
};

// To be done in this order.
struct PoolPlan {
  std::vector<DoomedSlice> deletes;
  std::vector<api::ResourceSlice> updates;  // with name, uid and resourceVersion of what is stored
  std::vector<api::ResourceSlice> creates;  // with a generateName
  bool empty() const { return deletes.empty() && updates.empty() && creates.empty(); }
};

// `wanted` null: the pool shall not be. `seen`: every slice of the publisher in this pool, in any
// order.
PoolPlan PlanPool(const Publisher& publisher, std::string_view pool, const WantedPool* wanted,
                  const std::vector<const api::ResourceSlice*>& seen);

// The place of a slice in its pool that the name says, if it does for a pool of `count` slices: hex
// digits before the first '-', five or as many as the highest place needs.
std::optional<std::size_t> IndexOf(std::string_view slice_name, std::size_t count);
std::string IndexText(std::size_t index, std::size_t count);

// Whether a stored slice says what is wanted. Taints without a time agree with any, times may differ
// by a second: servers store no fractions.
bool SaysTheSame(const api::ResourceSliceSpec& stored, const api::ResourceSliceSpec& wanted);

}  // namespace dray::driver
