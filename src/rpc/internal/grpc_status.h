// SPDX-License-Identifier: Apache-2.0
//
// gRPC's status and ours: the same codes.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.h"

namespace dray::rpc::internal {

Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const Status& status);

}  // namespace dray::rpc::internal
