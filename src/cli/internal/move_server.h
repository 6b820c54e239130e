// SPDX-License-Identifier: Apache-2.0
//
// An API server as those who carry out moves need it.
#pragma once

#include <memory>

#include "base/status.h"
#include "client/kubeconfig.h"
#include "planner/carry_out.h"

namespace dray::cli::internal {

// InvalidArgument: the server's address or certificates cannot be used.
StatusOr<std::unique_ptr<planner::MoveServer>> MakeMoveServer(const client::ServerAccess& access);

}  // namespace dray::cli::internal
