// SPDX-License-Identifier: Apache-2.0
//
// Feature gates that go on, off and on again in a cluster with workloads, as the five proposals'
// "Feature Enablement and Rollback" sections want it: whoever runs goes on, nobody gets what is
// taken, and what was dropped stays dropped. From manifests to stored objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/plugins/dynamic_resources_test_support.h"
#include "scheduler/scheduler.h"
#include "testing/slice_yaml.h"

namespace dray::scheduler::scenes {
namespace {

using dray::testing::SliceYaml;
using ::testing::HasSubstr;

// A control plane that can be started again with other gates; what is stored stays.
class ControlPlane {
 public:
  explicit ControlPlane(api::Gate gate) : gate_(gate) { Start(true); }

  void Start(bool on) {
    std::vector<api::Object> objects;
    if (cluster_ != nullptr) {
      for (const api::KindInfo* kind :
           {&KindOf<api::DeviceClass>(), &KindOf<api::Node>(), &KindOf<api::ResourceSlice>(),
            &KindOf<api::ResourceClaim>(), &KindOf<api::Pod>()}) {
        for (api::Object& object : cluster_->All(*kind)) objects.push_back(std::move(object));
      }
    }
    // As an operator says it: one gate on a command line.
    const auto gates =
        api::FeatureGates::Parse(fmt::format("{}={}", api::InfoOf(gate_).name, on), {});
    ASSERT_TRUE(gates.ok()) << gates.status();
    scheduler_.reset();
    cluster_ = std::make_unique<api::MemoryCluster>(clock_, random_,
                                                    api::MemoryClusterOptions{.gates = *gates});
    ASSERT_TRUE(cluster_->Load(std::move(objects)).ok());
    SchedulerOptions options;
    options.gates = *gates;
    scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
  }
  // As a client would. What the server has against it.
  std::string Store(std::string_view yaml) {
    std::string said;
    for (api::Object& object : ObjectsFrom(yaml)) {
      api::Object with_status = object;
      const auto created = cluster_->Create(std::move(object));
      if (!created.ok()) said.append(base::Message(created.status())).append("\n");
      if (with_status.As<api::Node>() != nullptr && created.ok()) {
        with_status.MutableMetadata() = created->metadata();
        EXPECT_TRUE(cluster_->UpdateStatus(std::move(with_status)).ok());
      }
    }
    return said;
  }
  // And then pods are scheduled.
  std::string Apply(std::string_view yaml) {
    std::string said = Store(yaml);
    scheduler_->Run();
    return said;
  }
  // "n1", or "" while it waits.
  std::string NodeOf(std::string_view pod) {
    scheduler_->Run();
    return Find<api::Pod>(pod)->spec.node_name;
  }
  template <typename T>
  std::shared_ptr<const T> Find(std::string_view name) const {
    const auto& kind = KindOf<T>();
    const auto object = cluster_->Stored(kind, kind.namespaced ? "default" : "", name);
    return object ? std::make_shared<const T>(*object->template As<T>()) : nullptr;
  }
  std::vector<api::ResourceClaim> Claims() const {
    std::vector<api::ResourceClaim> claims;
    for (const api::Object& object : cluster_->All(KindOf<api::ResourceClaim>())) {
      claims.push_back(*object.As<api::ResourceClaim>());
    }
    return claims;
  }

 private:
  api::Gate gate_;
  base::ManualClock clock_{base::Time::FromUnix(1'700'000'000)};
  base::SeededRandomSource random_{7};
  CountingIds ids_;
  std::unique_ptr<api::MemoryCluster> cluster_;
  std::unique_ptr<Scheduler> scheduler_;
};

// One node, and the devices that its driver publishes.
std::string OneNode(std::string_view slices) {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: gpu}}
spec:
  selectors: [{{cel: {{expression: device.driver == "gpu.example.com"}}}}]
  extendedResourceName: example.com/gpu
---
apiVersion: v1
kind: Node
metadata: {{name: n1}}
status:
  capacity: {{cpu: "8", memory: 16Gi, pods: "110"}}
  allocatable: {{cpu: "8", memory: 16Gi, pods: "110"}}
{})",
                     slices);
}

// A claim with one request, and a pod of its name that uses it. `request`: members of `exactly`.
std::string PodWithClaim(std::string_view name, std::string_view request,
                         std::string_view constraints = "[]") {
  return fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {0}, namespace: default}}
spec:
  devices:
    requests: [{{name: r, exactly: {{deviceClassName: gpu, {1}}}}}]
    constraints: {2}
---
{3})",
                     name, request, constraints, PodYaml(name, {std::string(name)}));
}

