// SPDX-License-Identifier: Apache-2.0
#include "preemption/house.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "api/device_class.h"
#include "api/disruption_budget.h"
#include "api/extended_resources.h"
#include "api/pod_claims.h"
#include "api/pod_group.h"
#include "base/check.h"
#include "fmt/format.h"
#include "model/gates.h"
#include "model/generator.h"
#include "model/generator_profiles.h"
#include "model/model.h"
#include "scheduler/objects_for_test.h"
#include "testing/slice_builder.h"

namespace dray::preemption {
namespace {

constexpr const char* kSpace = "ns";
constexpr const char* kElsewhere = "node-b";
constexpr std::uint64_t kMostSteps = 60'000;

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

model::GeneratorOptions Devices(model::Dice& dice) {
  model::GeneratorOptions o =
      dice.Chance(0.5) ? model::DeepOptions() : dice.Pick(model::Profiles()).options;
  o.max_devices = dice.Range(2, 6);
  o.max_claims = 3;
  o.max_requests = 2;
  o.max_count = 2;
  o.max_alternatives = 3;
  o.binding = 0;
  o.broken_pools = 0;
  o.skip_operations = 0;
  o.taint_rules = 0;
  o.taken = 0.8;
  o.features_off = 0;
  o.errors = 0;
  o.contradictions = 0;
  o.odd_snapshots = 0.1;
  return o;
}

// As a server fills it in.
template <typename Request>
void FillIn(Request& request) {
  if (request.allocation_mode.empty()) request.allocation_mode = api::kAllocationModeExactCount;
  if (request.allocation_mode == api::kAllocationModeExactCount && request.count == 0) {
    request.count = 1;
  }
}

// Whether pods on other nodes could have its devices: of those of a node they cannot.
bool IsWide(const model::Instance& instance, const api::ResourceClaim& claim) {
  return std::ranges::all_of(claim.status.allocation->devices.results, [&](const auto& result) {
    return std::ranges::all_of(instance.slices, [&](const api::ResourceSlice& slice) {
      return slice.spec.driver != result.driver || slice.spec.pool.name != result.pool ||
             !slice.spec.node_name;
    });
  });
}

std::vector<api::ResourceClaim> ClaimsLike(const model::Instance& instance) {
  std::vector<api::ResourceClaim> claims = instance.claims;
  for (api::ResourceClaim& claim : claims) {
    claim.metadata.namespace_ = kSpace;
    for (api::DeviceRequest& request : claim.spec.devices.requests) {
      if (request.exactly) FillIn(*request.exactly);
      for (api::DeviceSubRequest& sub : request.first_available) FillIn(sub);
    }
  }
  return claims;
}

}  // namespace

std::string Shown(const HouseCost& cost) {
  return fmt::format("{} violations, highest {}, sum {}, {} pods, start {}", std::get<0>(cost),
                     std::get<1>(cost), std::get<2>(cost), std::get<3>(cost), -std::get<4>(cost));
}

House::House(std::uint64_t seed, const HouseOptions& options) : options_(options), dice_(seed) {
  MakeInstance(seed);
  AddHolders(options.holders);
  AddComers(options.gang);
  Load();
}

void House::MakeInstance(std::uint64_t seed) {
  model::GeneratorOptions devices = Devices(dice_);
  // What somebody has with admin access counts until it is stored: of one pod's claims, not of those of several.
  if (options_.gang) devices.admin = 0;
  instance_ = model::RandomInstance(dice_, devices);
  instance_.name = fmt::format("house-{}", seed);
  instance_.features = model::Features::All();
  instance_.claims = ClaimsLike(instance_);
  std::set<std::string> names;
  for (api::ResourceSlice& slice : instance_.slices) {
    while (!names.insert(slice.metadata.name).second) slice.metadata.name += "x";
  }
  // Those that are wanted: mostly what an empty node has.
  std::vector<api::ResourceClaim> wanted = std::exchange(instance_.claims, {});
  for (int tries = 0; tries < 6 && instance_.claims.size() < 3; ++tries) {
    for (api::ResourceClaim& claim : wanted) {
      model::Instance empty = instance_;
      empty.allocated_claims.clear();
      empty.claims = {claim};
      const auto outcome = model::Solve(empty, {.max_steps = kMostSteps});
      if (outcome.kind != model::Outcome::Kind::kAllocated && dice_.Chance(0.95)) continue;
      claim.metadata.name = fmt::format("claim-{}", instance_.claims.size());
      instance_.claims.push_back(claim);
      if (instance_.claims.size() == 3 || dice_.Chance(0.5)) break;
    }
    if (!instance_.claims.empty() && dice_.Chance(0.5)) break;
    wanted = ClaimsLike(model::RandomInstance(dice_, devices));
  }
  // Claims that somebody else would make, as they are allocated one after the other.
  const int more = dice_.Range(0, 4);
  for (int i = 0; i < more; ++i) {
    for (api::ResourceClaim claim : ClaimsLike(model::RandomInstance(dice_, devices))) {
      model::Instance alone = instance_;
      claim.metadata.name = fmt::format("given-{}", instance_.allocated_claims.size());
      claim.metadata.uid = claim.metadata.name;
      alone.claims = {claim};
      const model::Outcome outcome = model::Solve(alone, {.max_steps = kMostSteps});
      if (outcome.kind != model::Outcome::Kind::kAllocated) continue;
      claim.status.allocation = outcome.results.front();
      instance_.allocated_claims.push_back(std::move(claim));
    }
  }
  for (api::ResourceClaim& claim : instance_.allocated_claims) claim.metadata.namespace_ = kSpace;
}

void House::AddHolders(bool holders) {
  const bool group = dice_.Chance(0.2);
  const bool elsewhere = dice_.Chance(0.25);
  // Where it is not known who may go before whom, budgets are left to other tests.
  const int budgets = group || elsewhere || options_.gang ? 0 : dice_.Range(0, 2);
  for (int i = 0; i < budgets; ++i) budgets_[fmt::format("b{}", i)] = dice_.Range(0, 1);
  for (const api::ResourceClaim& claim : instance_.allocated_claims) {
    const std::string& name = claim.metadata.name;
    if (!holders || dice_.Chance(0.05)) {
      kept_.insert(name);  // nobody uses it
      continue;
    }
    const bool wide = IsWide(instance_, claim);
    if (!holders_.empty() && dice_.Chance(0.2) && (wide || !holders_.back().elsewhere)) {
      holders_.back().claims.push_back(name);
      continue;
    }
    const int users = dice_.Chance(0.15) ? 2 : 1;
    for (int i = 0; i < users && holders_.size() < 7; ++i) {
      Holder& holder = holders_.emplace_back();
      holder.name = fmt::format("p{}", holders_.size());
      holder.priority = dice_.Range(0, 3);
      holder.cpu = dice_.Range(0, 2);
      holder.start = 1'000'000 + dice_.Range(0, 5) * 10 + static_cast<long>(holders_.size());
      holder.elsewhere = elsewhere && wide && dice_.Chance(0.7);
      holder.of_group = group && dice_.Chance(0.5);
      if (holder.of_group) holder.priority = 1;
      if (budgets > 0 && dice_.Chance(0.5)) {
        holder.budget = fmt::format("b{}", dice_.Range(0, budgets - 1));
      }
      holder.claims.push_back(name);
    }
    const bool used = std::ranges::any_of(holders_, [&](const Holder& holder) {
      return std::ranges::find(holder.claims, name) != holder.claims.end();
    });
    // Without the finalizer a claim is never given back.
    if (!used || dice_.Chance(0.05)) kept_.insert(name);
  }
  for (const Holder& holder : holders_) cpu_ += holder.elsewhere ? 0 : holder.cpu;
}

void House::AddComers(bool gang) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < instance_.claims.size(); ++i) all.push_back(i);
  const std::size_t pods = gang ? static_cast<std::size_t>(dice_.Range(1, 3)) : 1;
  for (std::size_t i = 0; i < pods; ++i) {
    comers_.push_back({.name = fmt::format("comer{}", i), .cpu = dice_.Range(0, 2)});
  }
  for (const std::size_t claim : all) {
    dice_.Pick(std::vector<Comer*>{&comers_.front(), &comers_.back(), &comers_[pods / 2]})
        ->claims.push_back(claim);
  }
  // A resource that a class serves is asked for as by a claim.
  for (Comer& comer : comers_) {
    if (!dice_.Chance(0.2)) continue;
    comer.extended = dice_.Range(1, 2);
    comer.extended_class = dice_.Pick(instance_.classes).metadata.name;
    api::ResourceClaim claim;
    claim.metadata = {.name = "of-" + comer.name, .namespace_ = kSpace};
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "r";
    request.exactly.emplace();
    request.exactly->device_class_name = comer.extended_class;
    request.exactly->allocation_mode = api::kAllocationModeExactCount;
    request.exactly->count = comer.extended;
    comer.claims.push_back(instance_.claims.size());
    instance_.claims.push_back(std::move(claim));
  }
  least_ = gang && dice_.Chance(0.3)
               ? static_cast<std::size_t>(dice_.Range(1, static_cast<int>(pods)))
               : pods;
  priority_ = dice_.Range(1, 4);
  never_ = dice_.Chance(0.05);
  cpu_ += dice_.Range(0, 2 * static_cast<int>(pods));
}

