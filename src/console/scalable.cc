// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "api/job.h"
#include "api/node.h"
#include "api/resource_slice.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "console/planning.h"
#include "fleet/json.h"
#include "fmt/format.h"

namespace dray::console {

using fleet::JsonOut;

Answer ScalableIn(const Scene& scene) {
  JsonOut out;
  out.BeginMap().List("workloads");
  const auto workload = [&](const api::Object& object, std::int64_t replicas,
                            const api::PodSpec& spec) {
    out.BeginMap().Text("kind", object.kind().kind).Text("namespace", object.metadata().namespace_);
    out.Text("name", object.metadata().name).Count("replicas", replicas);
    out.Count("devices", spec.resource_claims.size()).EndMap();
  };
  for (const api::Object& object : scene.objects) {
    if (const auto* deployment = object.As<api::Deployment>()) {
      workload(object, deployment->spec.replicas.value_or(1), deployment->spec.template_.spec);
    } else if (const auto* stateful = object.As<api::StatefulSet>()) {
      workload(object, stateful->spec.replicas.value_or(1), stateful->spec.template_.spec);
    } else if (const auto* job = object.As<api::Job>()) {
      workload(object, job->spec.parallelism.value_or(1), job->spec.template_.spec);
    } else if (const auto* set = object.As<api::ReplicaSet>()) {
      if (set->metadata.owner_references.empty()) {
        workload(object, set->spec.replicas.value_or(1), set->spec.template_.spec);
      }
    }
  }
  out.EndList();
  // Nodes with the same numbers of devices of the same drivers are of one shape.
  std::map<std::string, std::map<std::string, std::size_t>> devices;
  for (const api::Object& object : scene.objects) {
    const auto* slice = object.As<api::ResourceSlice>();
    if (slice == nullptr || !slice->spec.node_name || !slice->spec.devices) continue;
    devices[*slice->spec.node_name][slice->spec.driver] += slice->spec.devices->size();
  }
  std::map<std::string, std::pair<std::string, std::size_t>> shapes;  // by text: first, count
  for (const api::Object& object : scene.objects) {
    if (object.As<api::Node>() == nullptr) continue;
    const std::string& name = object.metadata().name;
    std::string text;
    for (const auto& [driver, count] : devices[name]) {
      text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, driver);
    }
    auto [it, fresh] = shapes.try_emplace(text.empty() ? "no devices" : text, name, 0);
    ++it->second.second;
    it->second.first = std::min(it->second.first, name);
  }
  out.List("shapes");
  for (const auto& [text, shape] : shapes) {
    out.BeginMap().Text("like", shape.first).Count("nodes", shape.second).Text("text", text);
    out.EndMap();
  }
  out.EndList().EndMap();
  return {.json = out.Take()};
}

}  // namespace dray::console