TEST(GateCycles, ExtendedResourcesOnOffOn) {
  ControlPlane plane(api::Gate::kDRAExtendedResource);
  plane.Start(false);
  plane.Apply(OneNode(SliceYaml(R"(
  devices: [{name: gpu-0}, {name: gpu-1}]
)")));
  plane.Apply(GpuPodYaml("early", 1));
  EXPECT_EQ(plane.NodeOf("early"), "");
  EXPECT_FALSE(plane.Find<api::DeviceClass>("gpu")->spec.extended_resource_name.has_value());

  plane.Start(true);
  // The implicit name needs nothing of the class; the explicit one was dropped while it was off.
  plane.Apply(GpuPodYaml("first", 1, "deviceclass.resource.kubernetes.io/gpu"));
  EXPECT_EQ(plane.NodeOf("early"), "");
  EXPECT_EQ(plane.NodeOf("first"), "n1");
  ASSERT_EQ(plane.Claims().size(), 1u);
  EXPECT_EQ(
      plane.Find<api::Pod>("first")->status.extended_resource_claim_status->resource_claim_name,
      plane.Claims()[0].metadata.name);

  plane.Start(false);
  plane.Apply(GpuPodYaml("second", 1, "deviceclass.resource.kubernetes.io/gpu"));
  EXPECT_EQ(plane.NodeOf("second"), "");
  EXPECT_EQ(plane.NodeOf("first"), "n1");
  ASSERT_EQ(plane.Claims().size(), 1u);
  EXPECT_EQ(DevicesOf(&plane.Claims()[0]), "gpu-0");

  plane.Start(true);
  EXPECT_EQ(plane.NodeOf("second"), "n1");
  ASSERT_EQ(plane.Claims().size(), 2u);
  EXPECT_THAT(
      (std::vector<std::string>{DevicesOf(&plane.Claims()[0]), DevicesOf(&plane.Claims()[1])}),
      ::testing::UnorderedElementsAre("gpu-0", "gpu-1"));
}

TEST(GateCycles, ConsumableCapacityOnOffOn) {
  ControlPlane plane(api::Gate::kDRAConsumableCapacity);
  plane.Apply(OneNode(SliceYaml(R"(
  devices: [{name: nic, allowMultipleAllocations: true, capacity: {bandwidth: {value: 10G}}}]
)")));
  const auto asks = [](std::string_view amount) {
    return fmt::format("capacity: {{requests: {{bandwidth: {}}}}}", amount);
  };
  plane.Apply(PodWithClaim("five", asks("5G")));
  EXPECT_EQ(plane.NodeOf("five"), "n1");
  const api::DeviceRequestAllocationResult five =
      plane.Find<api::ResourceClaim>("five")->status.allocation->devices.results[0];
  ASSERT_TRUE(five.share_id.has_value());
  EXPECT_EQ(five.consumed_capacity.Find("bandwidth")->ToString(), "5G");

  // The allocation stays as it is, and the rest of the device is nobody's.
  plane.Start(false);
  plane.Apply(PodWithClaim("dropped", asks("2G")));
  EXPECT_FALSE(plane.Find<api::ResourceClaim>("dropped")
                   ->spec.devices.requests[0]
                   .exactly->capacity.has_value());
  EXPECT_EQ(plane.NodeOf("dropped"), "");
  EXPECT_EQ(plane.NodeOf("five"), "n1");
  EXPECT_EQ(plane.Find<api::ResourceClaim>("five")->status.allocation->devices.results[0], five);

  plane.Start(true);
  plane.Apply(PodWithClaim("eight", asks("8G")) + PodWithClaim("two", asks("2G")));
  EXPECT_EQ(plane.NodeOf("eight"), "");
  EXPECT_EQ(plane.NodeOf("two"), "n1");
  EXPECT_EQ(plane.Find<api::ResourceClaim>("two")
                ->status.allocation->devices.results[0]
                .consumed_capacity.Find("bandwidth")
                ->ToString(),
            "2G");
  EXPECT_EQ(plane.Find<api::ResourceClaim>("five")->status.allocation->devices.results[0], five);
}

TEST(GateCycles, ListAttributesOnOffOn) {
  ControlPlane plane(api::Gate::kDRAListTypeAttributes);
  plane.Apply(OneNode(SliceYaml(R"(
  devices:
  - {name: gpu-0, attributes: {roots: {strings: [a, b]}}}
  - {name: gpu-1, attributes: {roots: {strings: [c]}}}
  - {name: gpu-2, attributes: {roots: {strings: [b, d]}}}
  - {name: gpu-3, attributes: {roots: {strings: [d, e]}}}
  - {name: gpu-4, attributes: {roots: {strings: [e]}}}
)")));
  const std::string match = "[{matchAttribute: gpu.example.com/roots}]";
  plane.Apply(PodWithClaim("first", "count: 2", match));
  EXPECT_EQ(plane.NodeOf("first"), "n1");
  EXPECT_EQ(DevicesOf(plane.Find<api::ResourceClaim>("first").get()), "gpu-0 gpu-2");

  // What is stored of lists is not looked at: no device has the attribute.
  plane.Start(false);
  plane.Apply(PodWithClaim("second", "count: 2", match));
  EXPECT_EQ(plane.NodeOf("second"), "");
  EXPECT_EQ(DevicesOf(plane.Find<api::ResourceClaim>("first").get()), "gpu-0 gpu-2");

  plane.Start(true);
  EXPECT_EQ(plane.NodeOf("second"), "n1");
  EXPECT_EQ(DevicesOf(plane.Find<api::ResourceClaim>("second").get()), "gpu-3 gpu-4");
}

TEST(GateCycles, CompatibilityGroupsOnOffOn) {
  ControlPlane plane(api::Gate::kDRADeviceCompatibilityGroups);
  plane.Apply(OneNode(SliceYaml(R"(
  sharedCounters: [{name: card, counters: {memory: {value: "8"}}}]
)",
                                {.name = "counters", .slices = 2}) +
                      SliceYaml(R"(
  devices:
  - name: mig-0
    consumesCounters: [{counterSet: card, counters: {memory: {value: "2"}}, compatibilityGroups: [mig]}]
  - name: mig-1
    consumesCounters: [{counterSet: card, counters: {memory: {value: "2"}}, compatibilityGroups: [mig]}]
  - name: vgpu-0
    consumesCounters: [{counterSet: card, counters: {memory: {value: "2"}}, compatibilityGroups: [vgpu]}]
)")));
  const auto named = [](std::string_view prefix) {
    return fmt::format(R"(selectors: [{{cel: {{expression: device.name.startsWith("{}")}}}}])",
                       prefix);
  };
  plane.Apply(PodWithClaim("first", named("mig")) + PodWithClaim("other", named("vgpu")));
  EXPECT_EQ(plane.NodeOf("first"), "n1");
  EXPECT_EQ(plane.NodeOf("other"), "");
  const auto groups = [&] {
    return *plane.Find<api::ResourceClaim>("first")
                ->status.allocation->devices.results[0]
                .compatibility_groups.Find("card");
  };
  EXPECT_EQ(groups(), std::vector<std::string>{"mig"});

  // Devices that declare groups are left alone; what was recorded stays.
  plane.Start(false);
  plane.Apply(PodWithClaim("second", named("mig")));
  EXPECT_EQ(plane.NodeOf("second"), "");
  EXPECT_EQ(plane.NodeOf("other"), "");
  EXPECT_EQ(groups(), std::vector<std::string>{"mig"});

  plane.Start(true);
  EXPECT_EQ(plane.NodeOf("second"), "n1");
  EXPECT_EQ(plane.NodeOf("other"), "");
  EXPECT_EQ(DevicesOf(plane.Find<api::ResourceClaim>("second").get()), "mig-1");
}

TEST(GateCycles, DerivedAttributesOnOffOn) {
  ControlPlane plane(api::Gate::kDRADerivedAttributes);
  plane.Apply(OneNode(SliceYaml(R"(
  devices:
  - {name: gpu-0, attributes: {index: {int: 0}}}
  - {name: gpu-1, attributes: {index: {int: 2}}}
  - {name: gpu-2, attributes: {index: {int: 1}}}
  - {name: gpu-3, attributes: {index: {int: 3}}}
)")));
  const std::string derived =
      R"(count: 2, derivedAttributes: [{name: half, expression: 'device.attributes["gpu.example.com"].index / 2'}])";
  const std::string match = "[{matchAttribute: half}]";
  plane.Apply(PodWithClaim("first", derived, match));
  EXPECT_EQ(plane.NodeOf("first"), "n1");
  EXPECT_EQ(DevicesOf(plane.Find<api::ResourceClaim>("first").get()), "gpu-0 gpu-2");
  EXPECT_EQ(plane.Store(PodWithClaim("waits", derived, match)), "");

  // What the claim has derived is not looked at, so that no device has the attribute.
  plane.Start(false);
  EXPECT_EQ(plane.NodeOf("waits"), "");
  EXPECT_THAT(plane.Apply(PodWithClaim("late", derived, match)),
              HasSubstr("spec.devices.requests[0].exactly.derivedAttributes: Forbidden: needs the "
                        "feature gate DRADerivedAttributes, which is off"));
  EXPECT_EQ(plane.Find<api::ResourceClaim>("late"), nullptr);
  EXPECT_EQ(DevicesOf(plane.Find<api::ResourceClaim>("first").get()), "gpu-0 gpu-2");

  plane.Start(true);
  EXPECT_EQ(plane.NodeOf("waits"), "n1");
  EXPECT_EQ(DevicesOf(plane.Find<api::ResourceClaim>("waits").get()), "gpu-1 gpu-3");
}

}  // namespace
}  // namespace dray::scheduler::scenes
