// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/census.h"

#include <algorithm>
#include <utility>

#include "api/resource_claim.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_results.h"
#include "plane/internal/claims.h"

namespace dray::plane::internal {
namespace {

constexpr std::chrono::seconds kServes{1};

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

std::shared_ptr<const cel::Program> Compiled(const std::string& expression) {
  const auto compiled =
      cel::Compile(expression, cel::DeviceEnvironment(cel::DeviceEnvironmentOptions::Stored()),
                   {.purpose = cel::Purpose::kSelector, .estimate_cost = false});
  if (!compiled.ok()) return nullptr;
  auto program = cel::Program::Compile(*compiled.checked);
  return program.ok() ? *std::move(program) : nullptr;
}

bool KeepsAway(const api::DeviceTaint& taint) {
  return taint.effect == api::kTaintEffectNoSchedule || taint.effect == api::kTaintEffectNoExecute;
}

std::string SourceOf(const api::ResourceClaim& claim) {
  if (claim.metadata.annotations.Find(api::kExtendedResourceClaimAnnotation) != nullptr) {
    return "extended_resource";
  }
  if (claim.metadata.annotations.Find(api::kPodClaimNameAnnotation) != nullptr) {
    return "resource_claim_template";
  }
  return "";
}

std::string Join(std::string_view a, std::string_view b) {
  return std::string(a).append("/").append(b);
}

}  // namespace

CensusResult Census::Count() {
  const base::MutexLock lock(mutex_);
  const std::chrono::nanoseconds now = clock_.Monotonic();
  if (counted_ && now - *counted_ < kServes) return last_;
  counted_ = now;
  last_ = {};
  ReadClasses();
  ReadSlices();
  const base::StringSet held = CountClaims(last_);
  std::map<std::string_view, std::int64_t> newest;
  for (const auto& [name, slice] : slices_) {
    const auto [it, added] = newest.try_emplace(slice.pool, slice.generation);
    if (!added) it->second = std::max(it->second, slice.generation);
  }
  for (const Class& device_class : classes_) last_.devices[device_class.name];
  for (const auto& [name, slice] : slices_) {
    if (slice.generation != newest[slice.pool]) continue;
    for (const Device& device : slice.devices) {
      const bool allocated = held.contains(device.key);
      for (const std::uint32_t index : device.classes) {
        DeviceCounts& counts = last_.devices[classes_[index].name];
        ++(allocated ? counts.allocated : device.tainted ? counts.tainted : counts.free);
      }
    }
  }
  return last_;
}

void Census::ReadClasses() {
  const auto stored = objects_.Readable(KindOf<api::DeviceClass>());
  std::string version;
  for (const auto& one : stored) {
    const api::ObjectMeta& metadata = one->object().metadata();
    version += metadata.name + "=" + metadata.resource_version + ",";
  }
  if (version == classes_version_) return;
  classes_version_ = std::move(version);
  slices_.clear();  // the classes of their devices are others now
  classes_.clear();
  for (const auto& one : stored) {
    const auto& device_class = *one->object().As<api::DeviceClass>();
    Class& added = classes_.emplace_back();
    added.name = device_class.metadata.name;
    for (const api::DeviceSelector& selector : device_class.spec.selectors) {
      auto program = selector.cel ? Compiled(selector.cel->expression) : nullptr;
      added.broken = added.broken || program == nullptr;
      added.selectors.push_back(std::move(program));
    }
  }
}

void Census::ReadSlices() {
  std::map<std::string, Slice, std::less<>> now;
  for (const auto& stored : objects_.Readable(KindOf<api::ResourceSlice>())) {
    const auto& slice = *stored->object().As<api::ResourceSlice>();
    const auto known = slices_.find(slice.metadata.name);
    const bool same =
        known != slices_.end() && known->second.version == slice.metadata.resource_version;
    now.emplace(slice.metadata.name, same ? std::move(known->second) : Read(slice));
  }
  slices_ = std::move(now);
}

Census::Slice Census::Read(const api::ResourceSlice& slice) const {
  Slice read{.version = slice.metadata.resource_version,
             .pool = Join(slice.spec.driver, slice.spec.pool.name),
             .generation = slice.spec.pool.generation};
  if (!slice.spec.devices) return read;
  for (const api::Device& device : *slice.spec.devices) {
    Device& added = read.devices.emplace_back();
    added.key = Join(read.pool, device.name);
    added.tainted = std::ranges::any_of(device.taints, KeepsAway);
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      if (IsIn(classes_[i], slice, device)) {
        added.classes.push_back(static_cast<std::uint32_t>(i));
      }
    }
  }
  return read;
}

bool Census::IsIn(const Class& device_class, const api::ResourceSlice& slice,
                  const api::Device& device) const {
  if (device_class.broken) return false;
  return std::ranges::all_of(device_class.selectors, [&](const auto& program) {
    const auto matched = cel::Match(*program, slice.spec.driver, device);
    return matched.ok() && matched->match;
  });
}

base::StringSet Census::CountClaims(CensusResult& result) const {
  base::StringSet held;
  for (const auto& stored : objects_.Readable(KindOf<api::ResourceClaim>())) {
    const auto& claim = *stored->object().As<api::ResourceClaim>();
    const auto& allocation = claim.status.allocation;
    ++result.claims[{allocation.has_value(), AsksForAdminAccess(claim), SourceOf(claim)}];
    if (!allocation) continue;
    for (const auto& device : allocation->devices.results) {
      // An administrator looks at devices without taking them.
      if (device.admin_access.value_or(false)) continue;
      held.insert(Join(Join(device.driver, device.pool), device.device));
    }
  }
  return held;
}

}  // namespace dray::plane::internal
