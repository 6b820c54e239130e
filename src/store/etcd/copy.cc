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

// Whoever opens it reads what is there, and not how that came to be.
Status ForgetCompaction(rpc::EtcdMember& member, const internal::Layout& layout) {
  rpc::EtcdTransaction forget;
  forget.success.push_back({rpc::EtcdDelete{.key = layout.Compaction()}});
  Calls calls;
  calls.Begin();
  member.Transact(forget, kPatience, [&](const StatusOr<rpc::EtcdTransactionAnswer>& answer) {
    calls.End(answer.status());
  });
  return calls.Wait();
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
  DRAY_ASSIGN_OR_RETURN(const RangeResult all, from.Range(""));
  CopyReport report{.keys = all.entries.size()};
  {
    DRAY_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenEtcdStore(to));
    DRAY_ASSIGN_OR_RETURN(const RangeResult there, store->Range("", {.limit = 1, .count = true}));
    if (!there.entries.empty()) {
      return base::FailedPrecondition(fmt::format(
          "{} in etcd has {} keys already, as \"{}\": copy to another prefix, or delete them first "
          "(etcdctl del --prefix {}/)",
          to.address.prefix, there.remaining + 1, there.entries[0]->key, to.address.prefix));
    }
    const auto member = rpc::ConnectEtcd(to.address.endpoints.front(), to.tls);
    DRAY_RETURN_IF_ERROR(LogIn(*member, to));
    const internal::Layout layout(to.address.prefix);
    DRAY_RETURN_IF_ERROR(RaiseRevision(*member, layout.root() + "_copied", store->revision().value,
                                       from.revision().value, say));
    Calls calls;
    Transaction batch;
    std::size_t bytes = 0;
    const auto write = [&] {
      if (batch.operations.empty()) return;
      calls.Begin();
      store->Commit(std::exchange(batch, {}), [&calls](const StatusOr<Outcome>& outcome) {
        if (outcome.ok() && outcome->conflict) {
          return calls.End(base::Aborted(
              fmt::format("somebody else has written key \"{}\"", outcome->conflict->key)));
        }
        calls.End(outcome.status());
      });
      bytes = 0;
    };
    std::size_t written = 0;
    for (const EntryPtr& entry : all.entries) {
      const std::size_t size = entry->key.size() + entry->value->size();
      if (batch.operations.size() >= kKeysAtOnce || bytes + size > kBytesAtOnce) write();
      batch.operations.push_back({.kind = Operation::Kind::kPut,
                                  .key = entry->key,
                                  .value = entry->value,
                                  .expected = Revision{}});
      bytes += size;
      report.bytes += size;
      if (++written % 50'000 == 0) say(fmt::format("{} of {} keys", written, all.entries.size()));
      if (!calls.so_far().ok()) break;
    }
    write();
    DRAY_RETURN_IF_ERROR(calls.Wait());
    report.revision = store->revision();
    const Status compacted = Compact(*member, report.revision.value);
    if (internal::FailureOf(compacted) == internal::Failure::kDenied) {
      DRAY_RETURN_IF_ERROR(ForgetCompaction(*member, layout));
    } else {
      DRAY_RETURN_IF_ERROR(compacted);
    }
  }
  say("comparing");
  DRAY_ASSIGN_OR_RETURN(const std::unique_ptr<Store> copy, OpenEtcdStore(to));
  DRAY_RETURN_IF_ERROR(CompareStores(from, *copy));
  return report;
}

}  // namespace dray::store
