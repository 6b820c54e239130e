// SPDX-License-Identifier: Apache-2.0
//
// A log that several stores of one process share, as servers share etcd: each has a cache of its own,
// fed behind its back. The ways between are in the hand of the test: a server may not reach the log,
// may not be answered, may be told late of what others write. Obviously right: one lock, one map.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "store/internal/batch.h"
#include "store/internal/timeline.h"
#include "store/log.h"

namespace dray::store {

// What becomes of what a server sends.
enum class Way : unsigned char {
  kOpen,
  kNotReached,  // not done, and the caller is told so
  kDoneLost,    // done; the caller is told that nobody knows
  kLost,        // not done; likewise
  kSilent,      // not done; who asks is told nothing, who writes that nobody knows
};

// One server's. Thread-safe.
struct Wire {
  base::Mutex mutex;
  base::CondVar news;
  Way writes ABSL_GUARDED_BY(mutex) = Way::kOpen;
  Way asks ABSL_GUARDED_BY(mutex) = Way::kOpen;
  bool feeds ABSL_GUARDED_BY(mutex) = true;                   // its watch
  std::chrono::microseconds delay ABSL_GUARDED_BY(mutex){0};  // of the watch, for each revision

  void Set(Way write, Way ask, bool feed) {
    {
      const base::MutexLock lock(mutex);
      writes = write;
      asks = ask;
      feeds = feed;
    }
    news.NotifyAll();
  }
  void Cut() { Set(Way::kNotReached, Way::kNotReached, false); }
  void Mend() { Set(Way::kOpen, Way::kOpen, true); }
  void Delay(std::chrono::microseconds by) {
    const base::MutexLock lock(mutex);
    delay = by;
  }
};

// What is durable. Outlives its logs. Thread-safe.
class SharedDisk {
 public:
  struct Version {
    std::shared_ptr<const std::string> value;
    Revision created;
    Revision modified;
  };
  struct Written {
    Operation::Kind kind;
    std::string key;
    Version version;  // of a deletion: the last value, and the deletion's revision
  };
  using Keys = std::map<std::string, Version>;

  Revision latest() const {
    const base::MutexLock lock(mutex_);
    return revision_;
  }
  Keys keys() const {
    const base::MutexLock lock(mutex_);
    return keys_;
  }
  // What came after; waits until there is something, or it is woken.
  std::vector<Written> After(Revision revision, const std::function<bool()>& stop) {
    const base::MutexLock lock(mutex_);
    while (revision_ <= revision && !stop()) news_.Wait(mutex_);
    std::vector<Written> written;
    for (const Written& one : log_) {
      if (one.version.modified <= revision) continue;
      if (!written.empty() && one.version.modified != written.front().version.modified) break;
      written.push_back(one);
    }
    return written;
  }
  void Wake() {
    { const base::MutexLock lock(mutex_); }
    news_.NotifyAll();
  }
  // As a store: all or nothing.
  Outcome Apply(const Transaction& transaction) {
    const base::MutexLock lock(mutex_);
    bool changes = false;
    for (const Operation& operation : transaction.operations) {
      const auto found = keys_.find(operation.key);
      const Revision actual = found == keys_.end() ? Revision{} : found->second.modified;
      const bool nothing = operation.kind == Operation::Kind::kDelete && found == keys_.end();
      if (nothing || (operation.expected && *operation.expected != actual)) {
        return {.revision = revision_,
                .conflict = Conflict{.key = operation.key, .actual = actual, .entry = nullptr}};
      }
      changes |= operation.kind != Operation::Kind::kCheck;
    }
    if (!changes) return {.revision = revision_};
    ++revision_.value;
    for (const Operation& operation : transaction.operations) {
      if (operation.kind == Operation::Kind::kCheck) continue;
      const auto found = keys_.find(operation.key);
      Version next{.value = operation.value, .created = revision_, .modified = revision_};
      if (found != keys_.end()) next.created = found->second.created;
      if (operation.kind == Operation::Kind::kPut) {
        keys_[operation.key] = next;
      } else {
        next.value = found->second.value;
        keys_.erase(found);
      }
      log_.push_back({operation.kind, operation.key, next});
    }
    news_.NotifyAll();
    return {.revision = revision_};
  }

 private:
  mutable base::Mutex mutex_;
  base::CondVar news_;
  Keys keys_ ABSL_GUARDED_BY(mutex_);
  Revision revision_ ABSL_GUARDED_BY(mutex_){1};
  std::deque<Written> log_ ABSL_GUARDED_BY(mutex_);
};

class SharedLog final : public Log {
 public:
  // Both outlive it.
  SharedLog(SharedDisk& disk, Wire& wire) : disk_(disk), wire_(wire) {}
  ~SharedLog() override {
    stopping_ = true;
    { const base::MutexLock lock(wire_.mutex); }
    wire_.news.NotifyAll();
    disk_.Wake();
    if (feeder_.joinable()) feeder_.join();
  }

  Status Open(internal::Timeline& cache) override {
    cache_ = &cache;
    std::vector<internal::Forgotten> forgotten;
    const Revision now = disk_.latest();
    cache.BeginRestore(now);
    std::map<Revision, std::vector<std::pair<std::string, SharedDisk::Version>>> by_revision;
    for (const auto& [key, version] : disk_.keys()) {
      by_revision[version.modified].emplace_back(key, version);
    }
    for (const auto& [revision, versions] : by_revision) {
      for (const auto& [key, version] : versions) {
        cache.Restore(key, version.value, version.created, version.modified, forgotten);
      }
    }
    fed_ = now;
    feeder_ = std::thread([this] { Feed(); });
    return {};
  }

