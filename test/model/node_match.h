// SPDX-License-Identifier: Apache-2.0
//
// Whether slices and devices can be used from a node.
// Spec: docs/spec/allocator.md 2.2.
#pragma once

#include "api/node.h"
#include "api/node_selector.h"
#include "api/resource_slice.h"

namespace dray::model {

// Throws Abort when the selector cannot be understood, whether or not another term matches.
bool NodeMatches(const api::Node& node, const api::NodeSelector& selector);

// A device's own fields, for slices with perDeviceNodeSelection.
bool DeviceMatchesNode(const api::Node& node, const api::Device& device);

// Whether a slice has anything for the node. (A device of it may still be for another one.)
bool SliceMatchesNode(const api::Node& node, const api::ResourceSlice& slice);

}  // namespace dray::model
