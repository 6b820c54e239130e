// SPDX-License-Identifier: Apache-2.0
//
// Cures: what would help a pod or a claim that was refused. Every one of them has been tried: with
// its changes, and the other pending pods left aside, the scheduler places the pod. What was tried
// and did not help is not told.
//
// Where no single change is enough, what is missing first (a class that does not exist) is a hint:
// it must be put right, and there is more to do then.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
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

struct Cure {
  std::string text;       // "wait until pod a ends, which has gpu-0 on node n1"
  std::string node;       // where the pod would go
  bool new_node = false;  // the node is one that does not exist, under a made-up name
  Changes changes;
};

struct Help {
  std::vector<Cure> cures;         // at most kMaxCures; what asks least of others first
  std::vector<std::string> hints;  // in sentences
};
inline constexpr std::size_t kMaxCures = 6;

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
