// SPDX-License-Identifier: Apache-2.0
//
// SQLite's file layer with accidents: writes that find the disk full, syncs that fail, and a copy
// of every file as it was when it was last synced, which is what a power cut would leave.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <functional>
#include <string>

namespace dray::store {

// Registered under name() while it lives. Thread-safe.
class FaultyFiles {
 public:
  FaultyFiles();
  ~FaultyFiles();
  FaultyFiles(const FaultyFiles&) = delete;
  FaultyFiles& operator=(const FaultyFiles&) = delete;

  const std::string& name() const { return name_; }

  std::atomic<bool> full = false;         // writes fail: no room
  std::atomic<bool> write_fails = false;  // writes fail: broken
  std::atomic<bool> sync_fails = false;
  // Each synced file is copied to its name + ".synced".
  std::atomic<bool> copy_synced = false;
  // Called after that. Set it before the first use.
  std::function<void()> after_sync;

 private:
  const std::string name_;
  sqlite3_vfs vfs_;
};

}  // namespace dray::store
