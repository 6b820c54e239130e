// SPDX-License-Identifier: Apache-2.0
#include "base/edit_distance.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/status.h"

namespace dray::base {
namespace {

constexpr std::size_t kMaxDistance = 3;
// Words longer than this are not typed by hand.
constexpr std::size_t kMaxLength = 256;

std::string Lower(std::string_view s) { return absl::AsciiStrToLower(ToAbsl(s)); }

}  // namespace

std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit) return limit + 1;
  // Rows i-2, i-1 and i of the table of distances between prefixes.
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) rows[1][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& [before, above, row] = rows;
    row[0] = i;
    std::size_t least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
      least = std::min(least, row[j]);
    }
    // A swap reaches back two rows, so one more than the limit is needed to be certain.
    if (least > limit + 1) return limit + 1;
    std::rotate(rows.begin(), rows.begin() + 1, rows.end());
  }
  return std::min(rows[1][b.size()], limit + 1);
}

std::optional<std::string> ClosestMatch(std::string_view word,
                                        std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kMaxLength) return std::nullopt;
  const std::string lower = Lower(word);
  const std::size_t limit = std::min(kMaxDistance, std::max<std::size_t>(1, word.size() / 3));
  const std::string_view* best = nullptr;
  std::pair<std::size_t, std::size_t> best_rank;
  for (const std::string_view& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kMaxLength) continue;
    std::size_t exact = EditDistance(word, candidate, limit);
    const std::size_t caseless = EditDistance(lower, Lower(candidate), limit);
    if (caseless == 0) exact = std::min(exact, limit);
    // A word of one or two letters is not "nearly" every other one: something has to be the same.
    if (exact > limit || (caseless > 0 && caseless >= std::max(word.size(), candidate.size())))
      continue;
    const std::pair rank{caseless == 0 ? std::min<std::size_t>(exact, 1) : exact, caseless};
    if (best == nullptr || rank < best_rank) {
      best = &candidate;
      best_rank = rank;
    }
  }
  if (best == nullptr) return std::nullopt;
  return std::string(*best);
}

}  // namespace dray::base
