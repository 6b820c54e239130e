// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/console_desk.h"

#include <utility>
#include <vector>

#include "cli/internal/console_manifests.h"
#include "cli/internal/console_scenarios.h"
#include "cli/internal/server_objects.h"
#include "console/planning.h"

namespace dray::cli::internal {
namespace {

class ConsoleDesk final : public console::Desk {
 public:
  explicit ConsoleDesk(ConsoleDeskOptions options)
      : options_(std::move(options)), kinds_(DecidingKinds()) {}

  std::span<const api::KindInfo* const> Kinds() const override { return kinds_; }
  console::Answer Plan(const console::PlanRequest& request, console::Scene scene) override {
    return console::PlanScene(request, std::move(scene), options_.gates, ReadConsoleManifests);
  }
  console::Answer Explain(const console::ExplainRequest& request, console::Scene scene) override {
    return console::ExplainScene(request, std::move(scene), options_.gates);
  }
  console::Answer Scalable(console::Scene scene) override { return console::ScalableIn(scene); }
  console::Answer Scenarios() override { return ListScenarios(options_.scenarios); }
  console::Answer Simulate(const console::SimulationRequest& request,
                           const std::function<void(const Started&)>& started,
                           const std::function<void(const console::SimulationProgress&)>& progress,
                           const std::function<bool()>& cancelled) override {
    return RunScenario(options_.scenarios, request, started, progress, cancelled);
  }

 private:
  const ConsoleDeskOptions options_;
  const std::vector<const api::KindInfo*> kinds_;
};

}  // namespace

std::unique_ptr<console::Desk> MakeConsoleDesk(ConsoleDeskOptions options) {
  return std::make_unique<ConsoleDesk>(std::move(options));
}

}  // namespace dray::cli::internal
