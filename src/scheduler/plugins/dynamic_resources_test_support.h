// SPDX-License-Identifier: Apache-2.0
//
// A small cluster around the DynamicResources plugin, for its tests: objects come from manifests,
// phases are called one by one or all together, and answers are texts.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "api/memory_cluster.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "fmt/format.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/world.h"
#include "testing/objects_from.h"

namespace dray::scheduler::scenes {

using dray::testing::ObjectsFrom;

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

inline std::string Say(const PluginStatus& status) {
  using Code = PluginStatus::Code;
  const auto with = [&](std::string_view what) {
    std::string text(what);
    for (const Reason& reason : status.reasons) text.append(": ").append(reason.text);
    return text;
  };
  switch (status.code) {
    case Code::kSuccess:
      return "ok";
    case Code::kSkip:
      return "skip";
    case Code::kUnschedulable:
      return with("unschedulable");
    case Code::kUnresolvable:
      return with("unresolvable");
    case Code::kWait:
      return "wait";
    case Code::kError:
      return with("error");
  }
  return {};
}

class CountingIds final : public Ids {
 public:
  std::string Uid() override { return fmt::format("00000000-0000-4000-8000-{:012}", ++count_); }

 private:
  int count_ = 0;
};

// One attempt for one pod.
struct Cycle {
  std::shared_ptr<const PodInfo> pod;
  CycleState state;
};

class Scene {
 public:
  // Scenes that exchange objects need different seeds: uids come from them. The server's gates are
  // the scheduler's unless they are given.
  explicit Scene(api::FeatureGates gates = {}, std::uint64_t seed = 1,
                 std::optional<api::FeatureGates> server = std::nullopt)
      : clock_(base::Time::FromUnix(1'700'000'000)),
        random_(seed),
        cluster_(clock_, random_, {.gates = server.value_or(gates)}),
        world_(WorldOptions{.gates = gates}) {
    const std::vector<const api::KindInfo*> kinds = {
        &KindOf<api::Pod>(),           &KindOf<api::Node>(),        &KindOf<api::ResourceClaim>(),
        &KindOf<api::ResourceSlice>(), &KindOf<api::DeviceClass>(), &KindOf<api::DeviceTaintRule>(),
        &KindOf<api::Namespace>()};
    watch_ = cluster_.Watch(kinds);
    plugin_ = std::make_unique<DynamicResources>(world_, cluster_, clock_, ids_, options_);
  }

  // Objects with status and all.
  void Load(std::string_view yaml) {
    const Status loaded = cluster_.Load(ObjectsFrom(yaml));
    if (!loaded.ok()) fmt::print(stderr, "{}\n", base::Message(loaded));
    DRAY_CHECK(loaded.ok());
    Sync();
  }
  void Delete(const api::KindInfo& kind, std::string_view name) {
    DRAY_CHECK(cluster_.Delete(kind, kind.namespaced ? "default" : "", name).ok());
    Sync();
  }
  // What has happened since, in order. `on_change` sees each after the world has taken it in.
  void Sync(const std::function<void(const api::Change&)>& on_change = {}) {
    while (auto change = watch_->Next()) {
      world_.Apply(*change);
      if (on_change) on_change(*change);
    }
  }

  std::shared_ptr<const PodInfo> Pod(std::string_view name) const {
    auto pod = world_.FindPod(fmt::format("default/{}", name));
    DRAY_CHECK(pod != nullptr);
    return pod;
  }
  NodeInfo& Node(std::string_view name) const {
    NodeInfo* node = world_.FindNode(name);
    DRAY_CHECK(node != nullptr);
    return *node;
  }
  template <typename T>
  std::shared_ptr<const T> Find(std::string_view name) const {
    const auto& kind = KindOf<T>();
    const std::optional<api::Object> object =
        cluster_.Stored(kind, kind.namespaced ? "default" : "", name);
    return object.has_value() ? std::make_shared<const T>(*object->template As<T>()) : nullptr;
  }
  std::vector<std::string> ClaimNames() const {
    std::vector<std::string> names;
    for (const api::Object& claim : cluster_.All(KindOf<api::ResourceClaim>())) {
      names.push_back(claim.metadata().name);
    }
    return names;
  }
  void Change(std::string_view claim, const std::function<void(api::ResourceClaim&)>& change,
              bool status = true) {
    api::ResourceClaim changed = *Find<api::ResourceClaim>(claim);
    change(changed);
    auto object = api::Object::Of(std::move(changed));
    const auto stored = status ? cluster_.UpdateStatus(object) : cluster_.Update(object);
    if (!stored.ok()) fmt::print(stderr, "{}\n", base::Message(stored.status()));
    DRAY_CHECK(stored.ok());
    Sync();
  }

  Cycle Start(std::string_view pod) const { return {Pod(pod), {}}; }
  std::string PreFilter(Cycle& cycle) {
    return Say(plugin_->PreFilter(cycle.state, *cycle.pod, world_));
  }
  std::string Filter(Cycle& cycle, std::string_view node) {
    return Say(plugin_->Filter(cycle.state, *cycle.pod, Node(node)));
  }
  std::string PostFilter(Cycle& cycle) {
    return Say(plugin_->PostFilter(cycle.state, *cycle.pod, world_).status);
  }
  std::string Reserve(Cycle& cycle, std::string_view node) {
    return Say(plugin_->Reserve(cycle.state, *cycle.pod, Node(node), world_));
  }
  std::string PreBind(Cycle& cycle, std::string_view node) {
    return Say(plugin_->PreBind(cycle.state, *cycle.pod, node, world_));
  }
  void Unreserve(Cycle& cycle) { plugin_->Unreserve(cycle.state, *cycle.pod, world_); }

  // All phases: on the first node by name that passes. "bound to n1", or where it ended and why.
  std::string Schedule(std::string_view pod) {
    Cycle cycle = Start(pod);
    std::string said = PreFilter(cycle);
    if (said != "ok") return "PreFilter " + said;
    const NodeInfo* chosen = nullptr;
    for (const NodeInfo* node : world_.nodes()) {
      said = Say(plugin_->Filter(cycle.state, *cycle.pod, *node));
      if (said.starts_with("error")) return "Filter " + said;
      if (said == "ok") {
        chosen = node;
        break;
      }
    }
    if (chosen == nullptr) {
      said = "Filter " + said + "; PostFilter " + PostFilter(cycle);
      Sync();
      return said;
    }
    const std::string node = chosen->name();
    said = Reserve(cycle, node);
    if (said == "ok") said = PreBind(cycle, node);
    if (said != "ok") {
      Unreserve(cycle);
      Sync();
      return "Reserve or PreBind " + said;
    }
    const api::ObjectMeta& meta = cycle.pod->pod->metadata;
    DRAY_CHECK(cluster_.Bind(meta.namespace_, meta.name, meta.uid, node).ok());
    Sync();
    return "bound to " + node;
  }

  base::ManualClock clock_;
  base::SeededRandomSource random_;
  api::MemoryCluster cluster_;
  World world_;
  CountingIds ids_;
  DynamicResourcesOptions options_;
  std::unique_ptr<api::ObjectWatch> watch_;
  std::unique_ptr<DynamicResources> plugin_;
};

// "gpu-0 gpu-1": the devices of a claim, or "not allocated".
inline std::string DevicesOf(const api::ResourceClaim* claim) {
  if (claim == nullptr) return "no claim";
  if (!claim->status.allocation.has_value()) return "not allocated";
  std::string text;
  for (const auto& result : claim->status.allocation->devices.results) {
    text.append(text.empty() ? "" : " ").append(result.device);
  }
  return text;
}

// Two nodes with two GPUs each, named by node: n1-gpu-0.
inline constexpr std::string_view kTwoNodes = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec:
  selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]
  extendedResourceName: example.com/gpu
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {zone: a}}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {zone: b}}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices: [{name: n1-gpu-0}, {name: n1-gpu-1}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n2}
spec:
  driver: gpu.example.com
  nodeName: n2
  pool: {name: n2, generation: 1, resourceSliceCount: 1}
  devices: [{name: n2-gpu-0}, {name: n2-gpu-1}]
)";

// A claim for `count` GPUs, and a pod that names the claims.
inline std::string ClaimYaml(std::string_view name, int count = 1,
                             std::string_view device_class = "gpu") {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {}, namespace: default}}
spec:
  devices:
    requests: [{{name: r, exactly: {{deviceClassName: {}, allocationMode: ExactCount, count: {}}}}}]
---
)",
                     name, device_class, count);
}
inline std::string PodYaml(std::string_view name, const std::vector<std::string>& claims) {
  std::string text = fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: default, uid: uid-{0}}}
spec:
  containers: [{{name: c, image: i}}]
  resourceClaims:
)",
                                 name);
  for (const std::string& claim : claims) {
    text += fmt::format("  - {{name: {0}, resourceClaimName: {0}}}\n", claim);
  }
  return text + "---\n";
}
// A pod whose one container asks for an amount of an extended resource.
inline std::string GpuPodYaml(std::string_view name, int count,
                              std::string_view resource = "example.com/gpu") {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: default, uid: uid-{0}}}
spec:
  containers:
  - name: c
    image: i
    resources:
      requests: {{cpu: "1", {2}: "{1}"}}
      limits: {{{2}: "{1}"}}
---
)",
                     name, count, resource);
}

}  // namespace dray::scheduler::scenes
