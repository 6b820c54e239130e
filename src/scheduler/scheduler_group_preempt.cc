// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods: preemption. Where a group does not fit, less important pods are sent away if, and only if,
// all of it that is needed at once fits then.
//
// Spec: docs/spec (WorkloadAwarePreemption, part of GenericWorkload). As there the domain is the whole cluster, a
// group counts with its own priority, and pods of a group with disruptionMode all go together. Differs: who
// goes is the set that costs least by the order in which nodes are compared, found by asking whether all of the
// group can be placed without it; and devices count where DefaultPreemption may send pods away for them.
// docs/decisions.md #926, #1180.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "scheduler/absence.h"
#include "scheduler/internal/group_try.h"
#include "scheduler/plugins/eviction.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

using Pods = std::vector<std::shared_ptr<const PodInfo>>;

// What looking for fewer victims may cost, in nodes asked and steps searched; and how many questions that are
// at most.
constexpr std::uint64_t kMostSteps = 20'000;
constexpr std::size_t kMostQuestions = 4096;

// Everybody on nodes who is less important.
Pods LowerThan(std::int32_t priority, const World& world) {
  Pods lower;
  for (const NodeInfo* node : world.nodes()) {
    if (node->lowest_priority >= priority) continue;
    std::ranges::copy_if(node->pods, std::back_inserter(lower),
                         [&](const auto& pod) { return pod->priority < priority; });
  }
  return lower;
}

// What the pods name: claims that they share with others stay theirs.
base::StringSet ClaimsOfAll(std::span<const QueuedPod> members, const World& world) {
  base::StringSet claims;
  for (const QueuedPod& member : members) {
    for (const auto& claim : ClaimsOf(*member.pod->pod, world).claims) {
      claims.insert(KeyOf(claim->metadata));
    }
  }
  return claims;
}

}  // namespace

// The group placed as it would be without those who are taken. Between questions nothing of it is held.
class Scheduler::Impl::GroupTrial final : public VictimTrial {
 public:
  GroupTrial(Impl& impl, const GroupTry& group, Absence& absence)
      : impl_(impl), absence_(absence), devices_(impl.profiles[group.profile].devices) {
    trial_.trial = true;
    trial_.key = group.key;
    trial_.object = group.object;
    trial_.profile = group.profile;
    trial_.members = group.members;
    trial_.nominations = group.nominations;
    trial_.scheduled = group.scheduled;
    trial_.least = std::max<std::size_t>(1, group.least);
    if (devices_ != nullptr) devices_->BeginGroup();
  }
  ~GroupTrial() override {
    impl_.LetGo(trial_.placed);
    if (devices_ != nullptr) devices_->EndGroup();
    impl_.current.cycle = nullptr;
  }

  void Take(const std::shared_ptr<const PodInfo>& victim) override { absence_.Take(*victim); }
  void PutBack(const std::shared_ptr<const PodInfo>& victim) override { absence_.PutBack(*victim); }
  bool Fits() override {
    if (limit_ != 0 && trial_.steps > limit_) return false;
    const bool fits = Place();
    impl_.LetGo(trial_.placed);
    return fits;
  }

  // How many are placed without those who are taken; from now on it takes as many.
  std::size_t Count() {
    const std::size_t placed = Place() ? trial_.placed.size() : 0;
    impl_.LetGo(trial_.placed);
    if (placed > 0) trial_.least = placed;
    return placed;
  }
  // Puts back those who need not go, in their order, while the pods of the group stay on their nodes, which
  // is much cheaper than asking for all of the group each time. Everybody of `taken` is taken, before; after,
  // those who are returned are. Nothing: the group could not be placed again as it was.
  std::optional<std::vector<PossibleVictim>> PutBackBeside(std::span<const PossibleVictim> taken,
                                                           GroupRoom& room) {
    if (!Place()) return std::nullopt;
    std::vector<PossibleVictim> victims;
    for (const PossibleVictim& victim : taken) {
      const Pods pods = EverybodyOf(std::span(&victim, 1));
      std::vector<Binding> beside = LetGoBeside(pods);
      for (const auto& pod : pods) absence_.PutBack(*pod);
      if (Again(beside)) continue;
      for (const auto& pod : pods) absence_.Take(*pod);
      if (!Again(beside)) {
        impl_.LetGo(trial_.placed);
        return std::nullopt;
      }
      victims.push_back(victim);
    }
    Note(room);
    impl_.LetGo(trial_.placed);
    return victims;
  }
  // With those who are taken gone. False: it was not to be.
  bool PlaceInto(GroupRoom& room) {
    const bool fits = Place();
    if (fits) Note(room);
    impl_.LetGo(trial_.placed);
    return fits;
  }
  // From now on no more than so many steps; what is asked beyond that does not fit.
  void Limit(std::uint64_t steps) { limit_ = trial_.steps + steps; }
  std::uint64_t steps() const { return trial_.steps; }
  const std::optional<PluginStatus>& error() const { return trial_.error; }

