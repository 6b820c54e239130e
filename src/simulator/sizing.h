// SPDX-License-Identifier: Apache-2.0
//
// Sizing: how many nodes of a group are enough, found by simulating. Enough means that at the end
// nobody is without a node; with one node fewer somebody is, which is shown by a run of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "simulator/result.h"
#include "simulator/scenario.h"

namespace dray::simulator {

// What became of a scenario with so many nodes of the group.
struct SizingRun {
  std::int64_t nodes = 0;
  std::int64_t without_node = 0;  // pods at the end
  Duration longest_wait{0};
  std::string reason;  // most attempts ended with it; empty: none failed

  bool fits() const { return without_node == 0; }
};

struct Sizing {
  std::string group;
  std::int64_t given = 0;  // nodes that the scenario has of it
  // Nothing: no number of nodes helps; the last run says why.
  std::optional<std::int64_t> enough;
  std::vector<SizingRun> runs;  // by nodes

  const SizingRun* Find(std::int64_t nodes) const;
};

// Runs a scenario; the scenario is the given one but for the number of nodes.
using RunScenario = std::function<StatusOr<Result>(const Scenario&)>;

// The number may go up to `most`, but never beyond a node for each pod that comes: more cannot help.
// NotFound: there is no such group. Not OK as well when a run is not.
StatusOr<Sizing> FindEnoughNodes(const Scenario& scenario, std::string_view group,
                                 std::int64_t most, const RunScenario& run);

std::string ToText(const Sizing& sizing);
// {"group","given","enough","runs":[{"nodes","withoutNode","longestWait","fits","reason"}]}
std::string ToJson(const Sizing& sizing);

}  // namespace dray::simulator
