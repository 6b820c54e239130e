// SPDX-License-Identifier: Apache-2.0
//
// Groups of pods: one attempt. First pod by pod, as Kubernetes does; if too few of them fit that way, by
// a search over all pods and nodes (`gang`), with devices of pods that go to one node chosen together.
// Nothing is written before enough of them have a node; then claims of all, then bindings.
#include <algorithm>
#include <tuple>
#include <utility>

#include "api/pod_claims.h"
#include "fmt/format.h"
#include "gang/search.h"
#include "scheduler/internal/scheduler_impl.h"

namespace dray::scheduler {
namespace {

using Code = PluginStatus::Code;

// A search that asks so much, or so many kinds of pods, is given up.
constexpr std::uint64_t kSearchBudget = 50'000;

void Name(PluginStatus& status, const Plugin& plugin) {
  for (Reason& reason : status.reasons) {
    if (reason.plugin.empty()) reason.plugin = plugin.name();
  }
}

void AddTo(NodeInfo& node, const std::shared_ptr<const PodInfo>& pod) {
  node.pods.push_back(pod);
  node.requested.Add(pod->requests);
  node.non_zero.Add(pod->non_zero);
  node.ports.insert(node.ports.end(), pod->host_ports.begin(), pod->host_ports.end());
}

// Whether where the pod may go depends on where others are, so that nodes cannot be looked at one by one.
bool LooksAtOthers(const PodInfo& pod) {
  return pod.has_affinity || !pod.pod->spec.topology_spread_constraints.empty();
}

}  // namespace

struct Scheduler::Impl::GroupTry {
  std::string key;
  std::shared_ptr<const api::PodGroup> object;
  std::uint32_t profile = 0;
  std::vector<QueuedPod> members;
  std::size_t scheduled = 0;  // before
  std::size_t least = 0;      // how many of the members must be placed
  std::size_t remaining = 0;  // that were not tried, since it was clear that they would not do
  std::vector<Binding> placed;
  std::vector<std::size_t> unplaced;  // of members; those that were not reached, too
  std::map<std::size_t, PodExplanation> explanations;  // of some of them
  std::set<std::string> refused_by;
  std::optional<PluginStatus> error;
  std::string joint;  // what the search said
};

namespace {

// Nodes as places; kinds are members that nothing tells apart.
class NodePlaces final : public gang::Places {
 public:
  struct Kind {
    std::shared_ptr<const PodInfo> pod;
    std::unique_ptr<Cycle> cycle;
  };
  NodePlaces(World& world, DynamicResources* devices, std::vector<Kind>& kinds)
      : world_(world), devices_(devices), kinds_(kinds) {}

  std::size_t size() const override { return world_.nodes().size(); }
  std::uint64_t ClassOf(std::size_t place) const override { return place; }
  bool Fits(std::size_t place, std::span<const std::uint32_t> counts) override {
    NodeInfo& node = *world_.nodes()[place];
    NodeInfo with = node;
    std::vector<DynamicResources::Member> members;
    for (std::size_t kind = 0; kind < counts.size(); ++kind) {
      Cycle& cycle = *kinds_[kind].cycle;
      for (std::uint32_t i = 0; i < counts[kind]; ++i) {
        const PluginStatus status = cycle.Filter(cycle.state(), *kinds_[kind].pod, with);
        if (status.code == Code::kError) unknown_ = true;
        if (!status.ok()) return false;
        AddTo(with, kinds_[kind].pod);
        members.push_back({&cycle.state(), kinds_[kind].pod.get()});
      }
    }
    // One alone was asked about by its filter.
    if (devices_ == nullptr || members.size() < 2) return true;
    const DynamicResources::Together together = devices_->FitTogether(members, node);
    if (together == DynamicResources::Together::kUnknown) unknown_ = true;
    return together == DynamicResources::Together::kFit;
  }
  // A question could not be answered: what was refused may be possible.
  bool unknown() const { return unknown_; }

