// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods: one attempt. First pod by pod, as Kubernetes does; if too few of them fit that way, by
// a search over all pods and nodes (`gang`), with devices of pods that go to one node chosen together.
// Nothing is written before enough of them have a node; then claims of all, then bindings.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "api/pod_claims.h"
#include "fmt/format.h"
#include "scheduler/internal/group_try.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

using Code = PluginStatus::Code;

void Name(PluginStatus& status, const Plugin& plugin) {
  for (Reason& reason : status.reasons) {
    if (reason.plugin.empty()) reason.plugin = plugin.name();
  }
}

}  // namespace

Outcome Scheduler::Impl::AttemptGroup(QueuedPod popped, std::uint32_t profile) {
  GroupTry group;
  const api::Pod& first = *popped.pod->pod;
  group.key = fmt::format("{}/{}", first.metadata.namespace_, api::GroupNameOf(first));
  const Group& known = *GroupOf(first);
  // While it was being bound the group may have gone, or lost pods: it waits with the others.
  if (std::string why = WaitsFor(known); !why.empty()) {
    PutMember(known, popped.pod);
    Outcome outcome{.pod = popped.pod->key, .kind = Outcome::Kind::kUnschedulable};
    outcome.message = std::move(why);
    queue.Back(std::move(popped), {}, /*retry=*/false);
    return outcome;
  }
  // Nor does anybody join a gang that may still be undone: he would run without it.
  if (MayBeUndone(known)) {
    Outcome outcome{.pod = popped.pod->key, .kind = Outcome::Kind::kUnschedulable};
    outcome.message = "waiting for pods of its group that are being bound";
    Refused& said = refused[popped.pod->key];
    said.gated_by.clear();
    said.explanation = {
        .pod = popped.pod->key,
        .before = {
            {.plugin = "GangScheduling", .code = "group_being_bound", .text = outcome.message}}};
    said.as_of = changes;
    queue.Back(std::move(popped), {}, /*retry=*/true);
    return outcome;
  }
  group.object = known.object;
  group.profile = profile;
  const std::string popped_key = popped.pod->key;
  group.members.push_back(std::move(popped));
  for (const std::string& key : known.pods) {
    if (!world.NodeOf(key).empty()) ++group.scheduled;
    if (key == popped_key || !world.NodeOf(key).empty() || running.contains(key)) continue;
    const std::shared_ptr<const PodInfo> info = world.FindPod(key);
    if (info == nullptr || info->pod->metadata.deletion_timestamp) continue;
    if (std::optional<QueuedPod> member = queue.Take(key)) {
      member->pod = info;
      group.members.push_back(std::move(*member));
    }
  }
  std::ranges::stable_sort(group.members, [](const QueuedPod& a, const QueuedPod& b) {
    return std::tuple(-a.pod->priority, b.attempts, a.added, a.pod->key) <
           std::tuple(-b.pod->priority, a.attempts, b.added, b.pod->key);
  });
  base::StringSet keys;
  for (const QueuedPod& member : group.members) keys.insert(member.pod->key);
  std::ranges::copy_if(nominations, std::back_inserter(group.nominations),
                       [&](const Nomination& one) { return !keys.contains(one.pod->key); });
  statistics.attempts += group.members.size();
  attempt_began = clock.Monotonic();
  explaining = {};
  const auto minimum = static_cast<std::size_t>(std::max(1, api::MinCountOf(group.object->spec)));
  group.least = minimum > group.scheduled ? minimum - group.scheduled : 0;
  if (std::string wrong = CheckMembers(group); !wrong.empty()) {
    return FailGroup(group, PluginStatus::Error(std::move(wrong)));
  }
  DynamicResources* const devices = profiles[profile].devices;
  if (devices != nullptr) devices->BeginGroup();
  PlaceGroup(group);
  if (devices != nullptr) devices->EndGroup();
  current.cycle = nullptr;
  if (group.error) {
    LetGo(group.placed);
    return FailGroup(group, *group.error);
  }
  if (group.placed.empty() || group.placed.size() < group.least) return RefuseGroup(group);
  return Commit(group);
}

