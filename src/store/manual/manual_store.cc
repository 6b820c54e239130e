// SPDX-License-Identifier: Apache-2.0
#include "store/manual/manual_store.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "store/internal/intake.h"
#include "store/log.h"

namespace dray::store {
namespace internal {

class ManualLog final : public Log {
 public:
  ManualLog(ManualDisk& disk, bool early) : disk_(disk), early_(early) {
    DRAY_CHECK(disk_.log_ == nullptr, "two stores use one disk");
    disk_.log_ = this;
  }
  ~ManualLog() override {
    if (intake_ && !crashed_) WriteNext(SIZE_MAX);
    disk_.log_ = nullptr;
  }

  Status Open(Timeline& cache) override {
    cache_ = &cache;
    cache.BeginRestore(disk_.compacted_);
    std::vector<Forgotten> forgotten;
    for (const auto& [at, row] : disk_.rows_) {
      cache.Restore(row.key, row.value, row.created, at.first, forgotten);
    }
    Forget(forgotten);
    intake_.emplace(cache);
    door_.emplace(*this);
    return {};
  }

  void Write(Transaction transaction, CommitFn done) override {
    intake_->Add(transaction, std::move(done));
    Queued();
  }
  void Latest(std::function<void(StatusOr<Revision>)> done) override { done(cache_->revision()); }
  EarlyWrites* early() override { return early_ ? &*door_ : nullptr; }
  Status Health() const override { return intake_->Health(); }

  std::size_t pending() const { return intake_ ? intake_->waiting() : 0; }

  void WriteNext(std::size_t transactions) {
    // Callbacks write, too: what they hand over is for the next group.
    if (crashed_ || writing_) return;
    writing_ = true;
    do {
      Intake::Group group = intake_->Take(transactions);
      if (group.empty()) break;
      WriteGroup(std::move(group));
    } while (disk_.automatic && !crashed_);
    writing_ = false;
  }

  // The callbacks are dropped: whoever they would have told is gone.
  void Crash() {
    crashed_ = true;
    intake_->Close(base::Unavailable("the process has ended"));
    lost_.push_back(intake_->Take(SIZE_MAX));
  }

 private:
  // Early writes that are durable at once if the disk is automatic.
  class Door final : public EarlyWrites {
   public:
    explicit Door(ManualLog& log) : log_(log) {}
    StatusOr<Outcome> Submit(Transaction transaction) override {
      auto outcome = log_.intake_->Submit(std::move(transaction));
      log_.Queued();
      return outcome;
    }
    EntryPtr Find(std::string_view key) const override { return log_.intake_->Find(key); }

   private:
    ManualLog& log_;
  };

  void Queued() {
    if (disk_.automatic) return WriteNext(SIZE_MAX);
    if (disk_.on_queued && !crashed_ && pending() > 0) disk_.on_queued();
  }

  void WriteGroup(Intake::Group group) {
    const std::optional<WriteFault> fault = std::exchange(disk_.fault_, std::nullopt);
    if (!fault || fault->written) Append(group.events);
    if (!fault) return Forget(intake_->Stored(std::move(group)));
    if (!fault->goes_on) return intake_->Failed(std::move(group), fault->status);
    if (!fault->written) return intake_->Refuse(std::move(group), fault->status);
    // It is there, and the log finds that out by itself; only the answers are lost.
    for (Intake::Pending& one : group.transactions) {
      if (!one.done) continue;
      one.done = [done = std::move(one.done), status = fault->status](StatusOr<Outcome>) {
        done(status);
      };
    }
    Forget(intake_->Stored(std::move(group)));
  }

  void Append(const std::vector<Event>& events) {
    Revision last;
    std::size_t place = 0;
    for (const Event& event : events) {
      place = event.revision() == last ? place + 1 : 0;
      last = event.revision();
      disk_.rows_[{last, place}] = {event.entry->key, event.deleted ? nullptr : event.entry->value,
                                    event.entry->created};
    }
  }

  void Forget(const std::vector<Forgotten>& forgotten) {
    disk_.compacted_ = cache_->oldest_revision();
    for (const Forgotten& version : forgotten) {
      for (auto it = disk_.rows_.lower_bound({version.revision, 0});
           it != disk_.rows_.end() && it->first.first == version.revision; ++it) {
        if (it->second.key != version.key) continue;
        disk_.rows_.erase(it);
        break;
      }
    }
  }

  ManualDisk& disk_;
  const bool early_;
  Timeline* cache_ = nullptr;
  std::optional<Intake> intake_;  // once it is open
  std::optional<Door> door_;
  bool writing_ = false;
  bool crashed_ = false;
  std::vector<Intake::Group>
      lost_;  // kept, since what callbacks hold may use the store when it goes
};

}  // namespace internal

std::size_t ManualDisk::pending() const { return log_ == nullptr ? 0 : log_->pending(); }

void ManualDisk::Write(std::size_t transactions) {
  if (log_ != nullptr) log_->WriteNext(transactions);
}

void ManualDisk::Crash() {
  if (log_ != nullptr) log_->Crash();
}

std::map<std::string, std::string> ManualDisk::entries() const {
  std::map<std::string, std::string> entries;
  for (const auto& [at, row] : rows_) {
    if (row.value == nullptr) {
      entries.erase(row.key);
    } else {
      entries[row.key] = *row.value;
    }
  }
  return entries;
}

void ManualDisk::Plant(std::string key, std::string bytes) {
  DRAY_CHECK(log_ == nullptr, "a store uses the disk");
  const Revision last = rows_.empty() ? compacted_ : rows_.rbegin()->first.first;
  const Revision next{std::max(last, compacted_).value + 1};
  Revision created = next;
  for (const auto& [at, row] : rows_) {
    if (row.key == key) created = row.value == nullptr ? next : row.created;
  }
  rows_[{next, 0}] = {std::move(key), std::make_shared<const std::string>(std::move(bytes)),
                      created};
}

std::unique_ptr<Store> MakeManualStore(ManualDisk& disk, const ManualOptions& options) {
  auto store =
      MakeStore(std::make_unique<internal::ManualLog>(disk, options.early), options.history);
  DRAY_CHECK(store.ok(), store.status().ToString());
  return *std::move(store);
}

}  // namespace dray::store
