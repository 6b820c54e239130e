// SPDX-License-Identifier: Apache-2.0
#include "preemption/crowd.h"

#include <algorithm>
#include <utility>

#include "api/device_class.h"
#include "api/extended_resources.h"
#include "base/check.h"
#include "fmt/format.h"
#include "model/model.h"
#include "testing/slice_builder.h"

namespace dray::preemption {
namespace {

constexpr const char* kSpace = "ns";
constexpr const char* kFabric = "fabric";

bool IsWide(const api::ResourceClaim& claim) {
  if (!claim.status.allocation) return false;
  // With admin access nothing is taken, and so nothing given back.
  return std::ranges::any_of(claim.status.allocation->devices.results, [](const auto& result) {
    return result.pool == kFabric && !result.admin_access.value_or(false);
  });
}

long StartOf(const api::Pod& pod) { return pod.status.start_time->UnixNanos(); }

int CpuOf(const api::Pod& pod) {
  const auto* cpu = pod.spec.containers.front().resources.requests.Find("cpu");
  return cpu == nullptr ? 0 : static_cast<int>(cpu->Value());
}

}  // namespace

Crowd::Crowd(std::uint64_t seed)
    : dice_(seed), random_(seed), cluster_(clock_, random_, {.validate = false}) {
  api::DeviceClass gpu;
  gpu.metadata.name = "gpu";
  Create(std::move(gpu));
  fabric_ = dice_.Chance(0.25);
  AddNodes();
  if (fabric_) AddFabric();
}

template <typename T>
void Crowd::Create(T object) {
  const auto created = cluster_.Create(api::Object::Of(std::move(object)));
  DRAY_CHECK(created.ok(), base::Message(created.status()));
}

void Crowd::AddNodes() {
  const int nodes = dice_.Range(1, 3);
  for (int i = 0; i < nodes; ++i) {
    api::Node node;
    node.metadata.name = fmt::format("n{}", i);
    for (auto* list : {&node.status.capacity, &node.status.allocatable}) {
      (*list)["cpu"] = testing::ToQuantity(std::to_string(dice_.Range(3, 8)));
      (*list)["memory"] = testing::ToQuantity("64Gi");
      (*list)["pods"] = testing::ToQuantity("110");
    }
    const std::string name = node.metadata.name;
    Create(std::move(node));
    if (!fabric_ || dice_.Chance(0.5)) Create(DevicesOf(name));
  }
}

api::ResourceSlice Crowd::DevicesOf(const std::string& node) {
  testing::Slice slice("slice-" + node);
  slice.Pool(node).OnNode(node);
  const int kind = dice_.Range(0, 2);
  const int devices = dice_.Range(1, 4);
  if (kind == 2) {
    // Partitions: wholes, halves and quarters of one or two devices. Counters have a slice of their own.
    testing::Slice counters("counters-" + node);
    counters.Pool(node).OnNode(node).Of(2);
    slice.Of(2);
    for (int i = 0; i < (devices + 1) / 2; ++i) {
      const std::string set = fmt::format("set-{}", i);
      counters.Counters(set, {{"parts", "4"}});
      const bool groups = dice_.Chance(0.3);
      const auto group = [&](const char* name) {
        return groups ? std::vector<std::string>{name} : std::vector<std::string>{};
      };
      slice.With(testing::Device(fmt::format("whole-{}", i))
                     .String("model", "b")
                     .Consumes(set, {{"parts", "4"}}, group("whole")));
      for (int half = 0; half < 2; ++half) {
        slice.With(testing::Device(fmt::format("half-{}-{}", i, half))
                       .String("model", "a")
                       .Consumes(set, {{"parts", "2"}}, group("half")));
      }
      for (int quarter = 0; quarter < 2; ++quarter) {
        slice.With(testing::Device(fmt::format("quarter-{}-{}", i, quarter))
                       .String("model", "a")
                       .Consumes(set, {{"parts", "1"}}, group("half")));
      }
    }
    Create<api::ResourceSlice>(counters);
    return slice;
  }
  for (int i = 0; i < devices; ++i) {
    testing::Device device(fmt::format("gpu-{}", i));
    device.String("model", dice_.Pick({"a", "a", "b"}));
    device.Capacity("memory", dice_.Pick({"40Gi", "80Gi"}));
    if (kind == 1) device.Shared();
    if (dice_.Chance(0.1)) device.Taint("broken");
    slice.With(device);
  }
  return slice;
}

void Crowd::AddFabric() {
  testing::Slice slice("slice-fabric");
  slice.Pool(kFabric).OnAllNodes();
  const int ports = dice_.Range(1, 3);
  for (int i = 0; i < ports; ++i) {
    slice.With(
        testing::Device(fmt::format("port-{}", i)).String("model", "a").Capacity("memory", "80Gi"));
  }
  Create<api::ResourceSlice>(slice);
}

api::ResourceClaim Crowd::MakeClaim(const std::string& name) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = kSpace;
  claim.metadata.name = name;
  api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
  request.name = "r";
  request.exactly.emplace();
  request.exactly->device_class_name = "gpu";
  request.exactly->allocation_mode = api::kAllocationModeExactCount;
  request.exactly->count = dice_.Pick(std::vector<int>{1, 1, 2});
  if (dice_.Chance(0.05)) request.exactly->admin_access = true;
  // On a fabric every pool is of use to everybody, so that who may go is known without the selectors.
  if (!fabric_ && dice_.Chance(0.3)) {
    request.exactly->selectors.push_back(
        {.cel = api::CELDeviceSelector{
             .expression = fmt::format("device.attributes[\"gpu.example.com\"].model == \"{}\"",
                                       dice_.Pick({"a", "b"}))}});
  }
  if (dice_.Chance(0.4)) {
    request.exactly->capacity.emplace();
    request.exactly->capacity->requests["memory"] =
        testing::ToQuantity(dice_.Pick({"10Gi", "20Gi", "40Gi"}));
  }
  if (request.exactly->count == 2 && dice_.Chance(0.3)) {
    claim.spec.devices.constraints.emplace_back().match_attribute = "gpu.example.com/model";
  }
  // What it would like best, and one of anything.
  if (!request.exactly->admin_access && dice_.Chance(0.15)) {
    const api::ExactDeviceRequest exactly = *request.exactly;
    request.exactly.reset();
    api::DeviceSubRequest& best = request.first_available.emplace_back();
    best.name = "best";
    best.device_class_name = exactly.device_class_name;
    best.allocation_mode = exactly.allocation_mode;
    best.count = exactly.count;
    best.selectors = exactly.selectors;
    best.capacity = exactly.capacity;
    api::DeviceSubRequest& any = request.first_available.emplace_back();
    any.name = "any";
    any.device_class_name = exactly.device_class_name;
    any.allocation_mode = api::kAllocationModeExactCount;
    any.count = 1;
  }
  return claim;
}

