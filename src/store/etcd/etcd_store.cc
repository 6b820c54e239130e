// SPDX-License-Identifier: Apache-2.0
#include "store/etcd/etcd_store.h"

#include <charconv>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/uuid.h"
#include "fmt/format.h"
#include "store/etcd/event_loop.h"
#include "store/etcd/feeder.h"
#include "store/etcd/keeper.h"
#include "store/etcd/layout.h"
#include "store/etcd/members.h"
#include "store/etcd/writer.h"
#include "store/log.h"

namespace dray::store {
namespace {

using internal::EventLoop;
using internal::Members;

constexpr std::chrono::nanoseconds kOpenPatience = std::chrono::minutes(3);

std::string ServerName(const EtcdOptions& options) {
  if (!options.id.empty()) return options.id;
  if (options.alone) return std::string(internal::kAlone);
  base::SystemRandomSource random;
  return base::NewUuid(random);
}

// A writer that also tells who waits for what is current how far the cache is.
class EtcdLog final : public Log, public internal::OwnWrites {
 public:
  explicit EtcdLog(EtcdOptions options)
      : options_(std::move(options)),
        counts_(options_.counts != nullptr ? *options_.counts : own_counts_),
        layout_(options_.address.prefix),
        server_(ServerName(options_)) {}

  // Writes that are under way are answered, the key of this server goes, and then there is no call
  // and no thread.
  ~EtcdLog() override {
    if (keeper_) {
      // However it ends: everybody has been answered by then, or will be when the calls end.
      const Status left = WaitOnLoop([this](const rpc::DoneStatus& done) {
        writer_->Close([this, done] { keeper_->Leave([done] { done({}); }); });
      });
      if (!left.ok() && options_.warn) options_.warn(std::string(base::Message(left)));
    }
    std::promise<void> closed;
    loop_.Post([this, &closed] {
      if (feeder_) feeder_->Close();
      if (members_) members_->Close();
      closed.set_value();
    });
    closed.get_future().wait();
    loop_.Stop();
  }

  Status Open(dray::store::internal::Timeline& cache) override {
    cache_ = &cache;
    const auto broken = [this](const Status& why) { Break(why); };
    members_.emplace(loop_, options_, broken);
    DRAY_RETURN_IF_ERROR(
        WaitOnLoop([this](rpc::DoneStatus done) { members_->Meet(std::move(done)); }));
    writer_.emplace(loop_, *members_, layout_, options_, counts_, cache, server_, broken);
    feeder_.emplace(loop_, *members_, layout_, options_, counts_, cache, *this, broken);
    keeper_.emplace(loop_, *members_, layout_, options_, counts_, *feeder_, *writer_, server_,
                    broken);
    Status status = OpenParts();
    if (internal::FailureOf(status) != internal::Failure::kDenied) return status;
    return members_->Refused(status);
  }

  void Write(Transaction transaction, CommitFn done) override {
    writer_->Write(std::move(transaction), std::move(done));
  }
  std::optional<EntryPtr> FindPending(std::string_view key) const override {
    return writer_->FindPending(key);
  }
  void Latest(std::function<void(StatusOr<Revision>)> done) override {
    if (const Status health = Health(); !health.ok()) return done(health);
    loop_.Post([this, done = std::move(done)]() mutable { keeper_->Latest(std::move(done)); });
  }
  // Not OK: nothing that etcd may still say makes it right, and somebody has to look.
  Status Health() const override {
    const base::MutexLock lock(mutex_);
    return base::MakeStatus(broken_.code(), base::Message(broken_));
  }

  // Not OK: it does not answer at the moment.
  Status Reachable() const override {
    DRAY_RETURN_IF_ERROR(Health());
    return keeper_->Reachable();
  }

  void OnVersion(Entry& entry, bool deleted) override { writer_->OnVersion(entry, deleted); }
  void OnPublished(const EntryPtr& entry) override { writer_->OnPublished(entry); }
  void OnRevision(Revision revision) override {
    writer_->OnRevision(revision);
    keeper_->OnRevision();
  }
  void OnRelist() override { writer_->OnRelist(); }

 private:
  // Runs it on the loop and waits until it says that it is done.
  Status WaitOnLoop(std::function<void(rpc::DoneStatus)> start) {
    struct Told {
      std::promise<Status> promise;
      bool already = false;
    };
    const auto told = std::make_shared<Told>();
    auto answer = told->promise.get_future();
    loop_.Post([this, told, start = std::move(start)] {
      waiting_ = [told](const Status& status) {
        if (!std::exchange(told->already, true)) told->promise.set_value(status);
      };
      start(waiting_);
    });
    if (answer.wait_for(kOpenPatience) != std::future_status::ready) {
      return base::Unavailable("etcd does not answer");
    }
    return answer.get();
  }

