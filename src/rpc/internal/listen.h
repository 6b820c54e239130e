// SPDX-License-Identifier: Apache-2.0
//
// gRPC servers on unix sockets.
#pragma once

#include <grpcpp/server.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "rpc/internal/socket_address.h"

namespace dray::rpc::internal {

// Serves until it is destroyed: calls are then cancelled, streams end, and the file is removed.
// Whatever the services need to end a call must still be there.
class Listening {
 public:
  // AlreadyExists: somebody listens there. FailedPrecondition: something is there that is no socket,
  // or gRPC could not listen.
  static StatusOr<std::unique_ptr<Listening>> Start(const std::string& path,
                                                    const std::vector<grpc::Service*>& services);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Listening(SocketAddress address, std::unique_ptr<grpc::Server> server);

  const SocketAddress address_;
  const std::unique_ptr<grpc::Server> server_;
};

}  // namespace dray::rpc::internal
