// SPDX-License-Identifier: Apache-2.0
//
// What the PodResources API says of a pod, and how its server asks the loop.
//
// Spec: docs/spec/node.md section 11. Unlike a kubelet's, a container's list has the devices of its
// requests alone, and each device has its own CDI names alone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/container.h"
#include "api/pod.h"
#include "base/status.h"
#include "node/claim_manager.h"
#include "node/loop.h"
#include "rpc/pod_resources.h"

namespace dray::node {

// What a container gets; ClaimManager::ClaimsFor.
using ClaimsOfContainer = std::function<StatusOr<std::vector<ContainerClaim>>(
    const api::Pod& pod, const api::Container& container)>;

// Sidecars first, then ordinary containers; other init containers are not listed. Claims that are
// not prepared (yet) are left out.
rpc::PodResources PodResourcesOf(const api::Pod& pod, const ClaimsOfContainer& claims);

// Answers from the loop. `list` is called there, for pods that are active. Thread-safe.
class PodResourcesOnLoop final : public rpc::PodResourcesSource {
 public:
  // The loop outlives it.
  PodResourcesOnLoop(Loop& loop, std::function<std::vector<rpc::PodResources>()> list)
      : loop_(loop), list_(std::make_shared<const Lister>(std::move(list))) {}

  void List(rpc::Done<std::vector<rpc::PodResources>> done) override;
  void Get(const std::string& namespace_, const std::string& name,
           rpc::Done<std::optional<rpc::PodResources>> done) override;

 private:
  using Lister = std::function<std::vector<rpc::PodResources>()>;
  Loop& loop_;
  // Questions that come to the loop when this is gone are not answered.
  const std::shared_ptr<const Lister> list_;
};

}  // namespace dray::node
