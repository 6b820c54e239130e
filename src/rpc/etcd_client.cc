// SPDX-License-Identifier: Apache-2.0
#include "rpc/etcd_client.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <atomic>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "fmt/format.h"
#include "proto/etcd.pb.h"
#include "rpc/internal/channels.h"
#include "rpc/internal/etcd_convert.h"
#include "rpc/internal/grpc_status.h"

namespace dray::rpc {
namespace {

namespace pb = etcdserverpb;
using internal::FromProto;
using internal::Received;
using internal::ToProto;

// etcd says GOAWAY to who pings more than every 5 s, or without a call.
constexpr int kPingMs = 30'000;
constexpr int kPongMs = 10'000;

std::shared_ptr<grpc::ChannelCredentials> Credentials(const EtcdEndpoint& endpoint,
                                                      const EtcdTls& tls) {
  if (!endpoint.tls) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = tls.authorities,
                               .pem_private_key = tls.key,
                               .pem_cert_chain = tls.certificate});
}

// Each is a connection of its own: a long range must not keep a watch waiting.
std::shared_ptr<grpc::Channel> MakeChannel(const EtcdEndpoint& endpoint, const EtcdTls& tls) {
  internal::SilenceLibraries();
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(-1);
  args.SetMaxSendMessageSize(-1);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kPingMs);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPongMs);
  // A member that comes back is used again within a second.
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  args.SetInt(GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, std::numeric_limits<int>::max());
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(endpoint.address, Credentials(endpoint, tls), args);
}

// The stream of a watch. Its destructor ends it, and waits until gRPC has let go of it.
class WatchStream final
    : public EtcdWatch,
      public grpc::ClientBidiReactor<pb::WatchRequest, Received<pb::WatchResponse>> {
 public:
  WatchStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& token,
              const EtcdWatchRequest& request, EtcdWatchFn tell)
      : tell_(std::move(tell)) {
    // A member that has lost its leader ends the stream, instead of going quiet.
    context_.AddMetadata("hasleader", "true");
    if (!token.empty()) context_.AddMetadata("token", token);
    grpc::TemplatedGenericStub<pb::WatchRequest, Received<pb::WatchResponse>>(channel)
        .PrepareBidiStreamingCall(&context_, "/etcdserverpb.Watch/Watch", grpc::StubOptions(),
                                  this);
    // Reads and writes are started from outside of its reactions.
    AddHold();
    {
      const base::MutexLock lock(mutex_);
      Send(ToProto(request));
    }
    StartRead(&response_);
    StartCall();
  }

  ~WatchStream() override {
    {
      const base::MutexLock lock(telling_);
      tell_ = nullptr;
    }
    context_.TryCancel();
    Next();  // what is not read does not notice its end
    const base::MutexLock lock(mutex_);
    while (!done_) left_.Wait(mutex_);
  }

  void Next() override {
    const base::MutexLock lock(mutex_);
    if (over_ || reading_) return;
    reading_ = true;
    StartRead(&response_);
  }

  void AskProgress() override {
    pb::WatchRequest request;
    request.mutable_progress_request();
    const base::MutexLock lock(mutex_);
    Send(std::move(request));
  }

 private:
  void Send(pb::WatchRequest request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (over_) return;
    writes_.push_back(std::move(request));
    if (writes_.size() == 1) StartWrite(&writes_.front());
  }

  void OnWriteDone(bool ok) override {
    const base::MutexLock lock(mutex_);
    writes_.pop_front();
    if (!ok) writes_.clear();
    if (!writes_.empty() && !over_) StartWrite(&writes_.front());
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      using State = Received<pb::WatchResponse>::State;
      if (response_.state == State::kUnreadable) {
        unreadable_ = response_.Check();
        context_.TryCancel();
      }
      {
        const base::MutexLock lock(mutex_);
        over_ = true;
      }
      return RemoveHold();
    }
    EtcdWatchAnswer answer = FromProto(std::move(response_.message));
    response_.message.Clear();
    {
      const base::MutexLock lock(mutex_);
      reading_ = false;
    }
    // Nobody will ask for more: it was cancelled, and is read until that shows.
    if (!Tell(std::move(answer))) Next();
  }

  bool Tell(StatusOr<EtcdWatchAnswer> what) {
    const base::MutexLock lock(telling_);
    if (!tell_) return false;
    tell_(std::move(what));
    return true;
  }

  void OnDone(const grpc::Status& grpc_status) override {
    Status status = unreadable_.ok() ? internal::FromGrpc(grpc_status) : unreadable_;
    if (status.ok()) status = base::Unavailable("the watch ended");
    Tell(std::move(status));
    const base::MutexLock lock(mutex_);
    done_ = true;
    left_.NotifyAll();
  }

  grpc::ClientContext context_;
  Received<pb::WatchResponse> response_;
  Status unreadable_;  // not OK: what was wrong with the last message
  base::Mutex telling_;
  EtcdWatchFn tell_ ABSL_GUARDED_BY(telling_);
  base::Mutex mutex_;
  base::CondVar left_;
  std::deque<pb::WatchRequest> writes_ ABSL_GUARDED_BY(mutex_);
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

// A connection to a member, and whether the last call that wanted it had none.
struct Line {
  std::shared_ptr<grpc::Channel> channel;
  std::atomic<bool> away = false;

  void Answered(const Status& status) {
    if (NeverSent(status)) away = true;
  }
  // The member is there, as another line has found: connects now, not when gRPC's pause is over.
  void TryNow() {
    if (away.exchange(false)) grpc::experimental::ChannelResetConnectionBackoff(channel.get());
  }
};

