// SPDX-License-Identifier: Apache-2.0
//
// Claims that no pod uses get what the first pod would get that did.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/node.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "base/check.h"
#include "base/string_map.h"
#include "controllers/object_key.h"
#include "planner/internal/outcomes.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

// By "namespace/name".
base::StringSet ClaimsOfPods(const std::vector<api::Object>& pods) {
  base::StringSet used;
  for (const api::Object& object : pods) {
    const api::Pod& pod = *object.As<api::Pod>();
    if (scheduler::IsTerminated(pod)) continue;
    const api::ClaimsOfPod claims(pod);
    for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
      const auto name = claims.NameOf(entry);
      if (name) used.insert(KeyOf(pod.metadata.namespace_, *name));
    }
    const auto& extended = pod.status.extended_resource_claim_status;
    if (extended) used.insert(KeyOf(pod.metadata.namespace_, extended->resource_claim_name));
  }
  return used;
}

}  // namespace

std::vector<api::Toleration> TolerationsFor(const api::MemoryCluster& cluster) {
  std::set<std::string> keys;
  for (const api::Object& object : cluster.All(KindOf<api::Node>())) {
    for (const api::Taint& taint : object.As<api::Node>()->spec.taints) {
      if (!taint.key.starts_with("node.kubernetes.io/")) keys.insert(taint.key);
    }
  }
  std::vector<api::Toleration> tolerations;
  for (const std::string& key : keys) {
    tolerations.push_back({.key = key, .operator_ = "Exists"});
  }
  return tolerations;
}

api::Pod AskerFor(const api::ResourceClaim& claim, std::string name, const PlanOptions& options,
                  std::vector<api::Toleration> tolerations) {
  api::Pod pod;
  pod.metadata.namespace_ = claim.metadata.namespace_;
  pod.metadata.name = std::move(name);
  pod.metadata.creation_timestamp = claim.metadata.creation_timestamp;
  pod.spec.scheduler_name = options.config.profiles.front().scheduler_name;
  pod.spec.priority = 0;
  pod.spec.preemption_policy = "Never";
  pod.spec.tolerations = std::move(tolerations);
  pod.spec.containers.push_back({.name = "c", .image = "none"});
  pod.spec.resource_claims.push_back({.name = "claim", .resource_claim_name = claim.metadata.name});
  return pod;
}

namespace {

// The pods that ask, and what they ask for.
class Askers {
 public:
  Askers(const PlanOptions& options, Rehearsal& rehearsal)
      : options_(options),
        rehearsal_(rehearsal),
        tolerations_(TolerationsFor(rehearsal.cluster())) {}

  void Add(const api::ResourceClaim& claim) {
    const std::string& space = claim.metadata.namespace_;
    std::string name = claim.metadata.name;
    while (rehearsal_.cluster().Stored(KindOf<api::Pod>(), space, name)) name += "-x";
    pods_.push_back(api::Object::Of(AskerFor(claim, name, options_, tolerations_)));
    pod_of_[KeyOf(space, claim.metadata.name)] = std::move(name);
  }

  void Ask() {
    if (pods_.empty()) return;
    // The oldest claim first.
    std::ranges::stable_sort(
        pods_, {}, [](const api::Object& pod) { return pod.metadata().creation_timestamp; });
    const Status loaded = rehearsal_.Load(std::move(pods_));
    DRAY_CHECK(loaded.ok(), base::Message(loaded));
    rehearsal_.RunScheduler();
  }

  // Nothing: nobody had to ask for it.
  std::optional<std::string> PodFor(std::string_view claim) const {
    const auto found = pod_of_.find(claim);
    if (found == pod_of_.end()) return std::nullopt;
    return found->second;
  }

  void Leave(const api::ResourceClaim& claim, const std::string& name) {
    api::MemoryCluster& cluster = rehearsal_.cluster();
    const std::string& space = claim.metadata.namespace_;
    const auto pod = cluster.Stored(KindOf<api::Pod>(), space, name);
    if (!pod) return;
    auto stored = cluster.Stored(KindOf<api::ResourceClaim>(), space, claim.metadata.name);
    if (stored) {
      auto& reserved = stored->Mutable<api::ResourceClaim>()->status.reserved_for;
      std::erase_if(reserved, [&](const auto& user) { return user.uid == pod->metadata().uid; });
      const auto updated = cluster.UpdateStatus(*std::move(stored));
      DRAY_CHECK(updated.ok(), base::Message(updated.status()));
    }
    const Status gone = cluster.Delete(KindOf<api::Pod>(), space, name);
    DRAY_CHECK(gone.ok(), base::Message(gone));
  }

 private:
  const PlanOptions& options_;
  Rehearsal& rehearsal_;
  const std::vector<api::Toleration> tolerations_;
  std::vector<api::Object> pods_;
  base::StringMap<std::string> pod_of_;  // by claim
};

}  // namespace

std::vector<ClaimOutcome> PlaceLooseClaims(const Before& before, const PlanOptions& options,
                                           Rehearsal& rehearsal) {
  api::MemoryCluster& cluster = rehearsal.cluster();
  const base::StringSet used = ClaimsOfPods(cluster.All(KindOf<api::Pod>()));
  const base::StringSet used_before = ClaimsOfPods(before.pods);
  std::vector<api::Object> loose;
  Askers askers(options, rehearsal);
  for (api::Object& object : cluster.All(KindOf<api::ResourceClaim>())) {
    const api::ResourceClaim& claim = *object.As<api::ResourceClaim>();
    if (used.contains(KeyOf(claim.metadata)) || claim.metadata.deletion_timestamp) {
      continue;
    }
    if (!claim.status.allocation) {
      // Of a pod that was sent away, with what it has given back.
      if (used_before.contains(KeyOf(claim.metadata))) continue;
      askers.Add(claim);
    }
    loose.push_back(std::move(object));
  }
  askers.Ask();

  std::vector<ClaimOutcome> outcomes;
  for (const api::Object& object : loose) {
    const api::ResourceClaim& claim = *object.As<api::ResourceClaim>();
    const std::string key = KeyOf(claim.metadata);
    ClaimOutcome outcome{.namespace_ = claim.metadata.namespace_,
                         .claim = {.name = claim.metadata.name}};
    if (const auto pod = askers.PodFor(key)) {
      const std::string pod_key = KeyOf(claim.metadata.namespace_, *pod);
      const auto* why = rehearsal.scheduler().Explain(pod_key);
      if (!rehearsal.WaitsFor(pod_key).empty()) {
        outcome.state = State::kWaiting;
      } else if (why != nullptr) {
        outcome.state = State::kRefused;
        outcome.explanation = *why;
        outcome.explanation->pod.clear();
      } else {
        outcome.state = State::kPlaced;
      }
      askers.Leave(claim, *pod);
    } else {
      outcome.state = before.allocated_claims.contains(key) ? State::kExisting : State::kPlaced;
    }
    const auto now = cluster.Stored(object.kind(), claim.metadata.namespace_, claim.metadata.name);
    if (now) {
      outcome.claim.devices = GrantsOf(*now->As<api::ResourceClaim>());
      outcome.node = NodeOf(*now->As<api::ResourceClaim>());
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace dray::planner::internal
