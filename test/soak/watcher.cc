// SPDX-License-Identifier: Apache-2.0
#include "soak/watcher.h"

#include <algorithm>
#include <utility>

#include "api/extended_resources.h"
#include "api/pod_resources.h"
#include "fmt/format.h"
#include "model/checker.h"
#include "model/model.h"
#include "soak/onlooker.h"

namespace dray::soak {
namespace {

using scheduler::Outcome;
using scheduler::QueueName;

constexpr std::uint64_t kModelSteps = 2'000;

// Names of pods are "namespace/name" here.
std::string NameOf(std::string_view key) { return std::string(key.substr(key.find('/') + 1)); }

bool Ended(const api::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

base::Quantity CpuOf(const api::Pod& pod) {
  base::Quantity sum;
  for (const api::Container& container : pod.spec.containers) {
    if (const auto* cpu = container.resources.requests.Find("cpu")) sum += *cpu;
  }
  return sum;
}

// The rules are about claims one after the other, as the pod names them; one for extended resources
// comes last.
void InOrderOf(const api::Pod& pod, std::vector<api::ResourceClaim>& claims) {
  std::ranges::stable_sort(claims, {}, [&](const api::ResourceClaim& claim) {
    const auto& entries = pod.spec.resource_claims;
    return std::ranges::find_if(entries,
                                [&](const api::PodResourceClaim& entry) {
                                  return entry.resource_claim_name == claim.metadata.name;
                                }) -
           entries.begin();
  });
}

// What the PostFilter plugins did is another matter than why there is no node.
std::string Said(scheduler::PodExplanation explanation) {
  explanation.after.clear();
  return scheduler::ToText(explanation);
}

}  // namespace

void Watcher::Learn() {
  known_.clear();
  for (const api::Object& object : town_.Objects<api::ResourceClaim>()) {
    if (object.As<api::ResourceClaim>()->status.allocation) {
      known_.emplace(object.metadata().uid, object);
    }
  }
}

void Watcher::After(const Outcome& outcome) {
  std::vector<api::ResourceClaim> allocated;
  const auto own = town_.Find<api::Pod>(NameOf(outcome.pod));
  for (const api::Object& object : town_.Objects<api::ResourceClaim>()) {
    const api::ResourceClaim& claim = *object.As<api::ResourceClaim>();
    if (!claim.status.allocation) continue;
    const auto known = known_.find(claim.metadata.uid);
    if (known == known_.end()) {
      // Those of others, whose answer was lost, are for other nodes.
      const bool its = own && std::ranges::find(claim.status.reserved_for, own->metadata.uid,
                                                &api::ResourceClaimConsumerReference::uid) !=
                                  claim.status.reserved_for.end();
      const bool named =
          own && std::ranges::any_of(own->spec.resource_claims, [&](const auto& entry) {
            return entry.resource_claim_name == claim.metadata.name;
          });
      const bool failed = outcome.kind == Outcome::Kind::kError;
      if (its || (failed && named)) allocated.push_back(claim);
    } else if (known->second.As<api::ResourceClaim>()->status.allocation !=
               claim.status.allocation) {
      Complain(fmt::format("claim {} has another allocation than before", claim.metadata.name));
    }
  }
  if (own) InOrderOf(*own, allocated);
  // What was decided before a write was in doubt is written afterwards as it was decided: devices may
  // have been tainted, and classes changed, while it waited.
  if (!allocated.empty() && !waited_.contains(outcome.pod)) {
    CheckAllocated(outcome.node, std::move(allocated));
  }
  CheckExclusive();
  for (const api::Object& object : town_.Objects<api::Pod>()) {
    const api::Pod& pod = *object.As<api::Pod>();
    if (!pod.spec.node_name.empty() && on_nodes_.insert(pod.metadata.uid).second) CheckClaims(pod);
  }
  if (outcome.kind == Outcome::Kind::kWaiting) waited_.insert(outcome.pod);
  if (outcome.kind == Outcome::Kind::kBound) CheckBound(NameOf(outcome.pod), outcome.node);
  Learn();
}

void Watcher::CheckAllocated(const std::string& node, std::vector<api::ResourceClaim> claims) {
  allocations_ += claims.size();
  const auto stored = town_.Find<api::Node>(node, "");
  if (!stored) return Complain(fmt::format("devices on {}, which is not there", node));
  std::vector<api::AllocationResult> results;
  for (api::ResourceClaim& claim : claims) {
    api::AllocationResult result = *claim.status.allocation;
    result.allocation_timestamp.reset();
    results.push_back(std::move(result));
    claim.status = {};
  }
  for (const std::string& text :
       model::CheckAllocation(town_.InstanceFor(*stored, std::move(claims)), results)) {
    Complain(fmt::format("allocation on {}: {}", node, text));
  }
}

// Whatever slices have become since.
void Watcher::CheckExclusive() {
  struct Holders {
    int exclusive = 0;
    int all = 0;
  };
  std::map<model::DeviceId, Holders> devices;
  std::map<std::string, int> shares;
  for (const api::Object& object : town_.Objects<api::ResourceClaim>()) {
    const api::ResourceClaim& claim = *object.As<api::ResourceClaim>();
    if (!claim.status.allocation) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      if (result.admin_access.value_or(false)) continue;
      const model::DeviceId id{result.driver, result.pool, result.device};
      Holders& holders = devices[id];
      ++holders.all;
      holders.exclusive += result.share_id ? 0 : 1;
      if (holders.exclusive > 0 && holders.all > 1) {
        Complain(fmt::format("{} is given twice", model::ToString(id)));
      }
      if (result.share_id && ++shares[*result.share_id] > 1) {
        Complain(fmt::format("share {} is given twice", *result.share_id));
      }
    }
  }
}

bool Watcher::ServedByDevicePlugins(const api::Pod& pod) const {
  const auto node = town_.Find<api::Node>(pod.spec.node_name, "");
  if (!node) return false;
  for (const auto& [key, amount] : api::PodRequests(pod)) {
    const std::string_view name(key);
    if (!api::IsExtendedResourceName(name)) continue;
    const base::Quantity* has = node->status.allocatable.Find(name);
    if (has == nullptr || has->IsZero()) return false;
  }
  return true;
}

void Watcher::CheckClaims(const api::Pod& pod) {
  const auto check = [&](const std::string& name) {
    const auto claim = town_.Find<api::ResourceClaim>(name);
    if (!claim || !claim->status.allocation ||
        std::ranges::find(claim->status.reserved_for, pod.metadata.uid,
                          &api::ResourceClaimConsumerReference::uid) ==
            claim->status.reserved_for.end()) {
      Complain(fmt::format("{} is bound without its claim {}", pod.metadata.name, name));
    }
  };
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    check(entry.resource_claim_name.value_or(""));
  }
  // An attempt before may have written it, for another node, and deleted its claim since. Nobody can
  // take it back (docs/decisions.md, "a claim for extended resources that an attempt before had"), and where the
  // node has the resources by itself nobody needs it.
  const auto& extended = pod.status.extended_resource_claim_status;
  if (extended && !ServedByDevicePlugins(pod)) check(extended->resource_claim_name);
}

