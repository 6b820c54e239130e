// SPDX-License-Identifier: Apache-2.0
//
// How much of a trace's devices could be allocated at most, by any policy.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulator/trace.h"

namespace dray::simulator::internal {

// Upper bounds, as shares of all devices, for when the first `ends[i]` of the pods have come and
// nobody has left (packing/relaxation.h). `ends` rises; it is solved for those in `solved`, places
// of `ends`, and what that says about the others is used for them. Where pods and nodes are of too
// many shapes for that, cpu and memory are left out; of still too many, what was asked for is the
// bound.
std::vector<double> TraceBounds(const std::vector<TraceNode>& nodes,
                                const std::vector<TracePod>& arrivals,
                                std::span<const std::size_t> ends,
                                std::span<const std::size_t> solved);

}  // namespace dray::simulator::internal