void Crowd::AddPod(const std::string& name, int priority, const std::vector<std::string>& claims,
                   int devices) {
  api::Pod pod;
  pod.metadata.namespace_ = kSpace;
  pod.metadata.name = name;
  pod.metadata.labels["app"] = dice_.Pick({"x", "y", "z"});
  pod.spec.scheduler_name = api::kDefaultSchedulerName;
  pod.spec.priority = priority;
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "c";
  container.image = "i";
  container.resources.requests["cpu"] = testing::ToQuantity(std::to_string(dice_.Range(1, 2)));
  if (devices > 0) {
    for (auto* list : {&container.resources.requests, &container.resources.limits}) {
      (*list)[api::ImplicitResourceName("gpu")] = testing::ToQuantity(std::to_string(devices));
    }
  }
  for (const std::string& claim : claims) {
    pod.spec.resource_claims.push_back({.name = claim, .resource_claim_name = claim});
    container.resources.claims.push_back({.name = claim});
  }
  Create(std::move(pod));
}

scheduler::Scheduler& Crowd::Start(bool devices) {
  scheduler::SchedulerOptions options;
  options.config.profiles.front().preemption.devices = devices;
  scheduler_ = std::make_unique<scheduler::Scheduler>(cluster_, clock_, ids_, std::move(options));
  return *scheduler_;
}

