// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "api/node.h"
#include "api/priority_class.h"
#include "fmt/format.h"
#include "scheduler/internal/scheduler_impl.h"
#include "scheduler/plugins.h"
#include "scheduler/plugins/default_plugins.h"

namespace dray::scheduler {
namespace {

// With that many changes at once it is cheaper to ask a gated pod again than to ask about each.
constexpr std::size_t kManyChanges = 8;
// How long a watch may take to tell of a claim that this scheduler has made, before it is read.
constexpr std::chrono::seconds kUnseenFor{30};
// So many pods between two looks at what has changed.
constexpr std::size_t kPodsPerSync = 256;

template <typename T>
const api::KindInfo* KindOf() {
  return &api::HubKind(api::TypeInfoOf<T>());
}

std::string KeyOf(const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  return std::string(object.kind().kind) + "/" + metadata.namespace_ + "/" + metadata.name;
}

}  // namespace

Scheduler::Impl::Impl(api::Cluster& the_cluster, const base::Clock& the_clock, Ids& ids,
                      SchedulerOptions the_options)
    : cluster(the_cluster),
      clock(the_clock),
      options(std::move(the_options)),
      world({.gates = options.gates}),
      queue(clock, {.initial_backoff = options.config.initial_backoff,
                    .max_backoff = options.config.max_backoff}),
      placements(options.remembered_shapes),
      reports(cluster, clock, options.background),
      in_vain(clock, QueueOptions().unschedulable_timeout) {
  world.holds().SetYields([this](const PodInfo& pod) { return in_vain.Yields(pod); });
  const PluginHost host{world, cluster, clock, ids, current, options};
  for (const Profile& given : options.config.profiles) {
    const Profile profile = WithPolicy(given, options.policy);
    const auto weight = [&](std::string_view name) {
      const auto found = std::ranges::find(profile.score_weights, name, &PluginWeight::name);
      if (found != profile.score_weights.end()) return found->weight;
      return options.score_weight ? options.score_weight(name) : DefaultScoreWeight(name);
    };
    profiles.push_back({profile.scheduler_name,
                        std::make_unique<PluginSet>(options.plugins ? options.plugins(profile, host)
                                                                    : DefaultPlugins(profile, host),
                                                    weight)});
    for (FilterPlugin* filter : profiles.back().plugins->filters()) {
      auto* devices = dynamic_cast<DynamicResources*>(filter);
      if (devices != nullptr) profiles.back().devices = devices;
    }
    profiles.back().preempts = std::ranges::any_of(
        profiles.back().plugins->post_filters(),
        [](const PostFilterPlugin* plugin) { return plugin->name() == "DefaultPreemption"; });
  }
  // Priorities and classes first: pods are read with them.
  std::vector<const api::KindInfo*> kinds = {
      KindOf<api::PriorityClass>(), KindOf<api::Namespace>(),          KindOf<api::DeviceClass>(),
      KindOf<api::Node>(),          KindOf<api::DeviceTaintRule>(),    KindOf<api::ResourceSlice>(),
      KindOf<api::ResourceClaim>(), KindOf<api::PodDisruptionBudget>()};
  std::ranges::copy(Volumes::Kinds(), std::back_inserter(kinds));
  if (options.gates.Enabled(api::Gate::kGenericWorkload)) kinds.push_back(KindOf<api::PodGroup>());
  kinds.push_back(KindOf<api::Pod>());
  watch = cluster.Watch(kinds);
}

std::optional<std::uint32_t> Scheduler::Impl::ProfileOf(const api::Pod& pod) const {
  const std::string_view name =
      pod.spec.scheduler_name.empty() ? api::kDefaultSchedulerName : pod.spec.scheduler_name;
  const auto found = std::ranges::find(profiles, name, &ProfileEntry::scheduler_name);
  if (found == profiles.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - profiles.begin());
}

// A pod that still waits and is told something else does not help anybody.
bool Scheduler::Impl::IsNews(const Seen& seen) {
  const api::Pod* now = seen.change.object.As<api::Pod>();
  const api::Pod* old = seen.old ? seen.old->As<api::Pod>() : nullptr;
  if (now == nullptr || old == nullptr || seen.change.kind == api::Change::Kind::kDeleted) {
    return true;
  }
  return !now->spec.node_name.empty() || now->metadata.uid != old->metadata.uid ||
         now->metadata.deletion_timestamp != old->metadata.deletion_timestamp ||
         now->status.phase != old->status.phase ||
         now->status.nominated_node_name != old->status.nominated_node_name ||
         ChangeMayHelp(*now, *old);
}

std::size_t Scheduler::Impl::Sync() {
  // Nothing is being decided now.
  world.Reclaim();
  std::vector<Seen> seen;
  std::size_t taken = 0;
  for (; std::optional<api::Change> change = watch->Next(); ++taken) {
    const std::string key = KeyOf(change->object);
    Seen one{.change = std::move(*change)};
    if (const auto found = last_seen.find(key); found != last_seen.end()) one.old = found->second;
    if (one.change.kind == api::Change::Kind::kDeleted) {
      last_seen.erase(key);
    } else {
      last_seen.insert_or_assign(key, one.change.object);
    }
    const Untold untold = UntoldOf(one);
    world.Apply(one.change);
    LeaveUntold(untold);
    if (one.change.object.As<api::PodGroup>() != nullptr) TakeGroup(one.change);
    if (one.change.object.As<api::Pod>() != nullptr) {
      TakeMember(one.change);
      TakePod(one.change);
    }
    if (one.change.object.As<api::ResourceClaim>() != nullptr) TakeClaim(one);
    if (IsNews(one)) seen.push_back(std::move(one));
  }
  if (taken == 0) return 0;
  ++changes;
  look_at_bindings = true;
  HoldBackAgain(seen);
  FindBegun();
  std::ranges::move(std::exchange(room_left, {}), std::back_inserter(seen));
  if (seen.empty()) return taken;
  AskGatedAgain(seen);
  WakePods(seen);
  WakeForWhomNobodyLeaves(seen);
  SettleTwice();
  return taken;
}

Scheduler::Impl::Untold Scheduler::Impl::UntoldOf(const Seen& seen) const {
  if (const auto* pod = seen.change.object.As<api::Pod>()) {
    const std::string key = dray::scheduler::KeyOf(*pod);
    if (!world.Assumed(key)) return {};
    return {.pod = world.FindPod(key), .node = std::string(world.NodeOf(key)), .claim = nullptr};
  }
  const auto* claim = seen.change.object.As<api::ResourceClaim>();
  if (claim == nullptr) return {};
  auto known = world.FindClaim(claim->metadata.namespace_, claim->metadata.name);
  if (known == nullptr || !known->status.allocation) return {};
  const auto* told = seen.old ? seen.old->As<api::ResourceClaim>() : nullptr;
  if (told != nullptr && told->metadata.uid == known->metadata.uid && told->status.allocation) {
    return {};
  }
  return {.pod = nullptr, .node = {}, .claim = std::move(known)};
}

void Scheduler::Impl::LeaveUntold(const Untold& untold) {
  if (untold.pod != nullptr && world.NodeOf(untold.pod->key) != untold.node) {
    LeaveRoom(*untold.pod->pod, untold.node);
  }
  if (untold.claim == nullptr) return;
  const api::ObjectMeta& metadata = untold.claim->metadata;
  const auto now = world.FindClaim(metadata.namespace_, metadata.name);
  const bool same = now != nullptr && now->metadata.uid == metadata.uid;
  if (same && now->status.allocation) return;
  const api::Object was = api::Object::Of(*untold.claim);
  room_left.push_back({.change = {api::Change::Kind::kDeleted, was}, .old = was});
}

void Scheduler::Impl::AskForUnseen() {
  if (world.unseen_claims() == 0) return ask_for_unseen.reset();
  const std::chrono::nanoseconds now = clock.Monotonic();
  if (ask_for_unseen && now < *ask_for_unseen) return;
  const bool asks = ask_for_unseen.has_value();
  ask_for_unseen = now + kUnseenFor;
  if (!asks) return;
  std::vector<Seen> gone;
  for (const std::shared_ptr<const api::ResourceClaim>& claim : world.UnseenClaims()) {
    const api::ObjectMeta& metadata = claim->metadata;
    const auto read =
        cluster.Find(*KindOf<api::ResourceClaim>(), metadata.namespace_, metadata.name);
    const bool there = !read.ok() || (read->has_value() && (*read)->metadata().uid == metadata.uid);
    if (there) continue;
    const api::Object last = api::Object::Of(*claim);
    gone.push_back({.change = {api::Change::Kind::kDeleted, last}, .old = last});
    world.Apply(gone.back().change);
  }
  if (gone.empty()) return;
  ++changes;
  AskGatedAgain(gone);
  WakePods(gone);
}

void Scheduler::Impl::TellAgain() {
  if (watch->Stale().ok()) reports.Tick();
}

void Scheduler::Impl::TakePod(const api::Change& change) {
  const api::Pod& pod = *change.object.As<api::Pod>();
  const std::string key = dray::scheduler::KeyOf(pod);
  const bool gone = change.kind == api::Change::Kind::kDeleted || !pod.spec.node_name.empty() ||
                    IsTerminated(pod) || !ProfileOf(pod);
  if (gone) {
    queue.Remove(key);
    refused.erase(key);
    reports.Forget(key);
    in_vain.Forget(key);
    Withdraw(key, pod.spec.node_name);
    if (const std::shared_ptr<const PodInfo> known = world.FindPod(key)) EndHold(*known);
    world.holds().Remove(key);
    return;
  }
  const std::shared_ptr<const PodInfo> info = world.FindPod(key);
  in_vain.Take(*info);
  // One that is being bound has its room, and for one that is held back none is kept.
  const bool known =
      std::ranges::any_of(nominations, [&](const Nomination& one) { return one.pod->key == key; });
  const bool held_back = queue.Where(key) == QueueName::kGated;
  if (known || (!world.Assumed(key) && !held_back)) Nominate(info, NominatedNode(*info));
  Enqueue(info);
}

bool Scheduler::Impl::IsHeldBack(const PodInfo& pod) const {
  const auto& plugins = profiles[*ProfileOf(*pod.pod)].plugins->pre_enqueue();
  return std::ranges::any_of(
      plugins, [&](PreEnqueuePlugin* plugin) { return !plugin->PreEnqueue(pod).ok(); });
}

// A claim that has gone wakes nobody. Who waits and needs it cannot be placed until there is another one, and whatever is
// kept for him meanwhile would be kept from others for as long as that takes.
void Scheduler::Impl::HoldBackAgain(const std::vector<Seen>& seen) {
  for (const Seen& one : seen) {
    const auto* claim = one.change.object.As<api::ResourceClaim>();
    if (claim == nullptr || one.change.kind != api::Change::Kind::kDeleted) continue;
    for (const std::string& key : PodsOf(*claim)) {
      const auto where = queue.Where(key);
      if (!where || *where == QueueName::kGated) continue;
      const std::shared_ptr<const PodInfo> pod = world.FindPod(key);
      if (pod != nullptr && IsHeldBack(*pod)) Enqueue(pod);
    }
  }
}

void Scheduler::Impl::TakeClaim(const Seen& seen) {
  const auto& claim = *seen.change.object.As<api::ResourceClaim>();
  const auto* before = seen.old ? seen.old->As<api::ResourceClaim>() : nullptr;
  if (seen.change.kind == api::Change::Kind::kDeleted || !claim.status.allocation ||
      (before != nullptr && before->metadata.uid == claim.metadata.uid &&
       before->status.allocation == claim.status.allocation)) {
    return;
  }
  for (const World::GivenTwice& both : world.FindGivenTwice(claim, *claim.status.allocation)) {
    if (options.observer != nullptr) options.observer->OnGivenTwice(both.device);
    std::string others;
    for (const std::string& name : both.claims)
      others.append(others.empty() ? "" : ", ").append(name);
    cluster.Note({.about = seen.change.object,
                  .type = "Warning",
                  .reason = "DeviceAllocatedTwice",
                  .message = fmt::format(
                      "device {} is also allocated to {}: only one scheduler may allocate the "
                      "devices of a driver",
                      both.device, others),
                  .component = profiles.front().scheduler_name,
                  .action = "Scheduling"});
    Remember(claim, both.device);
    for (const std::string& name : both.claims) {
      const std::size_t slash = name.find('/');
      const auto other = world.FindClaim(name.substr(0, slash), name.substr(slash + 1));
      if (other != nullptr) Remember(*other, both.device);
    }
  }
}

void Scheduler::Impl::Enqueue(const std::shared_ptr<const PodInfo>& pod) {
  const PluginSet& plugins = *profiles[*ProfileOf(*pod->pod)].plugins;
  for (PreEnqueuePlugin* plugin : plugins.pre_enqueue()) {
    PluginStatus status = plugin->PreEnqueue(*pod);
    if (status.ok()) continue;
    if (Group* group = GroupOf(*pod->pod)) {
      group->held.insert(pod->key);
      AskGroup(*group);
    }
    Refused& why = refused[pod->key];
    why.gated_by = plugin->name();
    why.explanation = {.pod = pod->key, .before = std::move(status.reasons)};
    for (Reason& reason : why.explanation.before) reason.plugin = plugin->name();
    Withdraw(pod->key, "");
    EndHold(*pod);
    queue.Put(pod, /*gated=*/true);
    return;
  }
  if (Group* group = GroupOf(*pod->pod)) return EnqueueMember(*group, pod);
  if (queue.Where(pod->key) == QueueName::kGated && !world.Assumed(pod->key)) {
    Nominate(pod, NominatedNode(*pod));
  }
  if (const auto found = refused.find(pod->key);
      found != refused.end() && !found->second.gated_by.empty()) {
    refused.erase(found);
  }
  queue.Put(pod, /*gated=*/false);
}

bool Scheduler::Impl::Wakes(const PodInfo& pod, std::string_view plugin,
                            const std::vector<Seen>& seen) const {
  HintPlugin* hints = profiles[*ProfileOf(*pod.pod)].plugins->FindHints(plugin);
  if (hints == nullptr) return true;  // nobody can say that it does not help
  return std::ranges::any_of(seen, [&](const Seen& one) {
    return hints->Wake(pod, one.change, one.old ? &*one.old : nullptr) == Hint::kQueue;
  });
}

bool Scheduler::Impl::Wakes(const QueuedPod& pod, const std::vector<Seen>& seen) const {
  return std::ranges::any_of(
      pod.refused_by, [&](const std::string& plugin) { return Wakes(*pod.pod, plugin, seen); });
}

// Of the pods that are known, those that the claim is for.
std::vector<std::string> Scheduler::Impl::PodsOf(const api::ResourceClaim& claim) const {
  const api::ObjectMeta& metadata = claim.metadata;
  std::vector<std::string> keys = world.PodsOfClaim(metadata.namespace_, metadata.name);
  if (const api::OwnerReference* owner = api::ExtendedResourcePod(claim)) {
    keys.push_back(metadata.namespace_ + "/" + owner->name);
  }
  return keys;
}

// Pods that changed, or of which a claim did: what is asked about them cannot be asked for others.
// Whoever room was made for is tried when nobody is leaving for him any more, whatever else is in his way: what he does not
// get then, devices that others could use elsewhere among it, is given up. So nothing is kept for who only waits.
void Scheduler::Impl::WakeForWhomNobodyLeaves(const std::vector<Seen>& seen) {
  if (nominations.empty()) return;
  std::set<std::string_view> nodes;
  bool freed = false;
  for (const Seen& one : seen) {
    const bool gone = one.change.kind == api::Change::Kind::kDeleted;
    if (const auto* pod = one.change.object.As<api::Pod>()) {
      nodes.insert(pod->spec.node_name);
      freed = freed || gone || IsTerminated(*pod);
    } else if (one.change.object.As<api::Node>() != nullptr) {
      nodes.insert(one.change.object.metadata().name);
    } else if (const auto* claim = one.change.object.As<api::ResourceClaim>()) {
      freed = freed || gone || !claim->status.allocation;
    }
  }
  std::vector<std::string> keys;
  for (const Nomination& nomination : nominations) {
    const PodInfo& pod = *nomination.pod;
    const DeviceHold* hold = world.holds().Find(pod);
    const bool concerned = nodes.contains(nomination.node) || (hold != nullptr && freed);
    if (!concerned || nomination.begun || queue.Where(pod.key) != QueueName::kUnschedulable) {
      continue;
    }
    const bool leaving = (hold != nullptr && StateOf(*hold, world) == HoldState::kPending) ||
                         AreLeaving(pod, nomination.node);
    if (!leaving) keys.push_back(pod.key);
  }
  if (keys.empty()) return;
  queue.WakeIf(
      [&](const QueuedPod& pod) { return std::ranges::find(keys, pod.pod->key) != keys.end(); },
      keys);
}

std::vector<std::string> Scheduler::Impl::Concerned(const std::vector<Seen>& seen) const {
  std::vector<std::string> keys;
  for (const Seen& one : seen) {
    if (const auto* pod = one.change.object.As<api::Pod>()) {
      keys.push_back(dray::scheduler::KeyOf(*pod));
    } else if (const auto* claim = one.change.object.As<api::ResourceClaim>()) {
      std::ranges::move(PodsOf(*claim), std::back_inserter(keys));
    }
  }
  return keys;
}

void Scheduler::Impl::WakePods(const std::vector<Seen>& seen) {
  if (queue.size(QueueName::kUnschedulable) == 0) {
    queue.WakeIf([](const QueuedPod&) { return false; });
    return;
  }
  queue.WakeIf([&](const QueuedPod& pod) { return Wakes(pod, seen); }, Concerned(seen));
}

void Scheduler::Impl::AskGatedAgain(const std::vector<Seen>& seen) {
  if (queue.size(QueueName::kGated) == 0) return;
  // Thousands may wait for their claims while thousands of claims are made: each claim is told to who
  // waits for it. Who changed itself was asked when that was taken in.
  std::vector<Seen> others;
  for (const Seen& one : seen) {
    if (one.change.object.As<api::Pod>() != nullptr) continue;
    const auto* claim = one.change.object.As<api::ResourceClaim>();
    if (claim == nullptr) {
      others.push_back(one);
      continue;
    }
    for (const std::string& key : PodsOf(*claim)) {
      if (queue.Where(key) == QueueName::kGated) Enqueue(world.FindPod(key));
    }
  }
  if (others.empty()) return;
  for (const std::shared_ptr<const PodInfo>& pod : queue.Gated()) {
    const auto found = refused.find(pod->key);
    if (found == refused.end() || others.size() > kManyChanges ||
        Wakes(*pod, found->second.gated_by, others)) {
      Enqueue(world.FindPod(pod->key));
    }
  }
}

Scheduler::Scheduler(api::Cluster& cluster, const base::Clock& clock, Ids& ids,
                     SchedulerOptions options)
    : impl_(std::make_unique<Impl>(cluster, clock, ids, std::move(options))) {}
Scheduler::~Scheduler() = default;

std::size_t Scheduler::Sync() { return impl_->Sync(); }
std::optional<Outcome> Scheduler::ScheduleOne() { return impl_->ScheduleOne(); }

std::vector<Outcome> Scheduler::Tick() {
  impl_->queue.Tick();
  impl_->AskForUnseen();
  impl_->TellAgain();
  impl_->SettleTwice();
  // Asking in the background comes back here: only those are asked that want to be.
  const auto due = impl_->BindingDue();
  if (impl_->options.background == nullptr || (due && *due <= impl_->clock.Monotonic())) {
    impl_->look_at_bindings = true;
  }
  std::vector<Outcome> outcomes;
  while (std::optional<Outcome> outcome = impl_->ContinueOne()) {
    outcomes.push_back(std::move(*outcome));
  }
  return outcomes;
}

std::optional<std::chrono::nanoseconds> Scheduler::NextDue() const {
  std::optional<std::chrono::nanoseconds> due = impl_->queue.NextDue();
  // Who cannot be reached cannot be told anything either.
  const auto tell = Paused().ok() ? impl_->reports.NextDue() : std::nullopt;
  for (const auto& other : {impl_->BindingDue(), impl_->ask_for_unseen, tell, impl_->TwiceDue()}) {
    if (other) due = due ? std::min(*due, *other) : *other;
  }
  return due;
}

std::vector<Outcome> Scheduler::Run() {
  std::vector<Outcome> outcomes;
  while (true) {
    const bool changes = Sync() > 0;
    impl_->queue.Tick();
    impl_->AskForUnseen();
    impl_->TellAgain();
    impl_->SettleTwice();
    const auto due = impl_->BindingDue();
    if (due && *due <= impl_->clock.Monotonic()) impl_->look_at_bindings = true;
    std::size_t tried = 0;
    while (std::optional<Outcome> outcome = ScheduleOne()) {
      outcomes.push_back(std::move(*outcome));
      if (++tried == kPodsPerSync) break;
    }
    if (!changes && tried == 0) return outcomes;
  }
}

Status Scheduler::Paused() const { return impl_->watch->Stale(); }

std::size_t Scheduler::in_doubt() const {
  // Who is in doubt waits until it may be asked again.
  if (!impl_->some_are_due) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(impl_->bindings, [](const auto& binding) { return binding.in_doubt; }));
}

