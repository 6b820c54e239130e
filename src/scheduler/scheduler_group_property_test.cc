// SPDX-License-Identifier: Apache-2.0
//
// Groups on small random clusters, against a model that tries every node for every pod and every device
// for every claim: nodes with cpu in racks, devices of a node, of a rack and of everybody, some of which claims
// have parts of, and some of which others have already; claims of one pod and claims that several share, of one
// request or two, with devices that must match or differ; one group or two. DRAY_INSTANCES for more.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "api/memory_cluster.h"
#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "base/check.h"
#include "fmt/format.h"
#include "inventory/node_matching.h"
#include "scheduler/device_cluster_for_test.h"
#include "scheduler/objects_for_test.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {
namespace {

using Random = std::mt19937_64;

std::size_t Below(Random& random, std::size_t n) { return random() % n; }

// "a", "b", or "s": claims have parts of those.
struct Device {
  std::string name;
  std::string kind;
  std::int64_t link = 0;
  std::vector<std::size_t> nodes;  // that reach it
  std::size_t room = 1;            // parts
  bool taken = false;
};
struct Claim {
  std::string name;
  std::vector<std::string> kinds;  // by device; empty: "a" or "b"
  bool apart = false;              // a request for each of them
  bool match = false;              // all of one link
  bool distinct = false;           // no two of one link
  std::size_t parts = 1;           // of a device of which there are
};
struct Pod {
  std::size_t cpu = 1;
  std::vector<std::size_t> claims;
  std::size_t group = 0;
};
struct Instance {
  std::vector<std::size_t> cpu;  // by node
  std::vector<std::size_t> rack;
  std::vector<Device> devices;
  std::vector<Claim> claims;
  std::vector<Pod> pods;
  std::size_t least = 0;
  std::size_t groups = 1;  // of two, each needs all of its pods
  bool listed = false;     // the group names the claims that pods share
  bool in_rack = false;    // all pods in one
};

Instance MakeInstance(Random& random, std::size_t groups = 1) {
  Instance instance;
  const std::size_t nodes = 1 + Below(random, 4);
  for (std::size_t n = 0; n < nodes; ++n) {
    instance.cpu.push_back(1 + Below(random, 3));
    instance.rack.push_back(Below(random, 2));
  }
  const auto add = [&](std::string pool, std::size_t count, auto reaches) {
    for (std::size_t i = 0; i < count; ++i) {
      Device& device = instance.devices.emplace_back();
      device.name = fmt::format("{}-{}", pool, i);
      device.kind = Below(random, 5) == 0 ? "s" : Below(random, 2) == 0 ? "a" : "b";
      if (device.kind == "s") device.room = 2;
      device.link = static_cast<std::int64_t>(Below(random, 2));
      device.taken = device.kind != "s" && Below(random, 6) == 0;
      for (std::size_t n = 0; n < nodes; ++n) {
        if (reaches(n)) device.nodes.push_back(n);
      }
    }
  };
  for (std::size_t n = 0; n < nodes; ++n) {
    add(fmt::format("node{}", n), Below(random, 3), [&](std::size_t m) { return m == n; });
  }
  for (std::size_t r = 0; r < 2; ++r) {
    if (Below(random, 2) == 0) continue;
    add(fmt::format("rack{}", r), Below(random, 3),
        [&](std::size_t m) { return instance.rack[m] == r; });
  }
  if (Below(random, 3) == 0) add("all", Below(random, 3), [](std::size_t) { return true; });
  const auto claim = [&](std::string name) {
    Claim& one = instance.claims.emplace_back();
    one.name = std::move(name);
    const auto kind = [&]() -> std::string {
      return Below(random, 2) == 0 ? "" : Below(random, 2) == 0 ? "a" : "b";
    };
    if (Below(random, 5) == 0) {
      one.kinds = {"s"};
      one.parts = 1 + Below(random, 2);
      return instance.claims.size() - 1;
    }
    one.kinds.assign(1 + (Below(random, 3) == 0 ? 1 : 0), kind());
    if (one.kinds.size() > 1 && Below(random, 2) == 0) {
      one.apart = true;
      one.kinds.back() = kind();
    }
    one.match = Below(random, 3) == 0;
    one.distinct = !one.match && Below(random, 4) == 0;
    return instance.claims.size() - 1;
  };
  const std::size_t pods = 1 + Below(random, 4);
  for (std::size_t p = 0; p < pods; ++p) {
    Pod& pod = instance.pods.emplace_back();
    pod.cpu = 1 + (Below(random, 4) == 0 ? 1 : 0);
    if (Below(random, 2) == 0) pod.claims.push_back(claim(fmt::format("own{}", p)));
  }
  for (std::size_t s = 0; s < Below(random, 3) && groups == 1; ++s) {
    const std::size_t shared = claim(fmt::format("shared{}", s));
    for (Pod& pod : instance.pods) {
      if (Below(random, 4) != 0) pod.claims.push_back(shared);
    }
  }
  instance.least = Below(random, 3) == 0 ? 1 + Below(random, pods) : pods;
  instance.listed = Below(random, 2) == 0;
  instance.in_rack = Below(random, 3) == 0;
  if (groups == 1) return instance;
  instance.groups = groups;
  instance.in_rack = false;
  for (std::size_t p = 0; p < pods; ++p) instance.pods[p].group = p % groups;
  return instance;
}

bool Suits(const Device& device, const std::string& kind) {
  return kind.empty() ? device.kind != "s" : kind == device.kind;
}

// Devices for claims from `at` on, of which `have` are chosen for that one already.
bool Devices(const Instance& instance, const std::vector<std::vector<std::size_t>>& users,
             std::size_t at, std::size_t have, std::optional<std::int64_t> link,
             std::vector<std::size_t>& room) {
  if (at == instance.claims.size()) return true;
  const Claim& claim = instance.claims[at];
  if (users[at].empty() || have == claim.kinds.size()) {
    return Devices(instance, users, at + 1, 0, std::nullopt, room);
  }
  for (std::size_t d = 0; d < instance.devices.size(); ++d) {
    const Device& device = instance.devices[d];
    if (room[d] < claim.parts || !Suits(device, claim.kinds[have])) continue;
    if (claim.match && link && *link != device.link) continue;
    if (claim.distinct && link && *link == device.link) continue;
    const bool reached = std::ranges::all_of(users[at], [&](std::size_t node) {
      return std::ranges::find(device.nodes, node) != device.nodes.end();
    });
    if (!reached) continue;
    room[d] -= claim.parts;
    const bool done = Devices(instance, users, at, have + 1, device.link, room);
    room[d] += claim.parts;
    if (done) return true;
  }
  return false;
}

bool Possible(const Instance& instance, std::vector<std::optional<std::size_t>>& nodes,
              std::size_t pod, std::vector<std::size_t>& cpu) {
  if (pod == instance.pods.size()) {
    const auto placed = static_cast<std::size_t>(
        std::ranges::count_if(nodes, [](const auto& node) { return node.has_value(); }));
    if (placed < instance.least) return false;
    std::set<std::size_t> racks;
    for (const auto& node : nodes) {
      if (node) racks.insert(instance.rack[*node]);
    }
    if (instance.in_rack && racks.size() > 1) return false;
    std::vector<std::vector<std::size_t>> users(instance.claims.size());
    for (std::size_t p = 0; p < nodes.size(); ++p) {
      if (!nodes[p]) continue;
      for (const std::size_t claim : instance.pods[p].claims) users[claim].push_back(*nodes[p]);
    }
    std::vector<std::size_t> room;
    for (const Device& device : instance.devices) room.push_back(device.taken ? 0 : device.room);
    return Devices(instance, users, 0, 0, std::nullopt, room);
  }
  for (std::size_t n = 0; n < instance.cpu.size(); ++n) {
    if (cpu[n] < instance.pods[pod].cpu) continue;
    cpu[n] -= instance.pods[pod].cpu;
    nodes[pod] = n;
    const bool done = Possible(instance, nodes, pod + 1, cpu);
    cpu[n] += instance.pods[pod].cpu;
    if (done) return true;
  }
  nodes[pod].reset();
  return instance.least < instance.pods.size() && Possible(instance, nodes, pod + 1, cpu);
}

// The instance as a cluster, and a scheduler on it.
class Scene {
 public:
  explicit Scene(const Instance& instance) : instance_(instance) {
    gates_.Set(api::Gate::kGenericWorkload, true);
    gates_.Set(api::Gate::kDRAWorkloadResourceClaims, true);
    gates_.Set(api::Gate::kTopologyAwareWorkloadScheduling, true);
    cluster_ = std::make_unique<api::MemoryCluster>(
        clock_, random_, api::MemoryClusterOptions{.gates = gates_, .validate = false});
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    Create(std::move(gpu));
    for (std::size_t n = 0; n < instance.cpu.size(); ++n) {
      api::Node node = MakeNode(Node(n), std::to_string(instance.cpu[n]));
      node.metadata.labels["rack"] = std::to_string(instance.rack[n]);
      Create(std::move(node));
    }
    AddSlices();
    AddGroup();
  }

