// SPDX-License-Identifier: Apache-2.0
//
// A folder of files that change all at once while others read them, as config maps and secrets do in a
// pod: everything is written to a folder of its own, and a link is turned from the old to the new.
//
//   ..2026_11_16_10_00_00.1/a/b   the files
//   ..data -> ..2026_11_16_10_00_00.1
//   a -> ..data/a
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/time.h"

namespace dray::node {

struct FileToWrite {
  std::string bytes;
  unsigned mode = 0644;
};

// By path below the folder. InvalidArgument: a path leads out of it, or begins with two dots.
using FilesToWrite = std::map<std::string, FileToWrite>;

// Whether anything was different. `group`: to whom everything belongs, besides its owner.
StatusOr<bool> WriteFolder(const std::string& folder, const FilesToWrite& files, base::Time now,
                           std::optional<std::int64_t> group = std::nullopt);

}  // namespace dray::node
