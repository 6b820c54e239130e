// SPDX-License-Identifier: Apache-2.0
#include "rpc/internal/grpc_status.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <cstdlib>
#include <string>

namespace dray::rpc::internal {

Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return {};
  // A peer may send any number.
  const int code = status.error_code();
  const bool known = code > 0 && code <= static_cast<int>(StatusCode::kUnauthenticated);
  return base::MakeStatus(known ? static_cast<StatusCode>(code) : StatusCode::kUnknown,
                          status.error_message());
}

grpc::Status ToGrpc(const Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(base::Message(status))};
}

void SilenceLibraries() {
  static const bool once = [] {
    // Whoever lets go of gRPC last would wait for its threads, now and then for ten seconds.
    grpc_init();
    google::protobuf::SetLogHandler(nullptr);
    if (std::getenv("GRPC_VERBOSITY") == nullptr) {
      gpr_set_log_function([](gpr_log_func_args*) {});
    }
    return true;
  }();
  (void)once;
}

}  // namespace dray::rpc::internal