template <typename T>
void House::Create(T object) {
  const auto created = cluster_->Create(api::Object::Of(std::move(object)));
  DRAY_CHECK(created.ok(), base::Message(created.status()));
}

api::Pod House::PodOf(const std::string& name, int priority, int cpu,
                      const std::vector<std::string>& claims) const {
  api::Pod pod = scheduler::MakePod(
      {.name = name, .cpu = cpu == 0 ? "" : std::to_string(cpu), .priority = priority});
  for (const std::string& claim : claims) {
    pod.spec.resource_claims.push_back({.name = claim, .resource_claim_name = claim});
    pod.spec.containers.front().resources.claims.push_back({.name = claim});
  }
  return pod;
}

void House::Load() {
  scheduler::SchedulerOptions options;
  options.gates = model::AllDeviceGates();
  options.gates.Set(api::Gate::kGenericWorkload, true);
  options.config.profiles.front().preemption.devices = options_.devices;
  cluster_ = std::make_unique<api::MemoryCluster>(
      clock_, random_, api::MemoryClusterOptions{.gates = options.gates, .validate = false});
  const auto add_node = [&](api::Node node, int cpu) {
    for (auto* list : {&node.status.capacity, &node.status.allocatable}) {
      (*list)["cpu"] = testing::ToQuantity(std::to_string(cpu));
      (*list)["memory"] = testing::ToQuantity("64Gi");
      (*list)["pods"] = testing::ToQuantity("110");
    }
    Create(std::move(node));
  };
  add_node(instance_.node, cpu_);
  // Those who come are not let onto the other node.
  api::Node other;
  other.metadata.name = kElsewhere;
  other.spec.unschedulable = true;
  add_node(std::move(other), 64);
  for (const api::DeviceClass& one : instance_.classes) Create(one);
  for (const api::ResourceSlice& slice : instance_.slices) Create(slice);
  for (const auto& [name, allowed] : budgets_) {
    api::PodDisruptionBudget budget;
    budget.metadata = {.name = name, .namespace_ = kSpace};
    budget.spec.selector.emplace().match_labels["budget"] = name;
    Create(budget);
    budget = *cluster_->Stored(KindOf<api::PodDisruptionBudget>(), kSpace, name)
                  ->As<api::PodDisruptionBudget>();
    budget.status.disruptions_allowed = allowed;
    DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(budget))).ok(), "budget");
  }
  const auto add_group = [&](const std::string& name, int priority, std::size_t least, bool all) {
    api::PodGroup group;
    group.metadata = {.name = name, .namespace_ = kSpace};
    group.spec.priority = priority;
    group.spec.scheduling_policy.gang.emplace().min_count = static_cast<std::int32_t>(least);
    if (all) group.spec.disruption_mode.emplace().all.emplace();
    Create(std::move(group));
  };
  add_group("low", 1, 1, /*all=*/true);
  for (const Holder& holder : holders_) {
    api::Pod pod = PodOf(holder.name, holder.priority, holder.cpu, holder.claims);
    pod.metadata.labels["budget"] = holder.budget.value_or("none");
    pod.spec.node_name = holder.elsewhere ? kElsewhere : instance_.node.metadata.name;
    if (holder.of_group) pod.spec.scheduling_group.emplace().pod_group_name = "low";
    Create(std::move(pod));
    pod = *cluster_->Stored(KindOf<api::Pod>(), kSpace, holder.name)->As<api::Pod>();
    pod.status.phase = "Running";
    pod.status.start_time = base::Time::FromUnix(holder.start);
    DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(pod))).ok(), "start");
  }
  for (const api::ResourceClaim& given : instance_.allocated_claims) {
    api::ResourceClaim claim = given;
    const std::string name = claim.metadata.name;
    if (!kept_.contains(name)) claim.metadata.finalizers.emplace_back(api::kClaimFinalizer);
    claim.status = {};
    Create(claim);
    claim = *cluster_->Stored(KindOf<api::ResourceClaim>(), kSpace, name)->As<api::ResourceClaim>();
    claim.status.allocation = given.status.allocation;
    for (const Holder& holder : holders_) {
      if (std::ranges::find(holder.claims, name) == holder.claims.end()) continue;
      const auto stored = cluster_->Stored(KindOf<api::Pod>(), kSpace, holder.name);
      claim.status.reserved_for.push_back(
          {.resource = "pods", .name = holder.name, .uid = stored->metadata().uid});
    }
    DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(claim))).ok(), "allocation");
  }
  if (options_.gang) add_group("gang", priority_, least_, /*all=*/false);
  for (const Comer& comer : comers_) {
    std::vector<std::string> claims;
    const std::size_t named = comer.claims.size() - (comer.extended > 0 ? 1 : 0);
    for (std::size_t i = 0; i < named; ++i) {
      const api::ResourceClaim& claim = instance_.claims[comer.claims[i]];
      Create(claim);
      claims.push_back(claim.metadata.name);
    }
    api::Pod pod = PodOf(comer.name, priority_, comer.cpu, claims);
    if (comer.extended > 0) {
      auto& resources = pod.spec.containers.front().resources;
      for (auto* list : {&resources.requests, &resources.limits}) {
        (*list)[api::ImplicitResourceName(comer.extended_class)] =
            testing::ToQuantity(std::to_string(comer.extended));
      }
    }
    if (options_.gang) pod.spec.scheduling_group.emplace().pod_group_name = "gang";
    if (never_) pod.spec.preemption_policy = std::string(api::kPreemptNever);
    Create(std::move(pod));
  }
  scheduler_ = std::make_unique<scheduler::Scheduler>(*cluster_, clock_, ids_, std::move(options));
}

