// SPDX-License-Identifier: Apache-2.0
//
// DynamicResources: taking devices, writing that down, and the way back.
#include <algorithm>
#include <set>
#include <utility>

#include "api/generated_name.h"
#include "fmt/format.h"
#include "scheduler/cycle_data.h"
#include "scheduler/internal/named_pod.h"
#include "scheduler/plugins/binding_conditions.h"
#include "scheduler/plugins/dynamic_resources.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

class UidsForShares final : public allocator::ShareIds {
 public:
  explicit UidsForShares(Ids& ids) : ids_(ids) {}
  std::string Next() override { return ids_.Uid(); }

 private:
  Ids& ids_;
};

PluginStatus ErrorFrom(const Status& status) {
  return PluginStatus::Error(std::string(base::Message(status)));
}

// As a server completes generateName, so that the claim looks like any other of its kind; but known
// before it is sent, so that it can be looked up when no answer comes.
std::string CompletedName(std::string_view stem, std::string_view uid) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a: the same for the same plan
  for (const char c : uid) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::string name(stem.substr(0, api::kNameStemMaxLength));
  for (std::size_t i = 0; i < api::kNameSuffixLength; ++i) {
    name.push_back(api::kNameAlphabet[hash % api::kNameAlphabet.size()]);
    hash /= api::kNameAlphabet.size();
  }
  return name;
}

// When the first of the claims has waited too long for its conditions.
std::optional<base::Time> FirstTimeout(const DynamicResourcesState& data,
                                       std::chrono::nanoseconds timeout) {
  std::optional<base::Time> first;
  for (const DynamicResourcesState::Claim& claim : data.claims) {
    if (!HasBindingConditions(*claim.claim) ||
        BindingStateOf(*claim.claim).kind != BindingState::Kind::kPending) {
      continue;
    }
    // Past the deadline, not at it.
    const base::Time over =
        BindingDeadline(*claim.claim, timeout).value_or(*data.waits_since + timeout) +
        std::chrono::nanoseconds(1);
    first = first ? std::min(*first, over) : over;
  }
  return first;
}

}  // namespace

PostFilterResult DynamicResources::PostFilter(CycleState& state, const PodInfo& pod, World&) {
  const auto done = [](std::string text) {
    return PostFilterResult{.status = PluginStatus::Unschedulable(
                                {.code = "claim_given_back", .text = std::move(text)})};
  };
  State& data = state.Get<State>();
  for (const State::Claim& claim : data.claims) {
    if (!claim.unavailable || claim.special) continue;
    const auto& users = claim.claim->status.reserved_for;
    // What is reserved for the pod's group is in use by others of it.
    const bool free =
        users.empty() || (users.size() == 1 && ClaimWrites::HasReservation(*claim.claim, *pod.pod));
    if (!free) continue;
    if (const Status written = writes_.Deallocate(*claim.claim); !written.ok()) {
      return {.status = ErrorFrom(written)};
    }
    return done("deallocation of ResourceClaim completed");
  }
  if (const State::Claim* special = data.special(); special && Stored(*special->claim)) {
    if (const Status written = writes_.DeleteSpecial(*special->claim); !written.ok()) {
      return {.status = ErrorFrom(written)};
    }
    return done("deletion of ResourceClaim completed");
  }
  return {.status = {PluginStatus::Code::kUnschedulable, {}}};
}

