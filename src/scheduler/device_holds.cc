// SPDX-License-Identifier: Apache-2.0
#include "scheduler/device_holds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/extended_resources.h"
#include "api/pod_claims.h"
#include "fmt/format.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

bool IsLeaving(const PodInfo& pod) {
  return pod.pod->metadata.deletion_timestamp.has_value() || IsTerminated(*pod.pod);
}

// The claim as it is, if it still has devices.
std::shared_ptr<const api::ResourceClaim> StillAllocated(const DeviceHold::Leaving& leaving,
                                                         const World& world) {
  auto claim = world.FindClaim(leaving.namespace_, leaving.name);
  if (claim == nullptr || claim->metadata.uid != leaving.uid) return nullptr;
  return claim->status.allocation.has_value() ? claim : nullptr;
}

}  // namespace

ClaimUsers UsersOf(const api::ResourceClaim& claim, const World& world) {
  ClaimUsers users;
  const auto add = [&](std::shared_ptr<const PodInfo> pod) {
    if (pod == nullptr || IsTerminated(*pod->pod)) return;
    if (std::ranges::find(users.pods, pod) == users.pods.end())
      users.pods.push_back(std::move(pod));
  };
  const std::string& space = claim.metadata.namespace_;
  for (const api::ResourceClaimConsumerReference& ref : claim.status.reserved_for) {
    if (!ref.api_group.empty() || ref.resource != "pods") {
      users.others = true;
      continue;
    }
    auto pod = world.FindPod(space + "/" + ref.name);
    // Of one that has gone the reservation is about to go.
    if (pod != nullptr && pod->pod->metadata.uid == ref.uid) add(std::move(pod));
  }
  // Those that are about to be in the list.
  for (const std::string& key : world.PodsOfClaim(space, claim.metadata.name)) {
    if (!world.NodeOf(key).empty()) add(world.FindPod(key));
  }
  if (const api::OwnerReference* owner = api::ExtendedResourcePod(claim)) {
    const std::string key = space + "/" + owner->name;
    auto pod = world.FindPod(key);
    if (pod != nullptr && pod->pod->metadata.uid == owner->uid && !world.NodeOf(key).empty()) {
      add(std::move(pod));
    }
  }
  return users;
}

void DeviceHolds::Put(DeviceHold hold) {
  hold.number = ++last_;
  std::string key = hold.pod;
  holds_.insert_or_assign(std::move(key), std::move(hold));
}

void DeviceHolds::Remove(std::string_view pod_key) {
  if (const auto found = holds_.find(pod_key); found != holds_.end()) holds_.erase(found);
}

const DeviceHold* DeviceHolds::Find(const PodInfo& pod) const {
  const auto found = holds_.find(pod.key);
  if (found == holds_.end() || found->second.uid != pod.pod->metadata.uid) return nullptr;
  return &found->second;
}

std::vector<const DeviceHold*> DeviceHolds::Before(const PodInfo& pod, const World& world) const {
  std::vector<const DeviceHold*> before;
  if (holds_.empty()) return before;
  const DeviceHold* own = Find(pod);
  const bool yields = Yields(pod);
  const std::string group =
      fmt::format("{}/{}", pod.pod->metadata.namespace_, api::GroupNameOf(*pod.pod));
  for (const auto& [key, hold] : holds_) {
    if (!hold.group.empty() && hold.group == group) continue;
    if (hold.priority < pod.priority && !yields) continue;
    if (key == pod.key || world.Assumed(key)) continue;
    if (hold.priority == pod.priority && own != nullptr && own->number < hold.number) continue;
    before.push_back(&hold);
  }
  std::ranges::sort(before, {}, &DeviceHold::number);
  return before;
}

const DeviceHold* DeviceHolds::GivenBackFor(const api::ResourceClaim& claim, const PodInfo& pod,
                                            const World& world) const {
  for (const DeviceHold* hold : Before(pod, world)) {
    if (std::ranges::find(hold->leaving, claim.metadata.uid, &DeviceHold::Leaving::uid) !=
        hold->leaving.end()) {
      return hold;
    }
  }
  return nullptr;
}

HoldState StateOf(const DeviceHold& hold, const World& world) {
  if (world.FindNode(hold.node) == nullptr) return HoldState::kBroken;
  const auto is_there = [&](const DeviceHold::Victim& victim) {
    const auto pod = world.FindPod(victim.key);
    return pod != nullptr && pod->pod->metadata.uid == victim.uid && !IsTerminated(*pod->pod);
  };
  const auto is_victim = [&](const PodInfo& pod) {
    const std::string& uid = pod.pod->metadata.uid;
    return std::ranges::find(hold.victims, uid, &DeviceHold::Victim::uid) != hold.victims.end() ||
           std::ranges::find(hold.others_victims, uid, &DeviceHold::Victim::uid) !=
               hold.others_victims.end();
  };
  // Nothing: the claim has been given back.
  const auto state_of = [&](const DeviceHold::Leaving& leaving) -> std::optional<HoldState> {
    const auto claim = StillAllocated(leaving, world);
    if (claim == nullptr) return std::nullopt;
    const ClaimUsers users = UsersOf(*claim, world);
    const bool stays = users.others || std::ranges::any_of(users.pods, [&](const auto& pod) {
                         return !is_victim(*pod) && !IsLeaving(*pod);
                       });
    return stays ? HoldState::kBroken : HoldState::kPending;
  };
  bool pending = std::ranges::any_of(hold.victims, is_there) ||
                 std::ranges::any_of(hold.others_victims, is_there);
  for (const DeviceHold::Leaving& leaving : hold.leaving) {
    const auto state = state_of(leaving);
    if (state == HoldState::kBroken) return HoldState::kBroken;
    pending |= state.has_value();
  }
  for (const DeviceHold::Leaving& leaving : hold.others_leaving) {
    pending |= state_of(leaving) == HoldState::kPending;
  }
  return pending ? HoldState::kPending : HoldState::kSettled;
}

std::string ForWhom(const std::vector<const DeviceHold*>& holds) {
  constexpr std::size_t kMostNamed = 3;
  std::vector<std::string> names;
  for (const DeviceHold* hold : holds) {
    std::string name = hold->group.empty() ? fmt::format("pod {}", hold->pod)
                                           : fmt::format("pod group {}", hold->group);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  const std::string some = fmt::format("{}", fmt::join(names, ", "));
  return more == 0 ? some : fmt::format("{} and {} more", some, more);
}

std::vector<std::string> DevicesOf(const api::AllocationResult& allocation) {
  std::vector<std::string> names;
  for (const api::DeviceRequestAllocationResult& result : allocation.devices.results) {
    if (result.admin_access.value_or(false)) continue;
    std::string name = fmt::format("{}/{}/{}", result.driver, result.pool, result.device);
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> DevicesOf(const DeviceHold& hold) {
  std::vector<std::string> names;
  for (const DeviceHold::Kept& kept : hold.devices) {
    for (std::string& name : DevicesOf(kept.allocation)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

bool HasWhatWasHeld(const DeviceHold& hold, const World& world) {
  return std::ranges::all_of(hold.devices, [&](const DeviceHold::Kept& kept) {
    const std::size_t slash = kept.claim.find('/');
    const auto claim = world.FindClaim(std::string_view(kept.claim).substr(0, slash),
                                       std::string_view(kept.claim).substr(slash + 1));
    return claim != nullptr && claim->status.allocation.has_value() &&
           DevicesOf(*claim->status.allocation) == DevicesOf(kept.allocation);
  });
}

}  // namespace dray::scheduler
