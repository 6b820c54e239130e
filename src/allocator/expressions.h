// SPDX-License-Identifier: Apache-2.0
//
// Expressions: every selector and derived attribute that claims and classes use, compiled once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_set.h"
#include "base/generations.h"
#include "base/mutex.h"
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
  std::uint64_t number = 0;  // never given twice, unlike an address
};

struct ExpressionStatistics {
  std::uint64_t compiled = 0;  // expressions that are known, broken ones among them
  std::uint64_t broken = 0;
  inventory::EvaluationStatistics evaluations;  // of all that ever were
};

// Whoever may create claims may send any number of expressions, so they are forgotten when nobody
// has asked for them in a long time. Who needs one keeps what he was given. Thread-safe.
class Expressions {
 public:
  // At most about twice `capacity` are kept for those who may ask again.
  explicit Expressions(std::shared_ptr<inventory::Dictionary> dictionary,
                       std::size_t capacity = 2048);

  std::shared_ptr<const Expression> Selector(std::string_view text);
  std::shared_ptr<const Expression> Derived(std::string_view text);

  // A number for a description: another one for another description, and mostly the same one for
  // the same. It may be another one when the description was not asked for in a long time.
  std::uint64_t Number(std::string_view description);

  ExpressionStatistics statistics() const;
  // What is kept for those who may ask again; programs without what they remember.
  std::size_t known() const;

  inventory::Dictionary& dictionary() const { return *dictionary_; }
  const std::shared_ptr<inventory::Dictionary>& shared_dictionary() const { return dictionary_; }

 private:
  using Known = base::Generations<base::StringMap<std::shared_ptr<const Expression>>>;
  // Those that somebody has, and what those have done that nobody has any more. Lives as long as
  // the last expression.
  struct Living {
    base::Mutex mutex;
    absl::flat_hash_set<const Expression*> expressions ABSL_GUARDED_BY(mutex);
    inventory::EvaluationStatistics gone ABSL_GUARDED_BY(mutex);
  };

  std::shared_ptr<const Expression> Get(std::string_view text, bool derived);

  const std::shared_ptr<inventory::Dictionary> dictionary_;
  const std::shared_ptr<Living> living_ = std::make_shared<Living>();
  mutable base::Mutex mutex_;
  Known selectors_ ABSL_GUARDED_BY(mutex_);
  Known derived_ ABSL_GUARDED_BY(mutex_);
  base::Generations<base::StringMap<std::uint64_t>> numbers_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t next_expression_ ABSL_GUARDED_BY(mutex_) = 1;
  std::uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
};

}  // namespace dray::allocator
