// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/cure_search.h"

#include <algorithm>

#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/missing.h"
#include "planner/internal/outcomes.h"
#include "scheduler/explain_groups.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

// Bounds on what is tried for one pod.
constexpr std::size_t kMaxNodes = 4;
constexpr std::size_t kMaxOccupants = 48;
constexpr std::size_t kMaxSingles = 12;
constexpr std::size_t kMaxTries = 150;
// Of those that would all have to leave, so many are named.
constexpr std::size_t kNamedLeavers = 8;

// "2 devices of class gpu" of "short of 2 devices of class gpu", where there is nothing else.
std::string ShortOf(const scheduler::ClosestMiss& closest) {
  constexpr std::string_view kShort = "short of ";
  if (closest.reasons.size() != 1 || closest.reasons.front().shortages.size() != 1 ||
      !closest.lacks.starts_with(kShort)) {
    return "";
  }
  return closest.lacks.substr(kShort.size());
}

// Whether somebody who is there could be sent away for the pod: a trial does not do that.
bool MayPreempt(const api::Pod& pod, const Trial& trial) {
  if (pod.spec.preemption_policy == "Never") return false;
  for (const api::Object* object : trial.List(KindOf<api::Pod>())) {
    const api::Pod& other = *object->As<api::Pod>();
    if (other.spec.node_name.empty() || scheduler::IsTerminated(other)) continue;
    if (other.spec.priority.value_or(0) < pod.spec.priority.value_or(0)) return true;
  }
  return false;
}

}  // namespace

std::string_view TaintIn(std::string_view what) {
  constexpr std::string_view kFor = " for ";
  const auto at = what.find(kFor);
  return at == std::string_view::npos ? std::string_view() : what.substr(at + kFor.size());
}

void AddToleration(api::PodSpec& spec, std::string_view taint) {
  const TaintText parsed = ParseTaint(taint);
  spec.tolerations.push_back({.key = parsed.key, .operator_ = "Exists", .effect = parsed.effect});
}

void ForgetNodes(api::PodSpec& spec) {
  spec.node_selector = {};
  if (spec.affinity.has_value() && spec.affinity->node_affinity.has_value()) {
    spec.affinity->node_affinity->required.reset();
  }
}

void CureSearch::Run() {
  FindMissing(trial_, case_.pod, case_.help);
  const std::vector<std::string> nodes = Nodes();
  for (const std::string& node : nodes) WaitFor(node, node == nodes.front());
  Requests();
  PodItself();
  for (const std::string& node : nodes) {
    if (Repair(node)) break;
  }
  for (const std::string& node : nodes) {
    if (AnotherNode(node)) break;
  }
}

bool CureSearch::Exhausted() const { return trial_.tries() - case_.tries_before >= kMaxTries; }

Changes CureSearch::With(const api::Object& pod, Changes changes) const {
  if (pod.ToJson() != case_.pod.ToJson()) changes.put.push_back(pod);
  return changes;
}

bool CureSearch::Offer(Idea idea, const api::Object& pod, Changes changes, bool tell) {
  if (case_.help.cures.size() >= kMaxCures || case_.said.contains(idea.text)) return false;
  if (Exhausted()) {
    Tell(std::move(idea), nullptr, With(pod, std::move(changes)));
    return false;
  }
  const Trial::Answer answer = trial_.Try(pod, changes);
  if (!answer.placed) {
    if (tell) Tell(std::move(idea), &answer, With(pod, std::move(changes)));
    return false;
  }
  case_.said.insert(idea.text);
  case_.help.cures.push_back({.kind = idea.kind,
                              .text = std::move(idea.text),
                              .node = answer.node,
                              .pods = std::move(idea.pods),
                              .changes = With(pod, std::move(changes))});
  return true;
}

