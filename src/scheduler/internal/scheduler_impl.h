// SPDX-License-Identifier: Apache-2.0
//
// What Scheduler keeps: the world, the queue, each profile's plugins, pods whose binding waits, and
// why others do.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/pod_group.h"
#include "base/string_map.h"
#include "scheduler/cycle.h"
#include "scheduler/group_search.h"
#include "scheduler/internal/reports.h"
#include "scheduler/internal/rooms_in_vain.h"
#include "scheduler/placement.h"
#include "scheduler/plugin_set.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/scheduler.h"

namespace dray::scheduler {

// Hands plugins the cycle that is running.
class CurrentCycle final : public WhatIf {
 public:
  Cycle* cycle = nullptr;

  std::vector<const NodeInfo*> Curable(const CycleState& state) const override {
    return cycle->Curable(state);
  }
  std::size_t NodeCount(const CycleState& state) const override { return cycle->NodeCount(state); }
  PluginStatus Filter(CycleState& state, const PodInfo& pod, const NodeInfo& node) override {
    return cycle->Filter(state, pod, node);
  }
  void Count(CycleState& state, const PodInfo& pod, const PodInfo& other, const NodeInfo& node,
             int delta) override {
    cycle->Count(state, pod, other, node, delta);
  }
  DevicePreemptionPlugin* Devices(const CycleState& state) override {
    return cycle->Devices(state);
  }
};

struct Scheduler::Impl {
  Impl(api::Cluster& cluster, const base::Clock& clock, Ids& ids, SchedulerOptions options);

  struct ProfileEntry {
    std::string scheduler_name;
    std::unique_ptr<PluginSet> plugins;
    DynamicResources* devices = nullptr;  // among them, if it is
    bool preempts = false;                // DefaultPreemption is among them
  };
  // Pods of a group that are bound together: none before everything that binding needs is stored for all.
  struct GroupCommit {
    std::string group;  // "namespace/name"
    std::size_t total = 0;
    std::size_t ready = 0;  // whose claims are stored
    bool open = false;      // all are: they are bound
    bool failed = false;    // one could not be: nobody is
    std::string why;
  };
  // A pod with a node, on its way there.
  struct Binding {
    QueuedPod pod;
    std::uint32_t profile = 0;
    std::string node;
    CycleState state;
    std::chrono::nanoseconds began{0};            // the attempt, if somebody observes
    std::size_t next = 0;                         // of the profile's PreBind plugins
    std::optional<std::chrono::nanoseconds> due;  // when to ask that one again, at the latest
    bool running = false;                         // in the background: hands off
    bool in_doubt = false;                        // a write of it may have happened
    // The pod's binding may have happened, by a request before the last one; until then it may still.
    std::optional<std::chrono::nanoseconds> may_arrive_until;
    PluginStatus written;  // what came of that
    std::shared_ptr<GroupCommit> group = nullptr;
    bool nominated = false;  // with a group: its node is stored in its status
    bool prebound = false;   // with a group: counted in GroupCommit::ready
  };
  using BindingIterator = std::list<Binding>::iterator;
  struct Seen {
    api::Change change;
    std::optional<api::Object> old;
  };
  // What was last said of a pod that waits.
  struct Refused {
    PodExplanation explanation;
    std::string message;      // as the event said it
    std::string gated_by;     // the plugin that keeps it out of the queue
    std::uint64_t as_of = 0;  // `changes` when the explanation was made
  };

