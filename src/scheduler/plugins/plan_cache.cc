// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/plan_cache.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "absl/hash/hash.h"
#include "base/string_map.h"
#include "scheduler/world.h"

namespace dray::scheduler {
namespace {

std::size_t HashOf(ClaimList claims) {
  const auto text = [](std::string_view s) { return base::StringHash{}(s); };
  std::size_t hash = claims.size();
  const auto mix = [&](auto... values) { hash = absl::HashOf(hash, values...); };
  for (const auto& claim : claims) {
    const api::DeviceClaim& devices = claim->spec.devices;
    mix(devices.requests.size(), devices.constraints.size(), devices.config.size());
    for (const api::DeviceRequest& request : devices.requests) {
      mix(text(request.name), request.first_available.size());
      if (!request.exactly.has_value()) continue;
      mix(text(request.exactly->device_class_name), request.exactly->count);
      for (const api::DeviceSelector& selector : request.exactly->selectors) {
        if (selector.cel.has_value()) mix(text(selector.cel->expression));
      }
    }
  }
  return hash;
}

}  // namespace

bool PlanCache::Same(const Entry& entry, ClaimList claims) {
  return std::ranges::equal(entry.claims, claims, [](const auto& a, const auto& b) {
    return a == b || a->spec == b->spec;
  });
}

bool PlanCache::Current(const allocator::Plan& plan, const World& world) {
  return std::ranges::all_of(plan.alternatives(), [&](const allocator::Alternative& alternative) {
    return alternative.device_class != nullptr &&
           world.FindClass(alternative.device_class->metadata.name) == alternative.device_class;
  });
}

KnownPlan PlanCache::Make(ClaimList claims, World& world) {
  return {.number = next_++,
          .plan = allocator::MakePlan(claims, world, world.features(), world.expressions())};
}

KnownPlan PlanCache::Get(ClaimList claims, World& world) {
  const std::size_t hash = HashOf(claims);
  if (const auto it = entries_.find(hash); it != entries_.end()) {
    for (Entry& entry : it->second) {
      if (!Same(entry, claims)) continue;
      if (!Current(*entry.known.plan, world)) {
        entry.claims.assign(claims.begin(), claims.end());
        entry.known = Make(claims, world);
      }
      return entry.known;
    }
  }
  if (size_ == capacity_) {
    entries_.clear();
    size_ = 0;
  }
  ++size_;
  return entries_[hash]
      .emplace_back(Entry{{claims.begin(), claims.end()}, Make(claims, world)})
      .known;
}

}  // namespace dray::scheduler
