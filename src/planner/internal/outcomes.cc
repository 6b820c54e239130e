// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/outcomes.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "api/event.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
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

// Why a pod has no node although nobody has refused it.
scheduler::PodExplanation NotTried(const api::Pod& pod) {
  return {
      .pod = KeyOf(pod.metadata),
      .before = {{.code = "other_scheduler",
                  .text = fmt::format("spec.schedulerName is \"{}\", and no profile has that name",
                                      pod.spec.scheduler_name)}}};
}

PodOutcome OutcomeOf(const api::Pod& pod, const Before& before, const Complaints& complaints,
                     Rehearsal& rehearsal) {
  const std::string key = KeyOf(pod.metadata);
  PodOutcome outcome{.namespace_ = pod.metadata.namespace_,
                     .name = pod.metadata.name,
                     .owners = OwnersOf(pod.metadata, rehearsal.cluster()),
                     .node = pod.spec.node_name,
                     .claims = ClaimsOf(pod, rehearsal.cluster())};
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

Before Before::Of(const std::vector<api::Object>& objects) {
  Before before;
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
    outcomes.push_back({.namespace_ = pod.metadata.namespace_,
                        .name = pod.metadata.name,
                        .owners = OwnersOf(pod.metadata, rehearsal.cluster()),
                        .state = State::kPreempted,
                        .node = pod.spec.node_name});
  }
  std::ranges::sort(outcomes, {}, [](const PodOutcome& outcome) {
    return std::pair(std::string_view(outcome.namespace_), std::string_view(outcome.name));
  });
  return outcomes;
}

}  // namespace dray::planner::internal