  Status OpenParts() {
    DRAY_RETURN_IF_ERROR(WaitOnLoop([this](rpc::DoneStatus done) {
      keeper_->FindLimits([this, done](StatusOr<std::size_t> found) {
        if (found.ok()) operations_ = *found;
        done(found.status());
      });
    }));
    // Before anything is written that others would mind.
    DRAY_RETURN_IF_ERROR(
        WaitOnLoop([this](rpc::DoneStatus done) { keeper_->Join(std::move(done)); }));
    if (!options_.unfinished) DRAY_RETURN_IF_ERROR(CheckFinished());
    const internal::RequestLimits limits{.operations = operations_,
                                         .bytes = options_.request_bytes,
                                         .group_bytes = options_.group_bytes};
    DRAY_RETURN_IF_ERROR(WaitOnLoop([this, limits](rpc::DoneStatus done) {
      writer_->Start(*feeder_, limits, std::move(done));
    }));
    DRAY_RETURN_IF_ERROR(FindHistory());
    DRAY_RETURN_IF_ERROR(
        WaitOnLoop([this](rpc::DoneStatus done) { feeder_->Start(from_, std::move(done)); }));
    // Whoever opens it sees all that was there.
    DRAY_RETURN_IF_ERROR(WaitOnLoop([this](rpc::DoneStatus done) {
      keeper_->Latest([done](const StatusOr<Revision>& latest) { done(latest.status()); });
    }));
    loop_.Post([this] { keeper_->Start(); });
    return {};
  }

  // Half of the objects are worse than none: what is missing would be taken for deleted.
  Status CheckFinished() {
    return WaitOnLoop([this](rpc::DoneStatus done) {
      members_->Until<rpc::EtcdRangeAnswer>(
          EventLoop::Clock::now() + options_.write_patience,
          [key = layout_.Unfinished()](rpc::EtcdMember& member,
                                       rpc::Done<rpc::EtcdRangeAnswer> answered) {
            member.Range({.key = key, .count_only = true}, Members::kPatience, std::move(answered));
          },
          [this, done](const StatusOr<rpc::EtcdRangeAnswer>& answer) {
            if (!answer.ok() || answer->count == 0) return done(answer.status());
            done(base::FailedPrecondition(fmt::format(
                "{} in etcd has a part of the objects that were copied there, because 'dray store "
                "copy' was interrupted: run it again, it begins anew",
                layout_.root())));
          });
    });
  }

  // What was compacted to last, from where on etcd still knows what happened: a server that comes back
  // lets its clients go on with their watches.
  Status FindHistory() {
    return WaitOnLoop([this](rpc::DoneStatus done) {
      members_->Until<rpc::EtcdRangeAnswer>(
          EventLoop::Clock::now() + options_.write_patience,
          [key = layout_.Compaction()](rpc::EtcdMember& member,
                                       rpc::Done<rpc::EtcdRangeAnswer> answered) {
            member.Range({.key = key}, Members::kPatience, std::move(answered));
          },
          [this, done](const StatusOr<rpc::EtcdRangeAnswer>& answer) {
            if (answer.ok() && !answer->kvs.empty()) {
              const std::string& text = answer->kvs[0].value;
              std::from_chars(text.data(), text.data() + text.size(), from_.value);
              // So much is not worth being replayed.
              constexpr std::int64_t kMost = 200'000;
              if (answer->header.revision - from_.value > kMost) from_ = {};
            }
            done(answer.status());
          });
    });
  }

  // On the loop.
  void Break(const Status& why) {
    {
      const base::MutexLock lock(mutex_);
      if (!broken_.ok()) return;
      broken_ = base::MakeStatus(why.code(), base::Message(why));
    }
    if (options_.warn) options_.warn(std::string(base::Message(why)));
    if (feeder_) feeder_->Close();
    if (writer_) writer_->Break(why);
    if (keeper_) keeper_->Break(why);
    if (waiting_) waiting_(why);
  }

  const EtcdOptions options_;
  EtcdCounts own_counts_;
  EtcdCounts& counts_;
  const internal::Layout layout_;
  const std::string server_;
  dray::store::internal::Timeline* cache_ = nullptr;
  mutable base::Mutex mutex_;
  Status broken_ ABSL_GUARDED_BY(mutex_);
  std::optional<Members> members_;
  std::optional<internal::Writer> writer_;
  std::optional<internal::Feeder> feeder_;
  std::optional<internal::Keeper> keeper_;
  rpc::DoneStatus waiting_;     // of who opens or ends it; the loop's
  std::size_t operations_ = 0;  // that fit in a request
  Revision from_;               // where the history begins
  // Last: nothing of the above is touched once its thread has ended.
  EventLoop loop_;
};

}  // namespace

StatusOr<std::unique_ptr<Store>> OpenEtcdStore(const EtcdOptions& options) {
  return MakeStore(std::make_unique<EtcdLog>(options), options.history);
}

}  // namespace dray::store