bool Scheduler::Impl::MayBeUndone(const Group& group) const {
  if (!group.object->spec.scheduling_policy.gang) return false;
  std::size_t pending = 0;
  for (const Binding& binding : bindings) {
    const bool own = binding.group != nullptr && !binding.group->open;
    if (own && group.pods.contains(binding.pod.pod->key)) ++pending;
  }
  if (pending == 0) return false;
  const auto on_nodes = static_cast<std::size_t>(std::ranges::count_if(
      group.pods, [&](const std::string& key) { return !world.NodeOf(key).empty(); }));
  const auto minimum = static_cast<std::size_t>(std::max(1, api::MinCountOf(group.object->spec)));
  return on_nodes < minimum + pending;
}

std::string Scheduler::Impl::WhyTooFew(const GroupCommit& commit) const {
  const auto found = groups.find(commit.group);
  if (found == groups.end() || found->second.object == nullptr) {
    return fmt::format("pod group {} is gone", commit.group);
  }
  const Group& group = found->second;
  const auto on_nodes = std::ranges::count_if(
      group.pods, [&](const std::string& key) { return !world.NodeOf(key).empty(); });
  const std::int32_t least = api::MinCountOf(group.object->spec);
  if (on_nodes >= least) return {};
  return fmt::format("minCount ({}) cannot be satisfied: {} scheduled", least, on_nodes);
}

std::string Scheduler::Impl::CheckMembers(const GroupTry& group) const {
  const std::int32_t wanted = world.PriorityOf(*group.object);
  for (const QueuedPod& member : group.members) {
    const api::Pod& pod = *member.pod->pod;
    if (ProfileOf(pod) != group.profile) {
      return fmt::format(
          "all pods in a single pod group should have the same .spec.schedulerName set, got: "
          "\"{}\" and \"{}\"",
          group.members.front().pod->pod->spec.scheduler_name, pod.spec.scheduler_name);
    }
    if (member.pod->priority != wanted) {
      return fmt::format(
          "all pods in a single pod group should have the same priority as the pod group's "
          "priority, got {} and {}",
          member.pod->priority, wanted);
    }
  }
  return {};
}

PluginStatus Scheduler::Impl::Hold(Binding& binding, NodeInfo& node) {
  for (ReservePlugin* plugin : profiles[binding.profile].plugins->reserve()) {
    PluginStatus status = plugin->Reserve(binding.state, *binding.pod.pod, node, world);
    if (status.ok()) continue;
    Name(status, *plugin);
    for (ReservePlugin* undo : profiles[binding.profile].plugins->reserve()) {
      undo->Unreserve(binding.state, *binding.pod.pod, world);
    }
    return status;
  }
  world.Assume(binding.pod.pod, node);
  return PluginStatus::Success();
}

// In reverse. Nothing of it was seen by anybody, so that nobody has to be woken.
void Scheduler::Impl::LetGo(std::vector<Binding>& placed) {
  while (!placed.empty()) {
    Binding& binding = placed.back();
    const auto& plugins = profiles[binding.profile].plugins->reserve();
    for (auto plugin = plugins.rbegin(); plugin != plugins.rend(); ++plugin) {
      (*plugin)->Unreserve(binding.state, *binding.pod.pod, world);
    }
    world.Forget(binding.pod.pod->key);
    placed.pop_back();
  }
}

const Scheduler::Impl::Group* Scheduler::Impl::GroupOf(const GroupTry& group) const {
  const auto found = groups.find(group.key);
  return found == groups.end() ? nullptr : &found->second;
}

void Scheduler::Impl::PlaceGroup(GroupTry& group) {
  const auto& constraints = group.object->spec.scheduling_constraints;
  if (constraints && !constraints->topology.empty() &&
      options.gates.Enabled(api::Gate::kTopologyAwareWorkloadScheduling)) {
    return PlaceInDomains(group);
  }
  PlaceIn(group);
}

