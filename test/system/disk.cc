// SPDX-License-Identifier: Apache-2.0
#include "system/disk.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "system/bridge_store.h"

namespace dray::system {

class Disk::DiskLog final : public store::bridge::Log {
 public:
  explicit DiskLog(Disk& disk) : disk_(disk) {}

  Status Load(store::internal::Timeline& timeline) override {
    timeline.BeginRestore({0});
    std::vector<store::internal::Forgotten> forgotten;
    for (const Row& row : disk_.rows_) {
      timeline.Restore(row.key, row.value, row.created, row.modified, forgotten);
    }
    return {};
  }
  Status Append(const std::vector<store::Event>& events) override {
    if (disk_.cut_) return base::Unavailable("the server is dead");
    const Status failure = std::exchange(disk_.fail_, Status());
    if (failure.ok() || disk_.fail_written_) {
      for (const store::Event& event : events) {
        disk_.rows_.push_back({event.entry->key, event.deleted ? nullptr : event.entry->value,
                               event.entry->created, event.entry->modified});
        disk_.revision_ = event.revision().value;
      }
    }
    return failure;
  }
  void Forget(std::vector<store::internal::Forgotten>, store::Revision) override {}

 private:
  Disk& disk_;
};

class Disk::DiskStore final : public store::bridge::LogStore {
 public:
  DiskStore(Disk& disk, std::function<void()> queued)
      : LogStore({.on_queued = std::move(queued)}, std::make_unique<DiskLog>(disk)), disk_(disk) {}
  ~DiskStore() override {
    if (disk_.store_ == this) disk_.store_ = nullptr;
  }

 private:
  Disk& disk_;
};

Disk::Disk() = default;
Disk::~Disk() = default;

std::unique_ptr<store::Store> Disk::Open(std::function<void()> queued) {
  DRAY_CHECK(store_ == nullptr);
  cut_ = false;
  fail_ = {};
  auto store = std::make_unique<DiskStore>(*this, std::move(queued));
  DRAY_CHECK(store->Load().ok());
  store_ = store.get();
  return store;
}

bool Disk::Write(std::size_t most) { return store_ != nullptr && store_->WriteSome(most); }

void Disk::FailNext(Status status, bool written) {
  fail_ = std::move(status);
  fail_written_ = written;
}

void Disk::CutOff(std::size_t written) {
  if (store_ == nullptr) return;
  if (written > 0) {
    FailNext(base::Unavailable("the server is dead"), true);
    store_->WriteSome(written);
  }
  cut_ = true;
  // Whoever waits is told that nothing is known, and is dead.
  while (store_->WriteSome()) continue;
  store_ = nullptr;
}

std::vector<std::pair<std::string, std::string>> Disk::Values() const {
  std::map<std::string, std::string> values;
  for (const Row& row : rows_) {
    if (row.value == nullptr) {
      values.erase(row.key);
    } else {
      values[row.key] = *row.value;
    }
  }
  return {values.begin(), values.end()};
}

void Disk::Replace(const std::string& key, std::string value) {
  const auto last = std::ranges::find(rows_.rbegin(), rows_.rend(), key, &Row::key);
  DRAY_CHECK(last != rows_.rend() && last->value != nullptr);
  last->value = std::make_shared<const std::string>(std::move(value));
}

}  // namespace dray::system
