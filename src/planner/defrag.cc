// SPDX-License-Identifier: Apache-2.0
#include "planner/defrag.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "api/node.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "api/priority_class.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/free_devices.h"
#include "planner/internal/movable.h"
#include "planner/internal/move_search.h"
#include "planner/internal/moving.h"
#include "planner/internal/outcomes.h"
#include "planner/internal/sandbox.h"
#include "scheduler/pod_info.h"

namespace dray::planner {
namespace {

using controllers::KindOf;
using internal::KeyOf;

// Nobody is sent away for anybody: that is what moves are for.
PlanOptions WithoutPreemption(PlanOptions options) {
  constexpr std::string_view kPreemption = "DefaultPreemption";
  for (scheduler::Profile& profile : options.config.profiles) {
    if (std::ranges::find(profile.disabled, kPreemption) != profile.disabled.end()) continue;
    profile.disabled.emplace_back(kPreemption);
    std::ranges::sort(profile.disabled);
  }
  return options;
}

std::size_t DevicesOf(const std::vector<ClaimUse>& claims) {
  std::size_t devices = 0;
  for (const ClaimUse& claim : claims) devices += claim.devices.size();
  return devices;
}

// Whether nodes have to do with each other: through pools that several can use, or pods that mind
// where others are.
bool NodesAreApart(const std::vector<api::Object>& objects) {
  return std::ranges::none_of(objects, [](const api::Object& object) {
    if (const auto* slice = object.As<api::ResourceSlice>()) return !slice->spec.node_name;
    const auto* pod = object.As<api::Pod>();
    if (pod == nullptr) return false;
    const auto& affinity = pod->spec.affinity;
    return !pod->spec.topology_spread_constraints.empty() ||
           (affinity.has_value() &&
            (affinity->pod_affinity.has_value() || affinity->pod_anti_affinity.has_value()));
  });
}

class Finder {
 public:
  Finder(const DefragGoal& goal, const PlanOptions& plan, const DefragOptions& options)
      : goal_(goal), plan_(WithoutPreemption(plan)), options_(options) {}

  StatusOr<Defrag> Find(std::vector<api::Object> objects) {
    CloseNodes(objects);
    DRAY_ASSIGN_OR_RETURN(Plan base, MakePlan(std::move(objects), plan_));
    LeaveLooseClaims(base);
    objects_ = std::move(base.objects);
    FillInPriorities();
    found_.notes = std::move(base.notes);
    found_.most = options_.max_moves;
    for (const api::Object& object : objects_) {
      if (object.As<api::Node>() != nullptr) task_.nodes.push_back(object.metadata().name);
    }
    DRAY_RETURN_IF_ERROR(TakeWanted(base));
    DRAY_RETURN_IF_ERROR(TakeDevices());
    TakeResidents(base);
    DRAY_RETURN_IF_ERROR(TakeNodes());
    Search();
    return std::move(found_);
  }

 private:
  bool Nothing() const {
    return goal_.pods.empty() && goal_.nodes.empty() && goal_.node_count == 0 &&
           goal_.devices.empty();
  }

  // Whoever waits goes nowhere where nobody shall be.
  void CloseNodes(std::vector<api::Object>& objects) const {
    for (api::Object& object : objects) {
      if (object.As<api::Node>() == nullptr) continue;
      const bool asked =
          std::ranges::find(goal_.nodes, object.metadata().name) != goal_.nodes.end();
      if (asked) object.Mutable<api::Node>()->spec.unschedulable = true;
    }
  }

  // A plan has devices for claims that no pod uses yet; there are none for them before one does.
  static void LeaveLooseClaims(Plan& base) {
    std::set<std::string> loose;
    for (const ClaimOutcome& claim : base.claims) {
      if (claim.state == State::kPlaced) loose.insert(KeyOf(claim.namespace_, claim.claim.name));
    }
    for (api::Object& object : base.objects) {
      if (object.As<api::ResourceClaim>() == nullptr) continue;
      if (loose.contains(KeyOf(object.metadata()))) object = internal::Unallocated(object);
    }
  }

