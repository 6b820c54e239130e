// SPDX-License-Identifier: Apache-2.0
//
// The flags of whoever serves the API, with everything else in its process or without.
#pragma once

#include <string>
#include <vector>

#include "cli/environment.h"
#include "cli/internal/audit_flags.h"
#include "cli/internal/etcd_flags.h"
#include "cli/internal/process_flags.h"
#include "plane/control_plane.h"

namespace CLI {
class App;
}

namespace dray::cli::internal {

struct ServeFlags {
  std::string data;
  std::string store;
  EtcdFlags etcd;
  std::string listen = "127.0.0.1:6443";
  std::vector<std::string> advertise;
  std::string tokens;
  Http2Flags http2;
  std::vector<std::string> gates;
  std::string slow_request = "500ms";
  std::string slow_commit = "1s";
  std::string stuck_request = "10s";
  AuditFlags audit;
};

// Where it is and what it keeps; then what it tells.
void AddServeFlags(CLI::App& app, ServeFlags& flags);
void AddServeReports(CLI::App& app, ServeFlags& flags);

// False: something cannot be, which has been said.
bool ReadServeFlags(Io& io, const ServeFlags& flags, plane::PlaneOptions& options);

}  // namespace dray::cli::internal