bool House::Place(std::size_t comer, std::size_t placed, int cpu, std::vector<std::size_t>& claims,
                  const model::Instance& without) {
  if (placed + comers_.size() - comer < least_) return false;
  if (comer == comers_.size()) {
    model::Instance asked = without;
    asked.claims.clear();
    for (const std::size_t claim : claims) asked.claims.push_back(instance_.claims[claim]);
    if (asked.claims.empty()) return true;
    const model::Outcome outcome = model::Solve(asked, {.max_steps = kMostSteps});
    using Kind = model::Outcome::Kind;
    known_ = known_ && (outcome.kind == Kind::kAllocated || outcome.kind == Kind::kNotPossible);
    return outcome.kind == Kind::kAllocated;
  }
  const Comer& pod = comers_[comer];
  if (pod.cpu <= cpu) {
    const std::size_t before = claims.size();
    claims.insert(claims.end(), pod.claims.begin(), pod.claims.end());
    const bool fits = Place(comer + 1, placed + 1, cpu - pod.cpu, claims, without);
    claims.resize(before);
    if (fits) return true;
  }
  return Place(comer + 1, placed, cpu, claims, without);
}

bool House::Fits(const std::set<std::string>& without) {
  model::Instance left = instance_;
  int cpu = cpu_;
  std::set<std::string> used = kept_;
  for (const Holder& holder : holders_) {
    if (without.contains(holder.name)) continue;
    if (!holder.elsewhere) cpu -= holder.cpu;
    used.insert(holder.claims.begin(), holder.claims.end());
  }
  std::erase_if(left.allocated_claims, [&](const api::ResourceClaim& claim) {
    return !used.contains(claim.metadata.name);
  });
  std::vector<std::size_t> claims;
  return Place(0, 0, cpu, claims, left);
}

