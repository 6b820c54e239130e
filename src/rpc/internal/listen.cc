// SPDX-License-Identifier: Apache-2.0
#include "rpc/internal/listen.h"

#include <fmt/format.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "rpc/internal/grpc_status.h"
#include "rpc/plugin_client.h"

namespace dray::rpc::internal {
namespace {

// Makes room for a socket, if only one that nobody listens on is in the way.
Status RemoveStale(const std::string& path, const SocketAddress& address) {
  struct stat info {};
  if (lstat(address.path().c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return base::FailedPrecondition(
        fmt::format("look at socket \"{}\": {}", path, std::strerror(errno)));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return base::FailedPrecondition(
        fmt::format("\"{}\" exists and is not a socket; remove it, or choose another path", path));
  }
  if (SomebodyListens(address)) {
    return base::AlreadyExists(fmt::format(
        "somebody listens on socket \"{}\" already; is a second instance running?", path));
  }
  if (unlink(address.path().c_str()) != 0 && errno != ENOENT) {
    return base::FailedPrecondition(
        fmt::format("remove old socket \"{}\": {}", path, std::strerror(errno)));
  }
  return {};
}

}  // namespace

StatusOr<std::unique_ptr<Listening>> Listening::Start(const std::string& path,
                                                      const std::vector<grpc::Service*>& services) {
  SilenceLibraries();
  DRAY_ASSIGN_OR_RETURN(SocketAddress address, SocketAddress::Make(path));
  DRAY_RETURN_IF_ERROR(RemoveStale(path, address));
  grpc::ServerBuilder builder;
  int bound = 0;
  builder.AddListeningPort(address.uri(), grpc::InsecureServerCredentials(), &bound);
  builder.SetMaxReceiveMessageSize(kLongestMessage);
  builder.SetMaxSendMessageSize(kLongestMessage);
  for (grpc::Service* service : services) builder.RegisterService(service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || bound == 0) {
    return base::FailedPrecondition(fmt::format(
        "cannot listen on socket \"{}\"; does its folder exist, and may it be written?", path));
  }
  return std::unique_ptr<Listening>(new Listening(std::move(address), std::move(server)));
}

Listening::Listening(SocketAddress address, std::unique_ptr<grpc::Server> server)
    : address_(std::move(address)), server_(std::move(server)) {}

Listening::~Listening() {
  // At once: whoever still waits for something is told that it is cancelled.
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace dray::rpc::internal