class Member final : public EtcdMember {
 public:
  Member(const EtcdEndpoint& endpoint, const EtcdTls& tls)
      : reads_{MakeChannel(endpoint, tls)},
        writes_{MakeChannel(endpoint, tls)},
        watches_{MakeChannel(endpoint, tls)} {}
  ~Member() override { calls_.End(); }

  void Range(const EtcdRange& range, Time deadline, Done<EtcdRangeAnswer> done) override {
    Call<pb::RangeResponse, EtcdRangeAnswer>(reads_, "KV/Range", ToProto(range), deadline,
                                             std::move(done));
  }
  void Transact(const EtcdTransaction& transaction, Time deadline,
                Done<EtcdTransactionAnswer> done) override {
    Ask<pb::TxnResponse>(
        writes_, "KV/Txn", ToProto(transaction), deadline,
        [done = std::move(done)](const dray::Status& status, pb::TxnResponse& answer,
                                 const pb::TxnRequest& request) {
          if (!status.ok()) return done(status);
          // It may have happened all the same.
          if (!internal::Answers(request, answer)) {
            return done(base::Internal("the answer is not to the operations that were sent"));
          }
          done(FromProto(std::move(answer)));
        });
  }
  void Compact(std::int64_t revision, Time deadline, Done<EtcdHeader> done) override {
    pb::CompactionRequest request;
    request.set_revision(revision);
    Ask<pb::CompactionResponse>(
        reads_, "KV/Compact", std::move(request), deadline,
        [done = std::move(done)](const dray::Status& status, pb::CompactionResponse& answer) {
          if (!status.ok()) return done(status);
          done(FromProto(answer.header()));
        });
  }
  void Status(Time deadline, Done<EtcdStatus> done) override {
    Call<pb::StatusResponse, EtcdStatus>(reads_, "Maintenance/Status", pb::StatusRequest(),
                                         deadline, std::move(done));
  }
  void Authenticate(const std::string& user, const std::string& password, Time deadline,
                    Done<std::string> done) override {
    pb::AuthenticateRequest request;
    request.set_name(user);
    request.set_password(password);
    Ask<pb::AuthenticateResponse>(
        reads_, "Auth/Authenticate", std::move(request), deadline,
        [done = std::move(done)](const dray::Status& status, pb::AuthenticateResponse& answer) {
          if (!status.ok()) return done(status);
          done(answer.token());
        });
  }
  void GrantLease(std::chrono::seconds ttl, Time deadline, Done<std::int64_t> done) override {
    pb::LeaseGrantRequest request;
    request.set_ttl(ttl.count());
    Ask<pb::LeaseGrantResponse>(
        reads_, "Lease/LeaseGrant", std::move(request), deadline,
        [done = std::move(done)](const dray::Status& status, pb::LeaseGrantResponse& answer) {
          if (!status.ok()) return done(status);
          if (!answer.error().empty()) return done(base::Unavailable(answer.error()));
          done(answer.id());
        });
  }
  void RevokeLease(std::int64_t id, Time deadline, DoneStatus done) override {
    pb::LeaseRevokeRequest request;
    request.set_id(id);
    Ask<pb::LeaseRevokeResponse>(
        reads_, "Lease/LeaseRevoke", std::move(request), deadline,
        [done = std::move(done)](const dray::Status& status, const pb::LeaseRevokeResponse&) {
          done(status);
        });
  }
  std::unique_ptr<EtcdWatch> Watch(const EtcdWatchRequest& request, EtcdWatchFn tell) override {
    return std::make_unique<WatchStream>(
        watches_.channel, Token(), request,
        [this, tell = std::move(tell)](StatusOr<EtcdWatchAnswer> answer) {
          Heard(watches_, answer.status());
          tell(std::move(answer));
        });
  }

  void SetToken(std::string token) override {
    const base::MutexLock lock(mutex_);
    token_ = std::move(token);
  }

 private:
  std::string Token() const {
    const base::MutexLock lock(mutex_);
    return token_;
  }

  void Heard(Line& line, const dray::Status& status) {
    line.Answered(status);
    if (!status.ok()) return;
    for (Line* other : {&reads_, &writes_, &watches_}) {
      if (other != &line) other->TryNow();
    }
  }

  template <class Response, class Request, class Finish>
  void Ask(Line& line, std::string_view method, Request request, Time deadline, Finish finish) {
    internal::CallUnary<Response>(
        calls_, line.channel, fmt::format("/etcdserverpb.{}", method), std::move(request), deadline,
        [this, &line, finish = std::move(finish)](const dray::Status& status, Response& answer,
                                                  const Request& asked) {
          Heard(line, status);
          internal::TellOf(finish, status, answer, asked);
        },
        Token());
  }
  template <class Response, class Answer, class Request>
  void Call(Line& line, std::string_view method, Request request, Time deadline,
            Done<Answer> done) {
    Ask<Response>(line, method, std::move(request), deadline,
                  [done = std::move(done)](const dray::Status& status, Response& answer) {
                    if (!status.ok()) return done(status);
                    done(FromProto(std::move(answer)));
                  });
  }

  internal::Calls calls_;
  Line reads_;
  Line writes_;
  Line watches_;
  mutable base::Mutex mutex_;
  std::string token_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

bool NeverSent(const Status& status) {
  // What gRPC says itself of a call that no connection took.
  return status.code() == StatusCode::kUnavailable &&
         base::Message(status).starts_with("failed to connect to all addresses");
}

std::string EtcdPrefixEnd(std::string prefix) {
  while (static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

std::unique_ptr<EtcdMember> ConnectEtcd(const EtcdEndpoint& endpoint, const EtcdTls& tls) {
  return std::make_unique<Member>(endpoint, tls);
}

}  // namespace dray::rpc
