// SPDX-License-Identifier: Apache-2.0
//
// CureSearch: a node has more, or there is one more.
#include <algorithm>

#include "allocator/explanation.h"
#include "api/node.h"
#include "api/resource_slice.h"
#include "base/quantity.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/cure_search.h"
#include "scheduler/explain_groups.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

constexpr std::size_t kMaxRepairs = 5;

}  // namespace

// A device of which more would serve the request: one that somebody has, or that is usable, best
// on the node itself.
const allocator::DeviceName* CureSearch::LikeWhat(const allocator::Explanation& on_node) const {
  const auto in = [](const allocator::Explanation& devices) -> const allocator::DeviceName* {
    for (const allocator::ClaimReport& claim : devices.claims) {
      for (const allocator::RequestReport& request : claim.requests) {
        if (!request.in_conflict) continue;
        for (const allocator::AlternativeReport& report : request.alternatives) {
          for (const allocator::Drop& drop : report.drops) {
            using enum allocator::Reason;
            if ((drop.reason == kInUse || drop.reason == kCounters || drop.reason == kGroups ||
                 drop.reason == kTaint) &&
                !drop.examples.empty()) {
              return &drop.examples.front();
            }
          }
        }
      }
    }
    return nullptr;
  };
  if (const auto* here = in(on_node)) return here;
  for (const scheduler::NodeGroup& group : case_.why.groups) {
    for (const scheduler::Reason& reason : group.reasons) {
      if (reason.devices == nullptr) continue;
      if (const auto* there = in(*reason.devices)) return there;
    }
  }
  return nullptr;
}

// What has been done so far to make the pod fit on a node.
struct CureSearch::Repaired {
  api::Object pod;
  Changes changes;
  std::vector<std::string> texts;      // what the node needs
  std::vector<std::string> pod_texts;  // what the pod must do

  api::Node& Node(const Trial& trial, const std::string& name) {
    for (api::Object& object : changes.put) {
      if (object.As<api::Node>() != nullptr) return *object.Mutable<api::Node>();
    }
    return *changes.put.emplace_back(*trial.Find(KindOf<api::Node>(), "", name))
                .Mutable<api::Node>();
  }
};

bool CureSearch::RepairOne(const scheduler::Reason& reason, const std::string& node,
                           Repaired& done) {
  if (reason.code == "insufficient_resource" || reason.code == "too_many_pods") {
    for (const scheduler::Reason::Shortage& shortage : reason.shortages) {
      base::Quantity needed;
      base::Quantity free;
      if (!base::Quantity::TryParse(shortage.needed, &needed) ||
          !base::Quantity::TryParse(shortage.free, &free) || needed <= free) {
        return false;
      }
      auto& has = done.Node(trial_, node).status.allocatable;
      const base::Quantity* there = has.Find(shortage.what);
      has[shortage.what] = (there == nullptr ? base::Quantity() : *there) + (needed - free);
      done.texts.push_back(fmt::format("{} more {}", (needed - free).ToString(), shortage.what));
    }
    return !reason.shortages.empty();
  }
  if (reason.code == "node_unschedulable") {
    api::Node& changed = done.Node(trial_, node);
    changed.spec.unschedulable = false;
    std::erase_if(changed.spec.taints,
                  [](const api::Taint& taint) { return taint.key == api::kUnschedulableTaint; });
    done.texts.emplace_back("to be uncordoned");
    return true;
  }
  if (reason.code == "node_taint" && !reason.shortages.empty()) {
    const std::string_view taint = TaintIn(reason.shortages.front().what);
    AddToleration(done.pod.Mutable<api::Pod>()->spec, taint);
    done.pod_texts.push_back(fmt::format("tolerate its taint {}", taint));
    return !taint.empty();
  }
  if (reason.code == "node_affinity") {
    ForgetNodes(done.pod.Mutable<api::Pod>()->spec);
    done.pod_texts.emplace_back("have no node selector and no required node affinity");
    return true;
  }
  if (reason.devices == nullptr) return false;
  const allocator::Explanation& devices = *reason.devices;
  const auto room = devices.at_most ? devices.at_most : devices.room_together;
  const std::int64_t count = devices.needed_together - room.value_or(0);
  const allocator::DeviceName* like = LikeWhat(devices);
  if (like == nullptr) return false;
  for (const api::Object& object : done.changes.put) {
    if (object.As<api::ResourceSlice>() != nullptr) return false;  // it did not help
  }
  auto more = MoreDevices(trial_, node, *like, count);
  if (!more) return false;
  done.changes.put.push_back(*std::move(more));
  done.texts.push_back(
      fmt::format("{} more {} like {}", count, count == 1 ? "device" : "devices", like->label));
  return true;
}

namespace {

// "node a needs 2 more cpu, and the pod must tolerate its taint t"
std::string RepairText(const std::string& node, const std::vector<std::string>& node_needs,
                       const std::vector<std::string>& pod_must) {
  if (pod_must.empty())
    return fmt::format("node {} needs {}", node, fmt::join(node_needs, ", and "));
  const std::string pod = fmt::format("the pod must {}", fmt::join(pod_must, ", and "));
  if (node_needs.empty()) return fmt::format("for node {} {}", node, pod);
  return fmt::format("node {} needs {}, and {}", node, fmt::join(node_needs, ", and "), pod);
}

}  // namespace

bool CureSearch::Repair(const std::string& node) {
  if (trial_.Find(KindOf<api::Node>(), "", node) == nullptr) return false;
  Repaired done{.pod = case_.pod};
  for (std::size_t round = 0; round < kMaxRepairs && !Full(); ++round) {
    api::Object pinned = done.pod;
    Pin(*pinned.Mutable<api::Pod>(), node);
    const Trial::Answer answer = trial_.Try(pinned, done.changes);
    if (answer.placed) {
      // It fits already: nobody knows why it was refused.
      if (done.texts.empty() && done.pod_texts.empty()) return false;
      // Without the pin it may go somewhere else; go somewhere it must.
      return Offer(
          {.kind = CureKind::kExtendNode, .text = RepairText(node, done.texts, done.pod_texts)},
          done.pod, std::move(done.changes));
    }
    bool any = false;
    for (const scheduler::NodeGroup& group : answer.why.groups) {
      if (std::ranges::find(group.examples, node) == group.examples.end()) continue;
      for (const scheduler::Reason& reason : group.reasons) {
        const bool pin = reason.code == "node_affinity" && round > 0;
        if (!pin) any |= RepairOne(reason, node, done);
      }
    }
    if (!any) return false;
  }
  return false;
}

bool CureSearch::AnotherNode(const std::string& node) {
  Changes changes = OneMoreNode(trial_, node);
  if (changes.put.empty()) return false;
  if (!Offer({.kind = CureKind::kAddNode, .text = fmt::format("add 1 node like {}", node)},
             case_.pod, std::move(changes))) {
    return false;
  }
  case_.help.cures.back().new_node = true;
  return true;
}

}  // namespace dray::planner::internal
