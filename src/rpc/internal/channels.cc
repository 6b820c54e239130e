// SPDX-License-Identifier: Apache-2.0
#include "rpc/internal/channels.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <limits>

#include "rpc/plugin_client.h"

namespace dray::rpc::internal {

std::shared_ptr<grpc::Channel> MakeChannel(const SocketAddress& address) {
  SilenceLibraries();
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(kLongestMessage);
  args.SetMaxSendMessageSize(kLongestMessage);
  // A driver that restarts is found again within seconds: gRPC's own idea of a pause grows to two
  // minutes, by which time the driver's slices would have been wiped.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 1000);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  // How long a socket that accepts and then says nothing is waited for.
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  args.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, std::numeric_limits<int>::max());
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  return grpc::CreateCustomChannel(address.uri(), grpc::InsecureChannelCredentials(), args);
}

void Calls::Add(grpc::ClientContext& context) {
  const base::MutexLock lock(mutex_);
  contexts_.insert(&context);
  ++there_;
  if (cancelled_) context.TryCancel();
}

void Calls::Finish(grpc::ClientContext& context) {
  const base::MutexLock lock(mutex_);
  contexts_.erase(&context);
}

void Calls::Left() {
  const base::MutexLock lock(mutex_);
  --there_;
  left_.NotifyAll();
}

void Calls::Cancel() {
  const base::MutexLock lock(mutex_);
  cancelled_ = true;
  for (grpc::ClientContext* context : contexts_) context->TryCancel();
}

void Calls::End() {
  Cancel();
  const base::MutexLock lock(mutex_);
  while (there_ > 0) left_.Wait(mutex_);
}

}  // namespace dray::rpc::internal
