// SPDX-License-Identifier: Apache-2.0
//
// The way from the API server to nodes: HTTPS to each, on one thread for all, never waiting. The
// node must show a certificate of the cluster's authority that is its own (system:node:<name>), and
// is shown one that says who asks.
#pragma once

#include <memory>
#include <string>

#include "apiserver/certificates.h"
#include "base/status.h"
#include "registry/node_door.h"

namespace dray::plane::internal {

struct NodeDoorOptions {
  std::string authority;      // whose certificates are believed; PEM
  apiserver::KeyPair client;  // what nodes are shown
};

// Requests that are under way when it is destroyed end.
StatusOr<std::unique_ptr<registry::NodeDoor>> MakeNodeDoor(const NodeDoorOptions& options);

}  // namespace dray::plane::internal
