// SPDX-License-Identifier: Apache-2.0
//
// `dray validate` without its flags: objects in, findings out. Each object goes the way that a
// server would send it (defaults, dropped fields, validation, its status as a status update), then
// all of them are looked at together.
#pragma once

#include "api/expression_checker.h"
#include "api/gates.h"
#include "base/time.h"
#include "cli/manifests.h"
#include "cli/report.h"

namespace dray::cli {

struct ValidateOptions {
  api::FeatureGates gates;
  const api::ExpressionChecker* expressions = nullptr;  // null: expressions are not compiled
  base::Time now;
  // Off: what is wrong between objects is left to those who work with them; but that an object is
  // there twice.
  bool fit_together = true;
  // Judge as a Kubernetes API server would: what only dray accepts (docs/decisions.md) is an error.
  bool kubernetes_only = false;
};

// The report of reading with everything else that was found, in the order of files and lines.
Report Validate(const Manifests& manifests, const ValidateOptions& options);

}  // namespace dray::cli
