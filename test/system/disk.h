// SPDX-License-Identifier: Apache-2.0
//
// Disk: what a server has written for good. Outlives servers: what they did not bring to it is gone
// with them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"

namespace dray::system {

class Disk {
 public:
  Disk();
  ~Disk();

  // A store over it; the one before is gone, or was cut off. `queued` is called when there is
  // something to write.
  std::unique_ptr<store::Store> Open(std::function<void()> queued);
  // The next transactions that wait become durable, at most so many, and who waits is told. False:
  // nothing waits.
  bool Write(std::size_t most);
  // The next write fails: nothing is written for a full disk; of anything else, `written` says.
  void FailNext(Status status, bool written);
  // The server dies: what waits is gone, and nothing comes any more. With `written`, what was being
  // written, at most so much, is there, and nobody was told.
  void CutOff(std::size_t written);

  std::int64_t revision() const { return revision_; }
  // While no store is open: the current value of each key, and another one in its place, as somebody
  // with another version of the program has left it.
  std::vector<std::pair<std::string, std::string>> Values() const;
  void Replace(const std::string& key, std::string value);

 private:
  class DiskLog;
  class DiskStore;
  struct Row {
    std::string key;
    std::shared_ptr<const std::string> value;  // null: deleted
    store::Revision created;
    store::Revision modified;
  };
  std::vector<Row> rows_;
  std::int64_t revision_ = 0;
  DiskStore* store_ = nullptr;
  Status fail_;
  bool fail_written_ = false;
  bool cut_ = false;
};

}  // namespace dray::system
