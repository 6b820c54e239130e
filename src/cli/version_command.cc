// SPDX-License-Identifier: Apache-2.0
//
// `dray version`. DRAY_VERSION is the version of the CMake project.
#include <ostream>
#include <string>

#include "CLI/CLI.hpp"
#include "api/json.h"
#include "cli/internal/command.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/options.h"
#include "cli/run.h"
#include "fmt/format.h"
#include "registry/handler.h"

namespace dray::cli::internal {
namespace {

// The release whose API is served, as `kubectl version` shows it of a server of dray's.
std::string KubernetesVersion() { return registry::HandlerOptions().version; }

class VersionCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddOutput(app, output_, {"text", "json"});
    app.footer("Examples:\n  dray version\n  dray version -o json");
  }

  int Run(Io& io) override {
    if (output_ == "json") {
      const api::DocumentNode document = Map(
          {{"version", String(DRAY_VERSION)}, {"kubernetesVersion", String(KubernetesVersion())}});
      io.out << api::IndentJson(api::ToJson(document), 2) << '\n';
    } else {
      io.out << fmt::format("dray {} (Kubernetes API {})\n", DRAY_VERSION, KubernetesVersion());
    }
    return kExitOk;
  }

 private:
  std::string output_ = "text";
};

}  // namespace

std::unique_ptr<Command> MakeVersionCommand() { return std::make_unique<VersionCommand>(); }

}  // namespace dray::cli::internal
