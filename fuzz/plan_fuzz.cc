// SPDX-License-Identifier: Apache-2.0
//
// The door of `dray plan`: bytes to manifests to a plan. Properties: no crash, an end within
// bounds, and the same plan whatever the order of the objects.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cel/device_env.h"
#include "cli/manifests.h"
#include "cli/run.h"
#include "cli/validate.h"
#include "planner/plan.h"

namespace {

using namespace dray;  // NOLINT: a fuzz target is about one door

// Larger inputs find the same and take longer.
constexpr std::size_t kMaxBytes = 16 * 1024;
constexpr std::size_t kMaxPods = 20;
constexpr std::uint64_t kWork = 2'000'000;

std::vector<api::Object> ValidObjects(std::string text, const planner::PlanOptions& options) {
  cli::Sources sources;
  sources.files.push_back({.path = "input.yaml", .text = std::move(text)});
  cli::Manifests manifests = cli::ReadManifests(std::move(sources));
  const cel::DeviceExpressionChecker expressions;
  const cli::Report report = cli::Validate(manifests, {.gates = options.gates,
                                                       .expressions = &expressions,
                                                       .now = options.now,
                                                       .fit_together = false});
  std::vector<api::Object> objects;
  if (report.ExitCode() != cli::kExitOk) return objects;
  for (cli::Manifest& manifest : manifests.manifests) {
    objects.push_back(std::move(manifest.object));
  }
  return objects;
}

std::string TextOf(const StatusOr<planner::Plan>& plan) {
  if (!plan.ok()) return "refused";
  std::string text;
  for (const api::Object& object : plan->objects) text += object.ToJson() + "\n";
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxBytes) return 0;
  const planner::PlanOptions options{
      .now = base::Time::FromUnix(1'780'000'000), .work_budget = kWork, .max_made_pods = kMaxPods};
  std::vector<api::Object> objects =
      ValidObjects(std::string(reinterpret_cast<const char*>(data), size), options);
  if (objects.empty()) return 0;
  const std::string text = TextOf(planner::MakePlan(objects, options));
  std::ranges::reverse(objects);
  DRAY_CHECK(TextOf(planner::MakePlan(std::move(objects), options)) == text);
  return 0;
}
