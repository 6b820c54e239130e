// SPDX-License-Identifier: Apache-2.0
//
// Findings as CI systems read them: SARIF 2.1.0 (code scanning) and JUnit's XML (test reports).
#pragma once

#include <string>
#include <string_view>

#include "cli/report.h"

namespace dray::cli::internal {

// One run with a rule for each reason, and a result for each finding at its place.
std::string ToSarif(const Report& report, std::string_view version);

// A suite per file, a test case per object; its errors are one failure, its warnings its output.
std::string ToJUnit(const Report& report);

}  // namespace dray::cli::internal