void CureSearch::Tell(Idea idea, const Trial::Answer* answer, Changes changes) {
  if (case_.help.others.size() >= kMaxOthers) return;
  const bool open = answer == nullptr || MayPreempt(case_.spec(), trial_);
  if (answer != nullptr && open) return;  // more important than others: not known to be too little
  if (!case_.said.insert(idea.text).second) return;
  Cure cure{.kind = idea.kind,
            .text = std::move(idea.text),
            .verified = open ? Verified::kUnknown : Verified::kInsufficient,
            .pods = std::move(idea.pods),
            .changes = std::move(changes)};
  if (answer != nullptr) {
    if (const auto& closest = answer->why.closest) {
      cure.still = fmt::format("node {} would still be {}", closest->node, closest->lacks);
      cure.short_of = ShortOf(*closest);
    } else if (!answer->why.before.empty()) {
      cure.still = answer->why.before.front().text;
    }
  }
  case_.help.others.push_back(std::move(cure));
}

// Who leaves without giving anything that is lacking is not worth a line.
bool CureSearch::Closer(const scheduler::PodExplanation& why) const {
  if (!why.closest || !case_.why.closest) return true;
  return why.closest->lacks != case_.why.closest->lacks;
}

std::vector<std::string> CureSearch::Nodes() const {
  std::vector<std::string> nodes;
  const auto add = [&](const std::string& node) {
    if (nodes.size() < kMaxNodes && std::ranges::find(nodes, node) == nodes.end()) {
      nodes.push_back(node);
    }
  };
  if (case_.why.closest) add(case_.why.closest->node);
  for (const scheduler::NodeGroup* group : scheduler::NearestFirst(case_.why)) {
    if (!group->examples.empty()) add(group->examples.front());
  }
  return nodes;
}

std::string CureSearch::TextOf(const std::vector<Occupant>& leave, const std::string& node) const {
  const auto called = [&](const Occupant& occupant) {
    const std::string space =
        occupant.namespace_ == case_.pod.metadata().namespace_ ? "" : occupant.namespace_ + "/";
    return fmt::format("{} {}{}", occupant.pod ? "pod" : "claim", space, occupant.name);
  };
  const auto planned = [&](const Occupant& occupant) { return case_.planned.contains(occupant); };
  if (leave.size() == 1) {
    const Occupant& one = leave.front();
    const auto has = [&](std::string_view how) {
      return one.devices.empty() ? "" : fmt::format(", which {} {}", how, one.devices);
    };
    if (planned(one)) {
      return fmt::format("schedule it before {}{}", called(one), has("would get"));
    }
    if (one.pod) {
      return fmt::format("wait until {} on node {} ends{}", called(one), node, has("has"));
    }
    return fmt::format("delete {}, which no pod uses and which has {}", called(one), one.devices);
  }
  std::string names;
  for (std::size_t i = 0; i < std::min(leave.size(), kNamedLeavers); ++i) {
    names.append(names.empty() ? "" : ", ").append(called(leave[i]));
  }
  if (leave.size() > kNamedLeavers) {
    names += fmt::format(" and {} more", leave.size() - kNamedLeavers);
  }
  return std::ranges::all_of(leave, planned)
             ? fmt::format("schedule it before all of these: {}", names)
             : fmt::format("wait until all of these have left node {}: {}", node, names);
}

CureSearch::Idea CureSearch::LeaveIdea(const std::vector<Occupant>& leave,
                                       const std::string& node) const {
  const bool planned = std::ranges::all_of(
      leave, [&](const Occupant& occupant) { return case_.planned.contains(occupant); });
  const bool claims = std::ranges::none_of(leave, &Occupant::pod);
  Idea idea{.kind = planned  ? CureKind::kGoFirst
                    : claims ? CureKind::kDeleteClaim
                             : CureKind::kWaitFor,
            .text = TextOf(leave, node)};
  for (const Occupant& occupant : leave) {
    if (occupant.pod) idea.pods.push_back(KeyOf(occupant.namespace_, occupant.name));
  }
  return idea;
}

