// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "store/internal/patience.h"
#include "store/internal/timeline.h"
#include "store/log.h"

namespace dray::store {
namespace {

// Writes go to the log, reads come from the cache that it fills.
class LoggedStore final : public Store {
 public:
  LoggedStore(std::unique_ptr<Log> log, HistoryOptions history, std::chrono::milliseconds patience)
      : timeline_(std::make_shared<internal::Timeline>(history)),
        log_(std::move(log)),
        patience_(patience) {}
  ~LoggedStore() override {
    log_ = nullptr;
    timeline_->Close(base::Unavailable("the store is closed"));
  }

  Status Open() { return log_->Open(*timeline_); }

  void Commit(Transaction transaction, CommitFn done) override {
    log_->Write(std::move(transaction), std::move(done));
  }
  EarlyWrites* early() const override { return log_->early(); }

  void Current(ReadyFn ready) override {
    Barrier(std::move(ready), [timeline = timeline_](Revision latest, ReadyFn told) {
      timeline->WaitFor(latest, std::move(told));
    });
  }
  void WaitFor(Revision at, ReadyFn ready) override {
    if (timeline_->revision() >= at) return ready({});
    Barrier(std::move(ready), [timeline = timeline_, at](Revision latest, const ReadyFn& told) {
      if (latest < at) return told(internal::InTheFuture(at, latest));
      timeline->WaitFor(at, told);
    });
  }

  EntryPtr Find(std::string_view key) const override { return timeline_->Find(key); }
  EntryPtr FindPending(std::string_view key) const override {
    if (const EarlyWrites* early = log_->early()) return early->Find(key);
    // First what is under way: it is in the cache before it is not under way any more.
    if (auto pending = log_->FindPending(key)) return *std::move(pending);
    return timeline_->Find(key);
  }
  StatusOr<RangeResult> Range(std::string_view prefix, const RangeOptions& options) const override {
    return timeline_->Range(prefix, options);
  }
  using Store::WatchFrom;
  StatusOr<std::unique_ptr<Watch>> WatchFrom(std::string_view prefix, Revision from,
                                             std::function<void()> wake,
                                             std::string_view topic) override {
    return timeline_->WatchFrom(prefix, from, std::move(wake), topic);
  }
  void SetTopics(std::string prefix, TopicFn topic_of) override {
    timeline_->SetTopics(std::move(prefix), std::move(topic_of));
  }
  void Attach(const Entry& version, std::shared_ptr<const void> attachment) override {
    timeline_->Attach(version, std::move(attachment));
  }
  Revision revision() const override { return timeline_->revision(); }
  Revision oldest_revision() const override { return timeline_->oldest_revision(); }
  Status Health() const override { return log_->Health(); }
  Status Reachable() const override { return log_->Reachable(); }

 private:
  using Then = std::function<void(Revision latest, ReadyFn told)>;

  // Asks the log, then the cache. Where this process alone writes both answer at once; else neither
  // has to, and whoever waits is told so in time.
  void Barrier(ReadyFn ready, Then then) {
    using Waiter = internal::Patience::Waiter;
    if (log_->early() != nullptr) {
      log_->Latest([ready = std::move(ready), then = std::move(then)](StatusOr<Revision> latest) {
        latest.ok() ? then(*latest, ready) : ready(latest.status());
      });
      return;
    }
    const auto waiter = std::make_shared<Waiter>(std::move(ready));
    const auto told = [waiter](const Status& status) { waiter->Tell(status); };
    log_->Latest([told, then = std::move(then)](StatusOr<Revision> latest) {
      latest.ok() ? then(*latest, told) : told(latest.status());
    });
    if (!waiter->Told()) patience_.Watch(waiter);
  }

  const std::shared_ptr<internal::Timeline>
      timeline_;  // shared with watches, which may live longer
  std::unique_ptr<Log> log_;
  internal::Patience patience_;
};

}  // namespace

StatusOr<std::unique_ptr<Store>> MakeStore(std::unique_ptr<Log> log, HistoryOptions history,
                                           std::chrono::milliseconds patience) {
  auto store = std::make_unique<LoggedStore>(std::move(log), history, patience);
  DRAY_RETURN_IF_ERROR(store->Open());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace dray::store
