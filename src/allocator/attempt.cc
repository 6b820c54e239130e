// SPDX-License-Identifier: Apache-2.0
#include "allocator/attempt.h"

#include <algorithm>

#include "allocator/rules.h"
#include "api/taints.h"
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

Fault Attempt::Prepare(const Plan& plan, const ledger::NodeUsage& usage, VerdictCache& cache,
                       std::span<const ClaimScope> scopes) {
  plan_ = &plan;
  scopes_ = scopes;
  usage_ = &usage;
  any_faulty_ = false;
  any_derived_error_ = false;
  const inventory::NodeDevices& devices = usage.devices();
  device_count_ = devices.devices().size();
  if (plan.features().consumable_capacity) {
    multi_ = devices.shareable();
  } else {
    multi_.Clear(device_count_);
  }
  cache.Trim();
  candidates_.resize(plan.alternatives().size());
  for (std::size_t c = 0; c < plan.claims().size(); ++c) {
    const ClaimPlan& claim = plan.claims()[c];
    for (const RequestPlan& request : plan.requests(claim)) {
      for (std::uint32_t i = 0; i < request.count; ++i) {
        const std::size_t at = request.first + i;
        Fill(candidates_[at], plan.alternatives()[at], plan.constraints(claim), scope(c), cache);
      }
    }
  }
  if (!plan.simple()) {
    if (Fault fault = CheckClaims(); !fault.status.ok()) return fault;
  }
  return any_derived_error_ ? CheckDerived() : Fault{};
}

void Attempt::Fill(Candidates& candidates, const Alternative& alternative,
                   std::span<const ConstraintPlan> constraints, const ClaimScope& scope,
                   VerdictCache& cache) {
  const inventory::NodeDevices& devices = usage_->devices();
  candidates.alternative = &alternative;
  candidates.impossible = false;
  candidates.need = alternative.count;
  candidates.devices.Clear(device_count_);
  candidates.faulty.Clear(device_count_);
  candidates.verdicts.clear();
  if (!alternative.error.ok()) return;
  for (const auto& range : devices.slices()) {
    const Verdicts& verdicts =
        cache.Get(alternative, *plan_, constraints, *range.slice, devices.dictionary());
    candidates.verdicts.push_back(&verdicts);
    candidates.devices.OrAt(verdicts.pass, range.first_device);
    if (verdicts.any_error) FillFaulty(candidates, verdicts, range.first_device);
  }
  if (scope.devices != nullptr) {
    candidates.devices &= *scope.devices;
    candidates.faulty &= *scope.devices;
  }
  if (alternative.all) {
    AskNode(candidates);
    AddWithheld(candidates, scope);
    candidates.need = static_cast<std::int64_t>(candidates.devices.Count());
    return;
  }
  // What is in use is not looked at.
  if (!alternative.admin) {
    candidates.devices.AndNot(usage_->taken());
    candidates.faulty.AndNot(usage_->taken());
  }
  AskNode(candidates);
  any_faulty_ |= candidates.faulty.Any();
}

// Only of those devices that a rule of the node can drop at all (rules.h), which on most nodes are
// none.
void Attempt::AskNode(Candidates& candidates) const {
  devices().notable().ForEach([&](std::size_t device) {
    if (!candidates.devices.Test(device)) return;
    const Question question{*this, candidates, static_cast<std::uint32_t>(device)};
    if (!Admits<Scope::kMember>(question)) {
      candidates.devices.Reset(device);
    } else if (!Admits<Scope::kUsable>(question)) {
      if (candidates.alternative->all) {
        candidates.impossible = true;
      } else {
        candidates.devices.Reset(device);
      }
    }
  });
}

// Spec: KEP-5075: All fails if a device that matches and has the capacity, with a value as large as
// is asked for, cannot be allocated. [differs] Kubernetes leaves it out. docs/decisions.md #72.
void Attempt::AddWithheld(Candidates& candidates, const ClaimScope& scope) const {
  for (std::size_t i = 0; i < candidates.verdicts.size(); ++i) {
    const std::uint32_t first_device = devices().slices()[i].first_device;
    candidates.verdicts[i]->withheld.ForEach([&](std::size_t row) {
      const Question question{*this, candidates, first_device + static_cast<std::uint32_t>(row)};
      if (scope.devices != nullptr && !scope.devices->Test(question.device)) return;
      if (!Admits<Scope::kMember>(question)) return;
      candidates.devices.Set(question.device);
      candidates.impossible = true;
    });
  }
}

// Devices that would be an error to look at. Expressions run before it is asked whether the device
// is for this node; but a device whose feature is off is not looked at, and what it consumes is
// counted only for devices that are there.
void Attempt::FillFaulty(Candidates& candidates, const Verdicts& verdicts,
                         std::uint32_t first_device) {
  const auto question = [&](std::size_t row) {
    return Question{*this, candidates, first_device + static_cast<std::uint32_t>(row)};
  };
  verdicts.error.ForEach([&](std::size_t row) {
    if (rules::GroupsOn(question(row))) candidates.faulty.Set(first_device + row);
  });
  verdicts.broken.ForEach([&](std::size_t row) {
    if (Admits<Scope::kMember>(question(row))) candidates.faulty.Set(first_device + row);
  });
  any_derived_error_ |= verdicts.derived_error.Any();
}

// Spec: KEP-6080 "Runtime Error Handling": a derived attribute that fails on a candidate stops the
// pod even if other devices evaluate. So that does not depend on which devices the search would
// come to, as it does for selectors: Kubernetes's allocator raises those when it comes across them.
// [differs] Kubernetes evaluates derived attributes lazily, too. docs/decisions.md #31.
Fault Attempt::CheckDerived() const {
  for (const Candidates& candidates : candidates_) {
    for (std::size_t d = candidates.faulty.First(); d != base::BitSet::kNone;
         d = candidates.faulty.Next(d)) {
      const auto [slice, row] = Place(d);
      if (!candidates.verdicts[slice]->derived_error.Test(row)) continue;
      const NodeDevice& device = devices().devices()[d];
      return {ErrorOf(*candidates.alternative, *device.slice, *device.row, devices().dictionary()),
              false};
    }
  }
  return {};
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
                  fmt::format("it asks for {} devices; one claim can have at most {}", devices,
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