 private:
  bool Place() {
    impl_.LetGo(trial_.placed);
    impl_.PlaceGroup(trial_);
    const bool fits = !trial_.error && trial_.placed.size() >= trial_.least;
    if (!fits) impl_.LetGo(trial_.placed);
    return fits;
  }

  void Note(GroupRoom& room) const {
    room.places.clear();
    for (const Binding& binding : trial_.placed) {
      const auto member = std::ranges::find(
          trial_.members, binding.pod.pod->key,
          [](const QueuedPod& pod) -> const std::string& { return pod.pod->key; });
      room.places.push_back({.member = static_cast<std::size_t>(member - trial_.members.begin()),
                             .node = binding.node,
                             .devices = DynamicResources::TakenBy(binding.state)});
    }
    room.leaving = absence_.Leaving();
  }

  // Those of the group whose place may be another one when these pods come back: they are let go.
  std::vector<Binding> LetGoBeside(const Pods& pods) {
    const bool all =
        std::ranges::any_of(
            pods, [&](const auto& pod) { return absence_.HoldsWide(*pod) || pod->has_affinity; }) ||
        std::ranges::any_of(trial_.placed, [](const Binding& binding) {
          const PodInfo& pod = *binding.pod.pod;
          return pod.has_affinity || !pod.pod->spec.topology_spread_constraints.empty();
        });
    std::vector<Binding> beside;
    std::vector<Binding> others;
    for (Binding& binding : trial_.placed) {
      const bool there = std::ranges::any_of(pods, [&](const auto& pod) {
        return pod->pod->spec.node_name == binding.node || pod->pod->spec.node_name.empty();
      });
      (all || there ? beside : others).push_back(std::move(binding));
    }
    trial_.placed = std::move(others);
    std::vector<Binding> kept;
    for (const Binding& binding : beside) {
      kept.push_back({.pod = binding.pod, .profile = binding.profile, .node = binding.node});
    }
    impl_.LetGo(beside);
    return kept;
  }

  // On the same nodes, one by one, or in any other way on these nodes.
  bool Again(const std::vector<Binding>& pods) {
    if (pods.empty()) return true;
    std::vector<Binding> placed;
    for (const Binding& before : pods) {
      if (!OnNode(before, placed)) break;
    }
    if (placed.size() < pods.size()) {
      impl_.LetGo(placed);
      GroupTry part;
      part.trial = true;
      part.key = trial_.key;
      part.object = trial_.object;
      part.profile = trial_.profile;
      part.nominations = trial_.nominations;
      part.least = pods.size();
      GroupDomain nodes{.nodes = base::BitSet(impl_.world.nodes().size())};
      for (const Binding& before : pods) {
        part.members.push_back(before.pod);
        nodes.nodes.Set(impl_.world.FindNode(before.node)->rank);
      }
      part.domain = &nodes;
      impl_.PlaceJointly(part);
      trial_.steps += part.steps;
      if (part.placed.size() < pods.size()) {
        impl_.LetGo(part.placed);
        return false;
      }
      placed = std::move(part.placed);
    }
    std::ranges::move(placed, std::back_inserter(trial_.placed));
    return true;
  }

  bool OnNode(const Binding& before, std::vector<Binding>& placed) {
    NodeInfo* node = impl_.world.FindNode(before.node);
    const auto cycle = impl_.CycleOf(trial_, before.pod.pod);
    ++trial_.steps;
    if (node == nullptr || !cycle->Prepare() ||
        !cycle->Filter(cycle->state(), *before.pod.pod, *node).ok()) {
      return false;
    }
    Binding binding{.pod = before.pod, .profile = before.profile, .node = before.node};
    binding.state = cycle->TakeState();
    if (!impl_.Hold(binding, *node).ok()) return false;
    placed.push_back(std::move(binding));
    return true;
  }

  Impl& impl_;
  Absence& absence_;
  DynamicResources* const devices_;
  GroupTry trial_;
  std::uint64_t limit_ = 0;
};