 private:
  World& world_;
  DynamicResources* devices_;
  std::vector<Kind>& kinds_;
  bool unknown_ = false;
};

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
  statistics.attempts += group.members.size();
  attempt_began = clock.Monotonic();
  explaining = {};
  const auto minimum = static_cast<std::size_t>(std::max(1, api::MinCountOf(group.object->spec)));
  group.least = minimum > group.scheduled ? minimum - group.scheduled : 0;
  if (std::string wrong = CheckMembers(group); !wrong.empty()) {
    return FailGroup(group, PluginStatus::Error(std::move(wrong)));
  }
  PlaceOneByOne(group);
  if (!group.error && group.placed.size() < group.least) {
    LetGo(group.placed);
    PlaceJointly(group);
  }
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

std::string Scheduler::Impl::CheckMembers(const GroupTry& group) const {
  const std::int32_t wanted = group.object->spec.priority.value_or(0);
  std::set<std::string> unallocated;
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
    const api::ClaimsOfPod claims(pod);
    for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
      const auto name = claims.NameOf(entry);
      if (!name) continue;
      const auto claim = world.FindClaim(pod.metadata.namespace_, *name);
      if (claim == nullptr || claim->status.allocation.has_value()) continue;
      if (unallocated.insert(std::string(*name)).second) continue;
      return fmt::format(
          "resource claim {}/{} is not allocated yet, and several pods of the group name it: "
          "claims that pods of a group share are not supported",
          pod.metadata.namespace_, *name);
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

void Scheduler::Impl::PlaceOneByOne(GroupTry& group) {
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const std::size_t remaining = group.members.size() - i;
    if (group.placed.size() + remaining < group.least) {
      group.remaining = remaining;
      for (; i < group.members.size(); ++i) group.unplaced.push_back(i);
      return;
    }
    const QueuedPod& member = group.members[i];
    Cycle cycle(EnvironmentOf(group.profile), member.pod);
    current.cycle = &cycle;
    NodeInfo* node = cycle.Choose();
    statistics.node_evaluations += cycle.evaluated();
    PluginStatus status = cycle.status();
    if (node != nullptr) {
      Binding binding{.pod = member, .profile = group.profile, .node = node->name()};
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
      if (status.code != Code::kError && group.explanations.empty()) {
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

void Scheduler::Impl::PlaceJointly(GroupTry& group) {
  DynamicResources* devices = profiles[group.profile].devices;
  const bool alone = std::ranges::none_of(
      group.members, [](const QueuedPod& member) { return LooksAtOthers(*member.pod); });
  if (!alone) {
    group.joint = "other assignments were not tried, since pods of the group look at each other";
    return;
  }
  // Kinds, and who is of which.
  std::vector<NodePlaces::Kind> kinds;
  std::vector<std::optional<std::uint64_t>> classes;  // nothing: like no other
  std::vector<std::vector<std::size_t>> of_kind;
  for (std::size_t i = 0; i < group.members.size(); ++i) {
    const std::shared_ptr<const PodInfo>& pod = group.members[i].pod;
    auto cycle = std::make_unique<Cycle>(EnvironmentOf(group.profile), pod);
    current.cycle = cycle.get();
    if (!cycle->Prepare()) return;  // no node will do, as it was said
    std::optional<std::uint64_t> asks = 0;
    if (devices != nullptr) asks = devices->ClassOf(cycle->state(), *pod);
    // One that has devices already can only go where they are.
    if (devices != nullptr && !devices->Local(cycle->state(), *pod)) asks.reset();
    std::size_t kind = 0;
    const auto same = [&](const PodInfo& other) {
      return SameShape(other, *pod) && other.pod->metadata.labels == pod->pod->metadata.labels;
    };
    while (kind < kinds.size() && !(asks && classes[kind] == asks && same(*kinds[kind].pod))) {
      ++kind;
    }
    if (kind == kinds.size()) {
      kinds.push_back({pod, std::move(cycle)});
      classes.push_back(asks);
      of_kind.emplace_back();
    }
    of_kind[kind].push_back(i);
  }
  gang::Request request{.least = static_cast<std::uint32_t>(group.least), .budget = kSearchBudget};
  for (const auto& members : of_kind) {
    request.wanted.push_back(static_cast<std::uint32_t>(members.size()));
  }
  NodePlaces places(world, devices, kinds);
  const gang::Answer answer = gang::Search(places, request);
  if (answer.verdict != gang::Verdict::kPlaced) {
    const bool proved = answer.verdict == gang::Verdict::kImpossible && !places.unknown();
    const std::size_t most = group.scheduled + (proved ? answer.at_most : answer.found);
    group.joint =
        proved
            ? fmt::format("no assignment of pods to nodes places them: at most {} could run", most)
            : fmt::format(
                  "whether another assignment places them is not known: the search was "
                  "given up, {} could run",
                  most);
    if (answer.kind != gang::Answer::kNoKind) {
      group.joint +=
          fmt::format("; of pods like {} at most {} of {} fit", kinds[answer.kind].pod->key,
                      answer.kind_at_most, request.wanted[answer.kind]);
    }
    return;
  }
  std::vector<std::size_t> next(kinds.size());
  std::vector<bool> has_node(group.members.size());
  for (const gang::Load& load : answer.loads) {
    NodeInfo& node = *world.nodes()[load.place];
    std::vector<std::size_t> here;
    std::vector<std::unique_ptr<Cycle>> cycles;
    std::vector<DynamicResources::Member> members;
    for (std::size_t kind = 0; kind < load.counts.size(); ++kind) {
      for (std::uint32_t i = 0; i < load.counts[kind]; ++i) {
        here.push_back(of_kind[kind][next[kind]++]);
        const std::shared_ptr<const PodInfo>& pod = group.members[here.back()].pod;
        cycles.push_back(std::make_unique<Cycle>(EnvironmentOf(group.profile), pod));
        current.cycle = cycles.back().get();
        if (!cycles.back()->Prepare()) return LetGo(group.placed);
        members.push_back({&cycles.back()->state(), pod.get()});
      }
    }
    std::vector<PresetDevices> presets(here.size());
    if (devices != nullptr) {
      auto chosen = devices->ChooseTogether(members, node);
      if (!chosen.ok()) {
        group.joint = base::Message(chosen.status());
        return LetGo(group.placed);
      }
      presets = *std::move(chosen);
    }
    for (std::size_t i = 0; i < here.size(); ++i) {
      Binding binding{.pod = group.members[here[i]], .profile = group.profile, .node = node.name()};
      // What only this pod has (volumes, say) was not asked about.
      const PluginStatus admitted = cycles[i]->Filter(cycles[i]->state(), *binding.pod.pod, node);
      if (!admitted.ok()) {
        group.joint = admitted.reasons.empty() ? "" : admitted.reasons.front().text;
        return LetGo(group.placed);
      }
      binding.state = cycles[i]->TakeState();
      binding.state.Get<PresetDevices>() = std::move(presets[i]);
      if (const PluginStatus status = Hold(binding, node); !status.ok()) {
        group.joint = status.reasons.empty() ? "" : status.reasons.front().text;
        return LetGo(group.placed);
      }
      has_node[here[i]] = true;
      group.placed.push_back(std::move(binding));
    }
  }
  group.unplaced.clear();
  for (std::size_t i = 0; i < has_node.size(); ++i) {
    if (!has_node[i]) group.unplaced.push_back(i);
  }
}

void Scheduler::Impl::RefuseMember(GroupTry& group, std::size_t member,
                                   const std::string& message) {
  const std::shared_ptr<const PodInfo> info = group.members[member].pod;
  ++statistics.unschedulable;
  Tell(info, group.profile, {.reason = std::string(api::kReasonUnschedulable), .message = message});
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
  back.alike = 0;
  queue.Back(std::move(back), {group.refused_by.begin(), group.refused_by.end()},
             /*retry=*/group.refused_by.empty());
  more.push_back({.pod = info->key, .kind = Outcome::Kind::kUnschedulable, .message = message});
}

Outcome Scheduler::Impl::RefuseGroup(GroupTry& group) {
  // Kubernetes's words, and what the search has found beside them. A group that has what it needs is not
  // unschedulable: its other pods wait as anybody does.
  const bool satisfied = group.least == 0;
  const std::size_t fitted = group.members.size() - group.unplaced.size();
  std::string text =
      fmt::format("minCount ({}) cannot be satisfied: {} scheduled, {} remaining",
                  api::MinCountOf(group.object->spec), group.scheduled + fitted, group.remaining);
  if (!group.joint.empty()) text += fmt::format("; {}", group.joint);
  const std::string told = satisfied ? std::string("no node takes another pod of the group")
                                     : fmt::format("pod group is unschedulable, {}", text);
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
    more.push_back(Failed(std::move(member), group.profile, status, {}));
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
  // Enough have a node; the others wait as anybody does.
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
