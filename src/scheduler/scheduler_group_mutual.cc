// SPDX-License-Identifier: Apache-2.0
//
// Groups whose pods look at each other (affinity, spread constraints): where one may go depends on where the
// others are, so that nodes cannot be looked at one by one (group_search.h). A search over pods and nodes with
// undo: those who have a node are held in the world itself, and every filter is asked anew.
//
// Pods that nothing tells apart are a kind, of which the next one is tried on each node. Where nobody wants to be
// near others, what fits does with fewer pods there, too: then the kind with the fewest nodes is the only one that
// has to be tried next, and what it finds no node for is left out. Otherwise any kind may be next. What was tried
// once in one order is not tried in another. A budget counts questions to filters.
//
// A pod takes the first devices that will do. Where the next one finds none on a node, devices of all pods of the group
// there are chosen together, so that it does not matter in which order they came.
#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "fmt/format.h"
#include "scheduler/internal/group_try.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

// Questions about a node. A question what would be if others were gone is one of many.
constexpr std::uint64_t kBudget = 100'000;
constexpr std::uint64_t kTrialBudget = 10'000;

bool HasVolumesOfItsOwn(const api::Pod& pod) {
  return std::ranges::any_of(pod.spec.volumes, [](const api::Volume& volume) {
    return volume.persistent_volume_claim.has_value() || volume.ephemeral.has_value();
  });
}

// With fewer pods there it fits all the same.
bool OnlyKeepsAway(const PodInfo& pod) {
  return !WantsToBeNear(*pod.pod) &&
         std::ranges::none_of(pod.pod->spec.topology_spread_constraints, DecidesOfNodes);
}

}  // namespace

bool WantsToBeNear(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  return affinity && affinity->pod_affinity && !affinity->pod_affinity->required.empty();
}

bool DecidesOfNodes(const api::TopologySpreadConstraint& constraint) {
  return constraint.when_unsatisfiable != "ScheduleAnyway";
}

class Scheduler::Impl::MutualSearch {
 public:
  MutualSearch(Impl& impl, GroupTry& group)
      : impl_(impl), group_(group), left_(group.trial ? kTrialBudget : kBudget) {
    monotonic_ = std::ranges::all_of(
        group.members, [](const QueuedPod& member) { return OnlyKeepsAway(*member.pod); });
  }

  // Enough of the group is held, or nothing.
  bool Run() {
    FindKinds();
    const bool done = Next(0, nullptr);
    if (!done) impl_.LetGo(group_.placed);
    return done;
  }
  // Everything was tried, but for other devices that `unsure` is about: those that several nodes can use, or several
  // pods share.
  bool exhausted() const { return left_ > 0; }
  bool unsure() const { return unsure_; }
  std::size_t most() const { return most_; }
  std::uint64_t spent() const { return (group_.trial ? kTrialBudget : kBudget) - left_; }

 private:
  struct Kind {
    std::vector<std::size_t> members;
    std::optional<std::string> asks;  // nothing: like no other
    std::vector<std::size_t> nodes;   // by rank: how often one of them is there
    std::size_t placed = 0;
    bool chooses = false;   // devices that nobody shares
    bool left_out = false;  // the rest of it
    std::size_t left() const { return left_out ? 0 : members.size() - placed; }
  };
  struct Option {
    std::size_t kind = 0;
    std::vector<NodeInfo*> nodes;
  };

