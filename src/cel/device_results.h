// SPDX-License-Identifier: Apache-2.0
//
// What becomes of an expression's result: a selector's match, a derived attribute's value.
// Spec: docs/spec/cel.md chapters 3 and 9.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/resource_slice.h"
#include "base/status.h"
#include "cel/arena.h"
#include "cel/device_view.h"
#include "cel/evaluator.h"
#include "cel/program.h"
#include "cel/value.h"
#include "cel/verdict.h"

namespace dray::cel {

// Whether a device matches, without words.
struct MatchOutcome {
  Verdict verdict = Verdict::kNo;
  std::uint64_t cost = 0;
  Value value;  // what the expression gave; for MatchError when it failed
};

// Allocates nothing, also when evaluation fails. The view is bound to the program; the caller
// resets the arena between devices.
MatchOutcome TryMatch(const Program& program, const DeviceView& view, Arena& arena,
                      const EvaluationLimits& limits = {});
// Why a device could not be matched: `value` is what TryMatch gave.
Status MatchError(const Program& program, const DeviceView& view, const Value& value);

struct MatchResult {
  bool match = false;
  std::uint64_t cost = 0;
};
// The status of a failure has the message of the evaluation.
StatusOr<MatchResult> Match(const Program& program, const DeviceView& view, Arena& arena,
                            const EvaluationLimits& limits = {});
StatusOr<MatchResult> Match(const Program& program, std::string_view driver,
                            const api::Device& device, const EvaluationLimits& limits = {});
// A selector's value as bool, or why it is none.
StatusOr<bool> ToMatch(const Value& value);

// A derived attribute's value, or why it is none.
// `cost`, if given, gets what it took, whatever came of it.
StatusOr<api::DeviceAttribute> Derive(const Program& program, const DeviceView& view, Arena& arena,
                                      const EvaluationLimits& limits = {},
                                      std::uint64_t* cost = nullptr);
StatusOr<api::DeviceAttribute> Derive(const Program& program, std::string_view driver,
                                      const api::Device& device,
                                      const EvaluationLimits& limits = {});
StatusOr<api::DeviceAttribute> ToAttribute(const Value& value);

}  // namespace dray::cel
