// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/outcomes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "api/daemon_set.h"
#include "api/event.h"
#include "api/job.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "base/string_map.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/other_workloads.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

// Controllers say in events what they could not do for a pod.
using Complaints = base::StringMap<std::vector<scheduler::Reason>>;
Complaints ComplaintsIn(const api::MemoryCluster& cluster) {
  Complaints complaints;
  for (const api::Object& object : cluster.All(KindOf<api::Event>())) {
    const api::Event& event = *object.As<api::Event>();
    if (event.type != api::kEventWarning || event.involved_object.kind != "Pod" ||
        event.reason == "FailedScheduling") {
      continue;
    }
    complaints[KeyOf(event.involved_object.namespace_, event.involved_object.name)].push_back(
        {.plugin =
             event.source.component.empty() ? event.reporting_component : event.source.component,
         .code = event.reason,
         .text = event.message});
  }
  return complaints;
}

// Who was sent away for whom, as the scheduler says it in events ("Preempted by pod UID on node N", "Preempted by
// podgroup UID on node cluster", with what is given back): by uid, the other one by its name.
base::StringMap<std::string> PreemptionsIn(const api::MemoryCluster& cluster) {
  constexpr std::string_view kBy = "Preempted by ";
  base::StringMap<std::string> names;
  base::StringMap<std::string> preemptions;
  const auto name_all = [&](const api::KindInfo& kind) {
    for (const api::Object& object : cluster.All(kind)) {
      names.emplace(object.metadata().uid, KeyOf(object.metadata()));
    }
  };
  for (const api::Object& object : cluster.All(KindOf<api::Event>())) {
    const api::Event& event = *object.As<api::Event>();
    std::string_view text = event.message;
    if (event.reason != "Preempted" || !text.starts_with(kBy)) continue;
    if (names.empty()) {
      name_all(KindOf<api::Pod>());
      name_all(KindOf<api::PodGroup>());
    }
    text.remove_prefix(kBy.size());
    const std::string_view kind = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), kind.size() + 1));
    const std::string_view uid = text.substr(0, text.find(' '));
    const auto found = names.find(uid);
    const std::size_t gives = text.find(" to give back ");
    preemptions[event.involved_object.uid] =
        fmt::format("{} {}{}", kind, found == names.end() ? std::string(uid) : found->second,
                    gives == std::string_view::npos ? std::string_view() : text.substr(gives));
  }
  return preemptions;
}

// Why a pod has no node although nobody has refused it.
scheduler::PodExplanation NotTried(const api::Pod& pod) {
  return {.pod = KeyOf(pod.metadata),
          .before = {
              {.code = "other_scheduler",
               .text = fmt::format("this pod uses scheduler \"{}\", which dray does not simulate; "
                                   "add a profile of that name with --config",
                                   pod.spec.scheduler_name)}}};
}

PodOutcome OutcomeOf(const api::Pod& pod, const Before& before, const Complaints& complaints,
                     Rehearsal& rehearsal) {
  const std::string key = KeyOf(pod.metadata);
  PodOutcome outcome{.namespace_ = pod.metadata.namespace_,
                     .name = pod.metadata.name,
                     .owners = OwnersOf(pod.metadata, rehearsal.cluster()),
                     .made = !before.given.pods.contains(key),
                     .node = pod.spec.node_name,
                     .claims = ClaimsOf(pod, rehearsal.cluster())};
  if (!outcome.made) outcome.created = pod.metadata.creation_timestamp;
  if (!pod.spec.node_name.empty()) {
    outcome.state = before.pods_on_nodes.contains(key) ? State::kExisting : State::kPlaced;
    return outcome;
  }
  outcome.node = rehearsal.WaitsFor(key);
  if (!outcome.node.empty()) {
    outcome.state = State::kWaiting;
    return outcome;
  }
  const scheduler::PodExplanation* why = rehearsal.scheduler().Explain(key);
  outcome.explanation = why == nullptr ? NotTried(pod) : *why;
  if (const auto found = complaints.find(key); found != complaints.end()) {
    std::ranges::copy(found->second, std::back_inserter(outcome.explanation->after));
  }
  return outcome;
}

}  // namespace