  void FindKinds() {
    DynamicResources* const devices = impl_.profiles[group_.profile].devices;
    base::StringSet seen;
    base::StringSet shared;
    for (const QueuedPod& member : group_.members) {
      for (const ClaimPointer& claim : ClaimsOf(*member.pod->pod, impl_.world).claims) {
        if (!seen.insert(IdOf(*claim)).second) shared.insert(IdOf(*claim));
      }
    }
    for (std::size_t i = 0; i < group_.members.size(); ++i) {
      const PodInfo& pod = *group_.members[i].pod;
      std::optional<std::string> asks = "";
      bool chooses = false;
      if (devices != nullptr) {
        const auto cycle = impl_.CycleOf(group_, group_.members[i].pod);
        asks = cycle->Prepare() ? devices->WhatIsAsked(cycle->state(), pod, shared) : std::nullopt;
        if (asks != "") {
          const bool shares = std::ranges::any_of(
              ClaimsOf(*pod.pod, impl_.world).claims,
              [&](const ClaimPointer& claim) { return shared.contains(IdOf(*claim)); });
          chooses = asks.has_value() && !shares && !HasVolumesOfItsOwn(*pod.pod);
          unsure_ = unsure_ || !chooses || devices->UsesWidePools({&cycle->state(), &pod}, shared);
        }
      }
      if (HasVolumesOfItsOwn(*pod.pod)) asks.reset();
      const auto known = std::ranges::find_if(kinds_, [&](const Kind& kind) {
        const PodInfo& other = *group_.members[kind.members.front()].pod;
        return asks && kind.asks == asks && SameShape(other, pod) &&
               other.pod->metadata.labels == pod.pod->metadata.labels;
      });
      Kind& kind = known != kinds_.end() ? *known : kinds_.emplace_back();
      kind.asks = std::move(asks);
      kind.chooses = chooses;
      if (chooses) choosing_.insert(pod.key);
      kind.members.push_back(i);
    }
    for (Kind& kind : kinds_) kind.nodes.resize(impl_.world.nodes().size());
  }

  // Whether enough can be placed beside those that are. `before`: what there was to choose from for the last one
  // of them; null: nobody is placed.
  bool Next(std::size_t placed, const std::vector<Option>* before) {
    most_ = std::max(most_, placed);
    if (placed >= group_.least) return true;
    std::size_t left = 0;
    for (const Kind& kind : kinds_) left += kind.left();
    if (placed + left < group_.least || left_ == 0) return false;
    if (!tried_.insert(KeyOfState()).second) return false;
    std::vector<Option> options;
    std::size_t usable = 0;
    for (std::size_t i = 0; i < kinds_.size() && left_ > 0; ++i) {
      if (kinds_[i].left() == 0) continue;
      Option option{.kind = i, .nodes = NodesFor(i, before)};
      if (option.nodes.empty()) continue;
      usable += kinds_[i].left();
      options.push_back(std::move(option));
    }
    if (left_ == 0 || options.empty()) return false;
    if (monotonic_ && placed + usable < group_.least) return false;
    std::ranges::stable_sort(options, {}, [](const Option& option) { return option.nodes.size(); });
    OrderNodes(options);
    const std::vector<Option> all = options;
    if (monotonic_) options.resize(1);
    for (const Option& option : options) {
      Kind& kind = kinds_[option.kind];
      for (NodeInfo* node : option.nodes) {
        if (!Place(kind, *node)) continue;
        if (Next(placed + 1, &all)) return true;
        TakeBack(kind, *node);
        if (left_ == 0) return false;
      }
      if (!monotonic_) continue;
      // Wherever one of them goes it does not work: so none of them goes anywhere.
      kind.left_out = true;
      const bool done = Next(placed, &all);
      kind.left_out = false;
      return done;
    }
    return false;
  }

  std::vector<NodeInfo*> NodesFor(std::size_t number, const std::vector<Option>* before) {
    std::vector<NodeInfo*> nodes;
    const Kind& kind = kinds_[number];
    const auto& pod = group_.members[kind.members[kind.placed]].pod;
    std::vector<NodeInfo*> asked;
    if (!monotonic_ || before == nullptr) {
      asked.assign(impl_.world.nodes().begin(), impl_.world.nodes().end());
    } else if (const auto known = std::ranges::find(*before, number, &Option::kind);
               known != before->end()) {
      asked = known->nodes;
    }
    if (asked.empty()) return nodes;
    const auto cycle = impl_.CycleOf(group_, pod);
    if (!cycle->Prepare()) return nodes;
    for (NodeInfo* node : asked) {
      if (left_ == 0) break;
      --left_;
      if (cycle->Filter(cycle->state(), *pod, *node).ok() ||
          (kind.chooses && MayChooseAgain(*node))) {
        nodes.push_back(node);
      }
    }
    return nodes;
  }

