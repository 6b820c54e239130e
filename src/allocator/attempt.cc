// SPDX-License-Identifier: Apache-2.0
#include "allocator/attempt.h"

#include <algorithm>

#include "api/device_taints.h"
#include "fmt/format.h"

namespace dray::allocator {
namespace {

using inventory::NodeDevice;
using inventory::PoolOnNode;
using inventory::PoolState;

}  // namespace

bool Tolerates(std::span<const api::DeviceToleration> tolerations,
               std::span<const api::DeviceTaint> taints) {
  return std::ranges::all_of(taints, [&](const api::DeviceTaint& taint) {
    if (taint.effect != api::kTaintEffectNoSchedule && taint.effect != api::kTaintEffectNoExecute) {
      return true;
    }
    return std::ranges::any_of(tolerations, [&](const api::DeviceToleration& toleration) {
      return api::Tolerates(toleration, taint);
    });
  });
}

Fault Attempt::Prepare(const Plan& plan, const ledger::NodeUsage& usage, VerdictCache& cache) {
  plan_ = &plan;
  usage_ = &usage;
  any_faulty_ = false;
  cache.Trim();
  TakeDevices();
  candidates_.resize(plan.alternatives().size());
  for (const ClaimPlan& claim : plan.claims()) {
    for (const RequestPlan& request : plan.requests(claim)) {
      for (std::uint32_t i = 0; i < request.count; ++i) {
        const std::size_t at = request.first + i;
        Fill(candidates_[at], plan.alternatives()[at], plan.constraints(claim), cache);
      }
    }
  }
  return plan.simple() ? Fault{} : CheckClaims();
}

void Attempt::TakeDevices() {
  const inventory::NodeDevices& devices = usage_->devices();
  device_count_ = devices.devices().size();
  places_.resize(device_count_);
  if (multi_.size() != device_count_) multi_ = base::BitSet(device_count_);
  multi_.ResetAll();
  std::uint32_t slice = 0;
  for (const auto& range : devices.slices()) {
    const auto rows = static_cast<std::uint32_t>(range.slice->devices().size());
    for (std::uint32_t row = 0; row < rows; ++row) {
      places_[range.first_device + row] = {slice, row};
    }
    ++slice;
  }
  if (!plan_->features().consumable_capacity) return;
  for (std::size_t i = 0; i < device_count_; ++i) {
    if (devices.devices()[i].row->allow_multiple_allocations) multi_.Set(i);
  }
}

void Attempt::Fill(Candidates& candidates, const Alternative& alternative,
                   std::span<const ConstraintPlan> constraints, VerdictCache& cache) {
  const inventory::NodeDevices& devices = usage_->devices();
  candidates.alternative = &alternative;
  candidates.impossible = false;
  candidates.need = alternative.count;
  candidates.verdicts.clear();
  for (base::BitSet* set : {&candidates.devices, &candidates.faulty}) {
    if (set->size() != device_count_) *set = base::BitSet(device_count_);
    set->ResetAll();
  }
  if (!alternative.error.ok()) return;
  for (const auto& range : devices.slices()) {
    const Verdicts& verdicts =
        cache.Get(alternative, *plan_, constraints, *range.slice, devices.dictionary());
    candidates.verdicts.push_back(&verdicts);
    verdicts.pass.ForEach([&](std::size_t row) {
      const std::size_t device = range.first_device + row;
      if (!devices.devices()[device].on_node || devices.devices()[device].groups_off) return;
      const bool usable = Admissible(alternative, device);
      if (usable || alternative.all) candidates.devices.Set(device);
      if (!usable) candidates.impossible = true;
    });
    if (!verdicts.any_error) continue;
    verdicts.error.ForEach([&](std::size_t row) {
      const std::size_t device = range.first_device + row;
      if (!devices.devices()[device].groups_off) candidates.faulty.Set(device);
    });
    verdicts.broken.ForEach([&](std::size_t row) {
      const NodeDevice& device = devices.devices()[range.first_device + row];
      if (device.on_node && !device.groups_off) candidates.faulty.Set(range.first_device + row);
    });
  }
  if (alternative.all) {
    candidates.need = static_cast<std::int64_t>(candidates.devices.Count());
    return;
  }
  candidates.impossible = false;
  // What is in use is not looked at.
  if (!alternative.admin) {
    candidates.devices.AndNot(usage_->taken());
    candidates.faulty.AndNot(usage_->taken());
  }
  any_faulty_ |= candidates.faulty.Any();
}

// Without regard to whether it is taken.
bool Attempt::Admissible(const Alternative& alternative, std::size_t index) const {
  const NodeDevice& device = usage_->devices().devices()[index];
  if (device.operations_missing || device.counters_off) return false;
  if (device.uses > 0 && usage_->overdrawn(device.pool) &&
      !(multi_.Test(index) && usage_->shared().Test(index))) {
    return false;
  }
  if (device.taints == inventory::TaintsId::kNone || !plan_->features().device_taints) return true;
  return allocator::Tolerates(alternative.tolerations,
                              usage_->devices().dictionary().At(device.taints));
}

Fault Attempt::CheckClaims() {
  for (const ClaimPlan& claim : plan_->claims()) {
    const api::ObjectMeta& meta = claim.claim->metadata;
    const auto named = [&](const Status& status) {
      return base::Annotate(status, fmt::format("claim {}/{}", meta.namespace_, meta.name));
    };
    std::int64_t devices = 0;
    for (const RequestPlan& request : plan_->requests(claim)) {
      if (!request.error.ok()) return {named(request.error), false};
      std::int64_t fewest = -1;
      for (std::uint32_t i = 0; i < request.count; ++i) {
        const Candidates& candidates = candidates_[request.first + i];
        if (!candidates.alternative->error.ok())
          return {named(candidates.alternative->error), false};
        if (candidates.alternative->all) {
          if (Fault fault = CheckAll(candidates); !fault.status.ok()) {
            return {named(fault.status), fault.only_this_node};
          }
        }
        fewest = fewest < 0 ? candidates.need : std::min(fewest, candidates.need);
      }
      devices += std::max<std::int64_t>(fewest, 0);
    }
    if (devices > kMaxDevicesPerClaim) {
      return {named(base::InvalidArgument(
                  fmt::format("{} devices are asked for; one claim can have at most {}", devices,
                              kMaxDevicesPerClaim))),
              false};
    }
    if (!claim.constraint_error.ok()) return {named(claim.constraint_error), false};
  }
  return {};
}

// In the order of pools: the first one that cannot be looked at in full, or has a device on which
// an expression fails, decides.
Fault Attempt::CheckAll(const Candidates& candidates) const {
  const inventory::NodeDevices& devices = usage_->devices();
  const std::string& request = candidates.alternative->result_name;
  for (const PoolOnNode& pool : devices.pools()) {
    if (pool.state != PoolState::kComplete) {
      return {base::FailedPrecondition(fmt::format(
                  "request {}: all devices are asked for, but pool {}/{} is {}: {}", request,
                  devices.dictionary().View(pool.driver), devices.dictionary().View(pool.name),
                  pool.state == PoolState::kInvalid ? "invalid" : "incomplete", pool.why)),
              true};
    }
    const std::size_t faulty = candidates.faulty.FirstFrom(pool.first_device);
    if (faulty < pool.first_device + pool.devices) {
      const NodeDevice& device = devices.devices()[faulty];
      return {ErrorOf(*candidates.alternative, *device.slice, *device.row, devices.dictionary()),
              false};
    }
  }
  return {};
}

}  // namespace dray::allocator
