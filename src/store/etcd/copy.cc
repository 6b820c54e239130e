// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/copy.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "fmt/format.h"
#include "store/etcd/answers.h"
#include "store/etcd/layout.h"

namespace dray::store {
namespace {

constexpr std::size_t kInFlight = 256;
constexpr std::size_t kKeysAtOnce = 50;
constexpr std::size_t kBytesAtOnce = 256u << 10;
constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds(10);

// So many calls at a time, and the first that failed.
class Calls {
 public:
  void Begin() {
    const base::MutexLock lock(mutex_);
    while (under_way_ >= kInFlight) changed_.Wait(mutex_);
    ++under_way_;
  }
  void End(const Status& status) {
    const base::MutexLock lock(mutex_);
    --under_way_;
    if (status_.ok() && !status.ok())
      status_ = base::MakeStatus(status.code(), base::Message(status));
    changed_.NotifyAll();
  }
  Status so_far() const {
    const base::MutexLock lock(mutex_);
    return status_;
  }
  Status Wait() {
    const base::MutexLock lock(mutex_);
    while (under_way_ > 0) changed_.Wait(mutex_);
    return status_;
  }

 private:
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  std::size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  Status status_ ABSL_GUARDED_BY(mutex_);
};

// Somebody's token for calls of its own.
Status LogIn(rpc::EtcdMember& member, const EtcdOptions& options) {
  if (options.user.empty()) return {};
  Calls calls;
  calls.Begin();
  member.Authenticate(options.user, options.password, kPatience,
                      [&](const StatusOr<std::string>& token) {
                        if (token.ok()) member.SetToken(*token);
                        calls.End(token.status());
                      });
  return calls.Wait();
}

StatusOr<bool> IsThere(rpc::EtcdMember& member, const std::string& key) {
  bool there = false;
  Calls calls;
  calls.Begin();
  member.Range({.key = key, .count_only = true}, kPatience,
               [&](const StatusOr<rpc::EtcdRangeAnswer>& answer) {
                 there = answer.ok() && answer->count > 0;
                 calls.End(answer.status());
               });
  DRAY_RETURN_IF_ERROR(calls.Wait());
  return there;
}

// The first member that answers: one of several may be away, as for any server.
struct Copier {
  std::unique_ptr<rpc::EtcdMember> member;
  bool again = false;  // an earlier copy was not finished
};
StatusOr<Copier> Connect(const EtcdOptions& options, const internal::Layout& layout) {
  Status status = base::Unavailable("there is no member of etcd");
  for (const rpc::EtcdEndpoint& endpoint : options.address.endpoints) {
    Copier copier{.member = rpc::ConnectEtcd(endpoint, options.tls)};
    status = LogIn(*copier.member, options);
    if (!status.ok()) continue;
    const auto there = IsThere(*copier.member, layout.Unfinished());
    status = there.status();
    if (!there.ok()) continue;
    copier.again = *there;
    return copier;
  }
  return status;
}

Status Do(rpc::EtcdMember& member, rpc::EtcdOperation operation) {
  rpc::EtcdTransaction request;
  request.success.push_back(std::move(operation));
  Calls calls;
  calls.Begin();
  member.Transact(request, kPatience, [&](const StatusOr<rpc::EtcdTransactionAnswer>& answer) {
    calls.End(answer.status());
  });
  return calls.Wait();
}

// Writes a key until the revision is there. Each put is a revision, however many are under way.
Status RaiseRevision(rpc::EtcdMember& member, const std::string& key, std::int64_t now,
                     std::int64_t wanted, const std::function<void(const std::string&)>& say) {
  if (now > wanted) return {};
  say(fmt::format("raising etcd's revision from {} to {}", now, wanted + 1));
  const auto value = std::make_shared<const std::string>("copied");
  Calls calls;
  for (; now <= wanted && calls.so_far().ok(); ++now) {
    calls.Begin();
    rpc::EtcdTransaction put;
    put.success.push_back({rpc::EtcdPut{.key = key, .value = value}});
    member.Transact(put, kPatience, [&](const StatusOr<rpc::EtcdTransactionAnswer>& answer) {
      calls.End(answer.status());
    });
  }
  return calls.Wait();
}

Status Compact(rpc::EtcdMember& member, std::int64_t revision) {
  Calls calls;
  calls.Begin();
  member.Compact(revision, kPatience,
                 [&](const StatusOr<rpc::EtcdHeader>& answer) { calls.End(answer.status()); });
  return calls.Wait();
}

// Transactions of several keys each, and nobody else's keys.
class Writes {
 public:
  explicit Writes(Store& store) : store_(store) {}

  void Add(Operation operation) {
    const std::size_t size =
        operation.key.size() + (operation.value ? operation.value->size() : std::size_t{0});
    if (batch_.operations.size() >= kKeysAtOnce || bytes_ + size > kBytesAtOnce) Send();
    batch_.operations.push_back(std::move(operation));
    bytes_ += size;
  }
  Status so_far() const { return calls_.so_far(); }
  Status Finish() {
    Send();
    return calls_.Wait();
  }

