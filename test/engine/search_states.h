// SPDX-License-Identifier: Apache-2.0
//
// Walks through partial choices, for tests that ask whether what the search believes of one is
// true.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/bounds.h"
#include "allocator/state.h"
#include "base/bit_set.h"

namespace dray::engine {

// Everything that a state shows, so that two can be compared.
std::string Dump(const allocator::State& state, const allocator::Attempt& attempt);

// All places that a plain search comes by, in its order, each with the answer to whether it can be
// completed. Enumerates everything, so instances must be small. One thread.
class Places {
 public:
  // Called on the way in, then, when the answer is known, again with it. Returns of the first call
  // are handed to the second, so that nothing needs to be computed twice.
  struct Visitor {
    std::function<std::size_t(const allocator::State&, const allocator::Position&)> enter;
    std::function<void(std::size_t, bool)> leave;
    // If there is one: of each device that a place tries, whether it leads anywhere. The state is
    // that of the place.
    std::function<void(std::size_t, const allocator::State&, std::uint32_t, bool)> tried;
  };

  // False: there were more than `limit` places.
  bool Walk(const allocator::Attempt& attempt, const Visitor& visitor, std::uint64_t limit);

 private:
  bool Claim(std::size_t claim);
  bool Request(std::size_t claim, std::size_t request);
  bool Device(std::size_t claim, std::size_t request, std::uint32_t alternative, std::int64_t k,
              std::size_t start);
  bool All(std::size_t claim, std::size_t request, std::uint32_t alternative);

  const allocator::Attempt* attempt_ = nullptr;
  const Visitor* visitor_ = nullptr;
  allocator::State state_;
  base::BitSet open_;  // requests that are not begun
  std::uint64_t left_ = 0;
};

}  // namespace dray::engine