std::vector<std::string> OwnersOf(const api::ObjectMeta& metadata,
                                  const api::MemoryCluster& cluster) {
  std::vector<std::string> owners;
  const api::OwnerReference* owner = api::FindController(metadata);
  std::optional<api::Object> object;
  // A chain of owners has no end if somebody made it a ring.
  while (owner != nullptr && owners.size() < 4) {
    owners.push_back(fmt::format("{}/{}", owner->kind, owner->name));
    const api::KindInfo* kind = api::FindKind(owner->api_version, owner->kind);
    if (kind == nullptr) break;
    object = cluster.Stored(*kind, metadata.namespace_, std::string(owner->name));
    owner = object ? api::FindController(object->metadata()) : nullptr;
  }
  return owners;
}

std::vector<ClaimUse> ClaimsOf(const api::Pod& pod, const api::MemoryCluster& cluster) {
  std::vector<ClaimUse> uses;
  const auto add = [&](std::string_view name, std::string_view entry) {
    ClaimUse use{.name = std::string(name), .pod_claim = std::string(entry)};
    const auto claim = cluster.Stored(KindOf<api::ResourceClaim>(), pod.metadata.namespace_, name);
    if (claim) use.devices = GrantsOf(*claim->As<api::ResourceClaim>());
    uses.push_back(std::move(use));
  };
  const api::ClaimsOfPod claims(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    if (const auto name = claims.NameOf(entry)) add(*name, entry.name);
  }
  const auto& extended = pod.status.extended_resource_claim_status;
  if (extended) add(extended->resource_claim_name, "");
  return uses;
}

Given Given::Of(const std::vector<api::Object>& objects) {
  Given given;
  for (const api::Object& object : objects) {
    if (object.As<api::Pod>() == nullptr) continue;
    given.pods.insert(KeyOf(object.metadata()));
  }
  return given;
}

Before Before::Of(const std::vector<api::Object>& objects, Given given) {
  Before before;
  before.given = std::move(given);
  for (const api::Object& object : objects) {
    if (const auto* pod = object.As<api::Pod>()) {
      before.pods.push_back(object);
      if (!pod->spec.node_name.empty() && !scheduler::IsTerminated(*pod)) {
        before.pods_on_nodes.insert(KeyOf(pod->metadata));
      }
    } else if (const auto* claim = object.As<api::ResourceClaim>()) {
      if (claim->status.allocation) {
        before.allocated_claims.insert(KeyOf(claim->metadata));
      }
    }
  }
  return before;
}

std::vector<DeviceGrant> GrantsOf(const api::ResourceClaim& claim) {
  std::vector<DeviceGrant> grants;
  if (!claim.status.allocation) return grants;
  for (const auto& result : claim.status.allocation->devices.results) {
    DeviceGrant& grant = grants.emplace_back();
    grant.request = result.request;
    grant.driver = result.driver;
    grant.pool = result.pool;
    grant.device = result.device;
    grant.share_id = result.share_id.value_or("");
    for (const auto& [name, amount] : result.consumed_capacity) {
      grant.consumed.emplace_back(std::string(name), amount.ToString());
    }
    grant.admin_access = result.admin_access.value_or(false);
  }
  return grants;
}

std::string NodeOf(const api::ResourceClaim& claim) {
  if (!claim.status.allocation || !claim.status.allocation->node_selector) return "";
  const auto& terms = claim.status.allocation->node_selector->node_selector_terms;
  if (terms.size() != 1 || terms[0].match_fields.size() != 1) return "";
  const auto& field = terms[0].match_fields[0];
  return field.key == "metadata.name" && field.values.size() == 1 ? field.values[0] : "";
}

std::vector<PodOutcome> PodOutcomes(const Before& before, Rehearsal& rehearsal) {
  const Complaints complaints = ComplaintsIn(rehearsal.cluster());
  const base::StringMap<std::string> preemptions = PreemptionsIn(rehearsal.cluster());
  std::vector<PodOutcome> outcomes;
  std::set<std::string, std::less<>> there;
  for (const api::Object& object : rehearsal.cluster().All(KindOf<api::Pod>())) {
    const api::Pod& pod = *object.As<api::Pod>();
    there.insert(KeyOf(pod.metadata));
    const bool leaving = pod.spec.node_name.empty() && pod.metadata.deletion_timestamp;
    if (scheduler::IsTerminated(pod) || leaving) continue;
    outcomes.push_back(OutcomeOf(pod, before, complaints, rehearsal));
  }
  for (const api::Object& object : before.pods) {
    const api::Pod& pod = *object.As<api::Pod>();
    const std::string key = KeyOf(pod.metadata);
    if (there.contains(key) || !before.pods_on_nodes.contains(key)) continue;
    const auto preempted = preemptions.find(pod.metadata.uid);
    outcomes.push_back(
        {.namespace_ = pod.metadata.namespace_,
         .name = pod.metadata.name,
         .owners = OwnersOf(pod.metadata, rehearsal.cluster()),
         .state = State::kPreempted,
         .node = pod.spec.node_name,
         .preempted_for = preempted == preemptions.end() ? std::string() : preempted->second});
  }
  std::ranges::sort(outcomes, {}, [](const PodOutcome& outcome) {
    return std::pair(std::string_view(outcome.namespace_), std::string_view(outcome.name));
  });
  return outcomes;
}

