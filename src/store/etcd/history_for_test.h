// SPDX-License-Identifier: Apache-2.0
//
// For tests: what clients of a store did and were told, held against what etcd says has happened.
//
// etcd's revisions are the order in which things happened, so whether a history is linearizable needs
// no search: what was done is there, at one revision, which is above everything that anybody had been
// told before the call; what was not done is nowhere; what was read is what was there at some revision
// from what anybody had been told before the call on.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dray::store {

using Instant = std::chrono::steady_clock::time_point;

struct ClientCall {
  enum class What : std::uint8_t { kPut, kDelete, kRead };
  enum class Result : std::uint8_t { kDone, kNotDone, kUnknown, kConflict };
  What what = What::kRead;
  Result result = Result::kUnknown;
  std::string key;
  std::string value;  // that was put, and by nobody else; that was read
  // Of what was done; of the version that was read or ran into (0: there was none).
  std::int64_t revision = 0;
  Instant called;
  Instant returned;
};

// A change, in the order of revisions.
struct TrueChange {
  std::int64_t revision = 0;
  std::string key;
  std::string value;
  bool deleted = false;
};

// What is wrong, a line each.
std::vector<std::string> CheckHistory(const std::vector<ClientCall>& calls,
                                      const std::vector<TrueChange>& truth);

}  // namespace dray::store