  void Run() {
    SchedulerOptions options;
    options.gates = gates_;
    Scheduler scheduler(*cluster_, clock_, ids_, std::move(options));
    for (int i = 0; i < 3; ++i) {
      scheduler.Run();
      clock_.Advance(std::chrono::seconds(20));
      scheduler.Tick();
    }
    scheduler.Run();
  }

  std::size_t Bound(std::size_t group = 0) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(cluster_->All(KindOf<api::Pod>()), [&](const api::Object& object) {
          const api::Pod& pod = *object.As<api::Pod>();
          return !pod.spec.node_name.empty() &&
                 pod.spec.scheduling_group->pod_group_name == fmt::format("g{}", group);
        }));
  }
  // What is wrong with what is stored; empty: nothing.
  std::string Wrong() const {
    std::map<std::string, std::size_t> cpu;
    std::map<std::string, std::size_t> given;
    std::map<std::string, const api::ResourceClaim*> claims;
    const auto stored = cluster_->All(KindOf<api::ResourceClaim>());
    for (const api::Object& object : stored) {
      const auto& claim = *object.As<api::ResourceClaim>();
      claims[claim.metadata.name] = &claim;
      if (!claim.status.allocation) continue;
      const auto& results = claim.status.allocation->devices.results;
      const auto wanted = std::ranges::find(instance_.claims, claim.metadata.name, &Claim::name);
      if (wanted == instance_.claims.end()) continue;
      if (results.size() != wanted->kinds.size()) return claim.metadata.name + ": wrong number";
      std::set<std::int64_t> links;
      for (std::size_t i = 0; i < results.size(); ++i) {
        const auto device = std::ranges::find(instance_.devices, results[i].device, &Device::name);
        if (device->taken) return device->name + " was given twice";
        if ((given[device->name] += wanted->parts) > device->room) {
          return device->name + " was given twice";
        }
        if (!Suits(*device, wanted->kinds[i])) return device->name + " does not suit";
        links.insert(device->link);
      }
      if (wanted->match && links.size() > 1) return claim.metadata.name + ": does not match";
      if (wanted->distinct && links.size() < results.size()) {
        return claim.metadata.name + ": is not distinct";
      }
    }
    std::set<std::size_t> racks;
    for (const api::Object& object : cluster_->All(KindOf<api::Pod>())) {
      const auto& pod = *object.As<api::Pod>();
      if (pod.spec.node_name.empty()) continue;
      const auto number = static_cast<std::size_t>(std::stoi(pod.metadata.name.substr(1)));
      const auto node = static_cast<std::size_t>(std::stoi(pod.spec.node_name.substr(1)));
      racks.insert(instance_.rack[node]);
      if (instance_.in_rack && racks.size() > 1) return "pods are in two racks";
      cpu[pod.spec.node_name] += instance_.pods[number].cpu;
      if (cpu[pod.spec.node_name] > instance_.cpu[node]) return pod.spec.node_name + " is too full";
      for (const auto& entry : pod.spec.resource_claims) {
        const api::ResourceClaim& claim = *claims.at(*entry.resource_claim_name);
        if (!claim.status.allocation) return claim.metadata.name + " is not allocated";
        if (!api::ReservedFor(claim, pod)) return claim.metadata.name + " is not reserved";
        for (const auto& result : claim.status.allocation->devices.results) {
          const auto device = std::ranges::find(instance_.devices, result.device, &Device::name);
          if (std::ranges::find(device->nodes, node) == device->nodes.end()) {
            return fmt::format("{} is out of reach of {}", device->name, pod.metadata.name);
          }
        }
        const auto& selector = claim.status.allocation->node_selector;
        const auto stored_node = cluster_->Stored(KindOf<api::Node>(), "", pod.spec.node_name);
        if (selector && !*inventory::Matches(*selector, *stored_node->As<api::Node>())) {
          return claim.metadata.name + ": its selector leaves out " + pod.spec.node_name;
        }
      }
    }
    return {};
  }
  std::string Said() const {
    std::string said;
    for (const api::Object& group : cluster_->All(KindOf<api::PodGroup>())) {
      for (const auto& condition : group.As<api::PodGroup>()->status.conditions) {
        said += condition.message;
      }
    }
    return said;
  }

 private:
  template <typename T>
  static const api::KindInfo& KindOf() {
    return api::HubKind(api::TypeInfoOf<T>());
  }
  template <typename T>
  void Create(T object) {
    const auto created = cluster_->Create(api::Object::Of(std::move(object)));
    DRAY_CHECK(created.ok(), base::Message(created.status()));
  }
  static std::string Node(std::size_t n) { return fmt::format("n{}", n); }

  void AddSlices() {
    std::map<std::string, std::vector<const Device*>> pools;
    for (const Device& device : instance_.devices) {
      pools[device.name.substr(0, device.name.find('-'))].push_back(&device);
    }
    for (const auto& [name, devices] : pools) {
      testing::Slice slice(name);
      slice.Pool(name);
      if (name.starts_with("node")) {
        slice.OnNode("n" + name.substr(4));
      } else if (name.starts_with("rack")) {
        api::NodeSelector selector;
        auto& rack = selector.node_selector_terms.emplace_back().match_expressions.emplace_back();
        rack.key = "rack";
        rack.operator_ = "In";
        rack.values = {name.substr(4)};
        slice.Where(std::move(selector));
      } else {
        slice.OnAllNodes();
      }
      for (const Device* device : devices) {
        testing::Device published(device->name);
        published.String("kind", device->kind).Int("link", device->link);
        if (device->room > 1) published.Shared().Capacity("parts", std::to_string(device->room));
        slice.With(published);
        if (device->taken) Take(*device, name);
      }
      Create<api::ResourceSlice>(slice);
    }
  }

  // Somebody has had it from before.
  void Take(const Device& device, const std::string& pool) {
    api::ResourceClaim claim = DeviceCluster::GpuClaim("held-" + device.name, 1);
    claim.status.allocation.emplace().devices.results.push_back(
        {.request = "gpus",
         .driver = std::string(testing::kDriver),
         .pool = pool,
         .device = device.name});
    claim.status.reserved_for.push_back({.resource = "pods", .name = "other", .uid = "other"});
    const api::ResourceClaimStatus status = claim.status;
    Create(claim);
    claim = *cluster_->Stored(KindOf<api::ResourceClaim>(), "ns", claim.metadata.name)
                 ->As<api::ResourceClaim>();
    claim.status = status;
    DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(claim))).ok(), "held");
  }

  static api::ResourceClaim ObjectOf(const Claim& claim) {
    const std::size_t requests = claim.apart ? claim.kinds.size() : 1;
    api::ResourceClaim object =
        DeviceCluster::GpuClaim(claim.name, static_cast<int>(claim.kinds.size() / requests));
    auto& asked = object.spec.devices.requests;
    asked.resize(requests, asked.front());
    for (std::size_t i = 0; i < requests; ++i) {
      api::ExactDeviceRequest& request = *asked[i].exactly;
      asked[i].name = fmt::format("gpus{}", i);
      const std::string& kind = claim.kinds[i];
      request.selectors.emplace_back().cel.emplace() = {
          .expression = fmt::format(R"(device.attributes["gpu.example.com"].kind {} "{}")",
                                    kind.empty() ? "!=" : "==", kind.empty() ? "s" : kind)};
      if (kind == "s") {
        request.capacity.emplace().requests["parts"] =
            testing::ToQuantity(std::to_string(claim.parts));
      }
    }
    auto& constraints = object.spec.devices.constraints;
    if (claim.match) constraints.emplace_back().match_attribute = "gpu.example.com/link";
    if (claim.distinct) constraints.emplace_back().distinct_attribute = "gpu.example.com/link";
    return object;
  }

  std::int32_t CountOf(std::size_t group) const {
    return std::max(
        1, static_cast<std::int32_t>(std::ranges::count(instance_.pods, group, &Pod::group)));
  }

  void AddGroup() {
    api::PodGroup group;
    group.metadata.namespace_ = "ns";
    group.metadata.name = "g0";
    group.spec.scheduling_policy.gang.emplace().min_count =
        static_cast<std::int32_t>(instance_.least);
    if (instance_.in_rack) {
      group.spec.scheduling_constraints.emplace().topology.push_back({.key = "rack"});
    }
    for (const Claim& claim : instance_.claims) {
      Create(ObjectOf(claim));
      if (instance_.listed && claim.name.starts_with("shared")) {
        group.spec.resource_claims.push_back(
            {.name = claim.name, .resource_claim_name = claim.name});
      }
    }
    for (std::size_t g = 1; g < instance_.groups; ++g) {
      api::PodGroup another = group;
      another.metadata.name = fmt::format("g{}", g);
      another.spec.scheduling_policy.gang->min_count = CountOf(g);
      Create(std::move(another));
    }
    if (instance_.groups > 1) group.spec.scheduling_policy.gang->min_count = CountOf(0);
    Create(std::move(group));
    for (std::size_t p = 0; p < instance_.pods.size(); ++p) {
      api::Pod pod =
          MakePod({.name = fmt::format("p{}", p), .cpu = std::to_string(instance_.pods[p].cpu)});
      pod.spec.scheduling_group.emplace().pod_group_name =
          fmt::format("g{}", instance_.pods[p].group);
      for (const std::size_t claim : instance_.pods[p].claims) {
        const std::string& name = instance_.claims[claim].name;
        pod.spec.resource_claims.push_back({.name = name, .resource_claim_name = name});
      }
      Create(std::move(pod));
    }
  }

  const Instance& instance_;
  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource random_{1};
  api::FeatureGates gates_;
  std::unique_ptr<api::MemoryCluster> cluster_;
  CountedIds ids_;
};

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(GroupProperty, AGroupIsPlacedWhereTryingEverythingPlacesIt) {
  const std::uint64_t first = FromEnvironment("DRAY_SEED", 1);
  const std::uint64_t instances = FromEnvironment("DRAY_INSTANCES", 400);
  std::size_t placed = 0;
  std::size_t shared = 0;
  for (std::uint64_t seed = first; seed < first + instances; ++seed) {
    SCOPED_TRACE(fmt::format("DRAY_SEED={} DRAY_INSTANCES=1", seed));
    Random random(seed);
    const Instance instance = MakeInstance(random);
    std::vector<std::optional<std::size_t>> nodes(instance.pods.size());
    std::vector<std::size_t> cpu = instance.cpu;
    const bool possible = Possible(instance, nodes, 0, cpu);
    Scene scene(instance);
    scene.Run();
    ASSERT_EQ(scene.Wrong(), "");
    ASSERT_EQ(scene.Bound() >= instance.least, possible) << scene.Said();
    if (!possible) {
      ASSERT_EQ(scene.Bound(), 0u);
      ASSERT_EQ(scene.Said().find("not known"), std::string::npos) << scene.Said();
    }
    placed += possible ? 1 : 0;
    shared +=
        possible && !instance.claims.empty() && instance.claims.back().name.starts_with("shared")
            ? 1
            : 0;
  }
  if (instances < 100) return;
  EXPECT_GT(placed, instances / 5);
  EXPECT_LT(placed, instances * 9 / 10);
  EXPECT_GT(shared, instances / 20);
}

