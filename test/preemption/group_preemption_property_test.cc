// SPDX-License-Identifier: Apache-2.0
//
// Whom the scheduler sends away for a gang, held against trying everybody: small random clusters with cpu, devices
// of a node and of every node, pods with claims of their own and shared ones, groups that go together, budgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "api/disruption_budget.h"
#include "api/memory_cluster.h"
#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "base/check.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/seeds.h"
#include "scheduler/device_cluster_for_test.h"
#include "scheduler/objects_for_test.h"
#include "scheduler/scheduler.h"

namespace dray::preemption {
namespace {

using scheduler::DeviceCluster;
using scheduler::MakeNode;
using scheduler::MakePod;

constexpr std::int32_t kGangPriority = 10;

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

struct Device {
  std::string name;
  std::string kind;
  std::optional<std::size_t> node;  // nothing: every node's
};
struct Claim {
  std::string name;
  std::size_t count = 1;
  std::string kind;               // empty: any
  std::set<std::string> devices;  // that it has
};
struct Pod {
  std::string name;
  std::size_t cpu = 1;
  std::int32_t priority = 0;
  std::vector<std::string> claims;
  std::string group;
  std::optional<std::string> budget;
  std::int64_t started = 0;
  std::optional<std::size_t> node;
};
struct Group {
  std::string name;
  std::int32_t priority = 0;
  bool all = false;
  std::size_t least = 1;
};

// Violations, highest priority, sum of priorities, pods, start of the first of the most important
// (negative: the later the better).
using Cost = std::tuple<int, int, std::int64_t, int, std::int64_t>;

std::string Shown(const Cost& cost) {
  return fmt::format("{} violations, highest {}, sum {}, {} pods, start {}", std::get<0>(cost),
                     std::get<1>(cost), std::get<2>(cost), std::get<3>(cost), -std::get<4>(cost));
}

class Town {
 public:
  explicit Town(std::uint64_t seed) : random_(seed) {
    for (const auto gate : {api::Gate::kGenericWorkload, api::Gate::kDRAWorkloadResourceClaims}) {
      gates_.Set(gate, true);
    }
    cluster_ = std::make_unique<api::MemoryCluster>(
        clock_, noise_, api::MemoryClusterOptions{.gates = gates_, .validate = false});
    AddNodes();
    AddBudgets();
    scheduler::SchedulerOptions options;
    options.gates = gates_;
    options.config.profiles.front().preemption.devices = true;
    scheduler_ =
        std::make_unique<scheduler::Scheduler>(*cluster_, clock_, ids_, std::move(options));
    AddInhabitants();
    AddGang();
  }

  void Run() {
    for (int i = 0; i < 3; ++i) {
      scheduler_->Run();
      clock_.Advance(std::chrono::seconds(20));
      scheduler_->Tick();
    }
    scheduler_->Run();
  }

  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const api::Object& pod : cluster_->All(KindOf<api::Pod>())) {
      names.insert(pod.metadata().name);
    }
    return names;
  }
  std::size_t BoundOfGang() const {
    std::size_t bound = 0;
    for (const api::Object& object : cluster_->All(KindOf<api::Pod>())) {
      const api::Pod& pod = *object.As<api::Pod>();
      bound += pod.metadata.name.starts_with("gang") && !pod.spec.node_name.empty() ? 1 : 0;
    }
    return bound;
  }
  std::size_t rooms_kept() const { return scheduler_->rooms_kept(); }
  std::string Said() const {
    std::string said;
    for (const api::Object& group : cluster_->All(KindOf<api::PodGroup>())) {
      for (const auto& condition : group.As<api::PodGroup>()->status.conditions) {
        said += group.metadata().name + ": " + condition.message + "\n";
      }
    }
    return said;
  }