  // Those first that are of use to the fewest others.
  void OrderNodes(std::vector<Option>& options) const {
    std::vector<std::size_t> uses(impl_.world.nodes().size());
    for (const Option& option : options) {
      for (const NodeInfo* node : option.nodes) ++uses[node->rank];
    }
    for (Option& option : options) {
      std::ranges::stable_sort(option.nodes, {},
                               [&](const NodeInfo* node) { return uses[node->rank]; });
    }
  }

  bool Place(Kind& kind, NodeInfo& node) {
    const QueuedPod& member = group_.members[kind.members[kind.placed]];
    Binding binding{.pod = member, .profile = group_.profile, .node = node.name()};
    const auto cycle = impl_.CycleOf(group_, member.pod);
    if (left_ > 0) --left_;
    if (!cycle->Prepare()) return false;
    if (cycle->Filter(cycle->state(), *member.pod, node).ok()) {
      binding.state = cycle->TakeState();
      if (!impl_.Hold(binding, node).ok()) return false;
      group_.placed.push_back(std::move(binding));
    } else if (!kind.chooses || !MayChooseAgain(node) || !PlaceBeside(member, node)) {
      return false;
    }
    ++kind.placed;
    ++kind.nodes[node.rank];
    return true;
  }

  // --- Other devices for those who are there.

  // Whether pods of the group are there who could have other devices.
  bool MayChooseAgain(const NodeInfo& node) const {
    return std::ranges::any_of(group_.placed, [&](const Binding& binding) {
      return binding.node == node.name() && choosing_.contains(binding.pod.pod->key);
    });
  }

  // The same pod on the same node, with these devices. It is not asked about again: whoever came after it was asked
  // with it there.
  bool HoldWith(const QueuedPod& pod, NodeInfo& node, const PresetDevices& devices, bool ask,
                Binding& held) {
    held = {.pod = pod, .profile = group_.profile, .node = node.name()};
    const auto cycle = impl_.CycleOf(group_, pod.pod);
    if (!cycle->Prepare()) return false;
    if (ask && !cycle->Filter(cycle->state(), *pod.pod, node).ok()) return false;
    held.state = cycle->TakeState();
    held.state.Get<PresetDevices>() = DynamicResources::PresetFor(held.state, devices);
    return impl_.Hold(held, node).ok();
  }

  // Devices of all of them at once, or everything as it was.
  bool PlaceBeside(const QueuedPod& member, NodeInfo& node) {
    std::vector<std::size_t> there;
    std::vector<QueuedPod> pods;
    PresetDevices had;
    std::vector<Binding> leave;
    for (std::size_t i = 0; i < group_.placed.size(); ++i) {
      Binding& binding = group_.placed[i];
      if (binding.node != node.name() || !choosing_.contains(binding.pod.pod->key)) continue;
      there.push_back(i);
      pods.push_back(binding.pod);
      for (DeviceHold::Kept& kept : DynamicResources::TakenBy(binding.state)) {
        had.by_claim.emplace(std::move(kept.claim), std::move(kept.allocation));
      }
      leave.push_back(std::move(binding));
    }
    left_ -= std::min<std::uint64_t>(left_, there.size());
    impl_.LetGo(leave);
    std::vector<Binding> held;
    const auto chosen = ChooseAll(pods, member, node);
    bool done = chosen.ok();
    for (std::size_t i = 0; i < pods.size() && done; ++i) {
      done = HoldWith(pods[i], node, *chosen, /*ask=*/false, held.emplace_back());
    }
    if (done) done = HoldWith(member, node, *chosen, /*ask=*/true, held.emplace_back());
    if (!done) {
      if (chosen.ok()) held.pop_back();  // that one was not held
      impl_.LetGo(held);
      for (const QueuedPod& pod : pods) {
        if (HoldWith(pod, node, had, /*ask=*/false, held.emplace_back())) continue;
        // It cannot be as it was: nothing is known from here on.
        held.pop_back();
        impl_.LetGo(held);
        broken_ = true;
        left_ = 0;
        for (std::size_t i = there.size(); i-- > 0;) {
          group_.placed.erase(group_.placed.begin() + static_cast<std::ptrdiff_t>(there[i]));
        }
        return false;
      }
    }
    for (std::size_t i = 0; i < there.size(); ++i) group_.placed[there[i]] = std::move(held[i]);
    if (done) group_.placed.push_back(std::move(held.back()));
    return done;
  }

