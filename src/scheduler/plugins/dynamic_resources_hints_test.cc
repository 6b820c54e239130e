// SPDX-License-Identifier: Apache-2.0
//
// Which changes wake a pod that DynamicResources refused.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "scheduler/plugins/dynamic_resources_test_support.h"

namespace dray::scheduler::scenes {
namespace {

// What the changes that `happens` makes say to the pod "p": "queue" when any wakes it.
std::string Wakes(Scene& scene, const std::function<void(Scene&)>& happens) {
  const auto pod = scene.Pod("p");
  base::StringMap<api::Object> known;
  const auto key = [](const api::Object& object) {
    return fmt::format("{}/{}/{}", object.kind().kind, object.metadata().namespace_,
                       object.metadata().name);
  };
  for (const auto* kind : {&KindOf<api::Pod>(), &KindOf<api::Node>(), &KindOf<api::ResourceClaim>(),
                           &KindOf<api::ResourceSlice>(), &KindOf<api::DeviceClass>(),
                           &KindOf<api::DeviceTaintRule>()}) {
    for (const api::Object& object : scene.cluster_.All(*kind)) known.emplace(key(object), object);
  }
  happens(scene);
  bool woken = false;
  scene.Sync([&](const api::Change& change) {
    const auto before = known.find(key(change.object));
    const bool added = change.kind == api::Change::Kind::kAdded;
    const api::Object* old = added || before == known.end() ? nullptr : &before->second;
    woken = scene.plugin_->Wake(*pod, change, old) == Hint::kQueue || woken;
    known.insert_or_assign(key(change.object), change.object);
  });
  return woken ? "queue" : "skip";
}

struct HintCase {
  std::string name;
  std::function<void(Scene&)> happens;
  // A pod whose claim waits for a device; for its claim to be made; and one with extended
  // resources.
  std::string with_claim;
  std::string without_claim;
  std::string extended;
  friend void PrintTo(const HintCase& c, std::ostream* os) { *os << c.name; }
};
class HintTest : public ::testing::TestWithParam<HintCase> {};

// Every device is taken: claims "cx" and "cy" on n1 and n2, and a NIC on n1 by claim "cz".
constexpr std::string_view kNics = R"(
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: nic}
spec:
  selectors: [{cel: {expression: device.driver == "nic.example.com"}}]
  extendedResourceName: example.com/nic
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: nics}
spec:
  driver: nic.example.com
  nodeName: n1
  pool: {name: nics, generation: 1, resourceSliceCount: 1}
  devices: [{name: nic-0}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: old-rule}
spec: {deviceSelector: {driver: gpu.example.com}, taint: {key: k, effect: NoSchedule}}
---
)";
void Fill(Scene& scene) {
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("cx", 2) + ClaimYaml("cy", 2) +
             PodYaml("px", {"cx"}) + PodYaml("py", {"cy"}));
  ASSERT_EQ(scene.Schedule("px"), "bound to n1");
  ASSERT_EQ(scene.Schedule("py"), "bound to n2");
  scene.Load(std::string(kNics) + ClaimYaml("cz", 1, "nic") + PodYaml("pz", {"cz"}));
  ASSERT_EQ(scene.Schedule("pz"), "bound to n1");
}

TEST_P(HintTest, WakesOnlyWhomItMayHelp) {
  const auto run = [&](const std::string& waiting, bool claim_too) {
    Scene scene;
    Fill(scene);
    scene.Load((claim_too ? ClaimYaml("a") : std::string()) + waiting);
    return Wakes(scene, GetParam().happens);
  };
  EXPECT_EQ(run(PodYaml("p", {"a"}), true), GetParam().with_claim);
  EXPECT_EQ(run(PodYaml("p", {"a"}), false), GetParam().without_claim);
  EXPECT_EQ(run(GpuPodYaml("p", 1), false), GetParam().extended);
}