// Each of two groups gets everything or nothing, whoever comes first; where one of them could be placed if it were
// alone, one is.
TEST(GroupProperty, OfTwoGroupsNoneHoldsPartOfWhatTheOtherNeeds) {
  const std::uint64_t first = FromEnvironment("DRAY_SEED", 1);
  const std::uint64_t instances = FromEnvironment("DRAY_INSTANCES", 400);
  std::size_t one = 0;
  std::size_t both = 0;
  for (std::uint64_t seed = first; seed < first + instances; ++seed) {
    SCOPED_TRACE(fmt::format("DRAY_SEED={} DRAY_INSTANCES=1", seed));
    Random random(seed);
    const Instance instance = MakeInstance(random, 2);
    const auto possible = [&](std::size_t group) {
      Instance alone = instance;
      std::erase_if(alone.pods, [&](const Pod& pod) { return pod.group != group; });
      alone.least = alone.pods.size();
      std::vector<std::optional<std::size_t>> nodes(alone.pods.size());
      std::vector<std::size_t> cpu = alone.cpu;
      return !alone.pods.empty() && Possible(alone, nodes, 0, cpu);
    };
    Scene scene(instance);
    scene.Run();
    ASSERT_EQ(scene.Wrong(), "");
    std::size_t whole = 0;
    for (std::size_t g = 0; g < 2; ++g) {
      const auto pods = static_cast<std::size_t>(std::ranges::count(instance.pods, g, &Pod::group));
      ASSERT_TRUE(scene.Bound(g) == 0 || scene.Bound(g) == pods) << scene.Said();
      if (scene.Bound(g) > 0) {
        ASSERT_TRUE(possible(g));
        ++whole;
      }
    }
    ASSERT_EQ(whole > 0, possible(0) || possible(1)) << scene.Said();
    one += whole == 1 ? 1 : 0;
    both += whole == 2 ? 1 : 0;
  }
  if (instances < 100) return;
  EXPECT_GT(one, instances / 10);
  EXPECT_GT(both, instances / 10);
}

}  // namespace
}  // namespace dray::scheduler