void Crowd::Fill() {
  Start(false);
  const int pods = dice_.Range(2, 6);
  std::vector<std::string> shared;
  for (int i = 0; i < pods; ++i) {
    const std::string name = fmt::format("p{}", pods_++);
    std::vector<std::string> claims;
    int devices = 0;
    if (dice_.Chance(0.1)) {
      devices = 1;
    } else if (!shared.empty() && dice_.Chance(0.3)) {
      claims.push_back(dice_.Pick(shared));
    } else if (dice_.Chance(0.9)) {
      claims.push_back("claim-" + name);
      Create(MakeClaim(claims.back()));
      if (dice_.Chance(0.3)) shared.push_back(claims.back());
    }
    AddPod(name, dice_.Range(0, 3), claims, devices);
    scheduler_->Run();
  }
  scheduler_ = nullptr;
  int index = 0;
  for (api::Pod& pod : All<api::Pod>()) {
    if (pod.spec.node_name.empty()) {
      DRAY_CHECK(cluster_.Delete(KindOf<api::Pod>(), kSpace, pod.metadata.name).ok());
      continue;
    }
    // No two at once: which of them a budget would rather keep is for nobody to say.
    pod.status.start_time = base::Time::FromUnix(1'000'000 + dice_.Range(0, 5) * 10 + index++);
    DRAY_CHECK(cluster_.UpdateStatus(api::Object::Of(std::move(pod))).ok());
  }
  GiveBack();
  const int budgets = dice_.Range(0, 2);
  for (int i = 0; i < budgets; ++i) {
    api::PodDisruptionBudget budget;
    budget.metadata.namespace_ = kSpace;
    budget.metadata.name = fmt::format("budget-{}", i);
    budget.spec.selector.emplace();
    budget.spec.selector->match_labels["app"] = dice_.Pick({"x", "y"});
    budget.status.disruptions_allowed = dice_.Range(0, 1);
    const std::int32_t allowed = budget.status.disruptions_allowed;
    Create(budget);
    budget = *cluster_.Stored(KindOf<api::PodDisruptionBudget>(), kSpace, budget.metadata.name)
                  ->As<api::PodDisruptionBudget>();
    budget.status.disruptions_allowed = allowed;
    DRAY_CHECK(cluster_.UpdateStatus(api::Object::Of(std::move(budget))).ok());
  }
}

std::string Crowd::AddPreemptor() {
  std::vector<std::string> claims;
  int devices = 0;
  if (dice_.Chance(0.15)) {
    devices = dice_.Range(1, 2);
  } else {
    Create(MakeClaim("wanted"));
    claims.push_back("wanted");
    if (dice_.Chance(0.2)) {
      Create(MakeClaim("wanted-too"));
      claims.push_back("wanted-too");
    }
  }
  AddPod("preemptor", dice_.Range(1, 4), claims, devices);
  return "preemptor";
}

std::optional<api::Pod> Crowd::Find(const std::string& pod) const {
  const auto stored = cluster_.Stored(KindOf<api::Pod>(), kSpace, pod);
  return stored ? std::optional(*stored->As<api::Pod>()) : std::nullopt;
}

std::set<std::string> Crowd::Pods() const {
  std::set<std::string> names;
  for (const api::Pod& pod : All<api::Pod>()) names.insert(pod.metadata.name);
  return names;
}

std::vector<api::Pod> Crowd::UsersOf(const api::ResourceClaim& claim) const {
  std::vector<api::Pod> users;
  for (const api::Pod& pod : All<api::Pod>()) {
    if (pod.spec.node_name.empty()) continue;
    const api::OwnerReference* owner = api::ExtendedResourcePod(claim);
    const bool uses = (owner != nullptr && owner->uid == pod.metadata.uid) ||
                      std::ranges::any_of(pod.spec.resource_claims, [&](const auto& entry) {
                        return entry.resource_claim_name == claim.metadata.name;
                      });
    if (uses) users.push_back(pod);
  }
  return users;
}

void Crowd::GiveBack() {
  for (api::ResourceClaim& claim : All<api::ResourceClaim>()) {
    if (!claim.status.allocation || !UsersOf(claim).empty()) continue;
    // A pod that is being bound would be there.
    claim.status = {};
    DRAY_CHECK(cluster_.UpdateStatus(api::Object::Of(std::move(claim))).ok());
  }
}

