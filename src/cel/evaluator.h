// SPDX-License-Identifier: Apache-2.0
//
// Evaluation of a program.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "cel/arena.h"
#include "cel/device_view.h"
#include "cel/program.h"
#include "cel/value.h"
#include "cel/work.h"

namespace dray::cel {

struct EvaluationLimits {
  // docs/spec/cel.md 4. More is the error "operation cancelled: actual cost limit exceeded".
  std::uint64_t cost = 1'000'000;
  // Of values made on the way.
  std::size_t arena_bytes = std::size_t{64} << 20;
  // What costs do not count: work.h. More is the error "operation cancelled: work limit exceeded".
  std::uint64_t work = Work::kBudget;
  // Looked at every 100 iterations of loops; "operation interrupted".
  const std::atomic<bool>* interrupted = nullptr;
};

struct EvaluationResult {
  Value value;  // an error when evaluation failed; lives as long as arena, program and variables
  std::uint64_t cost = 0;
};

// `variables` by the program's slots. Allocates nothing but what the arena needs beyond its inside.
EvaluationResult Evaluate(const Program& program, std::span<const Value> variables, Arena& arena,
                          const EvaluationLimits& limits = {});
// The same for a program whose only variable is `device`. The view is bound to the program. An
// error about something missing is for device_errors.h to put into words.
EvaluationResult Evaluate(const Program& program, const DeviceView& view, Arena& arena,
                          const EvaluationLimits& limits = {});

}  // namespace dray::cel