std::string Scheduler::Impl::WhyNotPreempt(const GroupTry& group) const {
  const bool of_group = options.gates.Enabled(api::Gate::kPodGroupPreemptionPolicy);
  const bool never = of_group ? world.NeverPreempts(*group.object)
                              : std::ranges::any_of(group.members, [&](const QueuedPod& member) {
                                  return world.NeverPreempts(*member.pod->pod);
                                });
  return never ? "not eligible due to preemptionPolicy=Never." : "";
}

std::string Scheduler::Impl::WhyInVain(const GroupTry& group) const {
  for (const QueuedPod& member : group.members) {
    if (std::string why = in_vain.WhyNot(*member.pod); !why.empty()) return why;
  }
  return {};
}

bool Scheduler::Impl::WaitsForRoom(GroupTry& group) {
  std::vector<std::string> victims;
  std::vector<std::string> devices;
  const auto name = [](std::vector<std::string>& names, std::string one) {
    if (std::ranges::find(names, one) == names.end()) names.push_back(std::move(one));
  };
  bool waits = false;
  for (const QueuedPod& member : group.members) {
    const DeviceHold* hold = world.holds().Find(*member.pod);
    if (hold == nullptr) continue;
    waits |= StateOf(*hold, world) == HoldState::kPending;
    for (const DeviceHold::Victim& victim : hold->victims) {
      if (world.FindPod(victim.key) != nullptr) name(victims, victim.key);
    }
    for (std::string& device : DevicesOf(*hold)) name(devices, std::move(device));
  }
  const std::int32_t priority = group.members.front().pod->priority;
  for (const QueuedPod& member : group.members) {
    const NodeInfo* node = world.FindNode(NominatedNode(*member.pod));
    if (node == nullptr) continue;
    for (const auto& other : node->pods) {
      if (other->priority >= priority || !TerminatingByPreemption(*other->pod)) continue;
      waits = true;
      name(victims, other->key);
    }
  }
  if (waits) group.preemption = WaitingFor(victims, "", devices);
  return waits;
}

void Scheduler::Impl::HoldFor(const GroupTry& group, const GroupRoom& room) {
  const Pods victims = EverybodyOf(room.victims.pods);
  base::StringSet held;  // what several share is held once
  for (const GroupRoom::Place& place : room.places) {
    const PodInfo& pod = *group.members[place.member].pod;
    DeviceHold hold{.pod = pod.key,
                    .uid = pod.pod->metadata.uid,
                    .group = group.key,
                    .priority = pod.priority,
                    .node = place.node};
    for (const DeviceHold::Kept& kept : place.devices) {
      if (!held.insert(kept.claim).second) continue;
      hold.devices.push_back(kept);
      for (const auto& device : kept.allocation.devices.results) {
        const auto pool = world.expressions().dictionary().FindPool(device.driver, device.pool);
        hold.wide |= pool.has_value() && world.IsWide(*pool);
      }
    }
    if (hold.devices.empty()) continue;
    hold.leaving = room.leaving;
    for (const auto& victim : victims) {
      hold.victims.push_back({victim->key, victim->pod->metadata.uid});
    }
    world.holds().Put(std::move(hold));
  }
}

void Scheduler::Impl::HoldAgain(GroupTry& group) {
  const DynamicResources* devices = profiles[group.profile].devices;
  if (devices == nullptr || !devices->preempts()) return;
  std::vector<NodeInfo*> nominated;
  for (const QueuedPod& member : group.members) {
    if (world.holds().Find(*member.pod) != nullptr) return;
    NodeInfo* node = world.FindNode(member.pod->pod->status.nominated_node_name);
    if (node != nullptr) nominated.push_back(node);
  }
  if (nominated.empty()) return;
  const std::int32_t priority = group.members.front().pod->priority;
  Pods leaving = LowerThan(priority, world);
  std::erase_if(leaving, [](const auto& pod) { return !TerminatingByPreemption(*pod->pod); });
  GroupRoom room;
  bool fits = false;
  {
    Absence absence(
        world, leaving,
        {.below = priority, .devices = true, .kept = ClaimsOfAll(group.members, world)});
    for (NodeInfo* node : nominated) absence.TakeIdle(*node);
    for (const auto& pod : leaving) absence.Take(*pod);
    if (leaving.empty() && absence.Leaving().empty()) return;
    GroupTrial trial(*this, group, absence);
    fits = trial.PlaceInto(room);
    group.steps += trial.steps();
  }
  if (!fits) return;
  for (const auto& pod : leaving) room.victims.pods.push_back({.pod = pod});
  HoldFor(group, room);
}

