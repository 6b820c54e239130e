// SPDX-License-Identifier: Apache-2.0
//
// Report: what every validator is handed. It knows what is switched on and collects the faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "api/errors.h"
#include "api/internal/path.h"
#include "api/validation.h"
#include "base/quantity.h"
#include "base/string_map.h"

namespace dray::api::internal {

// One thread.
class Report {
 public:
  explicit Report(const ValidationOptions& options) : options_(options) {}

  bool Enabled(Gate gate) const { return options_.gates.Enabled(gate); }
  // dray's additions to Kubernetes's rules (docs/decisions.md) are on.
  bool OwnRules() const { return !options_.kubernetes_only; }
  const ValidationOptions& options() const { return options_; }

  ErrorList Take() { return std::move(errors_); }

  void Add(FieldError error) { errors_.push_back(std::move(error)); }
  void Required(const Path& at, std::string_view detail = "must be set") {
    Add(api::Required(at.ToFieldPath(), detail));
  }
  void Invalid(const Path& at, std::string_view value, std::string_view detail) {
    Add(api::Invalid(at.ToFieldPath(), value, detail));
  }
  void InvalidNumber(const Path& at, std::int64_t value, std::string_view detail) {
    Add(api::InvalidNumber(at.ToFieldPath(), value, detail));
  }
  void InvalidQuantity(const Path& at, const base::Quantity& value, std::string_view detail) {
    Add(InvalidValue(at.ToFieldPath(), value.ToString(), detail));
  }
  // For values that are too large to show, or that are not there.
  void InvalidAsIs(const Path& at, std::string_view shown, std::string_view detail) {
    Add(InvalidValue(at.ToFieldPath(), shown, detail));
  }
  void Duplicate(const Path& at, std::string_view value) {
    Add(api::Duplicate(at.ToFieldPath(), value));
  }
  void NotFound(const Path& at, std::string_view value) {
    Add(api::NotFound(at.ToFieldPath(), value));
  }
  void NotSupported(const Path& at, std::string_view value,
                    std::span<const std::string_view> supported) {
    Add(api::NotSupported(at.ToFieldPath(), value, supported));
  }
  void Forbidden(const Path& at, std::string_view detail) {
    Add(api::Forbidden(at.ToFieldPath(), detail));
  }
  void TooLong(const Path& at, std::size_t max_bytes) {
    Add(api::TooLong(at.ToFieldPath(), max_bytes));
  }
  void TooMany(const Path& at, std::size_t actual, std::size_t max) {
    Add(api::TooMany(at.ToFieldPath(), actual, max));
  }

 private:
  const ValidationOptions& options_;
  ErrorList errors_;
};

// Whether a list has at most `max` items. If not, TooMany is all that is said about it: whoever
// asked leaves its items alone.
inline bool CheckSize(Report& report, const Path& at, std::size_t actual, std::size_t max) {
  if (actual <= max) return true;
  report.TooMany(at, actual, max);
  return false;
}

inline bool CheckLength(Report& report, const Path& at, std::string_view text, std::size_t max) {
  if (text.size() <= max) return true;
  report.TooLong(at, max);
  return false;
}

// A set or a list with a key: Duplicate at each item whose key an earlier one has. `key` gives
// something that std::string_view can be made of.
template <typename Items, typename Key>
void CheckUnique(Report& report, const Path& at, const Items& items, Key key) {
  if (items.size() < 2) return;
  absl::flat_hash_set<std::string_view, base::StringHash, base::StringEq> seen;
  std::size_t i = 0;
  for (const auto& item : items) {
    if (const std::string_view k = key(item); !seen.insert(k).second) {
      report.Duplicate(at.Index(i), k);
    }
    ++i;
  }
}
inline void CheckUnique(Report& report, const Path& at, const std::vector<std::string>& items) {
  CheckUnique(report, at, items, [](const std::string& s) -> std::string_view { return s; });
}

// One of a few words.
inline void CheckOneOf(Report& report, const Path& at, std::string_view value,
                       std::span<const std::string_view> supported) {
  for (const std::string_view word : supported) {
    if (value == word) return;
  }
  report.NotSupported(at, value, supported);
}

}  // namespace dray::api::internal