  StatusOr<PresetDevices> ChooseAll(const std::vector<QueuedPod>& pods, const QueuedPod& member,
                                    const NodeInfo& node) {
    std::vector<std::unique_ptr<Cycle>> cycles;
    std::vector<DynamicResources::Member> members;
    const auto add = [&](const QueuedPod& pod) {
      cycles.push_back(impl_.CycleOf(group_, pod.pod));
      members.push_back({&cycles.back()->state(), pod.pod.get()});
      return cycles.back()->Prepare();
    };
    bool prepared = std::ranges::all_of(pods, add) && add(member);
    if (!prepared) return base::FailedPrecondition("a pod fits nowhere");
    return impl_.profiles[group_.profile].devices->ChooseTogether(members, node, {});
  }

  void TakeBack(Kind& kind, const NodeInfo& node) {
    if (broken_) return;
    std::vector<Binding> last;
    last.push_back(std::move(group_.placed.back()));
    group_.placed.pop_back();
    impl_.LetGo(last);
    --kind.placed;
    --kind.nodes[node.rank];
  }

  // Who is where, and who is left out: in whatever order they came there.
  std::string KeyOfState() const {
    std::string key;
    for (const Kind& kind : kinds_) {
      key += kind.left_out ? "-" : "+";
      for (std::size_t rank = 0; rank < kind.nodes.size(); ++rank) {
        if (kind.nodes[rank] > 0)
          fmt::format_to(std::back_inserter(key), "{}:{},", rank, kind.nodes[rank]);
      }
    }
    return key;
  }

  Impl& impl_;
  GroupTry& group_;
  bool monotonic_ = false;
  bool unsure_ = false;
  bool broken_ = false;
  std::vector<Kind> kinds_;
  base::StringSet choosing_;  // pods of kinds that do
  absl::flat_hash_set<std::string> tried_;
  std::uint64_t left_;
  std::size_t most_ = 0;
};

void Scheduler::Impl::PlaceMutually(GroupTry& group) {
  // Those that PreFilter refuses fit nowhere, as was said.
  MutualSearch search(*this, group);
  const std::size_t one_by_one = group.members.size() - group.unplaced.size();
  const bool done = search.Run();
  group.steps += search.spent();
  current.cycle = nullptr;
  if (done) {
    base::StringSet placed;
    for (const Binding& binding : group.placed) placed.insert(binding.pod.pod->key);
    group.unplaced.clear();
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      if (!placed.contains(group.members[i].pod->key)) group.unplaced.push_back(i);
    }
    return;
  }
  const bool proved = search.exhausted() && !search.unsure();
  const std::size_t found = group.scheduled + std::max(one_by_one, search.most());
  group.could_run = proved ? group.scheduled + group.least - 1 : found;
  group.joint =
      proved ? fmt::format("no assignment of pods to nodes places them: at most {} could run",
                           group.could_run)
             : fmt::format("whether another assignment places them is not known: {}, {} could run",
                           search.exhausted() ? "not every choice of devices was tried"
                                              : "the search was given up",
                           found);
}

}  // namespace dray::scheduler
