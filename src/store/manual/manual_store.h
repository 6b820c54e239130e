// SPDX-License-Identifier: Apache-2.0
//
// A store whose disk is in somebody's hand: nothing becomes durable, fails or is lost unless that is
// said. For simulations and tests, which it gives every moment between a write and its answer. It has
// no thread: callbacks run inside of ManualDisk's functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace dray::store {

namespace internal {
class ManualLog;
}  // namespace internal

// What becomes of a group of transactions that is not simply written.
struct WriteFault {
  // Of those who wait for it. kResourceExhausted: nothing is written, and a store that has told
  // nobody early goes on. Anything else: they cannot know.
  Status status;
  bool written = false;  // it is on the disk all the same
  // The log can go on after it, as one can that finds out what happened; otherwise the store takes no
  // more, as after any failure of a disk.
  bool goes_on = false;
};

// What is durable, which outlives stores: a restart is a new store on the same disk. One thread.
class ManualDisk {
 public:
  // Whether each transaction is durable as soon as it is handed over.
  bool automatic = true;
  // Is told when something was handed over and is not durable yet; may be empty.
  std::function<void()> on_queued = nullptr;

  // Handed over and not written yet, by the store that uses the disk now.
  std::size_t pending() const;
  // The next ones, as one group: all of them are durable, readers see them, callers are answered; or
  // what the fault says, which is then used up.
  void Write(std::size_t transactions = SIZE_MAX);
  void FailNext(WriteFault fault) { fault_ = std::move(fault); }
  // The process ends at this moment: what is pending is lost, nobody is answered, and the store takes
  // no more. It can be destroyed then, and another one made. Not from a callback.
  void Crash();

  // While no store uses it: everything that is there, by key, and bytes that somebody else put there,
  // as the next revision.
  std::map<std::string, std::string> entries() const;
  void Plant(std::string key, std::string bytes);

 private:
  friend class internal::ManualLog;
  struct Row {
    std::string key;
    std::shared_ptr<const std::string> value;  // null: deleted
    Revision created;
  };

  internal::ManualLog* log_ = nullptr;  // of the store that uses it
  std::optional<WriteFault> fault_;
  std::map<std::pair<Revision, std::size_t>, Row> rows_;  // by revision and place
  Revision compacted_;
};

struct ManualOptions {
  HistoryOptions history;
  bool early = true;  // whether the store has early writes
};

// One store at a time uses the disk, which outlives it. A store that is destroyed without a crash
// writes what is pending first.
std::unique_ptr<Store> MakeManualStore(ManualDisk& disk, const ManualOptions& options = {});

}  // namespace dray::store
