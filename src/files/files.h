// SPDX-License-Identifier: Apache-2.0
//
// Files that others read while we write them, and that must be right after a power cut: state of an
// agent, CDI specs, exit codes. Everything takes paths; nothing is kept between calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dray::files {

// Closes what it holds. Move-only.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) Reset(other.Release());
    return *this;
  }
  ~Fd() { Reset(); }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int Release();
  void Reset(int fd = -1);

 private:
  int fd_ = -1;
};

// "cannot <verb> <path>: <text of the error number>", kNotFound for ENOENT, else kUnavailable.
Status Failed(std::string_view verb, std::string_view path, int error);

// The folder and its parents. What is there already keeps its mode.
Status MakeFolder(const std::string& path, unsigned mode = 0755);
// The folder and all below it; nothing there is fine. Does not follow links, and stays on the file
// system that it begins on: a mount that is still there must not be emptied.
Status RemoveTree(const std::string& path);

// kNotFound: there is none. An ordinary file of at most `limit` bytes, else an error; somebody's pipe
// is not waited for.
StatusOr<std::string> ReadWhole(const std::string& path, std::size_t limit = 16u << 20);

// The same of a file in somebody else's tree: links in its path are resolved as if `root` were /, so
// that they lead nowhere else.
StatusOr<std::string> ReadWholeBelow(const std::string& root, const std::string& path,
                                     std::size_t limit = 1u << 20);

// kNo: for what means nothing after a power cut, which may then leave an empty file.
enum class Sync : std::uint8_t { kYes, kNo };

// Whole or not at all, also in a power cut: written beside it under a name that begins with a dot and
// ends in .tmp, synced, renamed, and the folder synced.
Status WriteWhole(const std::string& path, std::string_view contents, unsigned mode = 0644,
                  Sync sync = Sync::kYes);

// What was written to the file, and its size, are there after a power cut.
Status SyncData(int fd, std::string_view path);
// How often this process has waited for a disk to have something, so far.
std::uint64_t Syncs();
// Everything that was written to the file system of this folder is on the disk.
Status SyncAll(const std::string& folder);

// All bytes, whatever signals come.
Status WriteAll(int fd, std::string_view bytes);

// Nothing there is fine.
Status RemoveFile(const std::string& path);

// Names in the folder, sorted, without "." and ".."; none if there is no such folder.
StatusOr<std::vector<std::string>> NamesIn(const std::string& folder);

}  // namespace dray::files