  // Taking in changes.
  std::size_t Sync();
  static bool IsNews(const Seen& seen);
  // What counts of an object because it was written here, though no watch has told it.
  struct Untold {
    std::shared_ptr<const PodInfo> pod;
    std::string node;  // of the pod
    std::shared_ptr<const api::ResourceClaim> claim;
  };
  Untold UntoldOf(const Seen& seen) const;
  // Whoever waits for what counts no more is not told by the change: it never said that it did.
  void LeaveUntold(const Untold& untold);
  void TakePod(const api::Change& change);
  // Says so when a claim comes with devices that another one has: somebody else decides, too.
  void TakeClaim(const Seen& seen);
  // Claims of which this scheduler has given a device that another one has given, too.
  struct Twice {
    std::string namespace_;
    std::string name;
    std::string uid;
    std::string device;
    std::chrono::nanoseconds again{0};  // when to look at it next
    bool in_use = false;                // something runs with it: nothing can be done
  };
  void Remember(const api::ResourceClaim& claim, const std::string& device);
  // Why a pod must not be bound now; empty: nothing.
  std::string TwiceOf(const PodInfo& pod) const;
  void SettleTwice();
  void TakeBack(const std::string& key);
  std::optional<std::chrono::nanoseconds> TwiceDue() const;

  void WakePods(const std::vector<Seen>& seen);
  void AskGatedAgain(const std::vector<Seen>& seen);
  void WakeForWhomNobodyLeaves(const std::vector<Seen>& seen);
  // Whether some plugin would keep the pod out of the queue now.
  bool IsHeldBack(const PodInfo& pod) const;
  // Takes pods out of the queue whose claims have gone.
  void HoldBackAgain(const std::vector<Seen>& seen);
  void Enqueue(const std::shared_ptr<const PodInfo>& pod);
  std::vector<std::string> PodsOf(const api::ResourceClaim& claim) const;
  std::vector<std::string> Concerned(const std::vector<Seen>& seen) const;
  bool Wakes(const QueuedPod& pod, const std::vector<Seen>& seen) const;
  bool Wakes(const PodInfo& pod, std::string_view plugin, const std::vector<Seen>& seen) const;

  // Reads claims of this scheduler's own that no watch has told of for long: one that is gone by then
  // was made and deleted while nothing could be followed.
  void AskForUnseen();
  // Tells pods what could not be written when they were refused.
  void TellAgain();

  // One pod.
  std::optional<Outcome> ScheduleOne();
  Outcome Attempt(QueuedPod pod, std::uint32_t profile);
  void NeedsNoOtherRoom(const Binding& binding);
  Outcome Reserve(QueuedPod pod, std::uint32_t profile, Cycle& cycle, NodeInfo& node,
                  Timing& timing);
  // PreBind and Bind, as far as they come.
  PluginStatus Write(Binding& binding, Timing& timing);
  PluginStatus BindPod(Binding& binding);
  // Stores the node of a pod that is bound together with others: if not all of them get that far, whoever
  // decides next keeps the room of the others.
  PluginStatus NominateInGroup(Binding& binding);
  // Nothing: it waits on.
  std::optional<Outcome> Conclude(Binding& binding, const PluginStatus& written);
  Outcome Finish(Binding& binding);
  void Launch(BindingIterator binding);
  // Of those that come back from the background, the first that comes to an end.
  std::optional<Outcome> TakeWritten();
  // Tells the observer how an attempt ended that is not waiting on.
  struct Trial {
    std::uint32_t profile = 0;
    std::uint32_t attempts = 0;
    std::chrono::nanoseconds added{0};
    std::chrono::nanoseconds began{0};
  };
  static Trial TrialOf(const Binding& binding) {
    return {binding.profile, binding.pod.attempts, binding.pod.added, binding.began};
  }
  void Observe(const Trial& trial, const Outcome& outcome);
  std::uint64_t StepsOf(std::uint32_t profile) const;
  Timing MakeTiming(std::uint32_t profile);
  void Undo(Binding& binding);
  std::optional<Outcome> ContinueOne();
  // When the first of the bindings is to be asked again although nothing has changed.
  std::optional<std::chrono::nanoseconds> BindingDue() const;
  // Whether the pod is still to be bound: nobody has deleted it, or bound it.
  bool StillWanted(const Binding& binding) const;
  // Lets in a pod that had to wait because another of its name was being bound.
  void LetSuccessorIn(const PodInfo& pod);

