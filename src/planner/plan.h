// SPDX-License-Identifier: Apache-2.0
//
// Plans: what would become of the pods and claims of a set of objects. Controllers and the
// scheduler run on a cluster in memory, on a clock that only moves when somebody waits, until
// nothing changes any more; what has happened by then is the plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/search.h"
#include "api/gates.h"
#include "api/kinds.h"
#include "base/executor.h"
#include "base/status.h"
#include "base/time.h"
#include "scheduler/config.h"
#include "scheduler/explanation.h"

namespace dray::planner {

// Which of the nodes that slices and pods name are taken to exist although no object says so.
enum class AssumeNodes : std::uint8_t {
  kIfNone,  // all of them if there is no Node at all
  kAlways,
  kNever,
};

struct PlanOptions {
  api::FeatureGates gates;
  scheduler::Config config;
  allocator::Policy policy = allocator::Policy::kFirstFit;
  base::Time now;
  AssumeNodes assume_nodes = AssumeNodes::kIfNone;
  // Pods of a scheduler that `config` has no profile for: planned as the default profile would do it, with a note;
  // else refused, since the name may be wrong.
  bool assume_schedulers = false;
  // The objects are all there are, as of a server: a PersistentVolumeClaim that is not among them does
  // not exist. Else it was not dumped, and pods are planned without it.
  bool everything_given = false;
  // Of the search for a claim's devices on a node.
  std::uint64_t work_budget = allocator::kDefaultWork;
  // Of Deployments, ReplicaSets and Jobs together: one line of a manifest may ask for any number.
  std::size_t max_made_pods = 100'000;
  // See scheduler::SchedulerOptions; the plan is the same with any. Outlives the call.
  base::Executor* executor = nullptr;
  // Asked now and then; true: it is too late, and DeadlineExceeded is returned. Null: it takes what
  // it takes.
  std::function<bool()> expired = nullptr;
};

enum class State : std::uint8_t {
  kExisting,   // a pod that was on its node, a claim that was allocated
  kPlaced,     // a pod that got a node, a claim that got devices
  kWaiting,    // has a node and devices; their drivers have to say that they are ready
  kRefused,    // see the explanation
  kPreempted,  // was on a node and had to go for a more important one
};

// A device, or a share of one.
struct DeviceGrant {
  std::string request;  // "request" or "request/subrequest"
  std::string driver;
  std::string pool;
  std::string device;
  std::string share_id;                                       // empty: the whole device
  std::vector<std::pair<std::string, std::string>> consumed;  // capacity by name
  bool admin_access = false;
};

struct ClaimUse {
  std::string name;
  std::string pod_claim;  // the entry of spec.resourceClaims; empty: of the extended resources
  std::vector<DeviceGrant> devices;
};

struct PodOutcome {
  std::string namespace_;
  std::string name;
  // What it was made by, nearest first: "ReplicaSet/demo-57999b9c4c", "Deployment/demo".
  std::vector<std::string> owners;
  State state = State::kRefused;
  // It was not among the objects: a controller would make it, under this or another name.
  bool made = false;
  // Since when it has been there, where that is known.
  std::optional<base::Time> created = {};
  std::string node;
  // kPreempted: "pod default/high", or "pod default/high to give back device a/b/c", or "podgroup default/train ..."; empty: not
  // known.
  std::string preempted_for = {};
  std::vector<ClaimUse> claims;
  std::optional<scheduler::PodExplanation> explanation;  // kRefused
};

// Pods that a workload asks for and that a server would not let it have.
struct MissingPods {
  std::string namespace_;
  // The workload and what it was made by, nearest first: "ReplicaSet/demo-57999b9c4c",
  // "Deployment/demo".
  std::vector<std::string> owners;
  std::int64_t wanted = 0;
  std::int64_t missing = 0;
  std::string reason;  // "exceeded quota: ..."
};

// A claim that no pod uses: what the first pod that did would get.
struct ClaimOutcome {
  std::string namespace_;
  State state = State::kRefused;
  std::string node;  // empty if it can be used on several
  ClaimUse claim;
  std::optional<scheduler::PodExplanation> explanation;  // kRefused
};

// Objects of a kind that plans know nothing of.
struct Skipped {
  std::string kind;
  std::size_t count = 0;
};

struct Plan {
  std::vector<PodOutcome> pods;      // but those that have ended; by namespace and name
  std::vector<ClaimOutcome> claims;  // by namespace and name
  std::vector<MissingPods> missing;  // by namespace and name
  std::vector<std::string> notes;    // what was assumed, what was left out
  std::vector<api::Object> objects;  // the cluster afterwards, events left out; by kind and name
  std::vector<Skipped> skipped;      // filled in by whoever read the objects; by kind

  // Of pods and claims.
  std::size_t Count(State state) const;
  std::size_t SkippedObjects() const;
  // Whether everything that was asked for is there in the end.
  bool Satisfied() const { return Count(State::kRefused) == 0 && missing.empty(); }
};

// The objects are valid (api/validation.h); none is given twice, or AlreadyExists is returned.
// InvalidArgument, with the reason, if they ask for too many pods, or if a workload is among them
// that can never be satisfied, such as one that does not select the pods that it makes. Their order does not matter: pods are tried as by a scheduler that sees all of them at once, the most
// important first, then the oldest, then by namespace and name; claims that no pod uses come last.
// The same objects give the same plan.
StatusOr<Plan> MakePlan(std::vector<api::Object> objects, const PlanOptions& options);

}  // namespace dray::planner