PluginStatus DynamicResources::Reserve(CycleState& state, const PodInfo& pod, const NodeInfo& node,
                                       World&) {
  State& data = state.Get<State>();
  if (data.claims.empty()) return PluginStatus::Success();
  PluginStatus status;
  data.chosen = VariantFor(data, pod, node, &status);
  if (data.chosen == nullptr) return status;
  for (State::Claim& claim : data.claims) {
    if (claim.shared == nullptr || claim.counted) continue;
    claim.allocation = claim.shared->allocation;
    claim.counted = true;
    ++claim.shared->users;
  }
  if (data.chosen->plan.plan == nullptr) {
    data.view = nullptr;
    return ReserveNodeAllocatable(data, pod, node);
  }

  StatusOr<std::vector<api::AllocationResult>> results;
  const PresetDevices* preset = state.Find<PresetDevices>();
  if (preset != nullptr && !preset->by_claim.empty()) {
    data.view = nullptr;
    results.emplace();
    for (const ClaimPointer& claim : ToAllocate(data, *data.chosen)) {
      const auto found = preset->by_claim.find(IdOf(*claim));
      if (found == preset->by_claim.end()) {
        return PluginStatus::Error(
            fmt::format("claim {}: no devices were chosen", KeyOf(claim->metadata)));
      }
      results->push_back(found->second);
    }
  } else {
    // Filter kept the answer, not the devices: with a kept answer it was not even asked. What is held
    // for others is left alone, and the view ends here, before anything is taken.
    state.Get<HeldDevices>().view = HeldDevices::View::kTaken;
    const allocator::Decision decision = Choose(state, pod, *data.chosen->plan.plan, node);
    status = StatusOf(state, pod, decision, *data.chosen, node);
    state.Get<HeldDevices>().view = HeldDevices::View::kIgnored;
    data.view = nullptr;
    if (!status.ok()) return status;
    UidsForShares share_ids(ids_);
    results = workers_[state.worker()]->allocator.Build(share_ids);
    if (!results.ok()) return ErrorFrom(results.status());
  }

  auto result = results->begin();
  for (State::Claim& claim : data.claims) {
    if (!claim.to_allocate || (claim.special && data.chosen->claim == nullptr)) continue;
    if (claim.special) claim.claim = data.chosen->claim;
    auto reservation = world_.ledger().Reserve(*claim.claim, *result);
    if (!reservation.ok()) return ErrorFrom(reservation.status());
    claim.allocation = std::move(*result++);
    // Others of the group that name the claim join in.
    if (in_group_ && !claim.special && !claim.claim->metadata.uid.empty()) {
      claim.shared = std::make_shared<SharedAllocation>();
      claim.shared->attempt = group_attempt_;
      claim.shared->claim = claim.claim->metadata.uid;
      claim.shared->allocation = *claim.allocation;
      claim.shared->reservation = *std::move(reservation);
      claim.shared->users = 1;
      claim.counted = true;
      shared_[claim.claim->metadata.uid] = claim.shared;
    } else {
      claim.reservation = *std::move(reservation);
    }
  }
  return ReserveNodeAllocatable(data, pod, node);
}

void DynamicResources::Unreserve(CycleState& state, const PodInfo& pod, World&) {
  State& data = state.Get<State>();
  if (!data.claims_take.empty()) {
    data.claims_take.clear();
    world_.SetNodeAllocatable(pod.key, {});
    // A status that cannot be cleared now counts for nothing while the pod has no node, and is
    // written anew before it gets one.
    if (data.claims_take_written) WriteNodeAllocatable(data, pod).IgnoreError();
  }
  for (State::Claim& claim : data.claims) {
    // Only after answers that are sure: what is still reserved has not been stored, and will not
    // be. What has been stored is the ledger's (Commit), until the claim says otherwise.
    claim.reservation.Release();
    if (claim.counted && --claim.shared->users == 0) {
      claim.shared->reservation.Release();
      shared_.erase(claim.shared->claim);
    }
    claim.counted = false;
    claim.allocation.reset();
    claim.bound = false;
    // What cannot be cleaned up now is found by the next attempt, or by the controllers when the pod
    // is over: a reservation does not disturb the pod that has it, and a special claim is used again
    // or deleted in PostFilter. So it goes on being assumed until it is known to be gone.
    if (claim.special) {
      if (!Stored(*claim.claim)) continue;
      if (!writes_.DeleteSpecial(*claim.claim).ok()) continue;
      world_.ForgetClaim(claim.claim->metadata.namespace_, claim.claim->metadata.name);
    } else if (claim.claim->status.allocation.has_value() &&
               ClaimWrites::HasReservation(*claim.claim, *pod.pod)) {
      using Devices = ClaimWrites::Devices;
      const auto left = writes_.RemoveReservation(*claim.claim, *pod.pod,
                                                  claim.idle ? Devices::kKeep : Devices::kGiveBack);
      // Devices are the ledger's until a watch tells that they were given back; who waits for them
      // is woken by the difference to what is assumed.
      if (left.ok() && *left != nullptr && (*left)->status.allocation.has_value()) {
        world_.AssumeClaim(*left);
      }
    }
  }
}