  // What is where, for messages.
  std::string Shown() const {
    std::string shown;
    for (const api::Object& object : cluster_->All(KindOf<api::Pod>())) {
      const api::Pod& pod = *object.As<api::Pod>();
      shown += fmt::format("{} on {} ({})\n", pod.metadata.name, pod.spec.node_name,
                           pod.status.nominated_node_name);
    }
    for (const api::Object& object : cluster_->All(KindOf<api::ResourceClaim>())) {
      const auto& status = object.As<api::ResourceClaim>()->status;
      shown += object.metadata().name + ":";
      if (status.allocation) {
        for (const auto& result : status.allocation->devices.results) shown += " " + result.device;
      }
      for (const auto& user : status.reserved_for) shown += " for " + user.name;
      shown += "\n";
    }
    return shown;
  }
  // Claims that nobody uses any more.
  void GiveBack() {
    const std::set<std::string> there = Names();
    for (const api::Object& object : cluster_->All(KindOf<api::ResourceClaim>())) {
      api::ResourceClaim claim = *object.As<api::ResourceClaim>();
      if (!claim.status.allocation) continue;
      std::erase_if(claim.status.reserved_for,
                    [&](const auto& user) { return !there.contains(user.name); });
      if (claim.status.reserved_for.empty()) claim.status.allocation.reset();
      DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(claim))).ok(), "give back");
    }
  }

  // Sets of pods that go together and may go at all, most important first.
  std::vector<std::vector<const Pod*>> Units() const {
    std::vector<std::vector<const Pod*>> units;
    std::set<std::string> seen;
    for (const Pod& pod : pods_) {
      if (pod.priority >= kGangPriority) continue;
      const Group* group = GroupOf(pod);
      if (group == nullptr || !group->all) {
        units.push_back({&pod});
      } else if (seen.insert(group->name).second) {
        std::vector<const Pod*>& unit = units.emplace_back();
        for (const Pod& other : pods_) {
          if (other.group == group->name) unit.push_back(&other);
        }
      }
    }
    std::ranges::sort(units, {}, [&](const std::vector<const Pod*>& unit) {
      return std::tuple(-unit.front()->priority, GroupOf(*unit.front()) == nullptr ? 1 : 0,
                        -static_cast<std::int64_t>(unit.size()),
                        (*std::ranges::min_element(unit, {}, &Pod::started))->started);
    });
    return units;
  }

  Cost CostOf(const std::set<std::string>& gone) const {
    std::map<std::string, int> left = budgets_;
    Cost cost{0, std::numeric_limits<int>::min(), 0, 0, 0};
    auto& [violations, highest, sum, count, start] = cost;
    for (const auto& unit : Units()) {
      int violating = 0;
      for (const Pod* pod : InOrder(unit)) {
        violating += pod->budget && --left[*pod->budget] < 0 ? 1 : 0;
      }
      if (!gone.contains(unit.front()->name)) continue;
      violations += violating;
      for (const Pod* pod : unit) {
        sum += std::int64_t{pod->priority} + (std::int64_t{1} << 31);
        ++count;
        if (pod->priority > highest) {
          highest = pod->priority;
          start = -pod->started;
        } else if (pod->priority == highest) {
          start = std::max(start, -pod->started);
        }
      }
    }
    return cost;
  }

  // Whether so many pods of the gang could be placed without these.
  bool Fits(const std::set<std::string>& gone, std::size_t least) const {
    std::vector<std::size_t> cpu = cpu_;
    std::set<std::string> used;
    for (const Pod& pod : pods_) {
      if (gone.contains(pod.name)) continue;
      cpu[*pod.node] -= pod.cpu;
      for (const std::string& name : pod.claims) {
        used.insert(claims_.at(name).devices.begin(), claims_.at(name).devices.end());
      }
    }
    std::vector<std::optional<std::size_t>> nodes(gang_.size());
    return Place(0, 0, least, cpu, nodes, used);
  }
  // The least of all sets; nothing: none helps.
  std::optional<Cost> Least(std::size_t least) const {
    const auto units = Units();
    std::optional<Cost> best;
    for (std::uint64_t set = 1; set < std::uint64_t{1} << units.size(); ++set) {
      std::set<std::string> gone;
      for (std::size_t i = 0; i < units.size(); ++i) {
        if ((set >> i & 1) == 0) continue;
        for (const Pod* pod : units[i]) gone.insert(pod->name);
      }
      const Cost cost = CostOf(gone);
      if (best && *best <= cost) continue;
      if (Fits(gone, least)) best = cost;
    }
    return best;
  }
  // Whether groups that go together are gone together.
  bool Whole(const std::set<std::string>& gone) const {
    return std::ranges::all_of(Units(), [&](const auto& unit) {
      const auto n =
          std::ranges::count_if(unit, [&](const Pod* pod) { return gone.contains(pod->name); });
      return n == 0 || n == static_cast<std::ptrdiff_t>(unit.size());
    });
  }
  bool MayGo(const std::set<std::string>& gone) const {
    return std::ranges::all_of(pods_, [&](const Pod& pod) {
      return !gone.contains(pod.name) || pod.priority < kGangPriority;
    });
  }
  std::size_t least() const { return least_; }
  std::size_t gang() const { return gang_.size(); }

 private:
  std::size_t Below(std::size_t n) { return random_() % n; }
  template <typename T>
  void Create(T object) {
    const auto created = cluster_->Create(api::Object::Of(std::move(object)));
    DRAY_CHECK(created.ok(), base::Message(created.status()));
  }
  const Group* GroupOf(const Pod& pod) const {
    const auto found = std::ranges::find(groups_, pod.group, &Group::name);
    return found == groups_.end() ? nullptr : &*found;
  }
  static std::vector<const Pod*> InOrder(std::vector<const Pod*> unit) {
    std::ranges::sort(unit, {},
                      [](const Pod* pod) { return std::pair(-pod->priority, pod->started); });
    return unit;
  }

  void AddNodes() {
    api::DeviceClass gpu;
    gpu.metadata.name = "gpu";
    Create(std::move(gpu));
    const std::size_t nodes = 1 + Below(3);
    const auto slice_of = [&](std::string pool, std::size_t count,
                              std::optional<std::size_t> node) {
      if (count == 0) return;
      testing::Slice slice(pool);
      slice.Pool(pool);
      node ? slice.OnNode(fmt::format("n{}", *node)) : slice.OnAllNodes();
      for (std::size_t i = 0; i < count; ++i) {
        devices_.push_back({fmt::format("{}-{}", pool, i), Below(2) == 0 ? "a" : "b", node});
        slice.With(testing::Device(devices_.back().name).String("kind", devices_.back().kind));
      }
      Create<api::ResourceSlice>(slice);
    };
    for (std::size_t n = 0; n < nodes; ++n) {
      cpu_.push_back(1 + Below(3));
      Create(MakeNode(fmt::format("n{}", n), std::to_string(cpu_.back())));
      slice_of(fmt::format("own{}", n), Below(3), n);
    }
    if (Below(3) == 0) slice_of("fabric", 1 + Below(2), std::nullopt);
  }
  void AddBudgets() {
    for (std::size_t b = 0; b < Below(3); ++b) {
      api::PodDisruptionBudget budget;
      budget.metadata = {.name = fmt::format("b{}", b), .namespace_ = "ns"};
      budget.spec.selector.emplace().match_labels["budget"] = budget.metadata.name;
      const std::string name = budget.metadata.name;
      budgets_[name] = static_cast<int>(Below(2));
      Create(budget);
      budget = *cluster_->Stored(KindOf<api::PodDisruptionBudget>(), "ns", name)
                    ->As<api::PodDisruptionBudget>();
      budget.status.disruptions_allowed = budgets_[name];
      DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(budget))).ok(), "budget");
    }
  }
  std::string AddClaim(std::string name) {
    Claim claim{.name = name, .count = 1 + (Below(4) == 0 ? 1u : 0u)};
    if (Below(2) == 0) claim.kind = Below(2) == 0 ? "a" : "b";
    api::ResourceClaim object = DeviceCluster::GpuClaim(name, static_cast<int>(claim.count));
    if (!claim.kind.empty()) {
      object.spec.devices.requests.front().exactly->selectors.emplace_back().cel.emplace() = {
          .expression =
              fmt::format(R"(device.attributes["gpu.example.com"].kind == "{}")", claim.kind)};
    }
    Create(std::move(object));
    claims_.emplace(name, claim);
    return name;
  }
  void AddPod(const Pod& pod) {
    api::Pod object =
        MakePod({.name = pod.name, .cpu = std::to_string(pod.cpu), .priority = pod.priority});
    object.metadata.labels["budget"] = pod.budget.value_or("none");
    for (const std::string& claim : pod.claims) {
      object.spec.resource_claims.push_back({.name = claim, .resource_claim_name = claim});
    }
    if (!pod.group.empty()) object.spec.scheduling_group.emplace().pod_group_name = pod.group;
    Create(std::move(object));
  }
  void AddGroup(const Group& group) {
    api::PodGroup object;
    object.metadata.namespace_ = "ns";
    object.metadata.name = group.name;
    object.spec.priority = group.priority;
    object.spec.scheduling_policy.gang.emplace().min_count = static_cast<std::int32_t>(group.least);
    if (group.all) object.spec.disruption_mode.emplace().all.emplace();
    Create(std::move(object));
  }

  void AddInhabitants() {
    const std::size_t groups = Below(3);
    for (std::size_t g = 0; g < groups; ++g) {
      groups_.push_back({.name = fmt::format("low{}", g),
                         .priority = static_cast<std::int32_t>(Below(3)),
                         .all = Below(2) == 0});
      AddGroup(groups_.back());
    }
    std::vector<std::string> shared;
    if (Below(2) == 0) shared.push_back(AddClaim("shared"));
    std::vector<Pod> wanted;
    const std::size_t pods = 1 + Below(6);
    for (std::size_t p = 0; p < pods; ++p) {
      Pod& pod = wanted.emplace_back();
      pod.name = fmt::format("p{}", p);
      pod.cpu = 1 + (Below(4) == 0 ? 1u : 0u);
      pod.priority = Below(6) == 0 ? 20 : static_cast<std::int32_t>(Below(3));
      if (!groups_.empty() && Below(2) == 0) {
        const Group& group = groups_[Below(groups_.size())];
        pod.group = group.name;
        pod.priority = group.priority;
      }
      if (Below(2) == 0) pod.claims.push_back(AddClaim("of-" + pod.name));
      if (!shared.empty() && Below(3) == 0) pod.claims.push_back(shared.front());
      if (!budgets_.empty() && Below(3) == 0)
        pod.budget = fmt::format("b{}", Below(budgets_.size()));
      pod.started =
          1000 + static_cast<std::int64_t>(Below(1000)) * 10 + static_cast<std::int64_t>(p);
      AddPod(pod);
    }
    Run();
    // Where they came to be; the others go.
    for (Pod& pod : wanted) {
      const auto stored = cluster_->Stored(KindOf<api::Pod>(), "ns", pod.name);
      if (!stored) continue;  // sent away by another one
      api::Pod object = *stored->As<api::Pod>();
      if (object.spec.node_name.empty()) {
        DRAY_CHECK(cluster_->Delete(KindOf<api::Pod>(), "ns", pod.name).ok(), "delete");
        continue;
      }
      pod.node = static_cast<std::size_t>(object.spec.node_name[1] - '0');
      object.status.start_time = base::Time::FromUnix(pod.started);
      DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(object))).ok(), "start");
      pods_.push_back(pod);
    }
    GiveBack();
    for (const api::Object& object : cluster_->All(KindOf<api::ResourceClaim>())) {
      const auto& allocation = object.As<api::ResourceClaim>()->status.allocation;
      if (!allocation) continue;
      for (const auto& result : allocation->devices.results) {
        claims_.at(object.metadata().name).devices.insert(result.device);
      }
    }
  }

  void AddGang() {
    const std::size_t pods = 1 + Below(3);
    least_ = Below(4) == 0 ? 1 + Below(pods) : pods;
    AddGroup({.name = "gang", .priority = kGangPriority, .least = least_});
    for (std::size_t p = 0; p < pods; ++p) {
      Pod pod{.name = fmt::format("gang{}", p), .cpu = 1 + (Below(4) == 0 ? 1u : 0u)};
      pod.priority = kGangPriority;
      pod.group = "gang";
      if (Below(3) != 0) pod.claims.push_back(AddClaim("of-" + pod.name));
      gang_.push_back(pod);
      AddPod(pod);
    }
  }

  bool Place(std::size_t pod, std::size_t placed, std::size_t least, std::vector<std::size_t>& cpu,
             std::vector<std::optional<std::size_t>>& nodes, std::set<std::string>& used) const {
    if (placed + gang_.size() - pod < least) return false;
    if (pod == gang_.size()) return Give(0, 0, nodes, used);
    for (std::size_t n = 0; n < cpu.size(); ++n) {
      if (cpu[n] < gang_[pod].cpu) continue;
      cpu[n] -= gang_[pod].cpu;
      nodes[pod] = n;
      const bool done = Place(pod + 1, placed + 1, least, cpu, nodes, used);
      cpu[n] += gang_[pod].cpu;
      nodes[pod].reset();
      if (done) return true;
    }
    return Place(pod + 1, placed, least, cpu, nodes, used);
  }
  bool Give(std::size_t pod, std::size_t have, std::vector<std::optional<std::size_t>>& nodes,
            std::set<std::string>& used) const {
    if (pod == gang_.size()) return true;
    const bool needs = nodes[pod] && !gang_[pod].claims.empty();
    if (!needs) return Give(pod + 1, 0, nodes, used);
    const Claim& claim = claims_.at(gang_[pod].claims.front());
    if (have == claim.count) return Give(pod + 1, 0, nodes, used);
    for (const Device& device : devices_) {
      if (device.node && *device.node != *nodes[pod]) continue;
      if (!claim.kind.empty() && claim.kind != device.kind) continue;
      if (!used.insert(device.name).second) continue;
      const bool done = Give(pod, have + 1, nodes, used);
      used.erase(device.name);
      if (done) return true;
    }
    return false;
  }

  std::mt19937_64 random_;
  base::ManualClock clock_{base::Time::FromUnix(1'000'000)};
  base::SeededRandomSource noise_{1};
  api::FeatureGates gates_;
  std::unique_ptr<api::MemoryCluster> cluster_;
  scheduler::CountedIds ids_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::vector<std::size_t> cpu_;
  std::vector<Device> devices_;
  std::map<std::string, Claim> claims_;
  std::map<std::string, int> budgets_;
  std::vector<Group> groups_;
  std::vector<Pod> pods_;  // on nodes
  std::vector<Pod> gang_;
  std::size_t least_ = 1;
};

