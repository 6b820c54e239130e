// SPDX-License-Identifier: Apache-2.0
//
// Cures: what would help a pod or a claim that was refused. Every one of them has been tried: with
// its changes, and the other pending pods left aside, the scheduler places the pod. What suggests
// itself and was found not to be enough is told apart, with how far it gets.
//
// Where no single change is enough, what is missing first (a class that does not exist) is a hint:
// it must be put right, and there is more to do then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "planner/plan.h"

namespace dray::planner {

struct ObjectRef {
  const api::KindInfo* kind = nullptr;
  std::string namespace_;
  std::string name;
};

// Objects as they would be. The others stay.
struct Changes {
  std::vector<api::Object> put;  // instead of those of the same kind and name, or new
  std::vector<ObjectRef> gone;
};
void Apply(const Changes& changes, std::vector<api::Object>& objects);

enum class CureKind : std::uint8_t {
  kWaitFor,        // pods that run end
  kGoFirst,        // pods that wait themselves are scheduled later
  kDeleteClaim,    // a claim that no pod uses
  kChangeRequest,  // a request of a claim asks for something else
  kChangePod,      // tolerations, node selector, affinity, gates
  kCorrectName,    // a name that does not exist becomes one that does
  kExtendNode,     // a node has more
  kAddNode,        // one more node
};
// "wait_for"
std::string_view NameOf(CureKind kind);

enum class Verified : std::uint8_t {
  kSufficient,
  kInsufficient,
  kUnknown,  // not tried: there was too much to try
};
// "sufficient"
std::string_view NameOf(Verified verified);

struct Cure {
  CureKind kind = CureKind::kWaitFor;
  std::string text;  // "wait until pod a ends, which has gpu-0 on node n1"
  Verified verified = Verified::kSufficient;
  std::string node = {};   // kSufficient: where the pod would go
  bool new_node = false;   // the node is one that does not exist, under a made-up name
  std::string still = {};  // kInsufficient: "node a would still be short of 2 devices of class gpu"
  std::string short_of = {};           // kInsufficient: "2 devices of class gpu", where that is all
  std::vector<std::string> pods = {};  // that leave or wait: "namespace/name"
  Changes changes = {};
};

struct Help {
  std::vector<Cure> cures;         // sufficient; at most kMaxCures; what asks least of others first
  std::vector<Cure> others = {};   // not; at most kMaxOthers
  std::vector<std::string> hints;  // in sentences
};
inline constexpr std::size_t kMaxCures = 6;
inline constexpr std::size_t kMaxOthers = 3;

// One thread. Loads the plan's objects once; a pod then costs some dozens of scheduling attempts.
class CureFinder {
 public:
  // Both outlive it.
  CureFinder(const Plan& plan, const PlanOptions& options);
  ~CureFinder();

  // Of what was refused; nothing of others.
  Help For(const PodOutcome& pod);
  Help For(const ClaimOutcome& claim);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dray::planner