bool CureSearch::OfferWithout(const std::vector<Occupant>& leave, const std::string& node) {
  return Offer(LeaveIdea(leave, node), case_.pod, Without(trial_, leave));
}

bool CureSearch::FitsWithout(const std::vector<Occupant>& leave) {
  return !Full() && trial_.Try(case_.pod, Without(trial_, leave)).placed;
}

void CureSearch::WaitFor(const std::string& node, bool tell) {
  // Devices alone first: who only runs there is asked to leave when room is what is missing.
  bool told = false;
  for (const bool pods : {false, true}) {
    std::vector<Occupant> all = OccupantsOf(trial_, node, pods);
    if (all.empty() || all.size() > kMaxOccupants) continue;
    if (!FitsWithout(all)) {
      // Nobody has to wait for what does not come: it is said how far it would get.
      if (tell && !told && !Full()) {
        const Changes changes = Without(trial_, all);
        const Trial::Answer answer = trial_.Try(case_.pod, changes);
        if (!answer.placed && Closer(answer.why)) Tell(LeaveIdea(all, node), &answer, changes);
        told = true;
      }
      continue;
    }
    if (told && !case_.help.others.empty()) case_.help.others.pop_back();
    bool alone = false;
    for (std::size_t i = 0; i < all.size() && i < kMaxSingles; ++i) {
      alone |= OfferWithout({all[i]}, node);
      if (Full() || case_.help.cures.size() >= kMaxCures / 2) return;
    }
    if (alone) return;
    // Nobody alone: all but those that may stay, the last first.
    for (std::size_t i = all.size(); i-- > 0 && all.size() > 1;) {
      std::vector<Occupant> fewer = all;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (FitsWithout(fewer)) all = std::move(fewer);
    }
    OfferWithout(all, node);
    return;
  }
}

void CureSearch::OfferPod(std::string text, const std::function<void(api::PodSpec&)>& edit) {
  api::Object pod = case_.pod;
  edit(pod.Mutable<api::Pod>()->spec);
  Offer({.kind = CureKind::kChangePod, .text = std::move(text)}, pod, {}, /*tell=*/true);
}

void CureSearch::PodItself() {
  const auto offer = [&](const scheduler::Reason& reason) {
    if (reason.code == "node_taint" && !reason.shortages.empty()) {
      Tolerate(reason.shortages.front().what);
    } else if (reason.code == "node_affinity") {
      OfferPod("remove the pod's node selector and required node affinity",
               [](api::PodSpec& spec) { ForgetNodes(spec); });
    } else if (reason.code == "pod_affinity") {
      OfferPod("remove the pod's affinity to other pods", [](api::PodSpec& spec) {
        if (spec.affinity.has_value()) spec.affinity->pod_affinity.reset();
      });
    } else if (reason.code == "pod_anti_affinity") {
      OfferPod("remove the pod's anti-affinity", [](api::PodSpec& spec) {
        if (spec.affinity.has_value()) spec.affinity->pod_anti_affinity.reset();
      });
    } else if (reason.code == "topology_spread" || reason.code == "topology_label_missing") {
      OfferPod("remove the pod's topology spread constraints",
               [](api::PodSpec& spec) { spec.topology_spread_constraints.clear(); });
    } else if (reason.code == "scheduling_gates") {
      OfferPod("remove the pod's scheduling gates",
               [](api::PodSpec& spec) { spec.scheduling_gates.clear(); });
    }
  };
  for (const scheduler::Reason& reason : case_.why.before) offer(reason);
  for (const scheduler::NodeGroup* group : scheduler::NearestFirst(case_.why)) {
    for (const scheduler::Reason& reason : group->reasons) offer(reason);
  }
}

void CureSearch::Tolerate(std::string_view what) {
  const std::string_view taint = TaintIn(what);
  if (taint.empty()) return;
  OfferPod(fmt::format("let the pod tolerate the taint {}", taint),
           [&](api::PodSpec& spec) { AddToleration(spec, taint); });
}

}  // namespace dray::planner::internal