std::size_t Scheduler::under_way() const { return impl_->bindings.size(); }

std::size_t Scheduler::rooms_kept() const { return impl_->nominations.size(); }

const PodExplanation* Scheduler::Explain(std::string_view pod_key) const {
  const auto found = impl_->refused.find(pod_key);
  if (found == impl_->refused.end()) return nullptr;
  impl_->BringUpToDate(found->second);
  return &found->second.explanation;
}
std::vector<Scheduler::Waiting> Scheduler::WaitingByPlugin() const {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  const auto count = [&](const PodInfo& pod, const std::string& plugin) {
    if (const auto profile = impl_->ProfileOf(*pod.pod)) {
      ++counts[{plugin, impl_->profiles[*profile].scheduler_name}];
    }
  };
  impl_->queue.ForEachUnschedulable([&](const QueuedPod& pod) {
    for (const std::string& plugin : pod.refused_by) count(*pod.pod, plugin);
  });
  for (const auto& pod : impl_->queue.Gated()) {
    const auto why = impl_->refused.find(pod->key);
    if (why != impl_->refused.end()) count(*pod, why->second.gated_by);
  }
  std::vector<Waiting> waiting;
  for (const auto& [who, pods] : counts) waiting.push_back({who.first, who.second, pods});
  return waiting;
}
const Queue& Scheduler::queue() const { return impl_->queue; }
const World& Scheduler::world() const { return impl_->world; }
World& Scheduler::world() { return impl_->world; }
const Statistics& Scheduler::statistics() const {
  impl_->statistics.allocator_steps = 0;
  for (const Impl::ProfileEntry& profile : impl_->profiles) {
    if (profile.devices == nullptr) continue;
    impl_->statistics.allocator_steps += profile.devices->allocator_steps();
  }
  impl_->statistics.expressions = impl_->world.expressions().statistics();
  impl_->statistics.in_doubt = in_doubt();
  return impl_->statistics;
}

}  // namespace dray::scheduler
