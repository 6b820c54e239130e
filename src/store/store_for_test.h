// SPDX-License-Identifier: Apache-2.0
//
// For the tests of this room: a folder that goes away, every kind of store, short ways to say
// things.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/manual/manual_store.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"
#include "store/store.h"
#include "testing/status_matchers.h"

namespace dray::store {

class TempFolder {
 public:
  TempFolder() {
    std::string name = std::filesystem::temp_directory_path() / "dray-store-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string File(std::string_view name) const { return path_ / name; }
  ManualDisk& disk() const { return *disk_; }  // for stores that need no files

 private:
  std::filesystem::path path_;
  std::unique_ptr<ManualDisk> disk_ = std::make_unique<ManualDisk>();
};

struct StoreMaker {
  std::string name;
  std::function<std::unique_ptr<Store>(const TempFolder&, HistoryOptions)> make;
  bool one_thread = false;
  // Revisions begin at 0 and rise by one with each transaction; otherwise others use them, too.
  bool consecutive = true;
  friend void PrintTo(const StoreMaker& maker, std::ostream* os) { *os << maker.name; }
};

inline std::unique_ptr<Store> OpenSqlite(const TempFolder& folder, HistoryOptions history = {}) {
  auto store = OpenSqliteStore({.path = folder.File("store.db"), .history = history});
  EXPECT_THAT(store, testing::IsOk());
  return store.ok() ? *std::move(store) : nullptr;
}

// Those that the program tests.
const std::vector<StoreMaker>& AllStores();

// "a=1 b=2"
inline std::string Show(const StatusOr<RangeResult>& range) {
  EXPECT_THAT(range, testing::IsOk());
  std::string text;
  if (!range.ok()) return text;
  for (const EntryPtr& entry : range->entries) {
    text.append(text.empty() ? "" : " ").append(entry->key).append("=").append(*entry->value);
  }
  return text;
}

// "+a=1 ~a=2 -a=2": new, changed, deleted.
inline std::string Show(const StatusOr<std::vector<Event>>& events) {
  EXPECT_THAT(events, testing::IsOk());
  std::string text;
  if (!events.ok()) return text;
  for (const Event& event : *events) {
    text += text.empty() ? "" : " ";
    text += event.deleted ? "-" : event.before ? "~" : "+";
    text += event.entry->key + "=" + *event.entry->value;
  }
  return text;
}

// A suite that runs over every kind of store.
class StoreTest : public ::testing::TestWithParam<StoreMaker> {
 protected:
  void Make(HistoryOptions history = {}) {
    store_ = nullptr;
    store_ = GetParam().make(folder_, history);
    start_ = store_->revision();
  }
  // When nothing had been written.
  Revision start() {
    store();
    return start_;
  }
  bool consecutive() const { return GetParam().consecutive; }
  Store& store() {
    if (!store_) Make();
    return *store_;
  }

  // The revision; 0 if it was refused.
  Revision Commit(Transaction transaction) {
    auto outcome = store().CommitAndWait(std::move(transaction));
    EXPECT_THAT(outcome, testing::IsOk());
    return outcome.ok() && !outcome->conflict ? outcome->revision : Revision{};
  }
  Revision Put(std::string key, std::string value) {
    return Commit(Transaction().Put(std::move(key), std::move(value)));
  }
  Revision Delete(std::string key) { return Commit(Transaction().Delete(std::move(key))); }

  std::string All(std::string_view prefix = "") { return Show(store().Range(prefix)); }

  std::unique_ptr<Watch> WatchFrom(
      std::string_view prefix, Revision from, std::function<void()> wake = [] {}) {
    auto watch = store().WatchFrom(prefix, from, std::move(wake));
    EXPECT_THAT(watch, testing::IsOk());
    return watch.ok() ? *std::move(watch) : nullptr;
  }

 private:
  TempFolder folder_;
  std::unique_ptr<Store> store_;
  Revision start_;
};

inline std::string MakerName(const ::testing::TestParamInfo<StoreMaker>& info) {
  return info.param.name;
}

}  // namespace dray::store
