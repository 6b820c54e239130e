// SPDX-License-Identifier: Apache-2.0
//
// Sets of completion indexes as jobs write them: "1,3-5,7".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/pod.h"

namespace dray::controllers {

inline constexpr std::string_view kCompletionIndex = "batch.kubernetes.io/job-completion-index";

// Kept as ranges: a status of a few letters may say "0-2147483646". Thread-compatible.
class JobIndexes {
 public:
  JobIndexes() = default;
  JobIndexes(std::initializer_list<std::int32_t> indexes) {
    for (const std::int32_t index : indexes) insert(index);
  }

  void insert(std::int32_t index) { Insert(index, index); }
  // All from `first` to `last`, which is not before it.
  void Insert(std::int32_t first, std::int32_t last);
  bool contains(std::int32_t index) const { return NextMissing(index) != index; }
  // The first from `index` on that is not in it.
  std::int64_t NextMissing(std::int32_t index) const;
  std::int64_t size() const { return size_; }
  // By their first; none touches the next.
  const std::map<std::int32_t, std::int32_t>& ranges() const { return last_; }

  friend bool operator==(const JobIndexes&, const JobIndexes&) = default;

 private:
  std::map<std::int32_t, std::int32_t> last_;  // of each range, by its first
  std::int64_t size_ = 0;
};

// Those below `completions`; what is not well-formed is left out.
JobIndexes ParseIndexes(std::string_view text, std::int32_t completions);
std::string ToText(const JobIndexes& indexes);

// The pod's, if it has one below `completions`.
std::optional<std::int32_t> IndexOf(const api::Pod& pod, std::int32_t completions);
// Makes a pod the one for an index: name, host name, mark and environment.
void SetIndex(api::Pod& pod, std::string_view job, std::int32_t index);

}  // namespace dray::controllers
