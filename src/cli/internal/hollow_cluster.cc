// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/hollow_cluster.h"

#include <ostream>

#include "cli/internal/scenario_faults.h"
#include "fmt/format.h"
#include "simulator/cluster_builder.h"
#include "simulator/scenario.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kPlain = R"(apiVersion: dray/v1alpha1
kind: Scenario
cluster:
  nodeGroups:
  - name: node
    count: {}
    drivers:
    - driver: gpu.example.com
      devices:
      - count: 4
        template:
          name: "gpu-${{index}}"
          attributes:
            index: {{int: "${{index}}"}}
          capacity:
            memory: {{value: 80Gi}}
  objects:
  - template:
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {{name: gpu.example.com}}
      spec:
        extendedResourceName: example.com/gpu
        selectors:
        - cel: {{expression: device.driver == "gpu.example.com"}}
)";

}  // namespace

std::string PlainScenario(std::int64_t nodes) { return fmt::format(kPlain, nodes); }

std::optional<std::vector<api::Object>> ReadHollowCluster(Io& io, const std::string& name,
                                                          std::string_view text,
                                                          const api::FeatureGates& gates) {
  std::vector<simulator::Fault> faults;
  const std::optional<simulator::Scenario> scenario = simulator::ReadScenario(text, faults);
  if (scenario && !scenario->dump.empty()) {
    io.err << fmt::format(
        "error: {}: cluster.from: \"{}\" only works in simulations; kubectl apply the dump "
        "instead\n",
        name, scenario->dump);
    return std::nullopt;
  }
  if (scenario) {
    simulator::ClusterBuilder builder(*scenario);
    faults = builder.Check(gates);
    if (faults.empty()) return builder.Everything();
  }
  TellFaults(io, name, faults);
  return std::nullopt;
}

}  // namespace dray::cli::internal
