// SPDX-License-Identifier: Apache-2.0
#include "crash/judge.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "model/checker.h"
#include "model/instance.h"

namespace dray::crash {
namespace {

using Complaints = std::vector<std::string>;

constexpr std::string_view kGpuClass = "gpu.example.com";
constexpr std::string_view kGpuResource = "example.com/gpu";

bool Over(const api::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

template <typename T>
bool ReadAll(process::Requests& requests, std::vector<T>& into) {
  const auto listed = requests.List(api::HubKind(api::TypeInfoOf<T>()));
  if (!listed) return false;
  for (const api::Object& object : listed->objects) into.push_back(*object.As<T>());
  return true;
}

std::string NameOf(const api::ObjectMeta& metadata) {
  return metadata.namespace_ + "/" + metadata.name;
}

void CheckExclusive(const World& world, Complaints& complaints) {
  struct Holders {
    int exclusive = 0;
    int all = 0;
  };
  std::map<model::DeviceId, Holders> devices;
  std::set<std::string> shares;
  for (const api::ResourceClaim& claim : world.claims) {
    if (!claim.status.allocation) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      const model::DeviceId id{result.driver, result.pool, result.device};
      Holders& holders = devices[id];
      ++holders.all;
      holders.exclusive += result.share_id ? 0 : 1;
      if (holders.exclusive > 0 && holders.all > 1) {
        complaints.push_back(fmt::format("{} is given twice", model::ToString(id)));
      }
      if (result.share_id && !shares.insert(*result.share_id).second) {
        complaints.push_back(fmt::format("share {} is given twice", *result.share_id));
      }
    }
  }
}

// One claim after the other, as if it were the last to be allocated.
void CheckRules(const World& world, Complaints& complaints) {
  for (const api::ResourceClaim& claim : world.claims) {
    if (!claim.status.allocation) continue;
    // Pools have the names of their nodes.
    const std::string& pool = claim.status.allocation->devices.results.front().pool;
    const auto node = std::ranges::find(world.nodes, pool,
                                        [](const api::Node& each) { return each.metadata.name; });
    if (node == world.nodes.end()) {
      complaints.push_back(fmt::format("there is no node {}", pool));
      continue;
    }
    model::Instance instance;
    instance.features = model::Features::All();
    instance.node = *node;
    instance.classes = world.classes;
    instance.slices = world.slices;
    for (const api::ResourceClaim& other : world.claims) {
      if (other.status.allocation && other.metadata.uid != claim.metadata.uid) {
        instance.allocated_claims.push_back(other);
      }
    }
    api::AllocationResult result = *claim.status.allocation;
    result.allocation_timestamp.reset();
    instance.claims.push_back(claim);
    instance.claims.front().status = {};
    for (const std::string& text : model::CheckAllocation(instance, {result})) {
      complaints.push_back(fmt::format("claim {}: {}", NameOf(claim.metadata), text));
    }
  }
}

void CheckClaims(const World& world, Complaints& complaints) {
  std::map<std::string, const api::Pod*> pods;
  for (const api::Pod& pod : world.pods) pods[pod.metadata.uid] = &pod;
  const auto used_by = [&](const std::string& uid) {
    const auto pod = pods.find(uid);
    return pod != pods.end() && !Over(*pod->second);
  };
  for (const api::ResourceClaim& claim : world.claims) {
    const std::string name = NameOf(claim.metadata);
    // One that is in use waits for its users.
    if (claim.metadata.deletion_timestamp && claim.status.reserved_for.empty()) {
      complaints.push_back(name + " is still being deleted");
    }
    for (const api::OwnerReference& owner : claim.metadata.owner_references) {
      if (!used_by(owner.uid)) complaints.push_back(name + " has outlived its pod");
    }
    for (const auto& user : claim.status.reserved_for) {
      if (!used_by(user.uid)) complaints.push_back(name + " is reserved for a pod that is over");
    }
    if (claim.status.allocation && claim.status.reserved_for.empty()) {
      std::string last;
      for (const auto& entry : claim.metadata.managed_fields) {
        last += fmt::format(" {} {} {};", entry.manager, entry.subresource,
                            entry.time ? entry.time->ToRfc3339() : "");
      }
      complaints.push_back(fmt::format("{} is allocated for nobody; finalizers: {}; written by{}",
                                       name, claim.metadata.finalizers.size(), last));
    }
  }
}

void CheckPods(const World& world, Complaints& complaints) {
  std::set<std::string> claims;
  for (const api::ResourceClaim& claim : world.claims) {
    if (!claim.metadata.deletion_timestamp) claims.insert(NameOf(claim.metadata));
  }
  for (const api::Pod& pod : world.pods) {
    // Nothing can be done for one whose claim was deleted before it had it, be it that others still use
    // the claim.
    const bool waits_for_nothing =
        std::ranges::any_of(pod.spec.resource_claims, [&](const api::PodResourceClaim& entry) {
          return entry.resource_claim_name &&
                 !claims.contains(pod.metadata.namespace_ + "/" + *entry.resource_claim_name);
        });
    const std::string& phase = pod.status.phase;
    if (pod.metadata.deletion_timestamp) {
      complaints.push_back(NameOf(pod.metadata) + " is still being deleted");
    } else if (phase != "Running" && !Over(pod) && !waits_for_nothing) {
      std::string told;
      for (const api::PodCondition& condition : pod.status.conditions) {
        if (condition.status != "True") told += fmt::format("; {}", condition.message);
      }
      complaints.push_back(fmt::format("{} is {}, node \"{}\"{}", NameOf(pod.metadata), phase,
                                       pod.spec.node_name, told));
    }
  }
}

void CheckWorkloads(const World& world, Complaints& complaints) {
  for (const api::Deployment& deployment : world.deployments) {
    const std::int32_t wanted = deployment.spec.replicas.value_or(1);
    const std::int32_t have = deployment.status.available_replicas;
    if (have == wanted && deployment.status.replicas == wanted) continue;
    complaints.push_back(fmt::format("{} has {} of {} replicas, {} available",
                                     NameOf(deployment.metadata), deployment.status.replicas,
                                     wanted, have));
  }
  for (const api::Job& job : world.jobs) {
    if (job.status.succeeded == 2 && job.status.completion_time) continue;
    complaints.push_back(NameOf(job.metadata) + " is not complete");
  }
}

// What each quota counts, by plain counting.
std::map<std::string, base::Quantity> Used(const World& world, const std::string& space) {
  std::map<std::string, base::Quantity> used;
  const base::Quantity one = *base::Quantity::Parse("1");
  for (const std::string_view name :
       {"pods", "count/pods", "requests.cpu", "count/resourceclaims.resource.k8s.io",
        "gpu.example.com.deviceclass.resource.k8s.io/devices", "requests.example.com/gpu"}) {
    used[std::string(name)] = *base::Quantity::Parse("0");
  }
  for (const api::Pod& pod : world.pods) {
    if (pod.metadata.namespace_ != space) continue;
    used["count/pods"] += one;
    if (Over(pod)) continue;
    used["pods"] += one;
    for (const api::Container& container : pod.spec.containers) {
      const auto& requests = container.resources.requests;
      if (const auto* cpu = requests.Find("cpu")) used["requests.cpu"] += *cpu;
      if (const auto* gpus = requests.Find(kGpuResource)) used["requests.example.com/gpu"] += *gpus;
    }
  }
  for (const api::ResourceClaim& claim : world.claims) {
    if (claim.metadata.namespace_ != space) continue;
    used["count/resourceclaims.resource.k8s.io"] += one;
    // KEP-5004: what a pod has named is the pod's.
    const bool extended =
        claim.metadata.annotations.Find(api::kExtendedResourceClaimAnnotation) != nullptr;
    for (const api::DeviceRequest& request : claim.spec.devices.requests) {
      if (request.exactly->device_class_name != kGpuClass) continue;
      used["gpu.example.com.deviceclass.resource.k8s.io/devices"] += one;
      if (!extended) used["requests.example.com/gpu"] += one;
    }
  }
  return used;
}

void CheckQuotas(const World& world, Complaints& complaints) {
  for (const api::ResourceQuota& quota : world.quotas) {
    for (const auto& [name, amount] : Used(world, quota.metadata.namespace_)) {
      const base::Quantity* said = quota.status.used.Find(name);
      if (said != nullptr && *said == amount) continue;
      complaints.push_back(fmt::format("{}: {} is {}, the quota says {}", NameOf(quota.metadata),
                                       name, amount.ToString(),
                                       said == nullptr ? "nothing" : said->ToString()));
    }
  }
}

}  // namespace

std::optional<World> ReadWorld(process::Requests& requests) {
  World world;
  const bool read = ReadAll(requests, world.nodes) && ReadAll(requests, world.slices) &&
                    ReadAll(requests, world.classes) && ReadAll(requests, world.claims) &&
                    ReadAll(requests, world.pods) && ReadAll(requests, world.deployments) &&
                    ReadAll(requests, world.jobs) && ReadAll(requests, world.quotas);
  return read ? std::optional(std::move(world)) : std::nullopt;
}

std::vector<std::string> CheckDevices(const World& world) {
  Complaints complaints;
  CheckExclusive(world, complaints);
  CheckRules(world, complaints);
  return complaints;
}

std::vector<std::string> Unsettled(const World& world) {
  Complaints complaints;
  CheckPods(world, complaints);
  CheckWorkloads(world, complaints);
  CheckClaims(world, complaints);
  CheckQuotas(world, complaints);
  return complaints;
}

}  // namespace dray::crash
