// SPDX-License-Identifier: Apache-2.0
//
// Defragmentation: a short list of moves after which pods that wait get their places, or nodes or
// devices are free. Nothing is moved here: who carries it out evicts the pods of the list, one after
// the other, and whoever made them makes them again.
//
// Each move finds room at its turn: the pod leaves its node and has a place on another one, while
// everybody else is where they were. A pod is moved once at most. When all have been made, what was
// asked for is there; the planner, asked anew about the cluster as it would be then, says so too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "api/label_selector.h"
#include "base/status.h"
#include "planner/plan.h"

namespace dray::planner {

struct PodName {
  std::string namespace_;
  std::string name;
  friend auto operator<=>(const PodName&, const PodName&) = default;
};

// So many devices of a class that nobody has any of, all of which one pod could have.
struct FreeDevices {
  std::string device_class;
  std::int64_t count = 1;
};

// All that is said shall be so in the end. Nothing said: every pod that waits has a place.
struct DefragGoal {
  std::vector<PodName> pods;              // these have a place
  std::optional<std::string> namespace_;  // nothing else said: of this namespace alone
  std::vector<std::string> nodes;         // nobody is on these but daemons
  // So many nodes that the selector selects, those above included, have nobody but daemons.
  std::size_t node_count = 0;
  api::LabelMatcher node_selector;
  std::vector<FreeDevices> devices;
};

struct DefragOptions {
  std::size_t max_moves = 8;
  std::size_t budget = 20'000;               // attempts to place a pod somewhere
  std::optional<std::vector<PodName>> only;  // nobody but these is moved
  bool bare_pods = false;                    // also pods that nobody would make again
  bool empty_dirs = false;                   // also pods whose emptyDir is lost
  // Pods above it stay. Nothing: where pods want a place, those that are more important than the
  // least of them; else those of the system.
  std::optional<std::int32_t> max_priority;
};

// Why a pod stays where it is.
enum class KeptBy : std::uint8_t {
  kDaemonSet,     // every node has its own
  kStatic,        // its node's kubelet runs it from a file
  kTerminating,   // it goes anyway
  kNoController,  // nobody would make it again
  kNotSafe,       // cluster-autoscaler.kubernetes.io/safe-to-evict: "false"
  kLocalStorage,  // what it has on the node would be lost
  kSharedClaim,   // its devices are not its own
  kGroup,         // it runs with others or not at all
  kBudget,        // a PodDisruptionBudget lets nobody go
  kPriority,      // it is more important
  kNotNamed,      // others were named (DefragOptions::only)
};
std::string_view CodeOf(KeptBy rule);  // "daemon_set", "no_controller"

struct KeptPod {
  PodName pod;
  std::string node;
  KeptBy rule = KeptBy::kDaemonSet;
  std::string text;  // "PodDisruptionBudget web allows no disruption now"
};

struct Move {
  PodName pod;
  std::string uid;
  std::vector<std::string> owners;  // as in PodOutcome
  std::int32_t priority = 0;
  std::string from;
  std::string to;
  std::vector<ClaimUse> before;  // its devices
  std::vector<ClaimUse> after;
};

// What gets a place in the end.
struct Arrival {
  PodName pod;
  std::optional<FreeDevices> devices;  // no pod: they stay free
  std::string node;
  std::vector<ClaimUse> claims;
};

struct Defrag {
  bool reached = false;
  std::vector<Move> moves;  // in the order in which they are to be made
  std::vector<Arrival> arrivals;
  std::vector<std::string> free_nodes;
  // No shorter list of such moves does it; and of equally short ones none moves less important pods.
  bool shortest = false;
  bool cheapest = false;
  // Not reached: the budget was spent. Else no list of at most `most` moves does it.
  bool gave_up = false;
  std::size_t most = 0;
  std::vector<std::string> reasons;  // not reached: why, as far as that is known, in sentences
  std::vector<KeptPod> kept;         // by namespace and name
  std::vector<PodName> others;       // that also wait, and were left aside
  std::vector<std::string> notes;    // of the plan: what was assumed, what was left out
  std::size_t attempts = 0;
};

// The objects are those of MakePlan, with its errors. NotFound: a pod, node or class of the goal is
// not there; InvalidArgument: the goal names what nobody can move away. The same input gives the same
// list.
StatusOr<Defrag> FindMoves(std::vector<api::Object> objects, const DefragGoal& goal,
                           const PlanOptions& plan, const DefragOptions& options = {});

}  // namespace dray::planner