  // Refusals.
  // A number for pods that the same changes help. 0: none.
  std::uint64_t Alike(const PodInfo& pod, const std::vector<std::string>& refused_by,
                      const Cycle& cycle);
  Cycle::Environment EnvironmentOf(std::uint32_t profile);
  // Says it as it is now, where something has changed since it was said.
  void BringUpToDate(Refused& why);
  Outcome NoNode(QueuedPod pod, std::uint32_t profile, Cycle& cycle, Timing& timing);
  Outcome Failed(QueuedPod pod, std::uint32_t profile, const PluginStatus& status,
                 std::string node);
  void Tell(const std::shared_ptr<const PodInfo>& pod, std::uint32_t profile,
            internal::Report report);
  void Nominate(const std::shared_ptr<const PodInfo>& pod, std::string_view node);
  // Ends the nomination of a pod that stays on, or is now to have, `node`; empty: none.
  void Withdraw(std::string_view key, std::string_view node);
  // Room that is there although nobody could see anything change: as if the pod had gone.
  void LeaveRoom(api::Pod pod, std::string_view node);
  void WakeForRoom();
  bool NominationHolds(const PodInfo& pod) const;
  // Whether less important pods are leaving the node.
  bool AreLeaving(const PodInfo& pod, std::string_view node) const;
  // After a failure: the room that was made for the pod ends if it was of no use again. Whether it has.
  bool GiveRoomUp(const PodInfo& pod, std::string_view why);
  std::string NominatedNode(const PodInfo& pod) const;
  // The pod needs nothing that is held for it any more.
  void EndHold(const PodInfo& pod);

  std::optional<std::uint32_t> ProfileOf(const api::Pod& pod) const;

  // Groups (scheduler_groups.cc, scheduler_group_attempt.cc).
  struct Group {
    std::shared_ptr<const api::PodGroup> object;  // null: only pods name it
    std::set<std::string> pods;                   // keys: those that have not ended
    std::set<std::string> held;                   // of them, whom a plugin keeps out of the queue
    bool ready = false;                           // its pods are in the queue
  };
  // The pod's; null: it has none, or the gate is off.
  Group* GroupOf(const api::Pod& pod);
  void TakeGroup(const api::Change& change);
  void TakeMember(const api::Change& change);
  // What it waits for; empty: nothing.
  static std::string WaitsFor(const Group& group);
  // Puts a pod that no plugin keeps out into the queue, or holds it back with its group.
  void EnqueueMember(Group& group, const std::shared_ptr<const PodInfo>& pod);
  // After something that may have changed whether a group is ready: its pods follow.
  void AskGroup(Group& group);
  void PutMember(const Group& group, const std::shared_ptr<const PodInfo>& pod);

