// SPDX-License-Identifier: Apache-2.0
//
// Hash containers with std::string keys that can be searched with a std::string_view. Debian 12's
// abseil hashes its own string_view only, so the transparent hash and equality are given here.
#pragma once

#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/status.h"

namespace dray::base {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const {
    return absl::Hash<absl::string_view>{}(ToAbsl(s));
  }
};
struct StringEq {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return a == b; }
};

template <typename V>
using StringMap = absl::flat_hash_map<std::string, V, StringHash, StringEq>;
using StringSet = absl::flat_hash_set<std::string, StringHash, StringEq>;

}  // namespace dray::base