std::vector<const House::Holder*> House::Possible() const {
  std::vector<const Holder*> possible;
  for (const Holder& holder : holders_) {
    if (!never_ && holder.priority < priority_) possible.push_back(&holder);
  }
  std::ranges::sort(possible, {}, [](const Holder* holder) {
    return std::pair(-holder->priority, holder->start);
  });
  return possible;
}

std::optional<HouseCost> House::CostOf(const std::set<std::string>& victims) const {
  std::map<std::string, int> left = budgets_;
  HouseCost cost{0, std::numeric_limits<int>::min(), 0, 0, 0};
  auto& [violations, highest, sum, count, start] = cost;
  std::size_t of_group = 0;
  for (const Holder* holder : Possible()) {
    const bool violates = holder->budget && --left[*holder->budget] < 0;
    if (!victims.contains(holder->name)) continue;
    violations += violates ? 1 : 0;
    of_group += holder->of_group ? 1 : 0;
    sum += holder->priority + (1L << 31);
    ++count;
    if (holder->priority > highest) {
      highest = holder->priority;
      start = -holder->start;
    } else if (holder->priority == highest) {
      start = std::max(start, -holder->start);
    }
  }
  if (count != static_cast<int>(victims.size())) return std::nullopt;
  const auto group = static_cast<std::size_t>(std::ranges::count_if(holders_, &Holder::of_group));
  if (of_group != 0 && of_group != group) return std::nullopt;
  return cost;
}

