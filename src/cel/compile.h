// SPDX-License-Identifier: Apache-2.0
//
// From text to a checked tree with its cost: parse, check, look at the result's type, estimate.
// Spec: docs/spec/cel.md chapters 3, 5 and 9.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/checker.h"
#include "cel/cost_estimate.h"
#include "cel/environment.h"
#include "cel/source.h"

namespace dray::cel {

// What the expression is for decides which types its result may have.
enum class Purpose : std::uint8_t {
  kAny,
  kSelector,          // bool, or what an attribute's value is
  kDerivedAttribute,  // what an attribute's value may be
};

// Builds the program of a checked tree, to see whether that fails: the reason, or nothing.
using ProgramCheck = std::function<std::optional<std::string>(const CheckedExpr&)>;

struct CompileOptions {
  Purpose purpose = Purpose::kAny;
  // Without: the cost is the largest number.
  bool estimate_cost = true;
  ProgramCheck program_check;
};

struct CompileResult {
  std::shared_ptr<const CheckedExpr> checked;  // null: see `error`
  CostRange cost = {CostRange::kLargest, CostRange::kLargest};

  std::string error;          // the whole text, with source lines
  std::vector<Issue> issues;  // parts of it that have a place
  // Failed while building the program, which Kubernetes reports as its own fault.
  bool internal = false;

  bool ok() const { return checked != nullptr; }
};

CompileResult Compile(std::string_view expression, std::shared_ptr<const Environment> environment,
                      const CompileOptions& options = {});

}  // namespace dray::cel