  // After changes: whose nominations are those of gangs of which some pods run, and too few.
  void FindBegun();
  struct GroupTry;     // one attempt
  struct GroupDomain;  // of a topology key
  const Group* GroupOf(const GroupTry& group) const;
  // Nodes for enough of the group, in memory, or why not.
  void PlaceGroup(GroupTry& group);
  void PlaceInDomains(GroupTry& group);
  // Why there are none that could be tried; empty: nothing is wrong.
  std::string FindDomains(const GroupTry& group, std::vector<GroupDomain>& domains) const;
  // In the group's domain: one by one, and if that is not enough jointly.
  void PlaceIn(GroupTry& group);
  Outcome AttemptGroup(QueuedPod popped, std::uint32_t profile);
  // Whether some of the gang run, and too few, so that it needs the room of the others for good.
  bool HasBegun(const Group& group) const;
  // Why the group sends nobody away for now; empty: it may.
  std::string WhyInVain(const GroupTry& group) const;
  // Whether the gang has too few pods on nodes but for those that are not bound before all of them can be.
  bool MayBeUndone(const Group& group) const;
  std::string CheckMembers(const GroupTry& group) const;
  // Why a group all of whose pods can be bound now must not be: it has gone, or asks for more pods than had
  // nodes when they were chosen. Empty: nothing.
  std::string WhyTooFew(const GroupCommit& commit) const;
  void PlaceOneByOne(GroupTry& group);
  // By the search over all pods; GroupTry::joint says why if there is nothing.
  void PlaceJointly(GroupTry& group);
  // The same where pods look at each other (scheduler_group_mutual.cc).
  void PlaceMutually(GroupTry& group);
  class MutualSearch;
  void TakeFound(GroupTry& group, const GroupSearch::Found& found);
  std::unique_ptr<Cycle> CycleOf(const GroupTry& group, const std::shared_ptr<const PodInfo>& pod);
  // Gives back claims of a group that cannot be placed where they are. Whether there were any.
  bool GiveBack(GroupTry& group);
  // Sends less important pods away where all of the group, or as many as can be, have nodes then
  // (scheduler_group_preempt.cc). GroupTry::preemption says what is made of it.
  void Preempt(GroupTry& group);
  struct GroupRoom;
  class GroupTrial;
  // Whether anybody is less important at all.
  bool MayPreempt(const GroupTry& group) const;
  std::string WhyNotPreempt(const GroupTry& group) const;
  // Whether pods are still leaving for it.
  bool WaitsForRoom(GroupTry& group);
  // What was held before a restart, from those who still leave.
  void HoldAgain(GroupTry& group);
  void HoldFor(const GroupTry& group, const GroupRoom& room);
  std::optional<GroupRoom> FindRoom(GroupTry& group);
  // Takes a node for a pod, in memory alone.
  PluginStatus Hold(Binding& binding, NodeInfo& node);
  void LetGo(std::vector<Binding>& placed);
  Outcome Commit(GroupTry& group);
  Outcome RefuseGroup(GroupTry& group);
  Outcome FailGroup(GroupTry& group, const PluginStatus& status);
  std::vector<std::uint64_t> AlikeMembers(const GroupTry& group);
  void RefuseMember(GroupTry& group, std::size_t member, const std::string& message);
  void TellGroup(const std::string& key, bool scheduled, std::string_view reason,
                 std::string message);

  api::Cluster& cluster;
  const base::Clock& clock;
  SchedulerOptions options;
  World world;
  Queue queue;
  CurrentCycle current;
  std::vector<ProfileEntry> profiles;
  Placements placements;
  std::vector<Nomination> nominations;
  std::map<std::string, Twice> twice;  // by claim
  std::vector<Seen> room_left;         // for which nobody has been woken yet
  std::list<Binding> bindings;         // those that wait, or run in the background
  bool look_at_bindings = false;
  std::optional<std::chrono::nanoseconds> ask_for_unseen;  // when
  std::deque<BindingIterator> written;                     // back from the background
  base::StringSet running;            // pods that are there, and those in doubt
  std::size_t launched = 0;           // of the bindings: run in the background
  mutable bool some_are_due = false;  // false: no binding waits for a time, nor is in doubt
  base::StringMap<Refused> refused;   // by pod
  internal::Reports reports;          // what of that is not written yet
  internal::RoomsInVain in_vain;      // who has failed with room that was made for it
  std::uint64_t changes = 0;          // of the world: a number that only grows
  struct AlikePods {
    std::uint64_t number = 0;
    std::shared_ptr<const PodInfo> example;
    std::vector<std::string> refused_by;
  };
  absl::flat_hash_map<PlacementKey, AlikePods> alike;
  std::uint64_t alike_numbers = 0;
  base::StringMap<Group> groups;  // by "namespace/name"; with the gate
  std::deque<Outcome> more;       // of an attempt at several pods: what is still to be told
  bool look_again = false;        // bindings, because a group may go on
  std::unique_ptr<api::ObjectWatch> watch;
  base::StringMap<api::Object> last_seen;  // by kind and name, for hints
  Statistics statistics;
  std::uint64_t measured = 0;                 // attempts, for sampling
  std::chrono::nanoseconds attempt_began{0};  // the one that is under way
  std::chrono::nanoseconds explaining{0};     // in the attempt under way, for the observer
};

}  // namespace dray::scheduler
