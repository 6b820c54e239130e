// SPDX-License-Identifier: Apache-2.0
//
// gRPC's status and ours: the same codes. And what gRPC says besides.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.h"

namespace dray::rpc::internal {

Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const Status& status);

// gRPC and protobuf write lines of their own to stderr, for peers that misbehave too, who could fill a
// disk that way. What matters comes back as a status. GRPC_VERBOSITY brings gRPC's lines back. From then
// on gRPC stays until the process ends.
void SilenceLibraries();

}  // namespace dray::rpc::internal
