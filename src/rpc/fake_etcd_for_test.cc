// SPDX-License-Identifier: Apache-2.0
#include "rpc/fake_etcd_for_test.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>

#include "proto/etcd.grpc.pb.h"
#include "rpc/internal/grpc_status.h"

namespace dray::rpc {

namespace pb = etcdserverpb;

namespace {

bool InRange(const std::string& key, const std::string& from, const std::string& end) {
  if (end.empty()) return key == from;
  return key >= from && (end == std::string(1, '\0') || key < end);
}

}  // namespace

struct FakeEtcd::Server {
  // ---- the database; everything below mutex_

  struct Change {
    std::int64_t revision;
    pb::Event event;
  };
  mutable base::Mutex mutex;
  mutable base::CondVar changed;
  std::map<std::string, pb::KeyValue> now ABSL_GUARDED_BY(mutex);
  std::vector<Change> log ABSL_GUARDED_BY(mutex);
  std::int64_t revision ABSL_GUARDED_BY(mutex) = 1;
  std::int64_t compacted ABSL_GUARDED_BY(mutex) = 0;
  std::int64_t next_lease ABSL_GUARDED_BY(mutex) = 1;

  Fault fault ABSL_GUARDED_BY(mutex);
  int in_faults ABSL_GUARDED_BY(mutex) = 0;
  std::string version ABSL_GUARDED_BY(mutex) = "3.5.30";
  std::uint64_t cluster ABSL_GUARDED_BY(mutex) = 7;
  std::vector<std::string> errors ABSL_GUARDED_BY(mutex);
  bool hold ABSL_GUARDED_BY(mutex) = false;
  bool lie ABSL_GUARDED_BY(mutex) = false;
  std::size_t fragments ABSL_GUARDED_BY(mutex) = 0;
  std::uint64_t ended ABSL_GUARDED_BY(mutex) = 0;  // how often all watches were
  Status end_status ABSL_GUARDED_BY(mutex);
  std::string password ABSL_GUARDED_BY(mutex);
  std::set<std::string> tokens ABSL_GUARDED_BY(mutex);
  int tokens_given ABSL_GUARDED_BY(mutex) = 0;
  std::map<std::string, int> counts ABSL_GUARDED_BY(mutex);
  int watches ABSL_GUARDED_BY(mutex) = 0;
  bool stopping ABSL_GUARDED_BY(mutex) = false;

  void Fill(pb::ResponseHeader& header) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    header.set_cluster_id(cluster);
    header.set_member_id(1);
    header.set_revision(revision);
    header.set_raft_term(1);
  }

