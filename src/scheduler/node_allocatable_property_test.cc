// SPDX-License-Identifier: Apache-2.0
//
// Devices that stand for a node's cpu and memory, held against a slow model that counts everything
// anew from the stored objects: no node ever gives more than it has, every bound pod says what its
// claims take, and nobody waits for what is there.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "api/memory_cluster.h"
#include "base/check.h"
#include "fmt/format.h"
#include "scheduler/device_cluster_for_test.h"
#include "testing/objects_from.h"

namespace dray::scheduler {
namespace {

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

// Amounts in thousandths of cpu and Mi of memory.
struct Amounts {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  friend bool operator==(const Amounts&, const Amounts&) = default;
};

// What is random about a pod. Either `groups` groups of cores, or `threads` of all of them.
struct Wish {
  std::int64_t cpu = 0;
  int containers = 1;  // of two that use the claim
  int groups = 0;
  int threads = 0;
};

struct NodeShape {
  std::int64_t cpu = 0;
  int groups = 0;         // devices
  std::int64_t each = 0;  // cpu of one of them
  std::int64_t per_pod = 0;
  std::int64_t per_container = 0;  // memory
  std::int64_t per_thread = 0;     // cpu; 64 threads
};

constexpr std::int64_t kMemory = 4096;
constexpr int kThreads = 64;

class Model {
 public:
  // What a pod takes on a node, from its wish alone.
  static Amounts Takes(const Wish& wish, const NodeShape& node) {
    Amounts amounts{.cpu = wish.cpu};
    if (wish.groups > 0) {
      amounts.cpu += wish.groups * node.each;
      amounts.memory += wish.groups * (node.per_pod + wish.containers * node.per_container);
    } else {
      amounts.cpu += wish.threads * node.per_thread;
    }
    return amounts;
  }
};

class NodeAllocatableProperty : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  NodeAllocatableProperty() : random_(GetParam()) {
    api::FeatureGates gates;
    gates.Set(api::Gate::kDRANodeAllocatableResources, true);
    cluster_ = std::make_unique<api::MemoryCluster>(clock_, source_,
                                                    api::MemoryClusterOptions{.gates = gates});
    SchedulerOptions options;
    options.gates = gates;
    options.remembered_shapes = GetParam() % 2 == 0 ? 64 : 2;
    for (const std::string_view name : {"cores", "shared"}) {
      Load(fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {{name: {0}}}
spec: {{selectors: [{{cel: {{expression: device.driver == "{0}.example.com"}}}}]}}
)",
                       name));
    }
    for (int i = 0; i < 3; ++i) AddNode(fmt::format("n{}", i));
    scheduler_ = std::make_unique<Scheduler>(*cluster_, clock_, ids_, std::move(options));
  }

  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  void Load(const std::string& yaml) {
    const Status loaded = cluster_->Load(dray::testing::ObjectsFrom(yaml));
    DRAY_CHECK(loaded.ok(), base::Message(loaded));
  }

  void AddNode(const std::string& name) {
    NodeShape shape{.cpu = 4000 + Below(8) * 1000,
                    .groups = 2 + Below(3),
                    .each = 500 + Below(5) * 500,
                    .per_pod = Below(3) * 256,
                    .per_container = Below(3) * 128,
                    .per_thread = 50 + Below(4) * 50};
    std::string text = fmt::format(R"(
apiVersion: v1
kind: Node
metadata: {{name: {0}}}
status: {{allocatable: {{cpu: {1}m, memory: {2}Mi, pods: "110"}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: shared-{0}}}
spec:
  driver: shared.example.com
  nodeName: {0}
  pool: {{name: {0}, generation: 1, resourceSliceCount: 1}}
  devices:
  - name: all
    allowMultipleAllocations: true
    capacity: {{threads: {{value: "{3}"}}}}
    nodeAllocatableResources:
      cpu: {{mapping: {{capacityKey: threads, capacityMultiplier: {4}m}}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: cores-{0}}}
spec:
  driver: cores.example.com
  nodeName: {0}
  pool: {{name: {0}, generation: 1, resourceSliceCount: 1}}
  devices:
)",
                                   name, shape.cpu, kMemory, kThreads, shape.per_thread);
    for (int i = 0; i < shape.groups; ++i) {
      text += fmt::format(
          "  - {{name: g{}, nodeAllocatableResources: {{cpu: {{mapping: {{deviceMultiplier: "
          "{}m}}}}, memory: {{overhead: {{perPod: {}Mi, perContainer: {}Mi}}}}}}}}\n",
          i, shape.each, shape.per_pod, shape.per_container);
    }
    Load(text);
    nodes_[name] = shape;
  }

  void AddPod() {
    const std::string name = fmt::format("p{}", next_++);
    Wish wish{.cpu = Below(5) * 250, .containers = 1 + Below(2)};
    (Below(2) == 0 ? wish.groups : wish.threads) = 1 + Below(2);
    if (wish.threads > 0) wish.threads *= 8;
    const std::string capacity =
        wish.threads > 0
            ? fmt::format(", capacity: {{requests: {{threads: \"{}\"}}}}", wish.threads)
            : "";
    const std::string uses = ", claims: [{name: d}]";
    Load(fmt::format(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {0}, namespace: default}}
spec:
  devices:
    requests:
    - name: r
      exactly: {{deviceClassName: {1}, allocationMode: ExactCount, count: {2}{3}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: default, uid: uid-{0}}}
spec:
  schedulerName: default-scheduler
  resourceClaims: [{{name: d, resourceClaimName: {0}}}]
  containers:
  - {{name: a, image: i, resources: {{requests: {{cpu: {4}m}}{5}}}}}
  - {{name: b, image: i, resources: {{requests: {{cpu: 0m}}{6}}}}}
)",
                     name, wish.groups > 0 ? "cores" : "shared", std::max(1, wish.groups), capacity,
                     wish.cpu, uses, wish.containers > 1 ? uses : ""));
    wishes_[name] = wish;
  }

  void RemovePod() {
    if (wishes_.empty()) return;
    const auto at = std::next(wishes_.begin(), Below(static_cast<int>(wishes_.size())));
    DRAY_CHECK(cluster_->Delete(KindOf<api::Pod>(), "default", at->first).ok());
    // As the controller does when nobody uses the claim any more.
    api::Object claim = *cluster_->Stored(KindOf<api::ResourceClaim>(), "default", at->first);
    claim.MutableMetadata().finalizers.clear();
    DRAY_CHECK(cluster_->Update(claim).ok());
    DRAY_CHECK(cluster_->Delete(KindOf<api::ResourceClaim>(), "default", at->first).ok());
    wishes_.erase(at);
  }

  struct Used {
    Amounts amounts;
    int groups = 0;
    int threads = 0;
  };
  // What is stored, counted anew; and that each pod says what it takes.
  std::map<std::string, Used> Count() {
    std::map<std::string, Used> used;
    for (const auto& [name, wish] : wishes_) {
      const api::Object object = *cluster_->Stored(KindOf<api::Pod>(), "default", name);
      const api::Pod& pod = *object.As<api::Pod>();
      if (pod.spec.node_name.empty()) continue;
      const NodeShape& node = nodes_.at(pod.spec.node_name);
      const Amounts takes = Model::Takes(wish, node);
      Amounts told{.cpu = wish.cpu};
      EXPECT_TRUE(pod.status.node_allocatable_resource_claim_statuses) << name;
      for (const auto& claim : *pod.status.node_allocatable_resource_claim_statuses) {
        for (const auto& mapped : claim.mapping) {
          EXPECT_EQ(mapped.name, "cpu");
          told.cpu += mapped.quantity->MilliValue();
        }
        for (const auto& more : claim.overhead) {
          EXPECT_EQ(more.name, "memory");
          const auto mebi = [](const base::Quantity& amount) { return amount.Value() >> 20; };
          told.memory += mebi(*more.per_pod) + static_cast<std::int64_t>(claim.containers.size()) *
                                                   mebi(*more.per_container);
        }
      }
      EXPECT_EQ(told, takes) << name;
      Used& sum = used[pod.spec.node_name];
      sum.amounts.cpu += takes.cpu;
      sum.amounts.memory += takes.memory;
      sum.groups += wish.groups;
      sum.threads += wish.threads;
    }
    return used;
  }

  void Check() {
    std::map<std::string, Used> used = Count();
    for (const auto& [name, shape] : nodes_) {
      EXPECT_LE(used[name].amounts.cpu, shape.cpu) << name;
      EXPECT_LE(used[name].amounts.memory, kMemory) << name;
      EXPECT_LE(used[name].groups, shape.groups) << name;
      EXPECT_LE(used[name].threads, kThreads) << name;
    }
    for (const auto& [name, wish] : wishes_) {
      const api::Object object = *cluster_->Stored(KindOf<api::Pod>(), "default", name);
      if (!object.As<api::Pod>()->spec.node_name.empty()) continue;
      ++waited_;
      for (const auto& [node, shape] : nodes_) {
        const Amounts takes = Model::Takes(wish, shape);
        const Used& there = used[node];
        const bool fits = there.amounts.cpu + takes.cpu <= shape.cpu &&
                          there.amounts.memory + takes.memory <= kMemory &&
                          there.groups + wish.groups <= shape.groups &&
                          there.threads + wish.threads <= kThreads;
        EXPECT_FALSE(fits) << name << " waits although " << node << " has room";
      }
    }
  }

  std::mt19937 random_;
  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource source_{1};
  std::unique_ptr<api::MemoryCluster> cluster_;
  CountedIds ids_;
  std::unique_ptr<Scheduler> scheduler_;
  std::map<std::string, NodeShape> nodes_;
  std::map<std::string, Wish> wishes_;
  int next_ = 0;
  int waited_ = 0;
};

TEST_P(NodeAllocatableProperty, NodesGiveWhatTheyHaveAndNobodyWaitsForWhatIsThere) {
  for (int step = 0; step < 60; ++step) {
    for (int i = Below(3); i >= 0; --i) AddPod();
    if (Below(2) == 0) RemovePod();
    scheduler_->Run();
    // Whoever was woken has waited long enough; nobody is tried again for no reason.
    clock_.Advance(std::chrono::seconds(15));
    scheduler_->Run();
    Check();
    if (HasFailure()) FAIL() << "seed " << GetParam() << ", step " << step;
  }
  EXPECT_GT(scheduler_->statistics().bound, 5u);
  EXPECT_GT(waited_, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, NodeAllocatableProperty, ::testing::Range(0u, 40u));

}  // namespace
}  // namespace dray::scheduler
