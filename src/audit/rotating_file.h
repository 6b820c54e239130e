// SPDX-License-Identifier: Apache-2.0
//
// RotatingFile: a file of lines that is put aside when it has grown to a size, with a few of its
// predecessors kept: audit.log, audit-2026-11-16T03-12-45.123.log, ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "logs/line_writer.h"

namespace dray::audit {

struct RotatingFileOptions {
  std::string path;
  std::uint64_t max_bytes = 100u << 20;  // 0: it is never put aside
  std::size_t max_backups = 0;           // 0: all are kept
};

// For its owner only (mode 0600); what is there already is gone on with. A write that fails leaves
// no half line behind, and the next one is tried again. If somebody else has moved the file away or
// deleted it, as logrotate does, a new one is made. The clock outlives it.
StatusOr<std::unique_ptr<logs::Output>> OpenRotatingFile(const RotatingFileOptions& options,
                                                         const base::Clock& clock);

}  // namespace dray::audit
