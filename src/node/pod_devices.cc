// SPDX-License-Identifier: Apache-2.0
#include "node/pod_devices.h"

#include <algorithm>
#include <utility>

namespace dray::node {
namespace {

rpc::ContainerResources ResourcesOf(const api::Pod& pod, const api::Container& container,
                                    const ClaimsOfContainer& claims) {
  rpc::ContainerResources out{.name = container.name};
  const StatusOr<std::vector<ContainerClaim>> found = claims(pod, container);
  if (!found.ok()) return out;
  for (const ContainerClaim& claim : *found) {
    auto listed = std::ranges::find(out.claims, claim.claim, &rpc::DynamicResource::claim_name);
    if (listed == out.claims.end()) {
      out.claims.push_back({.claim_name = claim.claim, .claim_namespace = claim.namespace_});
      listed = std::prev(out.claims.end());
    }
    for (const UsedDevice& used : claim.devices) {
      rpc::ClaimResource resource{.driver = used.driver,
                                  .pool = used.device.pool,
                                  .device = used.device.device,
                                  .cdi_devices = used.device.cdi_ids,
                                  .share_id = used.device.share_id};
      // Two entries of a container may lead to the same device.
      if (std::ranges::find(listed->resources, resource) == listed->resources.end()) {
        listed->resources.push_back(std::move(resource));
      }
    }
  }
  return out;
}

}  // namespace

rpc::PodResources PodResourcesOf(const api::Pod& pod, const ClaimsOfContainer& claims) {
  rpc::PodResources out{.name = pod.metadata.name, .namespace_ = pod.metadata.namespace_};
  for (const api::Container& container : pod.spec.init_containers) {
    if (container.restart_policy == "Always") {
      out.containers.push_back(ResourcesOf(pod, container, claims));
    }
  }
  for (const api::Container& container : pod.spec.containers) {
    out.containers.push_back(ResourcesOf(pod, container, claims));
  }
  return out;
}

void PodResourcesOnLoop::List(rpc::Done<std::vector<rpc::PodResources>> done) {
  loop_.Post([list = std::weak_ptr(list_), done = std::move(done)] {
    if (const auto lister = list.lock()) {
      done((*lister)());
    } else {
      done(base::Unavailable("the agent is stopping"));
    }
  });
}

void PodResourcesOnLoop::Get(const std::string& namespace_, const std::string& name,
                             rpc::Done<std::optional<rpc::PodResources>> done) {
  List([namespace_, name,
        done = std::move(done)](const StatusOr<std::vector<rpc::PodResources>>& pods) {
    if (!pods.ok()) return done(pods.status());
    std::optional<rpc::PodResources> found;
    for (const rpc::PodResources& pod : *pods) {
      if (pod.name == name && pod.namespace_ == namespace_) found = pod;
    }
    done(std::move(found));
  });
}

}  // namespace dray::node
