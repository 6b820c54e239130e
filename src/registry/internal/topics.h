// SPDX-License-Identifier: Apache-2.0
//
// What the store is told about objects, so that a watch of one node's pods is woken by that node's
// pods alone: in a cluster of thousands of nodes each has such a watch.
#pragma once

#include <string>

#include "registry/watch_stream.h"
#include "store/store.h"

namespace dray::registry::internal {

// Pods are about their node.
void SetTopics(store::Store& store);
// The topic of everything that the selection can select; empty: no single one.
std::string TopicOf(const Selection& selection);

}  // namespace dray::registry::internal