  void Apply(const std::string& key, const std::string* value, std::int64_t lease)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Change change{.revision = revision + 1};
    if (value != nullptr) {
      pb::KeyValue& kv = now[key];
      kv.set_key(key);
      kv.set_value(*value);
      if (kv.create_revision() == 0) kv.set_create_revision(revision + 1);
      kv.set_mod_revision(revision + 1);
      kv.set_version(kv.version() + 1);
      kv.set_lease(lease);
      *change.event.mutable_kv() = kv;
    } else {
      if (now.erase(key) == 0) return;
      change.event.set_type(pb::Event::DELETE);
      change.event.mutable_kv()->set_key(key);
      change.event.mutable_kv()->set_mod_revision(revision + 1);
    }
    log.push_back(std::move(change));
  }
  // Everything that was applied gets one revision.
  void Commit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (!log.empty() && log.back().revision == revision + 1) ++revision;
    changed.NotifyAll();
  }

  grpc::Status Range(const pb::RangeRequest& request, pb::RangeResponse& response) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    Fill(*response.mutable_header());
    if (request.revision() > revision) {
      return {grpc::StatusCode::OUT_OF_RANGE,
              "etcdserver: mvcc: required revision is a future revision"};
    }
    if (request.revision() != 0 && request.revision() < compacted) {
      return {grpc::StatusCode::OUT_OF_RANGE,
              "etcdserver: mvcc: required revision has been compacted"};
    }
    std::map<std::string, pb::KeyValue> then;
    const auto* keys = &now;
    if (request.revision() != 0 && request.revision() < revision) {
      for (const Change& change : log) {
        if (change.revision > request.revision()) break;
        if (change.event.type() == pb::Event::DELETE) {
          then.erase(change.event.kv().key());
        } else {
          then[change.event.kv().key()] = change.event.kv();
        }
      }
      keys = &then;
    }
    std::int64_t count = 0;
    for (const auto& [key, kv] : *keys) {
      if (!InRange(key, request.key(), request.range_end())) continue;
      ++count;
      if (request.count_only()) continue;
      if (request.limit() > 0 && response.kvs_size() >= request.limit()) {
        response.set_more(true);
        continue;
      }
      pb::KeyValue& out = *response.add_kvs();
      out = kv;
      if (request.keys_only()) out.clear_value();
    }
    response.set_count(count);
    return grpc::Status::OK;
  }

  bool Holds(const pb::Compare& compare) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const auto it = now.find(compare.key());
    const bool there = it != now.end();
    const std::int64_t actual = !there ? 0
                                : compare.target() == pb::Compare::CREATE
                                    ? it->second.create_revision()
                                    : it->second.mod_revision();
    const std::int64_t wanted = compare.target() == pb::Compare::CREATE ? compare.create_revision()
                                                                        : compare.mod_revision();
    return compare.result() == pb::Compare::GREATER ? actual > wanted : actual == wanted;
  }
  // All compares, of nested ones too, see what was there before.
  void Decide(const pb::TxnRequest& request, std::deque<bool>& decided) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    bool all = true;
    for (const pb::Compare& compare : request.compare()) all = all && Holds(compare);
    decided.push_back(all);
    for (const pb::RequestOp& op : all ? request.success() : request.failure()) {
      if (op.has_request_txn()) Decide(op.request_txn(), decided);
    }
  }
  void Run(const pb::TxnRequest& request, std::deque<bool>& decided, pb::TxnResponse& response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    const bool success = decided.front();
    decided.pop_front();
    response.set_succeeded(success);
    for (const pb::RequestOp& op : success ? request.success() : request.failure()) {
      pb::ResponseOp& out = *response.add_responses();
      if (op.has_request_put()) {
        Apply(op.request_put().key(), &op.request_put().value(), op.request_put().lease());
        out.mutable_response_put();
      } else if (op.has_request_delete_range()) {
        Apply(op.request_delete_range().key(), nullptr, 0);
        out.mutable_response_delete_range();
      } else if (op.has_request_txn()) {
        Run(op.request_txn(), decided, *out.mutable_response_txn());
      } else {
        Range(op.request_range(), *out.mutable_response_range());
      }
    }
  }

  // What is wrong with a call before anybody looks at it.
  grpc::Status Enter(const std::string& method, const grpc::ServerContext& context) {
    Fault called;
    {
      const base::MutexLock lock(mutex);
      ++counts[method];
      called = fault;
      if (!password.empty() && method != "Authenticate" && method != "Status") {
        const auto token = context.client_metadata().find("token");
        const bool known = token != context.client_metadata().end() &&
                           tokens.contains(std::string(token->second.data(), token->second.size()));
        if (!known) return {grpc::StatusCode::UNAUTHENTICATED, "etcdserver: invalid auth token"};
      }
      in_faults += called ? 1 : 0;
    }
    return Suffer(called, method, When::kBefore);
  }
  grpc::Status Leave(const std::string& method) {
    Fault called;
    {
      const base::MutexLock lock(mutex);
      called = fault;
      in_faults += called ? 1 : 0;
    }
    return Suffer(called, method, When::kAfter);
  }
  grpc::Status Suffer(const Fault& called, const std::string& method, When when) {
    if (!called) return grpc::Status::OK;
    grpc::Status status = internal::ToGrpc(called(method, when));
    const base::MutexLock lock(mutex);
    --in_faults;
    return status;
  }

  // ---- services

  struct Kv final : pb::KV::Service {
    explicit Kv(Server& server) : s(server) {}
    grpc::Status Range(grpc::ServerContext* context, const pb::RangeRequest* request,
                       pb::RangeResponse* response) override {
      if (auto status = s.Enter("Range", *context); !status.ok()) return status;
      {
        const base::MutexLock lock(s.mutex);
        if (auto status = s.Range(*request, *response); !status.ok()) return status;
      }
      return s.Leave("Range");
    }
    grpc::Status Txn(grpc::ServerContext* context, const pb::TxnRequest* request,
                     pb::TxnResponse* response) override {
      if (auto status = s.Enter("Txn", *context); !status.ok()) return status;
      if (std::max({request->compare_size(), request->success_size(), request->failure_size()}) >
          128) {
        return {grpc::StatusCode::INVALID_ARGUMENT,
                "etcdserver: too many operations in txn request"};
      }
      {
        const base::MutexLock lock(s.mutex);
        std::deque<bool> decided;
        s.Decide(*request, decided);
        s.Run(*request, decided, *response);
        s.Commit();
        s.Fill(*response->mutable_header());
      }
      return s.Leave("Txn");
    }
    grpc::Status Compact(grpc::ServerContext* context, const pb::CompactionRequest* request,
                         pb::CompactionResponse* response) override {
      if (auto status = s.Enter("Compact", *context); !status.ok()) return status;
      const base::MutexLock lock(s.mutex);
      s.compacted = std::max(s.compacted, request->revision());
      s.Fill(*response->mutable_header());
      return grpc::Status::OK;
    }
    Server& s;
  };

  struct Leases final : pb::Lease::Service {
    explicit Leases(Server& server) : s(server) {}
    grpc::Status LeaseGrant(grpc::ServerContext* context, const pb::LeaseGrantRequest* request,
                            pb::LeaseGrantResponse* response) override {
      if (auto status = s.Enter("LeaseGrant", *context); !status.ok()) return status;
      const base::MutexLock lock(s.mutex);
      response->set_id(s.next_lease++);
      response->set_ttl(request->ttl());
      s.Fill(*response->mutable_header());
      return grpc::Status::OK;
    }
    grpc::Status LeaseRevoke(grpc::ServerContext* context, const pb::LeaseRevokeRequest* request,
                             pb::LeaseRevokeResponse* response) override {
      if (auto status = s.Enter("LeaseRevoke", *context); !status.ok()) return status;
      const base::MutexLock lock(s.mutex);
      std::vector<std::string> gone;
      for (const auto& [key, kv] : s.now) {
        if (kv.lease() == request->id()) gone.push_back(key);
      }
      for (const std::string& key : gone) s.Apply(key, nullptr, 0);
      s.Commit();
      s.Fill(*response->mutable_header());
      return grpc::Status::OK;
    }
    Server& s;
  };

  struct Maintain final : pb::Maintenance::Service {
    explicit Maintain(Server& server) : s(server) {}
    grpc::Status Status(grpc::ServerContext* context, const pb::StatusRequest*,
                        pb::StatusResponse* response) override {
      if (auto status = s.Enter("Status", *context); !status.ok()) return status;
      const base::MutexLock lock(s.mutex);
      s.Fill(*response->mutable_header());
      response->set_version(s.version);
      response->set_leader(1);
      for (const std::string& error : s.errors) response->add_errors(error);
      return grpc::Status::OK;
    }
    Server& s;
  };

  struct Login final : pb::Auth::Service {
    explicit Login(Server& server) : s(server) {}
    grpc::Status Authenticate(grpc::ServerContext* context, const pb::AuthenticateRequest* request,
                              pb::AuthenticateResponse* response) override {
      if (auto status = s.Enter("Authenticate", *context); !status.ok()) return status;
      const base::MutexLock lock(s.mutex);
      if (request->password() != s.password) {
        return {grpc::StatusCode::INVALID_ARGUMENT,
                "etcdserver: authentication failed, invalid user ID or password"};
      }
      response->set_token("token-" + std::to_string(++s.tokens_given));
      s.tokens.insert(response->token());
      return grpc::Status::OK;
    }
    Server& s;
  };

  struct Watching final : pb::Watch::Service {
    explicit Watching(Server& server) : s(server) {}
    using Stream = grpc::ServerReaderWriter<pb::WatchResponse, pb::WatchRequest>;
    grpc::Status Watch(grpc::ServerContext* context, Stream* stream) override {
      if (auto status = s.Enter("Watch", *context); !status.ok()) return status;
      pb::WatchRequest first;
      if (!stream->Read(&first)) return grpc::Status::OK;
      const pb::WatchCreateRequest create = first.create_request();
      struct Shared {
        int wanted = 0;  // answers about progress
        bool over = false;
      } shared;
      std::thread reader([&] {
        pb::WatchRequest request;
        while (stream->Read(&request)) {
          const base::MutexLock lock(s.mutex);
          if (request.has_progress_request()) ++shared.wanted;
          s.changed.NotifyAll();
        }
        const base::MutexLock lock(s.mutex);
        shared.over = true;
        s.changed.NotifyAll();
      });
      const grpc::Status status = Serve(create, *stream, shared.wanted, shared.over);
      context->TryCancel();
      reader.join();
      return status;
    }

    grpc::Status Serve(const pb::WatchCreateRequest& create, Stream& stream, int& wanted,
                       bool& over) {
      std::int64_t next = create.start_revision();
      bool compacted = false;
      std::uint64_t ended = 0;
      pb::WatchResponse hello;
      {
        const base::MutexLock lock(s.mutex);
        if (next == 0) next = s.revision + 1;
        compacted = next < s.compacted;
        ended = s.ended;
        ++s.watches;
        s.Fill(*hello.mutable_header());
        hello.set_created(true);
      }
      stream.Write(hello);
      if (compacted) {
        pb::WatchResponse gone;
        const base::MutexLock lock(s.mutex);
        s.Fill(*gone.mutable_header());
        gone.set_canceled(true);
        gone.set_compact_revision(s.compacted);
        stream.Write(gone);
      }
      grpc::Status status;
      for (;;) {
        std::vector<pb::WatchResponse> responses;
        {
          const base::MutexLock lock(s.mutex);
          const auto ready = [&] {
            s.mutex.AssertHeld();
            if (over || s.stopping || s.ended != ended) return true;
            if (wanted > 0 && s.lie) return true;
            return !s.hold && !compacted && (wanted > 0 || next <= s.revision);
          };
          while (!ready()) s.changed.Wait(s.mutex);
          if (over || s.stopping || s.ended != ended) {
            status = internal::ToGrpc(s.end_status);
            --s.watches;
            break;
          }
          if (wanted > 0 && s.lie) {
            Progress(responses, wanted);
          } else {
            Collect(create, next, responses);
            next = s.revision + 1;
            if (wanted > 0) Progress(responses, wanted);
          }
        }
        for (const pb::WatchResponse& response : responses) stream.Write(response);
      }
      return status;
    }

    void Progress(std::vector<pb::WatchResponse>& responses, int& wanted)
        ABSL_EXCLUSIVE_LOCKS_REQUIRED(s.mutex) {
      wanted = 0;
      pb::WatchResponse response;
      s.Fill(*response.mutable_header());
      response.set_watch_id(-1);
      responses.push_back(std::move(response));
    }

    void Collect(const pb::WatchCreateRequest& create, std::int64_t next,
                 std::vector<pb::WatchResponse>& responses) ABSL_EXCLUSIVE_LOCKS_REQUIRED(s.mutex) {
      std::vector<const pb::Event*> events;
      const auto first = std::ranges::lower_bound(s.log, next, {}, &Change::revision);
      for (auto change = first; change != s.log.end(); ++change) {
        if (InRange(change->event.kv().key(), create.key(), create.range_end())) {
          events.push_back(&change->event);
        }
      }
      const std::size_t piece = s.fragments == 0 ? events.size() : s.fragments;
      for (std::size_t i = 0; i < events.size(); i += piece) {
        pb::WatchResponse response;
        s.Fill(*response.mutable_header());
        for (std::size_t j = i; j < std::min(i + piece, events.size()); ++j) {
          *response.add_events() = *events[j];
        }
        response.set_fragment(i + piece < events.size());
        responses.push_back(std::move(response));
      }
    }
    Server& s;
  };

  Kv kv{*this};
  Leases leases{*this};
  Maintain maintain{*this};
  Login login{*this};
  Watching watching{*this};
  std::unique_ptr<grpc::Server> grpc;
};