PluginStatus DynamicResources::PreBind(CycleState& state, const PodInfo& pod, std::string_view node,
                                       World&) {
  State& data = state.Get<State>();
  for (State::Claim& claim : data.claims) {
    if (claim.bound) continue;
    // Everything that the special claim would be for comes from the node's device plugins.
    if (claim.special && claim.to_allocate && !claim.allocation.has_value()) continue;
    if (const Status written = BindClaim(state, claim, pod); !written.ok()) {
      if (api::MayHaveHappened(written)) {
        state.Get<WaitsUntil>() = {.time = clock_.Now() + kDoubtNap, .in_doubt = true};
        return {PluginStatus::Code::kWait, {}};
      }
      // Each attempt makes another special claim; what went wrong is the same each time.
      return ErrorFrom(
          claim.special ? api::WithoutGeneratedParts(written, claim.claim->metadata.generate_name)
                        : written);
    }
    claim.bound = true;
  }
  if (node_allocatable_ && !data.claims_take_written) {
    if (const Status written = WriteNodeAllocatable(data, pod); !written.ok()) {
      if (api::MayHaveHappened(written)) {
        state.Get<WaitsUntil>() = {.time = clock_.Now() + kDoubtNap, .in_doubt = true};
        return {PluginStatus::Code::kWait, {}};
      }
      return ErrorFrom(written);
    }
    data.claims_take_written = true;
  }
  if (!binding_conditions_) return PluginStatus::Success();
  PluginStatus status = AwaitConditions(data, pod, node);
  if (status.code == PluginStatus::Code::kWait) {
    state.Get<WaitsUntil>().time = FirstTimeout(data, options_.args.binding_timeout);
  }
  return status;
}

std::shared_ptr<SharedAllocation> DynamicResources::FindShared(
    const api::ResourceClaim& claim) const {
  const auto found = in_group_ ? shared_.find(claim.metadata.uid) : shared_.end();
  std::shared_ptr<SharedAllocation> shared =
      found == shared_.end() ? nullptr : found->second.lock();
  return shared != nullptr && shared->attempt == group_attempt_ && shared->users > 0 ? shared
                                                                                     : nullptr;
}

// A claim that the pod's group lists is reserved for the group, once for all its pods.
api::ResourceClaimConsumerReference DynamicResources::ConsumerFor(const CycleState& state,
                                                                  const api::ResourceClaim& claim,
                                                                  const PodInfo& pod) const {
  const GroupOfPod* of = state.Find<GroupOfPod>();
  if (!group_claims_ || of == nullptr || of->group == nullptr) return ConsumerOf(*pod.pod);
  const api::ClaimsOfPod claims(*pod.pod);
  for (const api::PodResourceClaim& entry : pod.pod->spec.resource_claims) {
    if (claims.NameOf(entry) == claim.metadata.name && api::IsOfGroup(entry, of->group->spec)) {
      return api::ConsumerOf(*of->group);
    }
  }
  return ConsumerOf(*pod.pod);
}

Status DynamicResources::BindClaim(CycleState& state, State::Claim& claim, const PodInfo& pod) {
  State& data = state.Get<State>();
  const api::AllocationResult* allocation =
      claim.allocation.has_value() ? &*claim.allocation : nullptr;
  const api::ResourceClaimConsumerReference consumer = ConsumerFor(state, *claim.claim, pod);
  // Another pod of the group has stored it, for this one too.
  if (claim.shared != nullptr && claim.shared->stored && api::IsGroup(consumer)) {
    const api::ObjectMeta& meta = claim.claim->metadata;
    const ClaimPointer now = world_.FindClaim(meta.namespace_, meta.name);
    if (now != nullptr && now->metadata.uid == meta.uid && now->status.allocation.has_value() &&
        ReservedFor(*now, *pod.pod)) {
      claim.claim = now;
      return {};
    }
  }
  ledger::Reservation& reservation =
      claim.shared != nullptr ? claim.shared->reservation : claim.reservation;
  if (claim.special && !Stored(*claim.claim)) {
    if (claim.stored_as.empty()) {
      claim.stored_as = CompletedName(claim.claim->metadata.generate_name, ids_.Uid());
    }
    DRAY_ASSIGN_OR_RETURN(claim.claim, writes_.CreateSpecial(*claim.claim, claim.stored_as));
    // The devices were taken in the name of the claim in memory; nobody comes in between.
    claim.reservation.Release();
    DRAY_ASSIGN_OR_RETURN(claim.reservation, world_.ledger().Reserve(*claim.claim, *allocation));
  }
  // Another scheduler may have been faster than this write.
  if (reservation.active()) {
    const auto twice = world_.FindGivenTwice(*claim.claim, *allocation);
    if (!twice.empty()) {
      return base::FailedPrecondition(
          fmt::format("claim {}: device {} got allocated to {} in the meantime",
                      KeyOf(claim.claim->metadata), twice[0].device, twice[0].claims[0]));
    }
  }
  ClaimPointer from = claim.claim;
  if (claim.shared != nullptr) {
    // What is stored by now: as PreFilter had it the allocation was put in.
    const api::ObjectMeta& meta = from->metadata;
    from = world_.FindClaim(meta.namespace_, meta.name);
    if (from == nullptr || from->metadata.uid != meta.uid) {
      return base::FailedPrecondition(
          fmt::format("claim {} got deleted in the meantime", KeyOf(meta)));
    }
  }
  // Once its stored form has come, whatever it holds is what that says.
  const auto may_allocate = [&] {
    const api::ObjectMeta& meta = from->metadata;
    return !reservation.active() ||
           world_.ledger().InFlight(meta.uid.empty() ? KeyOf(meta) : meta.uid);
  };
  DRAY_ASSIGN_OR_RETURN(claim.claim,
                        writes_.Bind(from, allocation, *pod.pod, consumer, may_allocate));
  world_.AssumeClaim(claim.claim);
  if (allocation != nullptr) {
    if (claim.shared != nullptr) claim.shared->stored = true;
    // Taken from now on, whatever comes: given back when the claim says so.
    reservation.Commit(claim.claim->metadata.resource_version);
    world_.SetAllocatedHere(claim.claim->metadata.uid);
    if (Status kept = ClaimWrites::CheckKept(*claim.claim, *allocation); !kept.ok()) {
      // As stored, it says something else about the device than what was decided. What cannot be
      // given back now is seen by the next attempt, as an allocation like any other.
      writes_.Deallocate(*claim.claim).IgnoreError();
      world_.ForgetClaim(claim.claim->metadata.namespace_, claim.claim->metadata.name);
      return kept;
    }
  }
  if (!claim.special) return {};
  return writes_.SetMappings(*pod.pod, claim.claim->metadata.name, data.chosen->requests.mappings);
}

