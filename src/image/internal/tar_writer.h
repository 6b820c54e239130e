// SPDX-License-Identifier: Apache-2.0
//
// A tar archive, written so that the same files give the same bytes.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace dray::image::internal {

// One thread.
class TarWriter {
 public:
  static StatusOr<std::unique_ptr<TarWriter>> Create(const std::string& path);
  ~TarWriter();
  TarWriter(const TarWriter&) = delete;
  TarWriter& operator=(const TarWriter&) = delete;

  // Names without a slash in front.
  Status AddFolder(const std::string& name, unsigned mode = 0755);
  Status AddLink(const std::string& name, const std::string& target);
  Status AddBytes(const std::string& name, std::string_view bytes, unsigned mode);
  // A file of the machine, with the mode that is said.
  Status AddFile(const std::string& name, const std::string& file, unsigned mode);
  // All below the folder, sorted, with modes and owners, without times; devices and sockets are left
  // out.
  Status AddTree(const std::string& folder);
  // For tests of those who read: an entry of any kind ('b', 'c', 'h' for a hard link).
  Status AddOdd(char kind, const std::string& name, const std::string& target);

  Status Finish();

 private:
  struct State;
  explicit TarWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace dray::image::internal
