// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/server_flags.h"

#include <utility>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/paint.h"

namespace dray::cli::internal {

void AddServerFlags(CLI::App& app, ServerFlags& flags) {
  app.add_option("--kubeconfig", flags.kubeconfig,
                 "Kubeconfig of the API server (default $KUBECONFIG, else ~/.kube/config)")
      ->type_name("FILE");
  app.add_option("--context", flags.context, "Context of the kubeconfig to use")->type_name("NAME");
}

std::optional<client::ServerAccess> ReadAccess(Io& io, const ServerFlags& flags) {
  auto access = client::LoadAccess(
      {.kubeconfig = flags.kubeconfig, .context = flags.context, .variables = io.env.variables});
  if (access.ok()) return *std::move(access);
  UsageError(io, Printable(base::Message(access.status())));
  return std::nullopt;
}

}  // namespace dray::cli::internal