void Watcher::CheckBound(const std::string& name, const std::string& node) {
  const auto pod = town_.Find<api::Pod>(name);
  const auto stored = town_.Find<api::Node>(node, "");
  // What was there when the pod got the node may have gone while it waited, room and the node itself.
  const bool waited = waited_.contains(std::string(kNamespace) + "/" + name);
  if (!pod || (!stored && !waited) || pod->spec.node_name != node) {
    return Complain(fmt::format("{} is not on {}", name, node));
  }
  if (waited) return;
  base::Quantity used;
  for (const api::Object& object : town_.Objects<api::Pod>()) {
    const api::Pod& other = *object.As<api::Pod>();
    if (other.spec.node_name == node && !Ended(other)) used += CpuOf(other);
  }
  if (used > *stored->status.allocatable.Find("cpu")) {
    Complain(fmt::format("{} has more cpu in use than it has after {}", node, name));
  }
}

bool Watcher::CheckWaiting(scheduler::Scheduler& scheduler, bool all) {
  const std::vector<api::Pod> pods = town_.All<api::Pod>();
  // Room that is kept for a pod is kept until it is tried again, also when its nomination could not
  // be written: a fresh scheduler would not know of it.
  if (scheduler.rooms_kept() > 0) return false;
  // What came and went unseen is read after a while, and taken for there until then.
  if (scheduler.world().unseen_claims() > 0) return false;
  for (const api::Pod& pod : pods) {
    if (!pod.spec.node_name.empty()) continue;
    if (scheduler.world().Assumed(scheduler::KeyOf(pod)) ||
        !pod.status.nominated_node_name.empty()) {
      return false;
    }
  }
  Onlooker onlooker(town_.cluster());
  scheduler::SchedulerOptions options;
  options.gates = AllDeviceGates();
  options.caches = false;
  options.config.profiles.front().preemption.devices = preempts_;
  scheduler::Scheduler fresh(onlooker, town_.clock(), onlooker, options);
  fresh.Sync();
  std::map<std::string, Outcome> outcomes;
  while (std::optional<Outcome> outcome = fresh.ScheduleOne()) {
    const std::string key = outcome->pod;
    outcomes[key] = *std::move(outcome);
  }
  for (const api::Pod& pod : pods) {
    const std::string key = scheduler::KeyOf(pod);
    const auto where = scheduler.queue().Where(key);
    const auto outcome = outcomes.find(key);
    const bool waits = where == QueueName::kUnschedulable || (all && where == QueueName::kBackoff);
    if (!waits) continue;
    ++explanations_;
    // It has a claim no more: one lets it wait where it is, the other does not let it in.
    if (fresh.queue().Where(key) == QueueName::kGated) {
      const scheduler::PodExplanation* said = scheduler.Explain(key);
      if (said == nullptr || said->before.empty() ||
          said->before[0].text != fresh.Explain(key)->before[0].text) {
        Complain(fmt::format("{} waits for a claim and is not told so", key));
      }
      continue;
    }
    if (outcome == outcomes.end()) {
      Complain(fmt::format("{} waits, and a fresh scheduler has not tried it", key));
      continue;
    }
    // An error without a node is no node, either.
    if (!outcome->second.node.empty()) {
      const scheduler::PodExplanation* said = scheduler.Explain(key);
      Complain(fmt::format("{} waits, and a fresh scheduler has for it: {} {}\nIt was told: {}",
                           key, outcome->second.node, outcome->second.message,
                           said == nullptr ? "nothing" : Said(*said)));
      continue;
    }
    const scheduler::PodExplanation* is_told = scheduler.Explain(key);
    const scheduler::PodExplanation* would_be_told = fresh.Explain(key);
    if (is_told == nullptr || would_be_told == nullptr) {
      Complain(fmt::format("{} waits and is told nothing", key));
      continue;
    }
    if (Said(*is_told) != Said(*would_be_told)) {
      Complain(
          fmt::format("{} is told\n{}\nbut it is\n{}", key, Said(*is_told), Said(*would_be_told)));
    }
    CheckReasons(pod, *is_told);
  }
  return true;
}

