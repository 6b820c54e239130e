// SPDX-License-Identifier: Apache-2.0
//
// What every cluster has from its first start on, and what a person asks for on the command line.
#pragma once

#include <vector>

#include "api/cluster.h"
#include "api/kinds.h"
#include "base/status.h"

namespace dray::plane {

// Namespaces and the priority classes of the system.
std::vector<api::Object> FirstObjects();

// Makes those that are not there, nodes with their status; what is there stays as it is.
// The error names the object. An empty namespace is "default".
Status CreateMissing(api::Cluster& cluster, std::vector<api::Object> objects);

}  // namespace dray::plane
