// SPDX-License-Identifier: Apache-2.0
//
// What clients did with single objects and what they were told, and whether that can be true.
//
// A write that was answered says its revision, so there is nothing to search: the order of revisions is
// the only order that can explain the answers, and each answer is held against it and against the
// clock. What a name was at each revision is known from a watch of somebody else's.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dray::parts {

using Moment = std::chrono::steady_clock::time_point;

// One request about one name, of which its sender was the only one to know when it began and ended.
struct Operation {
  enum class Kind : unsigned char { kWrite, kDelete, kRead };
  enum class Outcome : unsigned char {
    kDone,     // a write: at `revision`; a deletion: its revision is not told; a read: what it saw
    kNotDone,  // refused, or told that nothing was written
    kUnknown,  // no answer, or one that does not say
  };
  Kind kind = Kind::kRead;
  std::string name;
  std::string value;  // that was to be written: no two are the same
  Outcome outcome = Outcome::kUnknown;
  std::int64_t revision = 0;  // of what was written or read; of a read that found nothing: 0
  std::string seen;           // what a read saw
  Moment began;
  Moment ended;
  std::string client;
};

// What was watched: each change of a name, in order of revisions.
struct Change {
  std::int64_t revision = 0;
  std::optional<std::string> value;  // none: it was deleted
};
using Truth = std::map<std::string, std::vector<Change>>;

// What cannot be true; empty if everything can.
std::vector<std::string> Contradictions(const std::vector<Operation>& operations,
                                        const Truth& truth);

}  // namespace dray::parts