void Scheduler::Impl::PlaceIn(GroupTry& group) {
  group.unplaced.clear();
  group.remaining = 0;
  group.explanations.clear();
  group.joint.clear();
  group.could_run = 0;
  PlaceOneByOne(group);
  if (group.error || group.placed.size() >= group.least) return;
  LetGo(group.placed);
  PlaceJointly(group);
}

void Scheduler::Impl::PlaceOneByOne(GroupTry& group) {
  std::set<std::uint64_t> shapes;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const std::size_t remaining = group.members.size() - i;
    if (group.placed.size() + remaining < group.least) {
      group.remaining = remaining;
      for (; i < group.members.size(); ++i) group.unplaced.push_back(i);
      return;
    }
    const QueuedPod& member = group.members[i];
    const auto own_cycle = CycleOf(group, member.pod);
    Cycle& cycle = *own_cycle;
    NodeInfo* node = cycle.Choose();
    statistics.node_evaluations += cycle.evaluated();
    group.steps += 1 + cycle.evaluated();
    PluginStatus status = cycle.status();
    if (node != nullptr) {
      Binding binding{.pod = member, .profile = group.profile, .node = node->name()};
      // Nodes that one with a place cannot use may be where it must go for another one to have a place.
      if (!group.trial && shapes.insert(member.pod->shape).second) {
        for (std::string& plugin : cycle.RefusedBy()) group.refused_by.insert(std::move(plugin));
      }
      binding.state = cycle.TakeState();
      status = Hold(binding, *node);
      if (status.ok()) {
        group.placed.push_back(std::move(binding));
        continue;
      }
      for (const Reason& reason : status.reasons) group.refused_by.insert(reason.plugin);
    } else {
      for (std::string& plugin : cycle.RefusedBy()) group.refused_by.insert(std::move(plugin));
      // One is told in full what is in its way; of hundreds the others are told less.
      if (status.code != Code::kError && group.explanations.empty() && !group.trial) {
        PodExplanation& explanation = group.explanations[i];
        explanation.pod = member.pod->key;
        explanation.nodes = world.nodes().size();
        if (options.explain) cycle.Explain(explanation);
      }
    }
    if (status.code == Code::kError) {
      group.error = std::move(status);
      return;
    }
    group.unplaced.push_back(i);
  }
}

// A thousand pods of a gang wait for the same: of those that nothing tells apart, one is asked whether a change may
// help.
std::vector<std::uint64_t> Scheduler::Impl::AlikeMembers(const GroupTry& group) {
  struct Kind {
    const PodInfo* pod = nullptr;
    PodClaims claims;
    std::uint64_t number = 0;
  };
  const auto same = [](const Kind& a, const Kind& b) {
    return SameShape(*a.pod, *b.pod) &&
           a.pod->pod->metadata.labels == b.pod->pod->metadata.labels &&
           std::ranges::equal(a.claims.claims, b.claims.claims,
                              [](const ClaimPointer& x, const ClaimPointer& y) {
                                return x == y || x->spec == y->spec;
                              });
  };
  std::map<std::uint64_t, std::vector<Kind>> by_shape;
  std::vector<std::uint64_t> numbers;
  for (const QueuedPod& member : group.members) {
    const PodInfo& info = *member.pod;
    Kind kind{.pod = &info, .claims = ClaimsOf(*info.pod, world)};
    const bool volumes = std::ranges::any_of(info.pod->spec.volumes, [](const api::Volume& volume) {
      return volume.persistent_volume_claim.has_value() || volume.ephemeral.has_value();
    });
    const bool own = volumes || !kind.claims.problem.empty() ||
                     std::ranges::any_of(kind.claims.claims, [](const ClaimPointer& claim) {
                       return claim->status.allocation.has_value();
                     });
    if (own) {
      numbers.push_back(0);
      continue;
    }
    std::vector<Kind>& kinds = by_shape[info.shape];
    auto known = std::ranges::find_if(kinds, [&](const Kind& one) { return same(one, kind); });
    if (known == kinds.end()) {
      kind.number = ++alike_numbers;
      known = kinds.insert(kinds.end(), std::move(kind));
    }
    numbers.push_back(known->number);
  }
  return numbers;
}

