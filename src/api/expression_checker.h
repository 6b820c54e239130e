// SPDX-License-Identifier: Apache-2.0
//
// How validation has expressions compiled. `api` lies below `cel`, so it declares this and `cel`
// implements it; whoever validates hands one in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/gates.h"

namespace dray::api {

// Thread-safe.
class ExpressionChecker {
 public:
  enum class Purpose : std::uint8_t { kSelector, kDerivedAttribute };

  struct Result {
    // What the compiler has against the expression; none: it compiles and has an allowed result
    // type.
    std::optional<std::string> error;
    // Kubernetes reports some failures as its own fault (InternalError) instead of an invalid
    // value.
    bool internal = false;
    // The estimated cost; only meaningful without an error.
    std::uint64_t max_cost = 0;
  };

  virtual ~ExpressionChecker() = default;

  // Compiles for new objects: honours the gates. Length was checked by the caller.
  virtual Result Check(std::string_view expression, Purpose purpose,
                       const FeatureGates& gates) const = 0;
};

}  // namespace dray::api
