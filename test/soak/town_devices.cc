// SPDX-License-Identifier: Apache-2.0
//
// Town: what drivers publish, classes, and who else writes claims.
#include <algorithm>
#include <set>
#include <utility>

#include "api/device_class.h"
#include "fmt/format.h"
#include "model/generator.h"
#include "model/model.h"
#include "soak/town.h"
#include "soak/town_impl.h"

namespace dray::soak {
namespace {

constexpr const char* kRule = "rule";
// What the model may think about before somebody else gives up.
constexpr std::uint64_t kModelSteps = 2'000;

bool Ended(const api::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace

api::DeviceClass Town::MakeClass(const std::string& name) {
  api::DeviceClass made;
  for (api::DeviceClass& each : model::RandomInstance(dice_, WhatDriversPublish()).classes) {
    if (each.metadata.name == name) made = std::move(each);
  }
  if (name == "gpu" && dice_.Chance(0.7)) made.spec.extended_resource_name = kResource;
  if (name == "any" && dice_.Chance(0.2)) made.spec.extended_resource_name = kResource;
  return made;
}

bool Town::ChangeClass() {
  const std::string name = dice_.Pick({"gpu", "nic", "any", "big"});
  auto stored = Find<api::DeviceClass>(name, "");
  if (!stored) return Create(MakeClass(name));
  if (dice_.Chance(0.2)) return Delete<api::DeviceClass>(name, "");
  stored->spec = MakeClass(name).spec;
  if (name == "big") {
    stored->spec.selectors.front().cel->expression = fmt::format(
        "device.attributes['size.example.com'].?tier.orValue(0) >= {}", dice_.Range(0, 3));
  }
  return Update(*std::move(stored));
}

bool Town::ChangeTaintRule() {
  if (Find<api::DeviceTaintRule>(kRule, "")) return Delete<api::DeviceTaintRule>(kRule, "");
  api::DeviceTaintRule rule;
  rule.metadata.name = kRule;
  rule.spec.taint = {.key = "sick", .effect = "NoSchedule"};
  rule.spec.device_selector.emplace();
  rule.spec.device_selector->driver = dice_.Pick({"gpu.example.com", "nic.example.com"});
  return Create(std::move(rule));
}

// A driver restarts on a node, and publishes its pools anew with the next generation: the new
// slices one by one, then the old ones go one by one.
bool Town::StartPublishing() {
  if (to_create_.size() > 20) return false;
  const auto node = Any<api::Node>();
  if (!node) return false;
  const std::string& name = node->metadata.name;
  const std::string prefix = name + "-";
  for (const api::ResourceSlice& slice : All<api::ResourceSlice>()) {
    if (slice.spec.pool.name.starts_with(prefix)) to_delete_.push_back(slice.metadata.name);
  }
  ++generation_;
  const model::Instance instance = model::RandomInstance(dice_, WhatDriversPublish());
  const std::string other = AnyNodeName();
  const auto real = [&](auto& target) {
    if (target) *target = *target == instance.node.metadata.name ? name : other;
  };
  for (api::ResourceSlice slice : instance.slices) {
    slice.metadata.name = fmt::format("{}-{}-{}", name, generation_, slice.metadata.name);
    slice.spec.pool.name = prefix + slice.spec.pool.name;
    slice.spec.pool.generation += 3 * generation_;
    real(slice.spec.node_name);
    if (slice.spec.devices) {
      for (api::Device& device : *slice.spec.devices) real(device.node_name);
    }
    to_create_.push_back(std::move(slice));
  }
  return true;
}

bool Town::GoOnPublishing() {
  if (!to_create_.empty()) {
    Create(std::move(to_create_.front()));
    to_create_.pop_front();
    return true;
  }
  if (to_delete_.empty()) return false;
  Delete<api::ResourceSlice>(to_delete_.front(), "");
  to_delete_.pop_front();
  return true;
}

bool Town::ChangeSlice() {
  auto slice = Any<api::ResourceSlice>();
  if (!slice || !slice->spec.devices || slice->spec.devices->empty()) return false;
  auto& devices = *slice->spec.devices;
  const auto which = static_cast<std::size_t>(dice_.Range(0, static_cast<int>(devices.size()) - 1));
  api::Device& device = devices[which];
  switch (dice_.Range(0, 4)) {
    case 0:
      device.taints.clear();
      if (dice_.Chance(0.5)) device.taints.push_back({.key = "sick", .effect = "NoSchedule"});
      break;
    case 1:
      devices.erase(devices.begin() + static_cast<std::ptrdiff_t>(which));
      break;
    case 2:
      device.attributes["size.example.com/tier"] = {};
      device.attributes["size.example.com/tier"].int_value = dice_.Range(0, 3);
      break;
    case 3:
      for (auto& [name, capacity] : device.capacity) {
        capacity.value = *base::Quantity::Parse(dice_.Pick({"2", "6", "12"}));
      }
      break;
    default:
      device.allow_multiple_allocations = !device.allow_multiple_allocations.value_or(false);
  }
  return Update(*std::move(slice));
}

bool Town::LoseSlice() {
  const auto slice = Any<api::ResourceSlice>();
  return slice && Delete<api::ResourceSlice>(slice->metadata.name, "");
}

// Drivers report on devices that wait for conditions, mostly good news.
bool Town::SayReady() {
  for (api::ResourceClaim& claim : All<api::ResourceClaim>()) {
    if (!claim.status.allocation) continue;
    for (const auto& result : claim.status.allocation->devices.results) {
      if (result.binding_conditions.empty()) continue;
      const bool told = std::ranges::any_of(claim.status.devices, [&](const auto& status) {
        return status.driver == result.driver && status.pool == result.pool &&
               status.device == result.device && status.share_id == result.share_id;
      });
      if (told) continue;
      const bool fails = !result.binding_failure_conditions.empty() && dice_.Chance(0.3);
      api::AllocatedDeviceStatus& status = claim.status.devices.emplace_back();
      status = {.driver = result.driver, .pool = result.pool, .device = result.device};
      status.share_id = result.share_id;
      status.conditions.push_back(
          {.type = fails ? result.binding_failure_conditions[0] : result.binding_conditions[0],
           .status = "True",
           .last_transition_time = clock_.Now().TruncateToSeconds(),
           .reason = "Told"});
      return UpdateStatus(std::move(claim));
    }
  }
  return false;
}

// As the claims' controller does: pods that are gone or have ended do not use a claim, a claim that
// nobody uses is given back, and goes if it was made for a pod, or nobody names it any more.
bool Town::CleanUp() {
  std::set<std::string> users;
  std::set<std::string> named;
  for (const api::Pod& pod : All<api::Pod>()) {
    if (!Ended(pod)) users.insert(pod.metadata.uid);
    for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
      named.insert(entry.resource_claim_name.value_or(""));
    }
  }
  bool any = false;
  for (api::ResourceClaim& claim : All<api::ResourceClaim>()) {
    const std::string name = claim.metadata.name;
    auto& reserved = claim.status.reserved_for;
    const bool changed =
        std::erase_if(reserved, [&](const auto& user) { return !users.contains(user.uid); }) > 0;
    const auto* owner = api::ExtendedResourcePod(claim);
    const bool unused = owner != nullptr ? !users.contains(owner->uid) : !named.contains(name);
    if (changed && reserved.empty()) claim.status = {};
    if (unused && reserved.empty()) claim.status = {};
    if (changed || (unused && reserved.empty())) any |= UpdateStatus(claim);
    if (!unused || !reserved.empty()) continue;
    auto stored = Find<api::ResourceClaim>(name);
    if (!stored) continue;
    if (!stored->metadata.finalizers.empty()) {
      stored->metadata.finalizers.clear();
      any |= Update(*std::move(stored));
    }
    any |= Delete<api::ResourceClaim>(name);
  }
  return any;
}

model::Instance Town::InstanceFor(const api::Node& node,
                                  std::vector<api::ResourceClaim> claims) const {
  model::Instance instance;
  instance.features = model::Features::All();
  instance.node = node;
  instance.classes = All<api::DeviceClass>();
  instance.slices = All<api::ResourceSlice>();
  instance.taint_rules = All<api::DeviceTaintRule>();
  for (api::ResourceClaim& claim : All<api::ResourceClaim>()) {
    const bool asked = std::ranges::any_of(claims, [&](const api::ResourceClaim& each) {
      return each.metadata.uid == claim.metadata.uid;
    });
    if (!asked && claim.status.allocation) instance.allocated_claims.push_back(std::move(claim));
  }
  instance.claims = std::move(claims);
  return instance;
}

// Another scheduler, or a person: allocates a claim, as the model would.
bool Town::AllocateElsewhere() {
  auto claim = Any<api::ResourceClaim>();
  const auto node = Any<api::Node>();
  if (!claim || !node || claim->status.allocation || claim->metadata.deletion_timestamp) {
    return false;
  }
  const model::Outcome outcome =
      model::Solve(InstanceFor(*node, {*claim}), {.max_steps = kModelSteps});
  if (outcome.kind != model::Outcome::Kind::kAllocated) return false;
  claim->status.allocation = outcome.results.front();
  for (auto& result : claim->status.allocation->devices.results) {
    if (result.share_id) result.share_id = fmt::format("00000000-0000-4000-9000-{:012}", ++shares_);
  }
  return UpdateStatus(*std::move(claim));
}

bool Town::GiveBack() {
  auto claim = Any<api::ResourceClaim>();
  if (!claim || !claim->status.allocation || !claim->status.reserved_for.empty()) return false;
  claim->status = {};
  return UpdateStatus(*std::move(claim));
}

}  // namespace dray::soak