std::vector<MissingPods> MissingIn(const api::MemoryCluster& cluster, const WriteGuard& guard) {
  std::map<Owner, std::int64_t> pods;
  if (!guard.refused().empty()) {
    for (const api::Object& object : cluster.All(KindOf<api::Pod>())) {
      const api::OwnerReference* owner = api::FindController(object.metadata());
      if (owner == nullptr || scheduler::IsTerminated(*object.As<api::Pod>())) continue;
      ++pods[{owner->kind, object.metadata().namespace_, owner->name}];
    }
  }
  std::vector<MissingPods> missing;
  for (const auto& [owner, reason] : guard.refused()) {
    MissingPods entry{.namespace_ = owner.namespace_, .reason = reason};
    std::optional<api::Object> found;
    if (owner.kind == "ReplicaSet") {
      found = cluster.Stored(KindOf<api::ReplicaSet>(), owner.namespace_, owner.name);
      if (found) entry.wanted = found->As<api::ReplicaSet>()->spec.replicas.value_or(1);
    } else if (owner.kind == "Job") {
      found = cluster.Stored(KindOf<api::Job>(), owner.namespace_, owner.name);
      if (found) entry.wanted = found->As<api::Job>()->spec.parallelism.value_or(1);
    } else if (owner.kind == "StatefulSet") {
      found = cluster.Stored(KindOf<api::StatefulSet>(), owner.namespace_, owner.name);
      if (found) entry.wanted = found->As<api::StatefulSet>()->spec.replicas.value_or(1);
    } else if (owner.kind == "DaemonSet") {
      found = cluster.Stored(KindOf<api::DaemonSet>(), owner.namespace_, owner.name);
      if (found) entry.wanted = DaemonsWanted(*found, cluster.All(KindOf<api::Node>()));
    }
    entry.missing = entry.wanted - pods[owner];
    if (!found || entry.missing <= 0) continue;
    entry.owners = OwnersOf(found->metadata(), cluster);
    entry.owners.insert(entry.owners.begin(), fmt::format("{}/{}", owner.kind, owner.name));
    missing.push_back(std::move(entry));
  }
  std::ranges::sort(missing, {}, [](const MissingPods& entry) {
    return std::pair(std::string_view(entry.namespace_), std::string_view(entry.owners.front()));
  });
  return missing;
}

void AddTurnedAway(const std::vector<TurnedAway>& away, Plan& plan) {
  for (const TurnedAway& entry : away) {
    const api::ObjectMeta& metadata = entry.object.metadata();
    const std::string& name = metadata.name.empty() ? metadata.generate_name : metadata.name;
    const scheduler::PodExplanation why{
        .pod = KeyOf(metadata.namespace_, name),
        .before = {{.code = "exceeded_quota", .text = entry.reason}}};
    if (entry.object.As<api::Pod>() != nullptr) {
      plan.pods.push_back({.namespace_ = metadata.namespace_, .name = name, .explanation = why});
    } else {
      plan.claims.push_back(
          {.namespace_ = metadata.namespace_, .claim = {.name = name}, .explanation = why});
    }
  }
  std::ranges::stable_sort(plan.pods, {}, [](const PodOutcome& pod) {
    return std::pair(std::string_view(pod.namespace_), std::string_view(pod.name));
  });
  std::ranges::stable_sort(plan.claims, {}, [](const ClaimOutcome& claim) {
    return std::pair(std::string_view(claim.namespace_), std::string_view(claim.claim.name));
  });
}

}  // namespace dray::planner::internal
