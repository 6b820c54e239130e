// SPDX-License-Identifier: Apache-2.0
//
// Disk: the few things that a journal does to a disk, so that a test can have one that loses what was
// not synced, tears what was being written, and fails before or after each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::files {

// One thread at a time.
class OpenFile {
 public:
  virtual ~OpenFile() = default;
  // Over what is there, or beyond the end. Not OK: nobody knows how much of it is written.
  virtual Status WriteAt(std::uint64_t offset, std::string_view bytes) = 0;
  // OK: what was written is there after a power cut, too. Not OK: nobody knows, and another try that
  // succeeds says nothing about what was written before this one.
  virtual Status Sync() = 0;
};

// Thread-safe.
class Disk {
 public:
  virtual ~Disk() = default;
  // As files::ReadWhole and files::WriteWhole.
  virtual StatusOr<std::string> Read(const std::string& path, std::size_t limit) = 0;
  virtual Status WriteWhole(const std::string& path, std::string_view contents, unsigned mode) = 0;
  // To write into a file that exists.
  virtual StatusOr<std::unique_ptr<OpenFile>> Open(const std::string& path) = 0;
};

// The machine's.
Disk& TheDisk();

}  // namespace dray::files
