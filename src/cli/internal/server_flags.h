// SPDX-License-Identifier: Apache-2.0
//
// --kubeconfig and --context, for commands that talk to an API server.
#pragma once

#include <optional>
#include <string>

#include "cli/environment.h"
#include "client/kubeconfig.h"

namespace CLI {
class App;
}

namespace dray::cli::internal {

struct ServerFlags {
  std::string kubeconfig;
  std::string context;

  bool given() const { return !kubeconfig.empty() || !context.empty(); }
};
void AddServerFlags(CLI::App& app, ServerFlags& flags);

// Nothing: the server is not known, or how to talk to it; that has been said.
std::optional<client::ServerAccess> ReadAccess(Io& io, const ServerFlags& flags);

}  // namespace dray::cli::internal