std::optional<HouseCost> House::Least() {
  const std::vector<const Holder*> possible = Possible();
  std::optional<HouseCost> least;
  for (std::uint32_t set = 1; set < (1u << possible.size()); ++set) {
    std::set<std::string> victims;
    for (std::size_t i = 0; i < possible.size(); ++i) {
      if ((set >> i & 1u) != 0) victims.insert(possible[i]->name);
    }
    const std::optional<HouseCost> cost = CostOf(victims);
    if (!cost || (least && *least <= *cost)) continue;
    if (Fits(victims)) least = cost;
    if (!known_) return std::nullopt;
  }
  return least;
}

void House::Run() {
  for (int i = 0; i < 3; ++i) {
    scheduler_->Run();
    clock_.Advance(std::chrono::seconds(11));
    scheduler_->Tick();
  }
  scheduler_->Run();
}

std::set<std::string> House::Pods() const {
  std::set<std::string> names;
  for (const api::Object& pod : cluster_->All(KindOf<api::Pod>())) {
    names.insert(pod.metadata().name);
  }
  return names;
}

void House::GiveBack() {
  const std::set<std::string> there = Pods();
  for (const api::Object& object : cluster_->All(KindOf<api::ResourceClaim>())) {
    api::ResourceClaim claim = *object.As<api::ResourceClaim>();
    if (!claim.status.allocation || kept_.contains(claim.metadata.name)) continue;
    std::erase_if(claim.status.reserved_for,
                  [&](const auto& user) { return !there.contains(user.name); });
    if (!claim.status.reserved_for.empty()) continue;
    claim.status = {};
    DRAY_CHECK(cluster_->UpdateStatus(api::Object::Of(std::move(claim))).ok(), "give back");
  }
}

std::size_t House::Bound() const {
  std::size_t bound = 0;
  for (const Comer& comer : comers_) {
    const auto stored = cluster_->Stored(KindOf<api::Pod>(), kSpace, comer.name);
    bound += stored && !stored->As<api::Pod>()->spec.node_name.empty() ? 1 : 0;
  }
  return bound;
}

std::string House::Told() const {
  std::string told;
  for (const Comer& comer : comers_) {
    const auto stored = cluster_->Stored(KindOf<api::Pod>(), kSpace, comer.name);
    if (!stored) continue;
    for (const auto& condition : stored->As<api::Pod>()->status.conditions) {
      told += fmt::format("{}: {}\n", comer.name, condition.message);
    }
  }
  for (const Holder& holder : holders_) {
    told += fmt::format("{}: priority {}, cpu {}{}{}, claims {}\n", holder.name, holder.priority,
                        holder.cpu, holder.elsewhere ? ", elsewhere" : "",
                        holder.of_group ? ", of the group" : "", fmt::join(holder.claims, " "));
  }
  told += fmt::format("priority {}, {} of {}, cpu {}{}; kept {}\n", priority_, least_,
                      comers_.size(), cpu_, never_ ? ", never" : "", fmt::join(kept_, " "));
  return told;
}

}  // namespace dray::preemption