  void Write(Transaction transaction, CommitFn done) override {
    if (Status fits = internal::CheckTransaction(transaction); !fits.ok()) return done(fits);
    Way way;
    {
      const base::MutexLock lock(wire_.mutex);
      way = wire_.writes;
    }
    if (way == Way::kNotReached || Stopping()) {
      return done(base::Aborted("the log cannot be reached"));
    }
    if (way == Way::kLost || way == Way::kSilent) return done(base::Unavailable("no answer came"));
    Outcome outcome;
    {
      // Who feeds waits until it is known what is its own.
      const base::MutexLock lock(mutex_);
      outcome = disk_.Apply(transaction);
      if (!outcome.conflict && way == Way::kOpen) own_[outcome.revision] = transaction.operations;
    }
    if (way == Way::kDoneLost) return done(base::Unavailable("no answer came"));
    // Whoever is answered sees what he was answered by.
    cache_->WaitFor(outcome.revision, [this, outcome, transaction = std::move(transaction),
                                       done = std::move(done)](const Status& shown) mutable {
      if (!shown.ok()) return done(shown);
      if (outcome.conflict) {
        outcome.conflict->entry = cache_->Find(outcome.conflict->key);
      } else {
        outcome.entries = EntriesOf(outcome.revision, transaction);
      }
      done(std::move(outcome));
    });
  }

  void Latest(std::function<void(StatusOr<Revision>)> done) override {
    Way way;
    {
      const base::MutexLock lock(wire_.mutex);
      way = wire_.asks;
    }
    // Somebody else sees to it that nobody waits for ever.
    if (way == Way::kSilent) return;
    if (way != Way::kOpen) return done(base::Unavailable("the log cannot be reached"));
    done(disk_.latest());
  }

  Status Health() const override { return {}; }
  Status Reachable() const override {
    const base::MutexLock lock(wire_.mutex);
    if (wire_.asks == Way::kOpen && wire_.feeds) return {};
    return base::Unavailable("the log cannot be reached");
  }

 private:
  bool Stopping() const { return stopping_; }

  void Feed() {
    const auto stop = [this] { return Stopping(); };
    while (!Stopping()) {
      const auto written = disk_.After(fed_, stop);
      if (written.empty()) continue;
      std::chrono::microseconds delay{0};
      {
        const base::MutexLock lock(wire_.mutex);
        while (!wire_.feeds && !Stopping()) wire_.news.Wait(wire_.mutex);
        delay = wire_.delay;
      }
      if (delay.count() > 0) std::this_thread::sleep_for(delay);
      if (Stopping()) return;
      Publish(written);
    }
  }

  void Publish(const std::vector<SharedDisk::Written>& written) {
    const Revision revision = written.front().version.modified;
    std::vector<Operation> own;
    {
      const base::MutexLock lock(mutex_);
      if (const auto found = own_.find(revision); found != own_.end()) {
        own = std::move(found->second);
        own_.erase(found);
      }
    }
    std::vector<Event> events;
    for (const SharedDisk::Written& one : written) {
      const bool deleted = one.kind == Operation::Kind::kDelete;
      auto entry = std::make_shared<Entry>(Entry{.key = one.key,
                                                 .value = one.version.value,
                                                 .created = one.version.created,
                                                 .modified = revision});
      for (const Operation& operation : own) {
        if (operation.key == one.key && operation.attach) {
          entry->attachment = operation.attach(*entry);
        }
      }
      events.push_back({.entry = entry, .before = cache_->Find(one.key), .deleted = deleted});
    }
    {
      const base::MutexLock lock(mutex_);
      recent_[revision] = events;
      while (recent_.size() > 1000) recent_.erase(recent_.begin());
    }
    fed_ = revision;
    cache_->Publish(events);
  }

  std::vector<EntryPtr> EntriesOf(Revision revision, const Transaction& transaction) const {
    const base::MutexLock lock(mutex_);
    std::vector<EntryPtr> entries;
    const auto found = recent_.find(revision);
    for (const Operation& operation : transaction.operations) {
      EntryPtr entry;
      if (found != recent_.end() && operation.kind != Operation::Kind::kCheck) {
        for (const Event& event : found->second) {
          if (event.entry->key == operation.key) entry = event.entry;
        }
      }
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  SharedDisk& disk_;
  Wire& wire_;
  internal::Timeline* cache_ = nullptr;
  std::atomic<bool> stopping_ = false;
  mutable base::Mutex mutex_;
  std::map<Revision, std::vector<Operation>> own_ ABSL_GUARDED_BY(mutex_);  // not told to the cache
  std::map<Revision, std::vector<Event>> recent_ ABSL_GUARDED_BY(mutex_);
  Revision fed_;  // the feeder's
  std::thread feeder_;
};

inline std::unique_ptr<Store> MakeSharedStore(
    SharedDisk& disk, Wire& wire, std::chrono::milliseconds patience = kBarrierPatience) {
  return *MakeStore(std::make_unique<SharedLog>(disk, wire), {}, patience);
}

}  // namespace dray::store