FakeEtcd::FakeEtcd() : server_(std::make_unique<Server>()) {
  internal::SilenceLibraries();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&server_->kv);
  builder.RegisterService(&server_->leases);
  builder.RegisterService(&server_->maintain);
  builder.RegisterService(&server_->login);
  builder.RegisterService(&server_->watching);
  server_->grpc = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

FakeEtcd::~FakeEtcd() {
  {
    const base::MutexLock lock(server_->mutex);
    server_->stopping = true;
    server_->fault = nullptr;
    server_->changed.NotifyAll();
  }
  server_->grpc->Shutdown(std::chrono::system_clock::now());
}

void FakeEtcd::SetFault(Fault fault) {
  const base::MutexLock lock(server_->mutex);
  server_->fault = std::move(fault);
}
int FakeEtcd::in_faults() const {
  const base::MutexLock lock(server_->mutex);
  return server_->in_faults;
}
void FakeEtcd::SetVersion(std::string version) {
  const base::MutexLock lock(server_->mutex);
  server_->version = std::move(version);
}
void FakeEtcd::SetCluster(std::uint64_t cluster) {
  const base::MutexLock lock(server_->mutex);
  server_->cluster = cluster;
}
void FakeEtcd::SetErrors(std::vector<std::string> errors) {
  const base::MutexLock lock(server_->mutex);
  server_->errors = std::move(errors);
}
void FakeEtcd::HoldWatches(bool hold) {
  const base::MutexLock lock(server_->mutex);
  server_->hold = hold;
  server_->changed.NotifyAll();
}
void FakeEtcd::SetFragments(std::size_t events) {
  const base::MutexLock lock(server_->mutex);
  server_->fragments = events;
}
void FakeEtcd::EndWatches(Status status) {
  const base::MutexLock lock(server_->mutex);
  ++server_->ended;
  server_->end_status = std::move(status);
  server_->changed.NotifyAll();
}
void FakeEtcd::LieAboutProgress(bool lie) {
  const base::MutexLock lock(server_->mutex);
  server_->lie = lie;
}
void FakeEtcd::RequireToken(std::string password) {
  const base::MutexLock lock(server_->mutex);
  server_->password = std::move(password);
}
void FakeEtcd::ExpireTokens() {
  const base::MutexLock lock(server_->mutex);
  server_->tokens.clear();
}
std::int64_t FakeEtcd::Put(const std::string& key, const std::string& value) {
  return PutAll({{key, value}});
}
std::int64_t FakeEtcd::PutAll(const std::vector<std::pair<std::string, std::string>>& keys) {
  const base::MutexLock lock(server_->mutex);
  for (const auto& [key, value] : keys) server_->Apply(key, &value, 0);
  server_->Commit();
  return server_->revision;
}
std::int64_t FakeEtcd::Delete(const std::string& key) {
  const base::MutexLock lock(server_->mutex);
  server_->Apply(key, nullptr, 0);
  server_->Commit();
  return server_->revision;
}
void FakeEtcd::Compact(std::int64_t revision) {
  const base::MutexLock lock(server_->mutex);
  server_->compacted = revision;
}
void FakeEtcd::Restore(std::int64_t revision) {
  const base::MutexLock lock(server_->mutex);
  std::erase_if(server_->log,
                [revision](const Server::Change& change) { return change.revision > revision; });
  server_->revision = revision;
  server_->now.clear();
  for (const Server::Change& change : server_->log) {
    if (change.event.type() == pb::Event::DELETE) {
      server_->now.erase(change.event.kv().key());
    } else {
      server_->now[change.event.kv().key()] = change.event.kv();
    }
  }
}
std::int64_t FakeEtcd::revision() const {
  const base::MutexLock lock(server_->mutex);
  return server_->revision;
}
std::optional<EtcdKeyValue> FakeEtcd::Get(const std::string& key) const {
  const base::MutexLock lock(server_->mutex);
  const auto it = server_->now.find(key);
  if (it == server_->now.end()) return std::nullopt;
  return EtcdKeyValue{.key = key,
                      .value = it->second.value(),
                      .created = it->second.create_revision(),
                      .modified = it->second.mod_revision()};
}
int FakeEtcd::calls(const std::string& method) const {
  const base::MutexLock lock(server_->mutex);
  const auto it = server_->counts.find(method);
  return it == server_->counts.end() ? 0 : it->second;
}
int FakeEtcd::open_watches() const {
  const base::MutexLock lock(server_->mutex);
  return server_->watches;
}

}  // namespace dray::rpc
