// SPDX-License-Identifier: Apache-2.0
//
// Random scenarios, looked at whenever a sample is taken: no device, share or counter is given
// twice, judged by sums over stored claims and slices alone; and at the end nothing is left of pods
// that are gone.
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "simulator/cluster_builder.h"
#include "simulator/random_stream.h"
#include "simulator/simulation.h"

namespace dray::simulator {
namespace {

template <typename T>
std::vector<const T*> AllOf(const api::MemoryCluster& cluster, std::vector<api::Object>& keep) {
  keep = cluster.All(api::HubKind(api::TypeInfoOf<T>()));
  std::vector<const T*> all;
  for (const api::Object& object : keep) all.push_back(object.As<T>());
  return all;
}

using DeviceName = std::tuple<std::string, std::string, std::string>;

struct Given {
  int whole = 0;
  int shares = 0;
  std::map<std::string, base::Quantity> amounts;
};

// A sentence for everything that is given twice.
std::vector<std::string> GivenTwice(const api::MemoryCluster& cluster) {
  std::vector<std::string> wrong;
  std::vector<api::Object> claims;
  std::map<DeviceName, Given> given;
  for (const api::ResourceClaim* claim : AllOf<api::ResourceClaim>(cluster, claims)) {
    if (!claim->status.allocation) continue;
    for (const auto& result : claim->status.allocation->devices.results) {
      Given& device = given[{result.driver, result.pool, result.device}];
      ++(result.share_id ? device.shares : device.whole);
      for (const auto& [name, amount] : result.consumed_capacity) {
        device.amounts[std::string(name.view())] += amount;
      }
    }
  }
  std::vector<api::Object> slices;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, base::Quantity> counters;
  const auto all_slices = AllOf<api::ResourceSlice>(cluster, slices);
  for (const api::ResourceSlice* slice : all_slices) {
    if (!slice->spec.devices) continue;
    for (const api::Device& device : *slice->spec.devices) {
      const auto found = given.find({slice->spec.driver, slice->spec.pool.name, device.name});
      if (found == given.end()) continue;
      for (const auto& [name, amount] : found->second.amounts) {
        const api::DeviceCapacity* capacity = device.capacity.Find(name);
        if (capacity == nullptr || amount > capacity->value) {
          wrong.push_back(fmt::format("{} of {}", name, device.name));
        }
      }
      for (const auto& use : device.consumes_counters) {
        for (const auto& [name, counter] : use.counters) {
          counters[{slice->spec.driver, slice->spec.pool.name, use.counter_set,
                    std::string(name.view())}] += counter.value;
        }
      }
    }
  }
  for (const auto& [name, device] : given) {
    if (device.whole > 1 || (device.whole > 0 && device.shares > 0)) {
      wrong.push_back(
          fmt::format("{} {} {}", std::get<0>(name), std::get<1>(name), std::get<2>(name)));
    }
  }
  for (const api::ResourceSlice* slice : all_slices) {
    if (!slice->spec.shared_counters) continue;
    for (const api::CounterSet& set : *slice->spec.shared_counters) {
      for (const auto& [name, counter] : set.counters) {
        const auto used = counters.find(
            {slice->spec.driver, slice->spec.pool.name, set.name, std::string(name.view())});
        if (used != counters.end() && used->second > counter.value) {
          wrong.push_back(fmt::format("counter {} of {}", name.view(), slice->spec.pool.name));
        }
      }
    }
  }
  return wrong;
}

// Claims that belong to pods that are gone.
std::size_t LeftBehind(const api::MemoryCluster& cluster) {
  std::vector<api::Object> pods;
  std::set<std::string> uids;
  for (const api::Pod* pod : AllOf<api::Pod>(cluster, pods)) uids.insert(pod->metadata.uid);
  std::vector<api::Object> claims;
  std::size_t left = 0;
  for (const api::ResourceClaim* claim : AllOf<api::ResourceClaim>(cluster, claims)) {
    for (const api::OwnerReference& owner : claim->metadata.owner_references) {
      left += uids.contains(owner.uid) ? 0 : 1;
    }
    for (const auto& user : claim->status.reserved_for) left += uids.contains(user.uid) ? 0 : 1;
  }
  return left;
}

// `quiet`: nothing fails or changes, all pods leave.
std::string RandomScenario(RandomStream& chance, bool quiet) {
  const auto roll = [&](std::uint64_t from, std::uint64_t to) {
    return from + chance.Below(to - from + 1);
  };
  std::string text = fmt::format(R"(apiVersion: dray/v1alpha1
kind: Scenario
duration: {}
policy: {}
cluster:
  nodeGroups:
  - name: whole
    count: {}
    drivers:
    - driver: whole.example.com
      devices: [{{count: {}, template: {{name: "d-${{index}}", attributes: {{n: {{int: "${{index / 2}}"}}}}}}}}]
  - name: shared
    count: {}
    drivers:
    - driver: shared.example.com
      devices:
      - count: {}
        template:
          name: "d-${{index}}"
          allowMultipleAllocations: true
          capacity: {{memory: {{value: 10Gi, requestPolicy: {{default: 1Gi, validRange: {{min: 1Gi, step: 1Gi}}}}}}}}
  - name: parts
    count: {}
    drivers:
    - driver: parts.example.com
      sharedCounters: [{{template: {{name: set, counters: {{memory: {{value: 8Gi}}}}}}}}]
      devices:
      - {{template: {{name: all, consumesCounters: [{{counterSet: set, counters: {{memory: {{value: 8Gi}}}}}}]}}}}
      - {{count: 4, template: {{name: "d-${{index}}", consumesCounters: [{{counterSet: set, counters: {{memory: {{value: 2Gi}}}}}}]}}}}
  objects:
)",
                                 quiet ? "1h" : "20m", roll(0, 1) == 0 ? "first-fit" : "best-fit",
                                 roll(1, 4), roll(1, 6), roll(1, 3), roll(1, 3), roll(1, 3));
  for (const char* kind : {"whole", "shared", "parts"}) {
    text += fmt::format(R"(  - template:
      apiVersion: resource.k8s.io/v1
      kind: DeviceClass
      metadata: {{name: {0}}}
      spec: {{selectors: [{{cel: {{expression: device.driver == "{0}.example.com"}}}}], extendedResourceName: example.com/{0}}}
  - template:
      apiVersion: resource.k8s.io/v1
      kind: ResourceClaimTemplate
      metadata: {{name: {0}}}
      spec: {{spec: {{devices: {{requests: [{{name: r, exactly: {{deviceClassName: {0}, count: {1}{2}}}}}]}}}}}}
)",
                        kind, roll(1, 3),
                        kind == std::string("shared")
                            ? fmt::format(", capacity: {{requests: {{memory: {}Gi}}}}", roll(1, 7))
                            : "");
  }
  text += "workloads:\n";
  int number = 0;
  for (const char* kind : {"whole", "shared", "parts"}) {
    const std::string pod =
        roll(0, 3) == 0
            ? fmt::format(
                  "{{spec: {{containers: [{{resources: {{requests: {{example.com/{}: \"1\"}}, "
                  "limits: {{example.com/{}: \"1\"}}}}}}]}}}}",
                  kind, kind)
            : fmt::format(
                  "{{spec: {{resourceClaims: [{{name: c, resourceClaimTemplateName: {}}}], "
                  "containers: [{{resources: {{claims: [{{name: c}}]}}}}]}}}}",
                  kind);
    text += fmt::format(
        "- {{name: w{}, count: {}, arrival: {{perSecond: {}, distribution: poisson}}, "
        "lifetime: {{mean: {}s, distribution: exponential}}, template: {}}}\n",
        number++, roll(10, 60), roll(1, 20) * 0.05, roll(5, 60), pod);
  }
  if (quiet) return text;
  // Partitions stay: what one that is in use draws on is known only while it is published.
  text += fmt::format(R"(churn:
- {{every: {}s, distribution: poisson, driver: whole.example.com, lasting: {}s, remove: true}}
- {{every: 20s, distribution: poisson, driver: shared.example.com, lasting: 20s, remove: true}}
- {{every: {}s, distribution: poisson, driver: whole.example.com, lasting: 30s, taint: {{key: a, effect: NoSchedule}}}}
- {{every: {}s, distribution: poisson, nodeGroup: whole, lasting: 30s, attributes: {{n: {{int: 7}}}}}}
failures:
  nodes: [{{every: {}s, distribution: poisson, lasting: 40s}}]
  writes: {{probability: 0.05}}
)",
                      roll(10, 60), roll(5, 90), roll(10, 60), roll(10, 60), roll(60, 200));
  return text;
}

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class SimulationProperty : public ::testing::TestWithParam<bool> {};

