// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/write_lines.h"

#include <utility>

#include "base/check.h"

namespace dray::registry::internal {

bool WriteLines::Busy(std::string_view key) const {
  const base::MutexLock lock(mutex_);
  return lines_.contains(key);
}

bool WriteLines::Join(std::string_view key, Turn turn) {
  const base::MutexLock lock(mutex_);
  std::deque<Turn>& line = lines_[std::string(key)];
  line.push_back(std::move(turn));
  return line.size() == 1;
}

WriteLines::Turn WriteLines::Leave(std::string_view key) {
  const base::MutexLock lock(mutex_);
  const auto found = lines_.find(key);
  DRAY_CHECK(found != lines_.end());
  std::deque<Turn>& line = found->second;
  line.pop_front();
  if (!line.empty()) return line.front();
  lines_.erase(found);
  return nullptr;
}

}  // namespace dray::registry::internal