  // As a server does it when a pod is created.
  void FillInPriorities() {
    std::map<std::string, std::int32_t> values = {{"system-cluster-critical", 2'000'000'000},
                                                  {"system-node-critical", 2'000'001'000}};
    std::int32_t usual = 0;
    for (const api::Object& object : objects_) {
      const auto* priority_class = object.As<api::PriorityClass>();
      if (priority_class == nullptr) continue;
      values.insert_or_assign(priority_class->metadata.name, priority_class->value);
      if (priority_class->global_default) usual = priority_class->value;
    }
    for (api::Object& object : objects_) {
      const auto* pod = object.As<api::Pod>();
      if (pod == nullptr || pod->spec.priority) continue;
      const auto found = values.find(pod->spec.priority_class_name);
      object.Mutable<api::Pod>()->spec.priority = found == values.end() ? usual : found->second;
    }
  }

  // --- What is wanted.

  Status TakeWanted(const Plan& base) {
    std::set<PodName> asked(goal_.pods.begin(), goal_.pods.end());
    std::map<std::string, const api::Object*> pending;
    for (const api::Object& object : objects_) {
      if (internal::IsPending(object)) pending.emplace(KeyOf(object.metadata()), &object);
    }
    // Of a group none gets a place alone.
    std::set<std::string> groups;
    for (const PodName& name : goal_.pods) {
      const auto object = pending.find(KeyOf(name.namespace_, name.name));
      if (object != pending.end()) groups.insert(GroupOf(*object->second));
    }
    groups.erase("");
    for (const auto& [key, object] : pending) {
      const api::ObjectMeta& metadata = object->metadata();
      if (groups.contains(GroupOf(*object))) asked.insert({metadata.namespace_, metadata.name});
    }
    for (const PodOutcome& pod : base.pods) {
      const PodName name{pod.namespace_, pod.name};
      const bool wanted = Nothing() ? !goal_.namespace_ || *goal_.namespace_ == pod.namespace_
                                    : asked.erase(name) > 0;
      if (pod.state == State::kRefused) {
        const auto object = pending.find(KeyOf(pod.namespace_, pod.name));
        if (!wanted) {
          found_.others.push_back(name);
        } else if (object == pending.end()) {
          found_.reasons.push_back(fmt::format("pod {} would be rejected: {}", Shown(name),
                                               pod.explanation->before.front().text));
        } else {
          Want(*object->second, name);
        }
      } else if (wanted && (pod.state == State::kPlaced || pod.state == State::kWaiting)) {
        settled_.push_back({.pod = name, .devices = {}, .node = pod.node, .claims = pod.claims});
      } else if (wanted && !Nothing()) {
        return base::MakeStatus(
            StatusCode::kInvalidArgument,
            fmt::format("pod {} is already on node {}: room can only be made for pending pods",
                        Shown(name), pod.node));
      }
    }
    if (asked.empty()) return {};
    return base::MakeStatus(StatusCode::kNotFound,
                            fmt::format("there is no pod {}", Shown(*asked.begin())));
  }

  // "namespace/name"; empty: it has none.
  static std::string GroupOf(const api::Object& pod) {
    const std::string_view name = api::GroupNameOf(*pod.As<api::Pod>());
    return name.empty() ? "" : KeyOf(pod.metadata().namespace_, std::string(name));
  }

  void Want(const api::Object& pod, PodName name) {
    const std::int32_t priority = pod.As<api::Pod>()->spec.priority.value_or(0);
    if (task_.wanted.empty() || priority < limit_) {
      limit_ = priority;
      because_ = fmt::format("above that of pod {}, which is {}", Shown(name), priority);
    }
    task_.wanted.push_back(internal::Unplaced(pod));
    arrivals_.push_back({.pod = std::move(name)});
  }

  Status TakeDevices() {
    for (const FreeDevices& devices : goal_.devices) {
      DRAY_ASSIGN_OR_RETURN(auto asker,
                            internal::AskerForFree(devices, arrivals_.size(), objects_, plan_));
      task_.wanted.push_back(std::move(asker.pod));
      objects_.push_back(std::move(asker.claim));
      arrivals_.push_back({.devices = devices});
    }
    return {};
  }

  // --- Who may leave.

  void TakeResidents(const Plan& base) {
    if (options_.max_priority) {
      limit_ = *options_.max_priority;
      because_ = fmt::format("above the highest that may be moved, which is {}", limit_);
    } else if (goal_.pods.empty() && !Nothing()) {
      limit_ = internal::kHighestUserPriority;
      because_ = "one of those that are kept for the system";
    }
    std::map<std::string, const PodOutcome*> outcomes;
    for (const PodOutcome& pod : base.pods) outcomes.emplace(KeyOf(pod.namespace_, pod.name), &pod);
    const internal::MoveRules rules(objects_, options_, limit_, because_);
    for (const api::Object& object : objects_) {
      const auto* pod = object.As<api::Pod>();
      if (pod == nullptr || pod->spec.node_name.empty() || scheduler::IsTerminated(*pod)) continue;
      const auto outcome = outcomes.find(KeyOf(pod->metadata));
      const std::string& node = pod->spec.node_name;
      // It is where the plan would have it, not there yet.
      if (outcome == outcomes.end() || outcome->second->state != State::kExisting) {
        planned_.insert(node);
        continue;
      }
      if (auto kept = rules.KeptOf(*pod)) {
        found_.kept.push_back(*std::move(kept));
        continue;
      }
      on_node_[node].push_back(task_.residents.size());
      task_.residents.push_back({.pod = object,
                                 .node = node,
                                 .priority = pod->spec.priority.value_or(0),
                                 .devices = DevicesOf(outcome->second->claims)});
      residents_.push_back(outcome->second);
    }
    std::ranges::sort(found_.kept, {}, &KeptPod::pod);
    for (std::size_t i = 0; i < found_.kept.size(); ++i) {
      const KeptBy rule = found_.kept[i].rule;
      if (rule == KeptBy::kDaemonSet || rule == KeptBy::kStatic) continue;
      if (rule == KeptBy::kTerminating) continue;  // it goes without being asked
      keepers_[found_.kept[i].node].push_back(i);
    }
  }

  // --- Which nodes shall be empty.

  internal::Emptiable EmptiableOf(const std::string& node) const {
    const auto found = on_node_.find(node);
    return {.node = node,
            .residents = found == on_node_.end() ? std::vector<std::size_t>() : found->second};
  }

  Status TakeNodes() {
    const std::set<std::string> asked(goal_.nodes.begin(), goal_.nodes.end());
    for (const std::string& node : asked) {
      if (std::ranges::find(task_.nodes, node) == task_.nodes.end()) {
        return base::MakeStatus(StatusCode::kNotFound, fmt::format("node {} not found", node));
      }
      const auto keepers = keepers_.find(node);
      if (keepers != keepers_.end()) {
        const KeptPod& kept = found_.kept[keepers->second.front()];
        found_.reasons.push_back(
            fmt::format("node {} cannot be freed: pod {} cannot be moved, because {}", node,
                        Shown(kept.pod), kept.text));
      }
      if (planned_.contains(node)) {
        // Who waits would go there; with the node closed they may find another one.
        found_.reasons.push_back(fmt::format(
            "node {} cannot be freed while pending pods fit on it; cordon it first", node));
      }
      task_.emptied.push_back(EmptiableOf(node));
    }
    if (goal_.node_count == 0) return {};
    std::size_t count = goal_.node_count;
    std::size_t selected = 0;
    for (const api::Object& object : objects_) {
      if (object.As<api::Node>() == nullptr ||
          !goal_.node_selector.Matches(object.metadata().labels)) {
        continue;
      }
      const std::string& node = object.metadata().name;
      ++selected;
      if (asked.contains(node)) {
        count -= count > 0 ? 1 : 0;
      } else if (!keepers_.contains(node) && !planned_.contains(node)) {
        task_.any_of.push_back(EmptiableOf(node));
      }
    }
    std::ranges::stable_sort(task_.any_of, {}, [](const internal::Emptiable& emptiable) {
      return emptiable.residents.size();
    });
    task_.any_count = count;
    if (task_.any_of.size() < count) {
      found_.reasons.push_back(fmt::format(
          "only {1} of {0} nodes could be freed: the others have pods that may not be moved",
          selected, task_.any_of.size() + asked.size()));
    }
    return {};
  }

  // --- The search, and what it found.

  void Search() {
    if (!found_.reasons.empty()) return;
    task_.max_moves = options_.max_moves;
    task_.budget = options_.budget;
    task_.apart = NodesAreApart(objects_);
    const PlanOptions with = internal::WithSchedulersOf(objects_, plan_);
    // Pods are tried one by one, which those of a gang are not; that all of it has places is verified.
    std::vector<api::Object> one_by_one = objects_;
    for (api::Object& object : one_by_one) {
      if (object.As<api::PodGroup>() == nullptr) continue;
      object.Mutable<api::PodGroup>()->spec.scheduling_policy = {};
      object.Mutable<api::PodGroup>()->spec.scheduling_policy.basic.emplace();
    }
    const internal::MovesFound found = internal::SearchMoves(
        one_by_one, with, task_, [&](const internal::MoveList& list) { return Verified(list); });
    found_.attempts = found.attempts;
    found_.gave_up = found.gave_up;
    if (!found.list) {
      for (const std::size_t i : found.hopeless) {
        found_.reasons.push_back(fmt::format(
            "{} on no node, even without all pods that may be moved", Fits(arrivals_[i])));
      }
      if (found.hopeless.empty() && found.rejected) {
        found_.reasons.push_back(
            "there are moves after which everything fits, but no order in which each move finds "
            "room");
      }
      return;
    }
    found_.reached = true;
    found_.shortest = found.shortest;
    found_.cheapest = found.cheapest;
    Tell(*found.list);
  }

  std::string Fits(const Arrival& arrival) const {
    if (!arrival.devices) return fmt::format("pod {} fits", Shown(arrival.pod));
    return fmt::format("{} free device{} of class {} can be provided", arrival.devices->count,
                       arrival.devices->count == 1 ? "" : "s", arrival.devices->device_class);
  }

  void Tell(const internal::MoveList& list) {
    for (const internal::MoveList::Step& step : list.steps) {
      const internal::Resident& resident = task_.residents[step.resident];
      const PodOutcome& outcome = *residents_[step.resident];
      found_.moves.push_back({.pod = {outcome.namespace_, outcome.name},
                              .uid = resident.pod.metadata().uid,
                              .owners = outcome.owners,
                              .priority = resident.priority,
                              .from = resident.node,
                              .to = step.to,
                              .before = outcome.claims,
                              .after = step.claims});
    }
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      Arrival& arrival = arrivals_[i];
      arrival.node = list.places[i].node;
      arrival.claims = list.places[i].claims;
      found_.arrivals.push_back(std::move(arrival));
    }
    std::ranges::move(settled_, std::back_inserter(found_.arrivals));
    found_.free_nodes = list.free_nodes;
  }

  // The cluster as it would be, planned from scratch: all that move and all that arrive have their
  // places, and nobody else has lost theirs.
  bool Verified(const internal::MoveList& list) const {
    std::vector<api::Object> objects = objects_;
    std::set<std::string> arriving;
    std::map<std::string, std::string> to;
    for (const internal::MoveList::Step& step : list.steps) {
      to.emplace(KeyOf(task_.residents[step.resident].pod.metadata()), step.to);
    }
    for (std::size_t i = 0; i < task_.wanted.size(); ++i) {
      const std::string key = KeyOf(task_.wanted[i].metadata());
      to.emplace(key, list.places[i].node);
      arriving.insert(key);
      if (arrivals_[i].devices) objects.push_back(task_.wanted[i]);
    }
    std::size_t others = 0;
    std::erase_if(objects, [&](const api::Object& object) {
      if (object.As<api::Pod>() == nullptr) return false;
      const bool waits = internal::IsPending(object);
      const bool aside = waits && !arriving.contains(KeyOf(object.metadata()));
      if (!waits && !scheduler::IsTerminated(*object.As<api::Pod>())) ++others;
      return aside;
    });
    others -= list.steps.size();
    internal::Move(to, objects);
    const auto plan = MakePlan(std::move(objects), plan_);
    if (!plan.ok()) return false;
    for (const PodOutcome& pod : plan->pods) {
      const auto moved = to.find(KeyOf(pod.namespace_, pod.name));
      const bool there = pod.state == State::kPlaced || pod.state == State::kWaiting;
      if (moved != to.end()) {
        if (!there || pod.node != moved->second) return false;
        to.erase(moved);
      } else if (pod.state == State::kExisting) {
        --others;
      }
    }
    return to.empty() && others == 0;
  }

  static std::string Shown(const PodName& name) {
    return name.namespace_ == "default" ? name.name : KeyOf(name.namespace_, name.name);
  }

  const DefragGoal& goal_;
  const PlanOptions plan_;
  const DefragOptions& options_;
  std::vector<api::Object> objects_;  // as they are planned without any move
  internal::MoveTask task_;
  std::vector<Arrival> arrivals_;             // of task_.wanted
  std::vector<Arrival> settled_;              // have a place without any move
  std::vector<const PodOutcome*> residents_;  // of task_.residents; belong to the plan
  std::map<std::string, std::vector<std::size_t>> on_node_;
  std::map<std::string, std::vector<std::size_t>> keepers_;  // in found_.kept
  std::set<std::string> planned_;                            // nodes to which waiting pods would go
  std::int32_t limit_ = std::numeric_limits<std::int32_t>::max();
  std::string because_;
  Defrag found_;
};

}  // namespace

StatusOr<Defrag> FindMoves(std::vector<api::Object> objects, const DefragGoal& goal,
                           const PlanOptions& plan, const DefragOptions& options) {
  return Finder(goal, plan, options).Find(std::move(objects));
}

}  // namespace dray::planner
