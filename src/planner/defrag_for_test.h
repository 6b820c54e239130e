// SPDX-License-Identifier: Apache-2.0
//
// Clusters with something to move: pods that are on their nodes and have their devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "planner/defrag.h"
#include "planner/plan_for_test.h"

namespace dray::planner {

// A pod that is on a node with these devices, which a claim has that was made for it. `metadata` are
// more fields of its metadata, each with a comma behind it; `spec` are lines of its spec.
struct Running {
  std::string name;
  std::string node;
  std::vector<int> gpus;
  std::string cpu = "1";
  int priority = 0;
  bool controlled = true;
  std::string metadata = {};
  std::string spec = {};
};

inline std::string RunningYaml(const Running& pod) {
  std::string yaml =
      fmt::format(R"(---
apiVersion: v1
kind: Pod
metadata:
  name: {0}
  namespace: default
  uid: uid-{0}
  labels: {{app: {0}}}
{1}{2}spec:
  nodeName: {3}
  priority: {4}
  containers:
  - name: c
    image: i
    resources: {{requests: {{cpu: "{5}"}}}}
{6})",
                  pod.name,
                  pod.controlled ? fmt::format("  ownerReferences: [{{apiVersion: apps/v1, "
                                               "kind: ReplicaSet, name: of-{0}, uid: of-{0}, "
                                               "controller: true}}]\n",
                                               pod.name)
                                 : "",
                  pod.metadata, pod.node, pod.priority, pod.cpu, pod.spec);
  if (pod.gpus.empty()) return yaml + "status: {phase: Running}\n";
  std::string results;
  for (const int gpu : pod.gpus) {
    results +=
        fmt::format("      - {{request: gpu, driver: gpu.example.com, pool: {}, device: gpu-{}}}\n",
                    pod.node, gpu);
  }
  yaml += fmt::format(R"(  resourceClaims:
  - name: gpus
    resourceClaimTemplateName: gpus-{1}
status:
  phase: Running
  resourceClaimStatuses: [{{name: gpus, resourceClaimName: {0}-gpus}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: {0}-gpus
  namespace: default
  uid: uid-{0}-gpus
  finalizers: [resource.kubernetes.io/delete-protection]
  ownerReferences: [{{apiVersion: v1, kind: Pod, name: {0}, uid: uid-{0}, controller: true}}]
spec:
  devices:
    requests:
    - name: gpu
      exactly: {{deviceClassName: gpu, allocationMode: ExactCount, count: {1}}}
status:
  allocation:
    nodeSelector:
      nodeSelectorTerms:
      - matchFields: [{{key: metadata.name, operator: In, values: [{2}]}}]
    devices:
      results:
{3}  reservedFor: [{{resource: pods, name: {0}, uid: uid-{0}}}]
)",
                      pod.name, pod.gpus.size(), pod.node, results);
  return yaml;
}

inline StatusOr<Defrag> DefragOf(std::string_view yaml, const DefragGoal& goal = {},
                                 const DefragOptions& options = {},
                                 const PlanOptions& plan = DefaultOptions()) {
  return FindMoves(testing::ObjectsFrom(yaml), goal, plan, options);
}

// "a n1>n2", then "x >n1", then "n3 free".
inline std::vector<std::string> Lines(const Defrag& found) {
  std::vector<std::string> lines;
  for (const Move& move : found.moves) {
    lines.push_back(fmt::format("{} {}>{}", move.pod.name, move.from, move.to));
  }
  for (const Arrival& arrival : found.arrivals) {
    lines.push_back(arrival.devices ? fmt::format("{}={} >{}", arrival.devices->device_class,
                                                  arrival.devices->count, arrival.node)
                                    : fmt::format("{} >{}", arrival.pod.name, arrival.node));
  }
  for (const std::string& node : found.free_nodes) lines.push_back(node + " free");
  return lines;
}

}  // namespace dray::planner
