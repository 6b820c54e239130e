// SPDX-License-Identifier: Apache-2.0
//
// The enumeration itself. Inside the model.
// Spec: docs/spec/allocator.md 3 to 6 and 8 to 11.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "model/expressions.h"
#include "model/groups.h"
#include "model/model.h"
#include "model/plan.h"
#include "model/pools.h"
#include "model/taken.h"

namespace dray::model {

// One attempt. Methods throw Abort. One thread.
class Search {
 public:
  Search(const Instance& instance, std::uint64_t max_steps)
      : instance_(instance), features_(instance.features), max_steps_(max_steps) {}

  Outcome Run();
  std::uint64_t steps() const { return steps_; }

  // Thrown when there are more steps than allowed.
  struct OutOfSteps {};

 private:
  enum class Verdict { kFound, kFailed, kTooMany };

  // Before the search (prepare.cc).
  void Gather();
  void Prepare();
  ClaimPlan PrepareClaim(const api::ResourceClaim& claim);
  Alternative PrepareAlternative(const api::ResourceClaim& claim, const RequestView& view);

  // The recursion (search.cc).
  void Step();
  Verdict AtRequest(std::size_t claim, std::size_t request);
  Verdict AtDevice(std::size_t claim, std::size_t request, const Alternative& alternative,
                   std::int64_t done, std::size_t start);
  Verdict Take(Choice choice, std::size_t request, std::int64_t done, std::size_t start);
  std::int64_t ChosenFor(std::size_t claim) const;

  // Checks of a candidate (checks.cc).
  bool InUse(std::size_t claim, const RequestView& view, const Candidate& candidate) const;
  bool Selectable(const api::ResourceClaim& claim, const Alternative& alternative,
                  std::size_t candidate);
  bool SelectableAnew(const api::ResourceClaim& claim, const Alternative& alternative,
                      const Candidate& candidate);
  bool Selected(const Alternative& alternative, const Candidate& candidate);
  void DeriveFor(const api::ResourceClaim& claim, const RequestView& view,
                 const Candidate& candidate);
  void DeriveForCandidates();
  FitResult CapacityFor(const RequestView& view, const Candidate& candidate) const;
  bool Usable(std::size_t claim, const Alternative& alternative, const Candidate& candidate);
  bool NodeOperationsAllow(const Candidate& candidate) const;
  bool GroupsAllow(const Candidate& candidate) const;
  bool CountersAllow(const Candidate& candidate) const;
  bool TaintsAllow(const RequestView& view, const Candidate& candidate) const;
  bool ConstraintAllows(std::size_t claim, const RequestView& view, const Candidate& candidate,
                        const api::DeviceConstraint& constraint, const std::string& name,
                        bool match);
  bool ConstraintsAllow(std::size_t claim, const RequestView& view, const Candidate& candidate);

  bool MultiAllocatable(const Candidate& candidate) const;
  // Whether a choice draws on counters and groups: not a further share of a device.
  bool Draws(const Candidate& candidate, std::size_t before) const;
  std::map<std::string, CommonGroups> GroupsOfTaken(const Pool& pool) const;
  std::set<std::string> ClosedCounterSets(const Pool& pool) const;
  std::optional<api::DeviceAttribute> AttributeFor(const RequestView& view,
                                                   const Candidate& candidate,
                                                   const std::string& name);

  const Instance& instance_;
  const Features& features_;
  const std::uint64_t max_steps_;
  std::uint64_t steps_ = 0;

  Expressions expressions_;
  Taken taken_;
  std::vector<Pool> pools_;
  std::vector<Candidate> candidates_;
  std::vector<ClaimPlan> plans_;
  std::vector<Choice> choices_;
  // What selectors said, so that each is asked once per (sub)request and device.
  std::map<std::pair<const void*, std::size_t>, bool> selectable_;
};

}  // namespace dray::model
