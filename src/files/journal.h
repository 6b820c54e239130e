// SPDX-License-Identifier: Apache-2.0
//
// Journal: something that changes often and of which nothing may be lost. The whole of it is a file
// that is replaced now and then; what has changed since is appended to a second one beside it, which
// costs one write and, where it has to outlive a power cut, one sync.
//
// After a kill at any instruction everything is there whose Append has returned, and at most the one
// that was under way beside it. After a power cut there is a beginning of it that has at least
// everything up to the last sync. What is damaged otherwise is not guessed at: DataLoss.
//
// How it holds. The log has its room from the beginning, as zeros that are on the disk, so that an
// append changes no metadata. Its head says which whole it belongs to, and counts generations: a new
// whole is written first, then a new head, and a log that belongs to another whole says nothing. A
// record has its place, its generation and how much before it is
// synced in its checksum. The log ends at the first place without a record; if one behind it knows
// that this place was synced, the disk has lost something that it had promised to keep.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "files/disk.h"
#include "files/files.h"

namespace dray::files {

struct JournalOptions {
  std::string path;      // the whole
  std::string log_path;  // what has changed
  unsigned mode = 0600;
  std::size_t limit = 256u << 20;  // of bytes that are read
  std::size_t room = 256u << 10;   // of the log; when it is used up, it is time to fold
};

// One thread at a time. Two processes may share one if they keep each other out (flock) and call
// Refresh before they do anything.
class Journal {
 public:
  struct Contents {
    std::optional<std::string> whole;  // none: there is no such file
    std::vector<std::string> changes;  // since then, in order
  };

  // Changes nothing on the disk, which outlives it. `read` is what is there.
  static StatusOr<Journal> Open(Disk& disk, JournalOptions options, Contents& read);

  // Nothing can be appended until it is folded: it is new, or a write has failed and nobody knows
  // what is on the disk.
  bool must_fold() const { return file_ == nullptr; }
  // As much was appended as there is room for.
  bool full() const { return end_ >= options_.room; }
  // Something was appended since it was folded.
  bool changed() const { return changed_; }

  // Not OK: nobody knows whether it is written; the next thing is Fold.
  Status Append(std::string_view change, Sync sync);
  // Everything that was appended is there after a power cut.
  Status SyncNow();
  // From now on this is the whole, and nothing has changed since.
  Status Fold(std::string_view whole);

  // What another process has done. Nothing: nothing; `whole` is there if it has folded, and then
  // everything that was known before is void.
  StatusOr<std::optional<Contents>> Refresh();

 private:
  struct Head {
    std::uint64_t generation = 0;
    std::uint64_t whole_size = 0;
    std::uint64_t whole_hash = 0;
    friend bool operator==(const Head&, const Head&) = default;
  };
  struct Log {
    Head head;
    std::vector<std::string> changes;
    std::uint64_t end = 0;
    bool torn = false;  // there are records behind its end
  };

  Journal(Disk& disk, JournalOptions options) : disk_(&disk), options_(std::move(options)) {}
  static std::string Encode(const Head& head);
  static std::optional<Head> Decode(std::string_view sector);
  StatusOr<std::optional<Log>> ReadLog(std::uint64_t from_generation, std::uint64_t from) const;
  StatusOr<Contents> ReadAll();

  Disk* disk_;
  JournalOptions options_;
  std::unique_ptr<OpenFile> file_;  // of the log
  Head head_;
  std::uint64_t end_ = 0;
  std::uint64_t synced_ = 0;  // everything before this place
  bool changed_ = false;
};

}  // namespace dray::files
