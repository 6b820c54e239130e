// SPDX-License-Identifier: Apache-2.0
//
// Who can be given credentials: what a person calls them, and the user and groups that the roles
// know (registry/roles.h).
#pragma once

#include <string_view>
#include <vector>

#include "apiserver/credentials.h"
#include "base/status.h"

namespace dray::plane {

// Those that every control plane has a kubeconfig for: admin, viewer, scheduler.
std::vector<apiserver::ClientIdentity> StandardClients();

// "node/NAME", "driver/NAME", "admin/NAME" or "viewer/NAME". A driver that is on one `node` may
// write that node's slices and report on claims of that node only; empty: all. InvalidArgument says
// what would have been right.
StatusOr<apiserver::ClientIdentity> ClientFor(std::string_view who, std::string_view node);

}  // namespace dray::plane