struct Counts {
  int fits = 0;
  int hopeless = 0;
  int preempted = 0;
  int several = 0;
  int violating = 0;
};

// Empty: as it should be.
std::string Try(std::uint64_t seed, Counts& counts) {
  Town town(seed);
  const std::set<std::string> before = town.Names();
  const bool fits = town.Fits({}, town.least());
  const std::optional<Cost> least = fits ? std::nullopt : town.Least(town.least());
  town.Run();
  std::set<std::string> gone;
  const std::set<std::string> after = town.Names();
  std::ranges::set_difference(before, after, std::inserter(gone, gone.end()));
  const std::string chosen = fmt::format("{}", fmt::join(gone, ", "));
  if (!town.MayGo(gone)) return "somebody goes who must not: " + chosen;
  if (!town.Whole(gone)) return "half of a group goes: " + chosen;
  if (fits) {
    ++counts.fits;
    if (town.BoundOfGang() < town.least()) return "it fits and is not bound: " + town.Said();
    // For those beyond minCount others may go, once it runs.
    if (!gone.empty() && town.least() == town.gang()) {
      return "somebody is sent away although the gang fits: " + chosen;
    }
    return "";
  }
  if (!least) {
    ++counts.hopeless;
    if (town.BoundOfGang() > 0) return "some are bound";
    return gone.empty() ? "" : fmt::format("{} are sent away in vain", chosen);
  }
  ++counts.preempted;
  if (gone.empty()) {
    return "nobody is sent away, though it would help: " + Shown(*least) + "\n" + town.Said();
  }
  if (!town.Fits(gone, town.least())) return "it does not help: " + chosen;
  const Cost cost = town.CostOf(gone);
  if (town.least() == town.gang() && cost != *least) {
    return fmt::format("{} costs {}, and the least is {}", chosen, Shown(cost), Shown(*least));
  }
  counts.several += gone.size() > 1 ? 1 : 0;
  counts.violating += std::get<0>(cost) > 0 ? 1 : 0;
  town.GiveBack();
  town.Run();
  if (town.BoundOfGang() < town.least()) {
    return "sent away in vain: " + chosen + "\n" + town.Said() + town.Shown();
  }
  if (town.least() < town.gang()) return "";
  if (town.Names() != after) return "a second round of victims, and the first was " + chosen;
  return town.rooms_kept() == 0 ? "" : "something is kept for nobody";
}

TEST(GroupPreemption, TheVictimsAreThoseThatCostLeast) {
  const std::uint64_t first = model::FirstSeed();
  const std::uint64_t n = model::Instances(1'000);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + n; ++seed) {
    const std::string wrong = Try(seed, counts);
    ASSERT_EQ(wrong, "") << "DRAY_SEED=" << seed << " DRAY_INSTANCES=1";
  }
  fmt::print("{} fit, {} hopeless, {} preempt: {} several pods, {} against a budget\n", counts.fits,
             counts.hopeless, counts.preempted, counts.several, counts.violating);
  if (n < 1'000) return;
  EXPECT_GT(counts.hopeless, static_cast<int>(n / 20));
  EXPECT_GT(counts.preempted, static_cast<int>(n / 10));
  EXPECT_GT(counts.several, static_cast<int>(n / 50));
  EXPECT_GT(counts.violating, static_cast<int>(n / 100));
}

}  // namespace
}  // namespace dray::preemption
