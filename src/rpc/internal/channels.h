// SPDX-License-Identifier: Apache-2.0
//
// gRPC channels to unix sockets, and the calls that are on their way over one.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "base/status.h"
#include "rpc/internal/grpc_status.h"
#include "rpc/internal/socket_address.h"

namespace dray::rpc::internal {

// A channel that has a connection of its own, which others to the same socket do not share, and
// that never lets it go for want of calls.
std::shared_ptr<grpc::Channel> MakeChannel(const SocketAddress& address);

// The calls of one client. Thread-safe.
class Calls {
 public:
  void Add(grpc::ClientContext& context) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(grpc::ClientContext& context) ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels them, and those that are added from now on.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, and returns when the last was removed. Not from a function that a call calls.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  base::Mutex mutex_;
  base::CondVar removed_;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

inline void SetDeadline(grpc::ClientContext& context, std::chrono::nanoseconds deadline) {
  // So long that nobody waits for it, and nothing overflows.
  constexpr std::chrono::nanoseconds longest = std::chrono::hours(24 * 365);
  context.set_deadline(
      std::chrono::system_clock::now() +
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::min(deadline, longest)));
}

// Calls `method` of a generated stub's async(). `finish` gets the status and the response, from a
// thread of gRPC's, after this has returned: gRPC completes calls on its own threads.
template <class Async, class Request, class Response, class Finish>
void CallUnary(Calls& calls, Async& async,
               void (Async::*method)(grpc::ClientContext*, const Request*, Response*,
                                     std::function<void(grpc::Status)>),
               Request request, std::chrono::nanoseconds deadline, Finish finish) {
  struct Call {
    grpc::ClientContext context;
    Request request;
    Response response;
    std::optional<Finish> finish;
  };
  auto* call = new Call{.request = std::move(request), .finish = std::move(finish)};
  SetDeadline(call->context, deadline);
  calls.Add(call->context);
  (async.*method)(&call->context, &call->request, &call->response,
                  [call, &calls](const grpc::Status& status) {
                    const std::unique_ptr<Call> done(call);
                    (*call->finish)(FromGrpc(status), call->response);
                    call->finish.reset();
                    // Whoever waits for the last call may now destroy what it belongs to.
                    calls.Remove(call->context);
                  });
}

}  // namespace dray::rpc::internal
