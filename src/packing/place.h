// SPDX-License-Identifier: Apache-2.0
//
// How a request is put on a node when nobody else decides: the fullest unit that has room, of
// matched sets the fullest group. Greedy, so a request that would fit another way may be refused;
// what is decided by this is a preference, never whether a pod fits.
#pragma once

#include <optional>
#include <vector>

#include "packing/shape.h"

namespace dray::packing {

// Where the first unit of a request's first demand comes from.
struct Start {
  std::uint32_t unit = 0;    // of NodeState::units
  std::uint32_t option = 0;  // of Demand::options
};

// Takes it off the node. False: it does not fit, and `state` is anything. Does not normalize.
bool Place(NodeState& state, const Request& request, std::optional<Start> start = std::nullopt);

// Whether the unit alone could serve some unit of the request.
bool CouldServe(const NodeState& state, const Unit& unit, const Request& request);

// A state that the request may leave, and how. Normalized.
struct Successor {
  NodeState state;
  std::optional<Start> start;
};
// One for each different unit that the first demand could begin with; none: it does not fit. At
// most kMaxSuccessors.
inline constexpr std::size_t kMaxSuccessors = 24;
std::vector<Successor> Successors(const NodeState& state, const Request& request);

}  // namespace dray::packing