void Scheduler::Impl::RefuseMember(GroupTry& group, std::size_t member,
                                   const std::string& message) {
  const std::shared_ptr<const PodInfo> info = group.members[member].pod;
  ++statistics.unschedulable;
  in_vain.Refused(info->key);
  // Nothing is kept for it any more, but what its gang, of which some run, needs to be whole again.
  std::optional<std::string> nominated;
  if (const auto room = group.nominated.find(member); room != group.nominated.end()) {
    nominated = room->second;
    Nominate(info, *nominated);
  }
  const auto kept = std::ranges::find_if(
      nominations, [&](const Nomination& one) { return one.pod->key == info->key; });
  const bool begun = kept != nominations.end() && kept->begun;
  if (!group.makes_room && !begun && !NominationHolds(*info)) {
    if (!info->pod->status.nominated_node_name.empty()) {
      nominated = "";
      Nominate(info, "");
    }
    EndHold(*info);
    WakeForRoom();
  }
  Tell(info, group.profile,
       {.reason = std::string(api::kReasonUnschedulable),
        .message = message,
        .nominated = std::move(nominated)});
  Refused& why = refused[info->key];
  if (const auto found = group.explanations.find(member); found != group.explanations.end()) {
    why.explanation = found->second;
  } else {
    why.explanation = {.pod = info->key,
                       .nodes = world.nodes().size(),
                       .before = {{.plugin = "GangScheduling", .code = "group", .text = message}}};
  }
  why.gated_by.clear();
  why.as_of = changes;
  if (options.observer != nullptr) options.observer->OnRefusal(why.explanation);
  QueuedPod back = group.members[member];
  if (group.alike.empty()) group.alike = AlikeMembers(group);
  back.alike = group.alike[member];
  const bool devices =
      profiles[group.profile].devices != nullptr && !group.refused_by.empty() &&
      (!info->pod->spec.resource_claims.empty() || !info->requests.scalars.empty());
  std::vector<std::string> refused_by(group.refused_by.begin(), group.refused_by.end());
  if (devices && !group.refused_by.contains("DynamicResources")) {
    refused_by.emplace_back("DynamicResources");
  }
  Outcome outcome{.pod = info->key, .kind = Outcome::Kind::kUnschedulable, .message = message};
  Observe({group.profile, back.attempts, back.added, attempt_began}, outcome);
  queue.Back(std::move(back), std::move(refused_by),
             /*retry=*/group.retry || group.refused_by.empty());
  more.push_back(std::move(outcome));
}

// What was allocated for a group that has not got anywhere: by a scheduler that was killed, or by one that
// could not write the rest. Where it keeps the pods from nodes on which there is room, it is in the way.
bool Scheduler::Impl::GiveBack(GroupTry& group) {
  DynamicResources* const devices = profiles[group.profile].devices;
  const Group& known = *GroupOf(*group.members.front().pod->pod);
  const bool somebody_runs = std::ranges::any_of(known.pods, [&](const std::string& key) {
    return !world.NodeOf(key).empty() || running.contains(key);
  });
  if (devices == nullptr || somebody_runs) return false;
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (const QueuedPod& member : group.members) pods.push_back(member.pod);
  const auto given = devices->GiveBackOfGroup(*group.object, pods);
  if (!given.ok()) {
    group.error = PluginStatus::Error(std::string(base::Message(given.status())));
    return false;
  }
  if (*given == 0) return false;
  group.joint += fmt::format("; deallocation of {} ResourceClaims completed", *given);
  return true;
}

