// SPDX-License-Identifier: Apache-2.0
//
// gRPC channels to unix sockets, and the calls that are on their way over one.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
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

// The calls of one client. A context holds its channel, and gRPC's threads must not be the ones that
// drop a channel's last owner: they would wait for their own end. So a call is over in two steps, and
// its context is destroyed between them. Thread-safe.
class Calls {
 public:
  void Add(grpc::ClientContext& context) ABSL_LOCKS_EXCLUDED(mutex_);
  // First: it is not cancelled any more, and may be destroyed.
  void Finish(grpc::ClientContext& context) ABSL_LOCKS_EXCLUDED(mutex_);
  // Then: nothing of it is left.
  void Left() ABSL_LOCKS_EXCLUDED(mutex_);
  // Cancels them, and those that are added from now on.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);
  // The same, and returns when nothing of any call is left. Not from a function that a call calls.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  base::Mutex mutex_;
  base::CondVar left_;
  std::set<grpc::ClientContext*> contexts_ ABSL_GUARDED_BY(mutex_);
  std::size_t there_ ABSL_GUARDED_BY(mutex_) = 0;  // those of contexts_, and those that finish
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
};

inline void SetDeadline(grpc::ClientContext& context, std::chrono::nanoseconds deadline) {
  // So long that nobody waits for it, and nothing overflows.
  constexpr std::chrono::nanoseconds longest = std::chrono::hours(24 * 365);
  context.set_deadline(
      std::chrono::system_clock::now() +
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::min(deadline, longest)));
}

// A message, and whether it came. gRPC completes a unary call with what the peer says of it, also when
// no message came, or one that cannot be read: what was not checked would be an empty answer, or half
// of one.
template <class Message>
struct Received {
  enum class State : std::uint8_t { kMissing, kUnreadable, kRead };
  Message message;
  State state = State::kMissing;

  Status Check() const {
    switch (state) {
      case State::kMissing:
        return base::Internal("the answer has no message");
      case State::kUnreadable:
        return base::Internal("the answer is not the message that it should be");
      case State::kRead:
        break;
    }
    return {};
  }
};

// `finish` gets the request, too, if it takes one.
template <class Finish, class Response, class Request>
void TellOf(Finish& finish, const Status& status, Response& response, const Request& request) {
  if constexpr (std::is_invocable_v<Finish&, const Status&, Response&, const Request&>) {
    finish(status, response, request);
  } else {
    finish(status, response);
  }
}

// Calls a method by its path, /package.Service/Method. `finish` gets the status and the response, from
// a thread of gRPC's, after this has returned: gRPC completes calls on its own threads. A token goes
// along as metadata.
template <class Response, class Request, class Finish>
void CallUnary(Calls& calls, const std::shared_ptr<grpc::Channel>& channel, std::string method,
               Request request, std::chrono::nanoseconds deadline, Finish finish,
               const std::string& token = {}) {
  struct Call {
    grpc::ClientContext context;
    std::string method;
    Request request;
    Received<Response> response;
    Finish finish;
  };
  auto* call = new Call{
      .method = std::move(method), .request = std::move(request), .finish = std::move(finish)};
  SetDeadline(call->context, deadline);
  if (!token.empty()) call->context.AddMetadata("token", token);
  calls.Add(call->context);
  grpc::TemplatedGenericStub<Request, Received<Response>>(channel).UnaryCall(
      &call->context, call->method, grpc::StubOptions(), &call->request, &call->response,
      [call, &calls](const grpc::Status& grpc_status) {
        Status status = FromGrpc(grpc_status);
        if (status.ok()) status = call->response.Check();
        TellOf(call->finish, status, call->response.message, call->request);
        calls.Finish(call->context);
        delete call;
        // Whoever waits for the last call may now destroy what it belongs to.
        calls.Left();
      });
}

}  // namespace dray::rpc::internal

namespace grpc {

// Through this gRPC reads it.
template <class Message>
class SerializationTraits<dray::rpc::internal::Received<Message>> {
 public:
  static Status Deserialize(ByteBuffer* buffer, dray::rpc::internal::Received<Message>* out) {
    using State = typename dray::rpc::internal::Received<Message>::State;
    out->message.Clear();
    const Status status = SerializationTraits<Message>::Deserialize(buffer, &out->message);
    out->state = status.ok() ? State::kRead : State::kUnreadable;
    return status;
  }
};

}  // namespace grpc
