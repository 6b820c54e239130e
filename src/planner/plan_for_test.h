// SPDX-License-Identifier: Apache-2.0
//
// Plans in tests: a small cluster written down, and outcomes in a line each.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fmt/format.h"
#include "planner/plan.h"
#include "testing/objects_from.h"

namespace dray::planner {

// A node of that name with 8 cpu, and `gpus` devices gpu-0, ... in a pool of its name.
inline std::string NodeYaml(std::string_view name, int gpus) {
  std::string text = fmt::format(R"(---
apiVersion: v1
kind: Node
metadata: {{name: {0}, labels: {{kubernetes.io/hostname: {0}}}}}
status:
  allocatable: {{cpu: "8", memory: 64Gi, pods: "110"}}
)",
                                 name);
  if (gpus == 0) return text;
  text += fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: slice-{0}}}
spec:
  driver: gpu.example.com
  nodeName: {0}
  pool: {{name: {0}, generation: 1, resourceSliceCount: 1}}
  devices:
)",
                      name);
  for (int i = 0; i < gpus; ++i) text += fmt::format("  - name: gpu-{}\n", i);
  return text;
}

// The class gpu, and a template gpus-N for each N from 1 to 4.
inline std::string ClassYaml() {
  std::string text = R"(---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors:
  - cel: {expression: device.driver == "gpu.example.com"}
)";
  for (int n = 1; n <= 4; ++n) {
    text += fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {{name: gpus-{0}, namespace: default}}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: {0}}}
)",
                        n);
  }
  return text;
}

inline std::string ClaimYaml(std::string_view name, int gpus) {
  return fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {}, namespace: default}}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: {}}}
)",
                     name, gpus);
}

// `more` are lines of the spec.
inline std::string PodYaml(std::string_view name, std::string_view more = "",
                           std::string_view cpu = "1") {
  return fmt::format(R"(---
apiVersion: v1
kind: Pod
metadata: {{name: {}, namespace: default}}
spec:
  containers:
  - name: c
    image: i
    resources: {{requests: {{cpu: "{}"}}}}
{})",
                     name, cpu, more);
}
// A pod with devices from the template gpus-N.
inline std::string GpuPodYaml(std::string_view name, int gpus, std::string_view more = "") {
  return PodYaml(name, fmt::format("  resourceClaims:\n  - name: gpus\n    "
                                   "resourceClaimTemplateName: gpus-{}\n{}",
                                   gpus, more));
}
inline std::string ClaimPodYaml(std::string_view name, std::string_view claim,
                                std::string_view more = "") {
  return PodYaml(
      name,
      fmt::format("  resourceClaims:\n  - name: gpus\n    resourceClaimName: {}\n{}", claim, more));
}

// Each pod has a device from the template gpus-1.
inline std::string DeploymentYaml(std::string_view name, int replicas) {
  return fmt::format(R"(---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {0}, namespace: default}}
spec:
  replicas: {1}
  selector: {{matchLabels: {{app: {0}}}}}
  template:
    metadata: {{labels: {{app: {0}}}}}
    spec:
      containers: [{{name: c, image: i}}]
      resourceClaims: [{{name: gpus, resourceClaimTemplateName: gpus-1}}]
)",
                     name, replicas);
}

inline PlanOptions DefaultOptions() { return {.now = base::Time::FromUnix(1'780'000'000)}; }

inline Plan PlanOf(std::vector<api::Object> objects,
                   const PlanOptions& options = DefaultOptions()) {
  auto plan = MakePlan(std::move(objects), options);
  DRAY_CHECK(plan.ok(), base::Message(plan.status()));
  return *std::move(plan);
}
inline Plan PlanOf(std::string_view yaml, const PlanOptions& options = DefaultOptions()) {
  return PlanOf(testing::ObjectsFrom(yaml), options);
}

inline std::string_view Word(State state) {
  constexpr std::string_view kWords[] = {"existing", "placed", "waiting", "refused", "preempted"};
  return kWords[static_cast<std::size_t>(state)];
}

// "a placed n1 gpu-0,gpu-1"
inline std::vector<std::string> Lines(const Plan& plan) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view name, State state, std::string_view node,
                       const std::vector<const ClaimUse*>& claims) {
    std::string devices;
    for (const ClaimUse* claim : claims) {
      for (const DeviceGrant& device : claim->devices) {
        devices.append(devices.empty() ? " " : ",").append(device.device);
      }
    }
    lines.push_back(
        fmt::format("{} {}{}{}{}", name, Word(state), node.empty() ? "" : " ", node, devices));
  };
  for (const PodOutcome& pod : plan.pods) {
    std::vector<const ClaimUse*> claims;
    for (const ClaimUse& claim : pod.claims) claims.push_back(&claim);
    add(pod.name, pod.state, pod.node, claims);
  }
  for (const ClaimOutcome& claim : plan.claims) {
    add("claim/" + claim.claim.name, claim.state, claim.node, {&claim.claim});
  }
  return lines;
}

inline std::string JsonOf(const std::vector<api::Object>& objects) {
  std::string text;
  for (const api::Object& object : objects) text += object.ToJson() + "\n";
  return text;
}

}  // namespace dray::planner