Outcome Scheduler::Impl::RefuseGroup(GroupTry& group) {
  if (GiveBack(group)) {
    group.refused_by.clear();  // tried again soon
  } else if (!group.error) {
    Preempt(group);
  }
  if (group.error) return FailGroup(group, *group.error);
  // Kubernetes's words, and what the search has found beside them. A group that has what it needs is not
  // unschedulable: its other pods wait as anybody does.
  const bool satisfied = group.least == 0;
  const std::size_t fitted = group.members.size() - group.unplaced.size();
  std::string text =
      fmt::format("minCount ({}) cannot be satisfied: {} scheduled, {} remaining",
                  api::MinCountOf(group.object->spec), group.scheduled + fitted, group.remaining);
  if (group.domains) {
    text = *group.domains == 0
               ? group.joint
               : fmt::format("0/{} placements are available, first placement status: {}; {}",
                             *group.domains, text, group.joint);
  } else if (!group.joint.empty()) {
    text += fmt::format("; {}", group.joint);
  }
  const std::string room =
      group.preemption.empty() ? "" : fmt::format("pod group preemption: {}", group.preemption);
  if (!room.empty()) text += fmt::format(", {}", room);
  std::string told = satisfied ? std::string("no node takes another pod of the group")
                               : fmt::format("pod group is unschedulable, {}", text);
  if (satisfied && !room.empty()) told += fmt::format(", {}", room);
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const auto found = group.explanations.find(i);
    if (found == group.explanations.end()) {
      RefuseMember(group, i, told);
      continue;
    }
    if (!satisfied) {
      found->second.after.push_back({.plugin = "GangScheduling",
                                     .code = "group",
                                     .text = fmt::format("pod group: {}", text)});
    } else if (!room.empty()) {
      found->second.after.push_back(
          {.plugin = "DefaultPreemption", .code = "preemption", .text = room});
    }
    RefuseMember(group, i, EventMessage(found->second));
  }
  if (!satisfied) TellGroup(group.key, false, api::kGroupUnschedulable, text);
  Outcome outcome = std::move(more.front());
  more.pop_front();
  return outcome;
}

Outcome Scheduler::Impl::FailGroup(GroupTry& group, const PluginStatus& status) {
  const std::string why = status.reasons.empty() ? "" : status.reasons.front().text;
  for (QueuedPod& member : group.members) {
    const Trial trial{group.profile, member.attempts, member.added, attempt_began};
    Outcome outcome = Failed(std::move(member), group.profile, status, {});
    Observe(trial, outcome);
    more.push_back(std::move(outcome));
  }
  TellGroup(group.key, false, api::kGroupSchedulerError, why);
  Outcome outcome = std::move(more.front());
  more.pop_front();
  return outcome;
}

Outcome Scheduler::Impl::Commit(GroupTry& group) {
  ++changes;
  auto commit = std::make_shared<GroupCommit>();
  commit->group = group.key;
  commit->total = group.placed.size();
  Outcome waiting{.pod = group.placed.front().pod.pod->key, .kind = Outcome::Kind::kWaiting};
  waiting.node = group.placed.front().node;
  for (Binding& binding : group.placed) {
    NeedsNoOtherRoom(binding);
    binding.began = attempt_began;
    binding.group = commit;
    bindings.push_back(std::move(binding));
    if (options.background != nullptr) Launch(std::prev(bindings.end()));
  }
  look_at_bindings = true;
  // Enough have a node; the others wait as anybody does, and room is made for them in the next attempt.
  group.retry = MayPreempt(group);
  for (const std::size_t member : group.unplaced) {
    const auto found = group.explanations.find(member);
    RefuseMember(group, member,
                 found != group.explanations.end()
                     ? EventMessage(found->second)
                     : std::string("no node takes another pod of the group"));
  }
  return waiting;
}

}  // namespace dray::scheduler
