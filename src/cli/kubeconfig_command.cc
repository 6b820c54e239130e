// SPDX-License-Identifier: Apache-2.0
//
// `dray kubeconfig`: credentials for one more client of a control plane.
#include <memory>
#include <ostream>
#include <string>

#include "CLI/CLI.hpp"
#include "apiserver/credentials.h"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "cli/run.h"
#include "plane/identities.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Signs a client certificate with the CA in the data folder of `dray up`, and writes a
kubeconfig with it to that folder; `dray up` may be running. The certificate is valid for a
year; run the command again to renew it.

Examples:
  dray kubeconfig node/node-0                       may write what belongs to its node
  dray kubeconfig driver/gpu.example.com            may write its driver's slices and device status
  dray kubeconfig driver/gpu.example.com --node n1  the same, for one node only
  dray kubeconfig viewer/eve                        may read

Exit code: 0 the kubeconfig was written, 2 it could not be written.)";

class KubeconfigCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("who", who_, "node/NAME, driver/NAME, admin/NAME or viewer/NAME")
        ->type_name("KIND/NAME")
        ->required();
    app.add_option("--node", node_, "Node that the driver runs on")->type_name("NAME");
    AddDataFolder(app, data_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    const auto client = plane::ClientFor(who_, node_);
    if (!client.ok()) return UsageError(io, base::Message(client.status()));
    const auto path =
        apiserver::IssueKubeconfig(DataFolder(io.env, data_), *client, io.env.clock.Now());
    if (!path.ok()) {
      return UsageError(io, base::Message(path.status()),
                        "name the data folder of 'dray up' with --data");
    }
    io.out << *path << '\n';
    return kExitOk;
  }

 private:
  std::string who_;
  std::string node_;
  std::string data_;
};

}  // namespace

std::unique_ptr<Command> MakeKubeconfigCommand() { return std::make_unique<KubeconfigCommand>(); }

}  // namespace dray::cli::internal
