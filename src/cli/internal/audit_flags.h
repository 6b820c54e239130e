// SPDX-License-Identifier: Apache-2.0
//
// The flags of the audit log, by kube-apiserver's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/environment.h"
#include "plane/control_plane.h"

namespace CLI {
class App;
}

namespace dray::cli::internal {

struct AuditFlags {
  std::string path;
  std::string policy;
  std::int64_t max_megabytes = 100;
  std::int64_t max_backups = 0;
};
void AddAuditFlags(CLI::App& app, AuditFlags& flags);
// Nothing: what was given makes no sense, which has been said.
std::optional<plane::AuditOptions> ReadAuditFlags(Io& io, const AuditFlags& flags);

}  // namespace dray::cli::internal
