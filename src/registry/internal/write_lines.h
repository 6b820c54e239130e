// SPDX-License-Identifier: Apache-2.0
//
// WriteLines: who waits for whom when many want to write one key.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "base/string_map.h"

namespace dray::registry::internal {

// Whoever changes what is there stands in line for its key, and only the first of the line tries: n
// writers of one key need n tries, not n² / 2, and nobody is overtaken for ever. A creation is tried at
// once, as if it were alone, and stands in line when others came first (for a quota, say). A write
// stands in one line at most, so that lines cannot wait for each other. Thread-safe.
class WriteLines {
 public:
  using Turn = std::function<void()>;

  // Whether anybody stands in line for the key: then whoever comes does well to stand behind them.
  bool Busy(std::string_view key) const;
  // To the end of the line. True: it is the caller's turn already. False: `turn` will be called, once.
  bool Join(std::string_view key, Turn turn);
  // By the first of the line, who is done. What to call for the next one; null if there is none.
  Turn Leave(std::string_view key);

 private:
  mutable base::Mutex mutex_;
  // The first is the one whose turn it is. No line is empty.
  base::StringMap<std::deque<Turn>> lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace dray::registry::internal