bool Crowd::Fits(const std::string& pod, const std::string& node,
                 const std::set<std::string>& without) const {
  const api::Pod asks = *Find(pod);
  const api::Node on = *cluster_.Stored(KindOf<api::Node>(), "", node)->As<api::Node>();
  int cpu = static_cast<int>(on.status.allocatable.Find("cpu")->Value()) - CpuOf(asks);
  for (const api::Pod& other : All<api::Pod>()) {
    if (other.spec.node_name == node && !without.contains(other.metadata.name)) {
      cpu -= CpuOf(other);
    }
  }
  if (cpu < 0) return false;
  model::Instance instance;
  instance.features = model::Features::All();
  instance.node = on;
  instance.classes = All<api::DeviceClass>();
  instance.slices = All<api::ResourceSlice>();
  const auto* devices =
      asks.spec.containers.front().resources.requests.Find(api::ImplicitResourceName("gpu"));
  if (devices != nullptr) {
    api::ResourceClaim claim;
    claim.metadata.namespace_ = kSpace;
    claim.metadata.name = "extended";
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "r";
    request.exactly.emplace();
    request.exactly->device_class_name = "gpu";
    request.exactly->allocation_mode = api::kAllocationModeExactCount;
    request.exactly->count = devices->Value();
    instance.claims.push_back(std::move(claim));
  }
  for (api::ResourceClaim& claim : All<api::ResourceClaim>()) {
    if (claim.metadata.name.starts_with("wanted")) {
      instance.claims.push_back(std::move(claim));
      continue;
    }
    if (!claim.status.allocation) continue;
    const bool stays = std::ranges::any_of(UsersOf(claim), [&](const api::Pod& user) {
      return !without.contains(user.metadata.name);
    });
    if (stays) instance.allocated_claims.push_back(std::move(claim));
  }
  const model::Outcome outcome = model::Solve(instance);
  DRAY_CHECK(outcome.kind == model::Outcome::Kind::kAllocated ||
                 outcome.kind == model::Outcome::Kind::kNotPossible,
             outcome.error);
  return outcome.kind == model::Outcome::Kind::kAllocated;
}

std::vector<api::Pod> Crowd::Possible(const api::Pod& pod, const std::string& node) const {
  std::vector<api::Pod> possible;
  const auto lower = [&](const api::Pod& other) {
    return *other.spec.priority < *pod.spec.priority;
  };
  for (const api::Pod& other : All<api::Pod>()) {
    if (other.spec.node_name.empty() || !lower(other)) continue;
    bool may = other.spec.node_name == node;
    for (const api::ResourceClaim& claim : All<api::ResourceClaim>()) {
      if (may || !IsWide(claim)) continue;
      const std::vector<api::Pod> users = UsersOf(claim);
      may = std::ranges::all_of(users, lower) &&
            std::ranges::any_of(users, [&](const api::Pod& user) {
              return user.metadata.name == other.metadata.name;
            });
    }
    if (may) possible.push_back(other);
  }
  std::ranges::stable_sort(possible, [](const api::Pod& a, const api::Pod& b) {
    if (*a.spec.priority != *b.spec.priority) return *a.spec.priority > *b.spec.priority;
    return StartOf(a) < StartOf(b);
  });
  return possible;
}

std::optional<Cost> Crowd::CostOf(const std::string& pod, const Choice& choice) const {
  std::map<std::string, int> left;
  const auto budgets = All<api::PodDisruptionBudget>();
  for (const auto& budget : budgets) {
    left[budget.metadata.name] = budget.status.disruptions_allowed;
  }
  int violations = 0;
  int highest = 0;
  long sum = 0;
  int count = 0;
  long first = 0;
  for (const api::Pod& other : Possible(*Find(pod), choice.node)) {
    // Kubernetes counts down what budgets allow over all that could go.
    bool violates = false;
    for (const auto& budget : budgets) {
      const std::string* app = budget.spec.selector->match_labels.Find("app");
      if (*other.metadata.labels.Find("app") != *app) continue;
      violates |= --left[budget.metadata.name] < 0;
    }
    if (!choice.victims.contains(other.metadata.name)) continue;
    const int priority = *other.spec.priority;
    if (count == 0) highest = priority;
    if (priority == highest) first = count == 0 ? StartOf(other) : std::min(first, StartOf(other));
    violations += violates ? 1 : 0;
    sum += priority + (1L << 31);
    ++count;
  }
  if (count != static_cast<int>(choice.victims.size())) return std::nullopt;
  return Cost(violations, highest, sum, count, -first);
}

std::optional<Cost> Crowd::Least(const std::string& pod) const {
  std::optional<Cost> least;
  for (const api::Node& node : All<api::Node>()) {
    const std::vector<api::Pod> possible = Possible(*Find(pod), node.metadata.name);
    for (std::uint32_t set = 1; set < (1u << possible.size()); ++set) {
      Choice choice{.node = node.metadata.name, .victims = {}};
      for (std::size_t i = 0; i < possible.size(); ++i) {
        if ((set >> i & 1u) != 0) choice.victims.insert(possible[i].metadata.name);
      }
      const std::optional<Cost> cost = CostOf(pod, choice);
      if (least && !(*cost < *least)) continue;
      if (Fits(pod, choice.node, choice.victims)) least = cost;
    }
  }
  return least;
}

}  // namespace dray::preemption
