// SPDX-License-Identifier: Apache-2.0
//
// ServedConsole: /console of an API server in this process, for whoever it knows: everybody sees
// what they may read.
#pragma once

#include <memory>
#include <string>

#include "api/authorization.h"
#include "api/cluster.h"
#include "api/gates.h"
#include "apiserver/http.h"
#include "base/clock.h"
#include "console/desk.h"

namespace dray::console {

struct ServedOptions {
  api::FeatureGates gates;
  std::string version;
  std::string cluster;  // for people
};

// Answers what is below /console, and hands everything else to `next`. Follows the cluster from the
// first request for data on. All outlive it. Thread-safe.
std::unique_ptr<apiserver::Handler> MakeServedConsole(ServedOptions options, api::Cluster& cluster,
                                                      const api::Authorizer& authorizer,
                                                      apiserver::Handler& next, Desk& desk,
                                                      const base::Clock& clock);

}  // namespace dray::console
