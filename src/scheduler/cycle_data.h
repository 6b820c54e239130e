// SPDX-License-Identifier: Apache-2.0
//
// What the framework and plugins tell each other through CycleState, besides each plugin's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bit_set.h"
#include "base/time.h"

namespace dray::scheduler {

struct NodeInfo;

// Written by PreFilter: the pod can only run on these nodes, so that others need not be asked. A
// framework that asks them all the same gets the same answer from the plugins' filters.
struct CandidateNodes {
  bool restricted = false;
  std::vector<std::string> names;  // sorted, each once

  // Narrows down to those that are in `only`, too.
  void Restrict(std::vector<std::string> only);
};

// Written by the framework before PreScore: the nodes that passed, in the order of the scores. Made
// when somebody asks, since most pods need only the best of them.
struct FeasibleNodes {
  std::function<std::span<const NodeInfo* const>()> list;
  std::span<const NodeInfo* const> nodes() const { return list(); }
};

// Written by the framework while it asks filters: what becomes of devices that are held for other
// pods (World::holds), of those that go before this one.
struct HeldDevices {
  enum class View : std::uint8_t {
    kIgnored,
    kTaken,  // now: they are in use, beside everything else that is
    // When those have gone that were sent away for them: what they give back is free, and what is
    // held is in use.
    kAfterwards,
  };
  View view = View::kIgnored;
};

// Written by the framework before PreFilter: the nodes that may be tried for a pod of a group now, by rank
// (KEP-5732). Null: all.
struct GroupPlacement {
  const base::BitSet* nodes = nullptr;
  std::string label;  // "key=value", which they have in common
};

// Written by PreBind with kWait: when the answer is another one although nothing has changed. The
// plugin is asked again then. None: never.
struct WaitsUntil {
  std::optional<base::Time> time;
  // Something was written that may have happened (api::MayHaveHappened). Until the plugin knows,
  // nothing is undone, whatever becomes of the pod: it is asked again, and Unreserve comes only
  // after an answer that is sure.
  bool in_doubt = false;
};
// How long to wait before what is in doubt is looked at again.
inline constexpr std::chrono::seconds kDoubtNap{1};

}  // namespace dray::scheduler