TEST_P(SimulationProperty, NothingIsGivenTwiceAndNothingIsLeftBehind) {
  const bool quiet = GetParam();
  const std::uint64_t first = FromEnvironment("DRAY_SEED", 1);
  const std::uint64_t instances = FromEnvironment("DRAY_INSTANCES", 12);
  std::int64_t placed = 0;
  for (std::uint64_t seed = first; seed < first + instances; ++seed) {
    SCOPED_TRACE(fmt::format("DRAY_SEED={}", seed));
    RandomStream chance(seed, "scenario");
    const std::string text = RandomScenario(chance, quiet);
    std::vector<Fault> faults;
    const std::optional<Scenario> scenario = ReadScenario(text, faults);
    ASSERT_TRUE(scenario) << ToString(faults.front()) << "\n" << text;
    SimulationOptions options;
    options.seed = seed;
    std::size_t left = 0;
    options.inspect = [&](const api::MemoryCluster& cluster) {
      EXPECT_EQ(GivenTwice(cluster), std::vector<std::string>{});
      left = LeftBehind(cluster);
    };
    const auto result = Simulate(*scenario, {}, options);
    ASSERT_TRUE(result.ok()) << base::Message(result.status());
    const PodCounts& pods = result->pods;
    placed += pods.placed;
    EXPECT_EQ(pods.placed - pods.departed - pods.lost - pods.preempted, pods.running);
    if (!quiet) continue;
    EXPECT_EQ(left, 0u);
    EXPECT_EQ(pods.created, pods.placed + pods.refused + pods.pending);
    EXPECT_EQ(pods.running, 0);
    for (const ClassResult& row : result->classes) EXPECT_EQ(row.end.used, 0) << row.name;
    if (HasFailure()) break;
  }
  EXPECT_GT(placed, 0);
}
INSTANTIATE_TEST_SUITE_P(All, SimulationProperty, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "quiet" : "restless"; });

}  // namespace
}  // namespace dray::simulator
