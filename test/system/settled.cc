// SPDX-License-Identifier: Apache-2.0
//
// Judge: how everything is when it has come to its end.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "api/node.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/workloads.h"
#include "fmt/format.h"
#include "scheduler/scheduler.h"
#include "soak/onlooker.h"
#include "system/judge.h"
#include "system/shown.h"

namespace dray::system {
void Judge::Settled(Server& server) {
  Look();
  for (const auto& [key, object] : objects_) {
    if (!object) stage_.Find(fmt::format("{} cannot be read at the end", key));
  }
  SettledOwners();
  SettledClaims();
  SettledQuotas();
  SettledPods(server);
  SettledGroups();
  if (server.scheduler() != nullptr) SettledDoubts("the server", server.scheduler()->in_doubt());
}

void Judge::SettledDoubts(std::string_view who, std::size_t doubts) {
  if (doubts == 0) return;
  stage_.Find(fmt::format("{} is in doubt about {} pods for ever", who, doubts));
}

// Nothing keeps a leader from seeing when nothing goes wrong any more.
void Judge::SettledSight(std::string_view who, const Status& blind) {
  if (blind.ok()) return;
  stage_.Find(fmt::format("{} leads and does not see: {}", who, base::Message(blind)));
}

void Judge::SettledPods(Server& server) {
  soak::Onlooker onlooker(server.cluster());
  scheduler::SchedulerOptions options;
  options.gates = Gates();
  options.config = ConfigOf(stage_);
  options.caches = false;
  scheduler::Scheduler fresh(onlooker, server.process(), onlooker, options);
  fresh.Sync();
  std::map<std::string, scheduler::Outcome> outcomes;
  while (auto outcome = fresh.ScheduleOne()) {
    const std::string key = outcome->pod;
    outcomes[key] = *std::move(outcome);
  }
  // Where no claim more is allowed, pods with extended resources are tried again and again, and what
  // is kept for them meanwhile is in use for whoever is tried beside them.
  std::map<std::string, base::Quantity> claims_left;
  for (const auto* quota : All<api::ResourceQuota>()) {
    const std::string resource = "count/resourceclaims.resource.k8s.io";
    const base::Quantity* hard = quota->spec.hard.Find(resource);
    const std::string& space = quota->metadata.namespace_;
    if (hard == nullptr) continue;
    claims_left[space] = *hard - *base::Quantity::Parse(std::to_string(CountedBy(resource, space)));
  }
  // For each of a gang one is made, or for nobody of it.
  const auto are_claims_left = [&](const api::Pod& pod) {
    const auto left = claims_left.find(pod.metadata.namespace_);
    if (left == claims_left.end()) return true;
    const std::string group = GroupOf(pod);
    std::int64_t needed = group.empty() ? 1 : 0;
    for (const auto* other : All<api::Pod>()) {
      const bool waits = other->spec.node_name.empty() && !Ended(*other);
      if (!group.empty() && waits && GroupOf(*other) == group) ++needed;
    }
    return left->second >= *base::Quantity::Parse(std::to_string(needed));
  };
  for (const auto* pod : All<api::Pod>()) {
    const std::string key = scheduler::KeyOf(*pod);
    if (pod->metadata.deletion_timestamp) {
      stage_.Find(fmt::format("pod {} is being deleted for ever", key));
      continue;
    }
    if (!pod->spec.node_name.empty()) {
      if (pod->status.phase == "Pending") {
        stage_.Find(fmt::format("pod {} is on {} and never starts", key, pod->spec.node_name));
      }
      continue;
    }
    if (Ended(*pod)) continue;
    const auto outcome = outcomes.find(key);
    stage_.Count("waits in the end");
    if (outcome != outcomes.end() && !outcome->second.node.empty()) {
      // A node that has room is not enough where a quota allows no claim more.
      if (!are_claims_left(*pod)) continue;
      const auto said = std::ranges::find(pod->status.conditions, api::kPodScheduledCondition,
                                          &api::PodCondition::type);
      stage_.Find(fmt::format("pod {} waits, and {} has room for it; it is told \"{}\"", key,
                              outcome->second.node,
                              said == pod->status.conditions.end() ? "" : said->message));
      continue;
    }
    // Who names a claim that is not there is not let in, and as in Kubernetes nobody says so.
    if (fresh.queue().Where(key) == scheduler::QueueName::kGated) continue;
    // Whom room is made for gets it, or it is made for nobody.
    if (!pod->status.nominated_node_name.empty()) {
      stage_.Find(fmt::format("pod {} waits, and room is kept for it on {} for ever", key,
                              pod->status.nominated_node_name));
    }
    const auto condition = std::ranges::find(pod->status.conditions, api::kPodScheduledCondition,
                                             &api::PodCondition::type);
    if (condition == pod->status.conditions.end() || condition->message.empty()) {
      stage_.Find(fmt::format("pod {} waits and is told nothing", key));
      continue;
    }
    // What was true when it was told stays until something happens that may help: numbers may be of
    // that moment, but it cannot be placed, and it is told so.
    const bool same = outcome == outcomes.end() || condition->message == outcome->second.message;
    stage_.Count(same ? "is told what is true now" : "is told what was true then");
    if (condition->status != "False") {
      stage_.Find(fmt::format("pod {} waits and is told that it is scheduled", key));
    }
  }
}

// All of a gang, or as many as it asks for at once, or none: unless somebody has taken pods away since.
void Judge::SettledGroups() {
  for (const auto* group : All<api::PodGroup>()) {
    const auto& gang = group->spec.scheduling_policy.gang;
    if (!gang || group->metadata.deletion_timestamp) continue;
    const std::string key = Shown(group->metadata);
    std::int32_t running = 0;
    std::int32_t waiting = 0;
    for (const auto* pod : All<api::Pod>()) {
      if (GroupOf(*pod) != key || Ended(*pod)) continue;
      ++(pod->spec.node_name.empty() ? waiting : running);
    }
    if (running > 0) stage_.Count("gangs run in the end");
    if (running == 0 && waiting > 0) stage_.Count("gangs wait in the end");
    if (running == 0 || running >= gang->min_count || lost_members_.contains(key)) continue;
    stage_.Find(fmt::format("of gang {} run {}, {} wait, and it needs {} at once", key, running,
                            waiting, gang->min_count));
  }
}

std::string Judge::GroupOf(const api::Pod& pod) {
  const auto& group = pod.spec.scheduling_group;
  return group ? fmt::format("{}/{}", pod.metadata.namespace_, group->pod_group_name.value_or(""))
               : "";
}

void Judge::SettledClaims() {
  for (const auto* claim : All<api::ResourceClaim>()) {
    // Whoever uses it keeps it.
    if (claim->metadata.deletion_timestamp && claim->status.reserved_for.empty()) {
      stage_.Find(fmt::format("claim {} is being deleted for ever", Shown(claim->metadata)));
    }
    for (const auto& user : claim->status.reserved_for) {
      const api::Object* object = FindUid(user.uid);
      const auto* pod = object == nullptr ? nullptr : object->As<api::Pod>();
      // All of a group use it, whoever they are.
      if (object != nullptr && object->As<api::PodGroup>() != nullptr) continue;
      if (pod == nullptr || Ended(*pod)) {
        stage_.Find(fmt::format("claim {} is kept for {}, which is {}", Shown(claim->metadata),
                                user.name, pod == nullptr ? "gone" : "over"));
      }
    }
    if (claim->status.allocation && claim->status.reserved_for.empty()) {
      stage_.Find(fmt::format("claim {} has devices for nobody", Shown(claim->metadata)));
    }
  }
  // Whoever runs has its claims.
  for (const auto* pod : All<api::Pod>()) {
    if (pod->spec.node_name.empty() || Ended(*pod)) continue;
    std::vector<std::string> names;
    for (const auto& entry : pod->spec.resource_claims) {
      if (entry.resource_claim_name) names.push_back(*entry.resource_claim_name);
    }
    if (pod->status.resource_claim_statuses) {
      for (const auto& status : *pod->status.resource_claim_statuses) {
        if (status.resource_claim_name) names.push_back(*status.resource_claim_name);
      }
    }
    if (pod->status.extended_resource_claim_status) {
      names.push_back(pod->status.extended_resource_claim_status->resource_claim_name);
    }
    for (const std::string& name : names) {
      const auto* group = [&]() -> const api::PodGroup* {
        for (const auto* each : All<api::PodGroup>()) {
          if (Shown(each->metadata) == GroupOf(*pod)) return each;
        }
        return nullptr;
      }();
      const bool has = std::ranges::any_of(All<api::ResourceClaim>(), [&](const auto* claim) {
        return claim->metadata.namespace_ == pod->metadata.namespace_ &&
               claim->metadata.name == name && claim->status.allocation &&
               std::ranges::any_of(claim->status.reserved_for, [&](const auto& user) {
                 return user.uid == pod->metadata.uid ||
                        (group != nullptr && user.uid == group->metadata.uid);
               });
      });
      if (!has) {
        stage_.Find(fmt::format("pod {} is on {} without its claim {}", Shown(pod->metadata),
                                pod->spec.node_name, name));
      }
    }
  }
}

// Nothing is left of what is gone, and whoever should have children has them.
void Judge::SettledOwners() {
  std::map<std::string, std::int64_t> children;
  for (const auto& [key, object] : objects_) {
    if (!object) continue;
    const api::OwnerReference* owner = api::FindController(object->metadata());
    if (owner == nullptr) continue;
    const api::Object* found = FindUid(owner->uid);
    if (found == nullptr) {
      // A claim that somebody else uses, too, goes with the last one.
      const auto* claim = object->As<api::ResourceClaim>();
      if (claim != nullptr && !claim->status.reserved_for.empty()) continue;
      stage_.Find(fmt::format("{} is left of {} {}", key, owner->kind, owner->name));
      continue;
    }
    const auto* pod = object->As<api::Pod>();
    if (pod != nullptr && !Ended(*pod)) ++children[owner->uid];
  }
  std::set<std::string> limited;
  for (const auto* quota : All<api::ResourceQuota>()) limited.insert(quota->metadata.namespace_);
  for (const auto* set : All<api::ReplicaSet>()) {
    const std::int64_t wanted = set->spec.replicas.value_or(1);
    const std::int64_t has = children[set->metadata.uid];
    if (has > wanted || (has < wanted && !limited.contains(set->metadata.namespace_))) {
      stage_.Find(
          fmt::format("ReplicaSet {} has {} of {} pods", Shown(set->metadata), has, wanted));
    }
  }
}

void Judge::SettledQuotas() {
  for (const auto* quota : All<api::ResourceQuota>()) {
    for (const auto& [name, hard] : quota->spec.hard) {
      const std::string resource(name);
      const std::int64_t count = CountedBy(resource, quota->metadata.namespace_);
      const base::Quantity* used = quota->status.used.Find(resource);
      if (used == nullptr || *used != *base::Quantity::Parse(std::to_string(count))) {
        stage_.Find(fmt::format("quota {} says {} of {}, and there are {}", Shown(quota->metadata),
                                used == nullptr ? "nothing" : used->ToString(), resource, count));
      }
    }
  }
}

}  // namespace dray::system