// What the first node of each group is said to lack, it lacks.
void Watcher::CheckReasons(const api::Pod& pod, const scheduler::PodExplanation& explanation) {
  std::vector<api::ResourceClaim> claims;
  bool judged = true;
  for (const auto& entry : pod.spec.resource_claims) {
    auto claim = town_.Find<api::ResourceClaim>(entry.resource_claim_name.value_or(""));
    if (!claim) {
      judged = false;
    } else if (!claim->status.allocation &&
               std::ranges::find(claims, claim->metadata.uid, [](const auto& each) {
                 return each.metadata.uid;
               }) == claims.end()) {
      claims.push_back(*std::move(claim));
    }
  }
  // What extended resources ask for is not stored.
  for (const api::Container& container : pod.spec.containers) {
    judged = judged && container.resources.requests.size() == 1;
  }
  for (const scheduler::NodeGroup& group : explanation.groups) {
    for (const scheduler::Reason& reason : group.reasons) {
      if (!judged || claims.empty() || reason.code != "cannot_allocate_claims") continue;
      const auto node = town_.Find<api::Node>(group.examples.front(), "");
      const model::Outcome outcome =
          model::Solve(town_.InstanceFor(*node, claims), {.max_steps = kModelSteps});
      if (outcome.kind == model::Outcome::Kind::kNotPossible) ++model_refusals_;
      if (outcome.kind == model::Outcome::Kind::kAllocated) {
        Complain(fmt::format("{} is told that {} has no devices for it, which it has",
                             pod.metadata.name, group.examples.front()));
      }
    }
  }
}

}  // namespace dray::soak