void Deallocate(Scene& scene, std::string_view name) {
  api::ResourceClaim claim = *scene.Find<api::ResourceClaim>(name);
  claim.status = {};
  ASSERT_TRUE(scene.cluster_.UpdateStatus(api::Object::Of(claim)).ok());
}
template <typename T>
void Create(Scene& scene, std::string_view yaml) {
  for (api::Object& object : ObjectsFrom(yaml)) {
    const auto stored = scene.cluster_.Create(std::move(object));
    ASSERT_TRUE(stored.ok()) << stored.status().message();
  }
}
template <typename T>
void Update(Scene& scene, std::string_view name, const std::function<void(T&)>& change,
            bool status = false) {
  T changed = *scene.Find<T>(name);
  change(changed);
  auto object = api::Object::Of(std::move(changed));
  const auto stored = status ? scene.cluster_.UpdateStatus(object) : scene.cluster_.Update(object);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
}

constexpr std::string_view kMoreGpus = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: more}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: more, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-9}]
)";

INSTANTIATE_TEST_SUITE_P(
    Changes, HintTest,
    ::testing::ValuesIn(std::vector<HintCase>{
        {.name = "a_gpu_is_given_back",
         .happens = [](Scene& s) { Deallocate(s, "cx"); },
         .with_claim = "queue",
         .without_claim = "skip",
         .extended = "queue"},
        // No device of that pool can serve the pod.
        {.name = "a_nic_is_given_back",
         .happens = [](Scene& s) { Deallocate(s, "cz"); },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "skip"},
        {.name = "another_claim_is_reserved",
         .happens =
             [](Scene& s) {
               Update<api::ResourceClaim>(
                   s, "cx",
                   [](auto& claim) {
                     claim.status.reserved_for.push_back(
                         {.resource = "pods", .name = "o", .uid = "o"});
                   },
                   true);
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "skip"},
        {.name = "an_unallocated_claim_comes_and_goes",
         .happens =
             [](Scene& s) {
               Create<api::ResourceClaim>(s, ClaimYaml("other"));
               ASSERT_TRUE(
                   s.cluster_.Delete(KindOf<api::ResourceClaim>(), "default", "other").ok());
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "skip"},
        {.name = "a_slice_with_gpus_comes",
         .happens = [](Scene& s) { Create<api::ResourceSlice>(s, kMoreGpus); },
         .with_claim = "queue",
         .without_claim = "skip",
         .extended = "queue"},
        {.name = "a_slice_with_nics_changes",
         .happens =
             [](Scene& s) {
               Update<api::ResourceSlice>(s, "nics", [](auto& slice) {
                 ++slice.spec.pool.generation;
                 slice.spec.devices->push_back({.name = "nic-1"});
               });
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "skip"},
        {.name = "the_class_changes",
         .happens =
             [](Scene& s) {
               Update<api::DeviceClass>(s, "gpu", [](auto& c) { c.metadata.labels["x"] = "y"; });
             },
         .with_claim = "queue",
         .without_claim = "skip",
         .extended = "queue"},
        {.name = "another_class_changes",
         .happens =
             [](Scene& s) {
               Update<api::DeviceClass>(s, "nic", [](auto& c) { c.metadata.labels["x"] = "y"; });
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "skip"},
        {.name = "a_class_gets_the_extended_resource",
         .happens =
             [](Scene& s) {
               Update<api::DeviceClass>(
                   s, "nic", [](auto& c) { c.spec.extended_resource_name = "example.com/gpu"; });
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "queue"},
        {.name = "a_taint_rule_comes",
         .happens =
             [](Scene& s) {
               Create<api::DeviceTaintRule>(s, R"(
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: rule}
spec: {deviceSelector: {driver: gpu.example.com}, taint: {key: k2, effect: NoSchedule}}
)");
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "skip"},
        {.name = "a_taint_rule_goes",
         .happens =
             [](Scene& s) {
               ASSERT_TRUE(s.cluster_.Delete(KindOf<api::DeviceTaintRule>(), "", "old-rule").ok());
             },
         .with_claim = "queue",
         .without_claim = "skip",
         .extended = "queue"},
        {.name = "a_node_comes",
         .happens =
             [](Scene& s) {
               Create<api::Node>(s, "{apiVersion: v1, kind: Node, metadata: {name: n3}}");
             },
         .with_claim = "queue",
         .without_claim = "queue",
         .extended = "queue"},
        {.name = "a_node_gets_a_device_plugin",
         .happens =
             [](Scene& s) {
               Update<api::Node>(
                   s, "n1",
                   [](auto& n) {
                     n.status.allocatable["example.com/gpu"] = base::Quantity::FromInt(2);
                   },
                   true);
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "queue"},
        {.name = "a_node_gets_cpu",
         .happens =
             [](Scene& s) {
               Update<api::Node>(
                   s, "n1",
                   [](auto& n) { n.status.allocatable["cpu"] = base::Quantity::FromInt(99); },
                   true);
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "skip"},
        {.name = "a_node_gets_a_label",
         .happens =
             [](Scene& s) {
               Update<api::Node>(s, "n1", [](auto& n) { n.metadata.labels["x"] = "y"; });
             },
         .with_claim = "queue",
         .without_claim = "queue",
         .extended = "queue"},
        // Its claim is still there; when that is given back, the claim changes.
        {.name = "another_pod_goes",
         .happens =
             [](Scene& s) {
               ASSERT_TRUE(s.cluster_.Delete(KindOf<api::Pod>(), "default", "px").ok());
             },
         .with_claim = "skip",
         .without_claim = "skip",
         .extended = "skip"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Hints, AClaimThatComesWakesThePodThatWaitsForIt) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + PodYaml("p", {"a"}));
  EXPECT_EQ(Wakes(scene, [](Scene& s) { Create<api::ResourceClaim>(s, ClaimYaml("a")); }), "queue");
}

TEST(Hints, AClaimOfTwoThatComesIsNotEnough) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + PodYaml("p", {"a", "b"}));
  EXPECT_EQ(Wakes(scene, [](Scene& s) { Create<api::ResourceClaim>(s, ClaimYaml("a")); }), "skip");
  EXPECT_EQ(Wakes(scene, [](Scene& s) { Create<api::ResourceClaim>(s, ClaimYaml("b")); }), "queue");
}

TEST(Hints, ThePodsOwnClaimBeingAllocatedWakesIt) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + ClaimYaml("a") + PodYaml("o", {"a"}) +
             PodYaml("p", {"a"}));
  EXPECT_EQ(Wakes(scene,
                  [](Scene& s) {
                    Update<api::ResourceClaim>(
                        s, "a", [](auto& claim) { claim.metadata.labels["x"] = "y"; });
                  }),
            "skip");
  EXPECT_EQ(Wakes(scene,
                  [](Scene& s) {
                    Cycle cycle = s.Start("o");
                    ASSERT_EQ(s.PreFilter(cycle), "ok");
                    ASSERT_EQ(s.Reserve(cycle, "n1"), "ok");
                    ASSERT_EQ(s.PreBind(cycle, "n1"), "ok");
                  }),
            "queue");
}

TEST(Hints, TheEndOfThePodsSpecialClaimWakesIt) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + GpuPodYaml("p", 1));
  Cycle cycle = scene.Start("p");
  ASSERT_EQ(scene.PreFilter(cycle), "ok");
  ASSERT_EQ(scene.Reserve(cycle, "n1"), "ok");
  ASSERT_EQ(scene.PreBind(cycle, "n1"), "ok");
  scene.Sync();
  EXPECT_EQ(
      Wakes(scene, [&](Scene& s) { s.plugin_->Unreserve(cycle.state, *cycle.pod, s.world_); }),
      "queue");
}

TEST(Hints, NamesOfClaimsInThePodsStatusWakeIt) {
  Scene scene;
  scene.Load(std::string(kTwoNodes) + "---\n" + R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec:
  containers: [{name: c, image: i}]
  resourceClaims: [{name: a, resourceClaimTemplateName: t}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: p-a
  namespace: default
  ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: uid-p, controller: true}]
spec:
  devices:
    requests: [{name: r, exactly: {deviceClassName: gpu}}]
)");
  EXPECT_EQ(Wakes(scene,
                  [](Scene& s) {
                    Update<api::Pod>(
                        s, "p",
                        [](auto& pod) {
                          pod.status.resource_claim_statuses.emplace().push_back(
                              {.name = "a", .resource_claim_name = "p-a"});
                        },
                        true);
                  }),
            "queue");
}

}  // namespace
}  // namespace dray::scheduler::scenes