void DynamicResources::ConditionsOver(const State& data, std::string_view status) const {
  if (options_.observer == nullptr) return;
  const auto waited =
      data.waits_since ? clock_.Now() - *data.waits_since : std::chrono::nanoseconds::zero();
  for (const State::Claim& claim : data.claims) {
    if (!HasBindingConditions(*claim.claim)) continue;
    std::set<std::string_view> drivers;
    for (const auto& result : claim.claim->status.allocation->devices.results) {
      if (!result.binding_conditions.empty()) drivers.insert(result.driver);
    }
    for (const std::string_view driver : drivers) {
      options_.observer->OnBindingConditions(options_.component, driver, status, waited);
    }
  }
}

PluginStatus DynamicResources::AwaitConditions(State& data, const PodInfo& pod,
                                               std::string_view node) {
  bool waits = false;
  for (State::Claim& claim : data.claims) {
    if (!HasBindingConditions(*claim.claim)) continue;
    const api::ObjectMeta& meta = claim.claim->metadata;
    ClaimPointer now = world_.FindClaim(meta.namespace_, meta.name);
    if (now == nullptr || now->metadata.uid != meta.uid || !now->status.allocation.has_value()) {
      return PluginStatus::Error(
          fmt::format("claim {} got deallocated elsewhere in the meantime", KeyOf(meta)));
    }
    claim.claim = std::move(now);
    BindingState binding = BindingStateOf(*claim.claim);
    if (binding.kind == BindingState::Kind::kFailed) {
      ConditionsOver(data, "failed");
      return PluginStatus::Error(std::move(binding.message));
    }
    if (binding.kind == BindingState::Kind::kReady) continue;
    // A claim that was allocated while nobody waited for conditions does not say when.
    const base::Time since = data.waits_since.value_or(clock_.Now());
    const base::Time deadline = BindingDeadline(*claim.claim, options_.args.binding_timeout)
                                    .value_or(since + options_.args.binding_timeout);
    if (deadline < clock_.Now()) {
      ConditionsOver(data, "timeout");
      return PluginStatus::Error(fmt::format("device binding timeout: claim={}", meta.name));
    }
    waits = true;
  }
  if (!waits) {
    ConditionsOver(data, "success");
    return PluginStatus::Success();
  }
  if (!data.waits_since.has_value()) {
    data.waits_since = clock_.Now();
    cluster_.Note(
        {.about = NamedOf(*pod.pod),
         .type = "Normal",
         .reason = "BindingConditionsPending",
         .message = fmt::format("waiting for binding conditions for device on node {}", node),
         .component = options_.component,
         .action = "Scheduling"});
  }
  return {PluginStatus::Code::kWait, {}};
}

}  // namespace dray::scheduler
