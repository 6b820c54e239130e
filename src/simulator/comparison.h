// SPDX-License-Identifier: Apache-2.0
//
// Two results side by side, with what is different. Results come as the JSON that `dray simulate
// -o json` prints, so that runs can be compared that were made at different times.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace dray::simulator {

// One number of both; nothing where only the other has it (a workload, a class).
struct Difference {
  enum class Unit : unsigned char { kCount, kSeconds, kShare };
  std::string path;  // "pods.placed", "workloads.training.waitP99"
  Unit unit = Unit::kCount;
  std::optional<double> a;
  std::optional<double> b;

  // b - a; nothing unless both have it.
  std::optional<double> Change() const;
};

struct RunSummary {
  std::string name;  // of the file, as it was named
  std::string title;
  std::string policy;
  std::string seed;
};

struct Comparison {
  RunSummary a;
  RunSummary b;
  // Everything but samples and what was measured of the processor, in the order of the result.
  std::vector<Difference> differences;
};

// InvalidArgument: one of them is no result.
StatusOr<Comparison> Compare(std::string_view name_a, std::string_view json_a,
                             std::string_view name_b, std::string_view json_b);

// What differs, with its sign; that nothing does.
std::string ToText(const Comparison& comparison);
// {"a":{},"b":{},"differences":[{"path","a","b","difference"}]}: all of them, equal ones too.
std::string ToJson(const Comparison& comparison);

}  // namespace dray::simulator