 private:
  void Send() {
    if (batch_.operations.empty()) return;
    calls_.Begin();
    store_.Commit(std::exchange(batch_, {}), [this](const StatusOr<Outcome>& outcome) {
      if (outcome.ok() && outcome->conflict) {
        return calls_.End(base::Aborted(
            fmt::format("somebody else has written key \"{}\"", outcome->conflict->key)));
      }
      calls_.End(outcome.status());
    });
    bytes_ = 0;
  }

  Store& store_;
  Calls calls_;
  Transaction batch_;
  std::size_t bytes_ = 0;
};

// What an earlier copy has left.
Status DeleteAll(Store& store, const std::function<void(const std::string&)>& say) {
  DRAY_ASSIGN_OR_RETURN(const RangeResult there, store.Range(""));
  if (there.entries.empty()) return {};
  say(fmt::format("deleting {} keys that an earlier copy has left", there.entries.size()));
  Writes writes(store);
  for (const EntryPtr& entry : there.entries) {
    writes.Add({.kind = Operation::Kind::kDelete, .key = entry->key, .expected = entry->modified});
  }
  return writes.Finish();
}

}  // namespace

Status CompareStores(const Store& one, const Store& other) {
  DRAY_ASSIGN_OR_RETURN(const RangeResult a, one.Range(""));
  DRAY_ASSIGN_OR_RETURN(const RangeResult b, other.Range(""));
  const auto differ = [](std::string_view key, std::string_view how) {
    return base::MakeStatus(StatusCode::kDataLoss, fmt::format("key \"{}\" {}", key, how));
  };
  for (std::size_t i = 0; i < std::max(a.entries.size(), b.entries.size()); ++i) {
    if (i >= a.entries.size() || (i < b.entries.size() && b.entries[i]->key < a.entries[i]->key)) {
      return differ(b.entries[i]->key, "is there, but was not copied");
    }
    if (i >= b.entries.size() || b.entries[i]->key != a.entries[i]->key) {
      return differ(a.entries[i]->key, "is missing in the copy");
    }
    if (*a.entries[i]->value != *b.entries[i]->value) {
      return differ(a.entries[i]->key, "has another value in the copy");
    }
  }
  return {};
}

StatusOr<CopyReport> CopyToEtcd(const Store& from, EtcdOptions to,
                                const std::function<void(const std::string&)>& say) {
  to.alone = true;
  to.unfinished = true;
  DRAY_ASSIGN_OR_RETURN(const RangeResult all, from.Range(""));
  CopyReport report{.keys = all.entries.size()};
  const internal::Layout layout(to.address.prefix);
  {
    DRAY_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenEtcdStore(to));
    DRAY_ASSIGN_OR_RETURN(const Copier copier, Connect(to, layout));
    rpc::EtcdMember& member = *copier.member;
    DRAY_ASSIGN_OR_RETURN(const RangeResult there, store->Range("", {.limit = 1, .count = true}));
    if (!there.entries.empty() && !copier.again) {
      return base::FailedPrecondition(fmt::format(
          "{} in etcd has {} keys already, as \"{}\": copy to another prefix, or delete them first "
          "(etcdctl del --prefix {}/)",
          to.address.prefix, there.remaining + 1, there.entries[0]->key, to.address.prefix));
    }
    DRAY_RETURN_IF_ERROR(
        Do(member, {rpc::EtcdPut{.key = layout.Unfinished(),
                                 .value = std::make_shared<const std::string>("copied")}}));
    DRAY_RETURN_IF_ERROR(DeleteAll(*store, say));
    DRAY_RETURN_IF_ERROR(RaiseRevision(member, layout.Unfinished(), store->revision().value,
                                       from.revision().value, say));
    Writes writes(*store);
    std::size_t written = 0;
    for (const EntryPtr& entry : all.entries) {
      writes.Add({.kind = Operation::Kind::kPut,
                  .key = entry->key,
                  .value = entry->value,
                  .expected = Revision{}});
      report.bytes += entry->key.size() + entry->value->size();
      if (++written % 50'000 == 0) say(fmt::format("{} of {} keys", written, all.entries.size()));
      if (!writes.so_far().ok()) break;
    }
    DRAY_RETURN_IF_ERROR(writes.Finish());
    report.revision = store->revision();
    // That took a while: the token may have expired.
    DRAY_ASSIGN_OR_RETURN(const Copier now, Connect(to, layout));
    const Status compacted = Compact(*now.member, report.revision.value);
    if (internal::FailureOf(compacted) == internal::Failure::kDenied) {
      // Whoever opens it reads what is there, and not how that came to be.
      DRAY_RETURN_IF_ERROR(Do(*now.member, {rpc::EtcdDelete{.key = layout.Compaction()}}));
    } else {
      DRAY_RETURN_IF_ERROR(compacted);
    }
  }
  say("comparing");
  {
    DRAY_ASSIGN_OR_RETURN(const std::unique_ptr<Store> copy, OpenEtcdStore(to));
    DRAY_RETURN_IF_ERROR(CompareStores(from, *copy));
  }
  DRAY_ASSIGN_OR_RETURN(const Copier last, Connect(to, layout));
  DRAY_RETURN_IF_ERROR(Do(*last.member, {rpc::EtcdDelete{.key = layout.Unfinished()}}));
  return report;
}

}  // namespace dray::store