std::optional<Scheduler::Impl::GroupRoom> Scheduler::Impl::FindRoom(GroupTry& group) {
  const std::int32_t priority = group.members.front().pod->priority;
  const DynamicResources* devices = profiles[group.profile].devices;
  const std::vector<PossibleVictim> in_order =
      InOrderOfReprieve(LowerThan(priority, world), priority, world);
  if (in_order.empty()) return std::nullopt;
  const Pods possible = EverybodyOf(in_order);
  Absence absence(world, possible,
                  {.below = priority,
                   .devices = devices != nullptr && devices->preempts(),
                   .kept = ClaimsOfAll(group.members, world)});
  GroupTrial trial(*this, group, absence);
  // With everybody gone: mostly that settles it.
  for (const auto& pod : possible) absence.Take(*pod);
  const std::size_t most = trial.Count();
  for (const auto& pod : possible) absence.PutBack(*pod);
  if (most == 0) {
    group.error = trial.error();
    group.preemption =
        possible.size() == 1
            ? std::string("it would not fit without the one pod of lower priority either")
            : fmt::format("it would not fit without all {} pods of lower priority either",
                          possible.size());
    return std::nullopt;
  }
  GroupRoom room;
  const auto enough = TakeEnough(trial, in_order);
  if (!enough) return std::nullopt;
  const auto victims = trial.PutBackBeside(*enough, room);
  for (const auto& pod : possible) absence.PutBack(*pod);
  if (!victims || victims->empty()) {
    group.error = trial.error();
    return std::nullopt;
  }
  room.victims = MakeVictims(*victims);
  // As long as that is cheap: the fewest and least important of all.
  trial.Limit(kMostSteps);
  std::size_t questions = kMostQuestions;
  std::optional<Victims> less = CheaperVictims(trial, in_order, room.victims.cost, questions);
  if (less) {
    GroupRoom cheaper{.victims = std::move(*less)};
    trial.Limit(kMostSteps);
    for (const auto& pod : EverybodyOf(cheaper.victims.pods)) absence.Take(*pod);
    if (trial.PlaceInto(cheaper)) room = std::move(cheaper);
  }
  group.steps += trial.steps();
  return room;
}

bool Scheduler::Impl::MayPreempt(const GroupTry& group) const {
  const std::int32_t priority = group.members.front().pod->priority;
  return profiles[group.profile].preempts && WhyInVain(group).empty() &&
         std::ranges::any_of(
             world.nodes(), [&](const NodeInfo* node) { return node->lowest_priority < priority; });
}

void Scheduler::Impl::Preempt(GroupTry& group) {
  if (!profiles[group.profile].preempts) return;
  group.preemption = WhyInVain(group);
  if (!group.preemption.empty()) return;
  HoldAgain(group);
  if (WaitsForRoom(group)) {
    group.makes_room = true;
    return;
  }
  for (const QueuedPod& member : group.members) world.holds().Remove(member.pod->key);
  if (!MayPreempt(group)) return;
  group.preemption = WhyNotPreempt(group);
  if (!group.preemption.empty()) return;
  const std::optional<GroupRoom> room = FindRoom(group);
  if (!room) {
    if (options.observer != nullptr) options.observer->OnPreemption(0);
    return;
  }
  HoldFor(group, *room);
  const Pods victims = EverybodyOf(room->victims.pods);
  const Status evicted = Evict(cluster, clock, world,
                               {.who = fmt::format("podgroup {}", group.object->metadata.uid),
                                .where = "cluster",
                                .scheduler = profiles[group.profile].scheduler_name},
                               victims, room->leaving);
  if (!evicted.ok()) {
    for (const QueuedPod& member : group.members) world.holds().Remove(member.pod->key);
    group.error =
        PluginStatus::Error(fmt::format("pod group preemption: {}", base::Message(evicted)));
    return;
  }
  if (options.observer != nullptr) options.observer->OnPreemption(victims.size());
  group.makes_room = true;
  std::vector<std::string> devices;
  for (const GroupRoom::Place& place : room->places) {
    group.nominated[place.member] = place.node;
    const DeviceHold* hold = world.holds().Find(*group.members[place.member].pod);
    if (hold != nullptr) std::ranges::move(DevicesOf(*hold), std::back_inserter(devices));
  }
  std::vector<std::string> names;
  for (const auto& victim : victims) names.push_back(victim->key);
  group.preemption = WaitingFor(names, "", devices);
}

}  // namespace dray::scheduler
