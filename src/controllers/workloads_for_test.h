// SPDX-License-Identifier: Apache-2.0
//
// Workloads in a line each, and what a kubelet would do to their pods.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/job.h"
#include "api/workloads.h"
#include "controllers/scene_for_test.h"

namespace dray::controllers {

// Labels and selector are app=<name>.
template <typename T>
T WorkloadNamed(std::string_view name, std::int32_t replicas) {
  T workload;
  workload.metadata.namespace_ = "ns";
  workload.metadata.name = name;
  workload.spec.replicas = replicas;
  workload.spec.selector.emplace().match_labels["app"] = name;
  workload.spec.template_.metadata.labels["app"] = name;
  workload.spec.template_.spec.containers.push_back({.name = "c", .image = "i"});
  return workload;
}
inline api::ReplicaSet SetNamed(std::string_view name, std::int32_t replicas) {
  return WorkloadNamed<api::ReplicaSet>(name, replicas);
}
inline api::Deployment DeploymentNamed(std::string_view name, std::int32_t replicas) {
  return WorkloadNamed<api::Deployment>(name, replicas);
}
inline api::Job JobNamed(std::string_view name) {
  api::Job job;
  job.metadata.namespace_ = "ns";
  job.metadata.name = name;
  job.spec.template_.spec.containers.push_back({.name = "c", .image = "i"});
  job.spec.template_.spec.restart_policy = api::kRestartPolicyNever;
  return job;
}

// The pod runs and is ready from now on.
inline void MakeReady(Scene& scene, std::string_view name) {
  api::Pod pod = scene.Get<api::Pod>(name);
  if (pod.spec.node_name.empty()) {
    EXPECT_TRUE(scene.cluster().Bind("ns", name, pod.metadata.uid, "node-1").ok());
    pod = scene.Get<api::Pod>(name);
  }
  pod.status.phase = api::kPodRunning;
  pod.status.conditions.push_back({.type = std::string(api::kPodReadyCondition),
                                   .status = "True",
                                   .last_transition_time = scene.clock().Now()});
  scene.PutStatus(std::move(pod));
}
inline bool IsReadyNow(const api::Pod& pod) {
  for (const auto& condition : pod.status.conditions) {
    if (condition.type == api::kPodReadyCondition && condition.status == "True") return true;
  }
  return false;
}
inline void MakeAllReady(Scene& scene) {
  for (const api::Pod& pod : scene.All<api::Pod>()) {
    if (!IsReadyNow(pod)) MakeReady(scene, pod.metadata.name);
  }
}

}  // namespace dray::controllers
