// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/scenario_faults.h"

#include <ostream>

#include "cli/internal/paint.h"
#include "cli/report.h"

namespace dray::cli::internal {

void TellFaults(Io& io, const std::string& file, const std::vector<simulator::Fault>& faults) {
  Report report;
  for (const simulator::Fault& fault : faults) {
    report.findings.push_back({.reason = "Scenario",
                               .object = {.file = file},
                               .position = fault.position,
                               .field = fault.field,
                               .message = fault.message,
                               .hint = fault.hint});
  }
  io.err << ToText(report, {.color = UseColor("auto", io.env.err_is_terminal, io.env)});
}

}  // namespace dray::cli::internal
