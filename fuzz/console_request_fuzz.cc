// SPDX-License-Identifier: Apache-2.0
//
// Bodies of the console's requests. Property: read or refused with a reason, and what was read is
// within its bounds.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "console/requests.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dray;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (const auto plan = console::ReadPlanRequest(body); plan.ok()) {
    DRAY_CHECK(plan->manifests.size() <= console::kMostManifestBytes);
    DRAY_CHECK(plan->gone.size() <= console::kMostChanges);
    std::int64_t nodes = 0;
    for (const auto& more : plan->nodes) {
      DRAY_CHECK(more.count >= 0 && !more.like.empty());
      nodes += more.count;
    }
    DRAY_CHECK(nodes <= console::kMostNodes);
    for (const auto& [name, count] : plan->scale) {
      DRAY_CHECK(count >= 0 && count <= console::kMostReplicas && !name.kind.empty());
    }
  } else {
    DRAY_CHECK(!base::Message(plan.status()).empty());
  }
  if (const auto explain = console::ReadExplainRequest(body); explain.ok()) {
    DRAY_CHECK(explain->pending != explain->target.has_value());
  }
  if (const auto cel = console::ReadCelRequest(body); cel.ok())
    DRAY_CHECK(!cel->expression.empty());
  if (const auto run = console::ReadSimulationRequest(body); run.ok()) {
    DRAY_CHECK(run->scenario.empty() != run->text.empty());
  }
  return 0;
}
