// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "store/internal/timeline.h"
#include "store/log.h"

namespace dray::store {
namespace {

// Writes go to the log, reads come from the cache that it fills.
class LoggedStore final : public Store {
 public:
  LoggedStore(std::unique_ptr<Log> log, HistoryOptions history)
      : timeline_(std::make_shared<internal::Timeline>(history)), log_(std::move(log)) {}
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
    log_->Latest([timeline = timeline_, ready = std::move(ready)](StatusOr<Revision> latest) {
      if (!latest.ok()) return ready(latest.status());
      timeline->WaitFor(*latest, ready);
    });
  }
  void WaitFor(Revision at, ReadyFn ready) override {
    if (timeline_->revision() >= at) return ready({});
    log_->Latest([timeline = timeline_, at, ready = std::move(ready)](StatusOr<Revision> latest) {
      if (!latest.ok()) return ready(latest.status());
      if (*latest < at) return ready(internal::InTheFuture(at, *latest));
      timeline->WaitFor(at, ready);
    });
  }

  EntryPtr Find(std::string_view key) const override { return timeline_->Find(key); }
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

 private:
  const std::shared_ptr<internal::Timeline>
      timeline_;  // shared with watches, which may live longer
  std::unique_ptr<Log> log_;
};

}  // namespace

StatusOr<std::unique_ptr<Store>> MakeStore(std::unique_ptr<Log> log, HistoryOptions history) {
  auto store = std::make_unique<LoggedStore>(std::move(log), history);
  DRAY_RETURN_IF_ERROR(store->Open());
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace dray::store
