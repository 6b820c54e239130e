// SPDX-License-Identifier: Apache-2.0
//
// The search for cures of one pod: what suggests itself is tried, in the order in which it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/explanation.h"
#include "api/node.h"
#include "api/pod.h"
#include "planner/cures.h"
#include "planner/internal/cure_changes.h"
#include "planner/internal/trial.h"

namespace dray::planner::internal {

// What a search is about, and what it has found.
struct CureCase {
  api::Object pod;
  const scheduler::PodExplanation& why;
  const PlannedOccupants& planned;
  Help help = {};
  std::set<std::string> said = {};
  std::size_t tries_before = 0;

  const api::Pod& spec() const { return *pod.As<api::Pod>(); }
};

// One thread; both arguments outlive it.
class CureSearch {
 public:
  CureSearch(Trial& trial, CureCase& of) : trial_(trial), case_(of) {}

  void Run();

 private:
  // What has been done so far to make the pod fit on a node.
  struct Repaired;
  // A cure that is to be tried.
  struct Idea {
    CureKind kind;
    std::string text;
    std::vector<std::string> pods = {};
  };

  bool Exhausted() const;
  bool Full() const { return case_.help.cures.size() >= kMaxCures || Exhausted(); }
  // Whether it helps; then it is one of the cures. Else, with `tell`, how far it gets is told.
  bool Offer(Idea idea, const api::Object& pod, Changes changes, bool tell = false);
  void Tell(Idea idea, const Trial::Answer* answer, Changes changes);
  Changes With(const api::Object& pod, Changes changes) const;
  // The closest first.
  std::vector<std::string> Nodes() const;
  bool Closer(const scheduler::PodExplanation& why) const;

  // Somebody else leaves.
  std::string TextOf(const std::vector<Occupant>& leave, const std::string& node) const;
  Idea LeaveIdea(const std::vector<Occupant>& leave, const std::string& node) const;
  bool OfferWithout(const std::vector<Occupant>& leave, const std::string& node);
  bool FitsWithout(const std::vector<Occupant>& leave);
  void WaitFor(const std::string& node, bool tell);

  // The pod asks for something else (cure_requests.cc).
  using EditRequest = std::function<bool(const RequestFields&)>;
  void OfferRequest(const allocator::ClaimReport& report, std::string_view alternative,
                    std::string text, const EditRequest& edit, bool tell);
  void OfferFor(const allocator::ClaimReport& claim, const allocator::AlternativeReport& report,
                const allocator::Drop& drop);
  struct Asked {
    std::int64_t needed = 0;
    std::string who;                                // of extended resources
    std::set<std::int64_t, std::greater<>> counts;  // that some node has
  };
  void OfferCounts(const std::string& claim_name, const std::string& request, const Asked& asked);
  void OfferExtended(std::string_view who, std::int64_t count, std::int64_t needed);
  void OfferConstraint(const allocator::ClaimReport& report, std::size_t index);
  void Requests();

  void OfferPod(std::string text, const std::function<void(api::PodSpec&)>& edit);
  void PodItself();
  void Tolerate(std::string_view what);

  // The node has more (cure_repair.cc).
  const allocator::DeviceName* LikeWhat(const allocator::Explanation& on_node) const;
  bool RepairOne(const scheduler::Reason& reason, const std::string& node, Repaired& done);
  bool Repair(const std::string& node);
  bool AnotherNode(const std::string& node);

  Trial& trial_;
  CureCase& case_;
};

// `what` is "toleration for key=value:effect".
std::string_view TaintIn(std::string_view what);
void AddToleration(api::PodSpec& spec, std::string_view taint);
void ForgetNodes(api::PodSpec& spec);

}  // namespace dray::planner::internal
