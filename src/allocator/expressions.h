// SPDX-License-Identifier: Apache-2.0
//
// Expressions: every selector and derived attribute that claims and classes use, compiled once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status.h"
#include "base/string_map.h"
#include "inventory/dictionary.h"
#include "inventory/evaluation.h"

namespace dray::allocator {

// Compiled, or why not. A broken expression is an error only when a device gets as far as it.
struct Expression {
  std::string text;
  std::shared_ptr<const inventory::BoundProgram> program;  // null: see `error`
  Status error;
};

struct ExpressionStatistics {
  std::uint64_t compiled = 0;  // expressions that are known, broken ones among them
  std::uint64_t broken = 0;
  inventory::EvaluationStatistics evaluations;  // of all together
};

// Only grows; what it returns stays. Thread-safe.
class Expressions {
 public:
  explicit Expressions(std::shared_ptr<inventory::Dictionary> dictionary);

  const Expression* Selector(std::string_view text);
  const Expression* Derived(std::string_view text);

  // The number of a list of numbers: equal lists, equal numbers.
  std::uint32_t Number(const std::vector<std::uint64_t>& list);

  ExpressionStatistics statistics() const;

  inventory::Dictionary& dictionary() const { return *dictionary_; }

 private:
  const Expression* Get(std::string_view text, bool derived);

  std::shared_ptr<inventory::Dictionary> dictionary_;
  // Guards what follows. Not abseil's: the thread sanitizer cannot see into the packaged library.
  mutable std::mutex mutex_;
  base::StringMap<std::unique_ptr<Expression>> selectors_;
  base::StringMap<std::unique_ptr<Expression>> derived_;
  absl::flat_hash_map<std::vector<std::uint64_t>, std::uint32_t> numbers_;
};

}  // namespace dray::allocator
