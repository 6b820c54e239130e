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

// Everything that a claim can ask for counts: claims that differ in nothing but, say, a toleration
// would otherwise take each other's place all the time.
class Hasher {
 public:
  std::size_t Hash(ClaimList claims) {
    Mix(claims.size());
    for (const auto& claim : claims) {
      const api::DeviceClaim& devices = claim->spec.devices;
      Mix(devices.requests.size(), devices.constraints.size(), devices.config.size());
      for (const api::DeviceRequest& request : devices.requests) Add(request);
      for (const api::DeviceConstraint& constraint : devices.constraints) {
        Add(constraint.match_attribute.value_or(""));
        Add(constraint.distinct_attribute.value_or(""));
        AddAll(constraint.requests);
      }
      for (const api::DeviceClaimConfiguration& config : devices.config) {
        AddAll(config.requests);
        if (!config.opaque.has_value()) continue;
        Add(config.opaque->driver);
        Add(config.opaque->parameters.text);
      }
    }
    return hash_;
  }

 private:
  void Mix(auto... values) { hash_ = absl::HashOf(hash_, values...); }
  void Add(std::string_view text) { Mix(base::StringHash{}(text)); }
  void AddAll(const std::vector<std::string>& texts) {
    Mix(texts.size());
    for (const std::string& text : texts) Add(text);
  }
  void Add(const api::DeviceRequest& request) {
    Add(request.name);
    Mix(request.first_available.size(), request.exactly.has_value());
    if (request.exactly.has_value()) {
      Mix(request.exactly->admin_access.has_value());
      AddAsked(*request.exactly);
    }
    for (const api::DeviceSubRequest& sub : request.first_available) {
      Add(sub.name);
      AddAsked(sub);
    }
  }
  // What exact requests and subrequests have in common.
  void AddAsked(const auto& asked) {
    Add(asked.device_class_name);
    Add(asked.allocation_mode);
    Mix(asked.count, asked.selectors.size(), asked.tolerations.size(),
        asked.derived_attributes.size());
    for (const api::DeviceSelector& selector : asked.selectors) {
      if (selector.cel.has_value()) Add(selector.cel->expression);
    }
    for (const api::DeviceToleration& toleration : asked.tolerations) {
      Add(toleration.key);
      Add(toleration.value);
      Add(toleration.effect);
    }
    for (const api::DeviceDerivedAttribute& derived : asked.derived_attributes) {
      Add(derived.name);
      Add(derived.expression);
    }
    if (!asked.capacity.has_value()) return;
    for (const auto& [name, amount] : asked.capacity->requests) {
      Add(name.view());
      Mix(amount.ClampedNano());
    }
  }

  std::size_t hash_ = 0;
};

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

std::shared_ptr<const allocator::Plan> PlanCache::Make(ClaimList claims, World& world) const {
  std::vector<std::shared_ptr<const api::ResourceClaim>> limited;
  if (!limit_.empty()) {
    const api::DeviceSelector selector{.cel = api::CELDeviceSelector{.expression = limit_}};
    for (const auto& claim : claims) {
      auto changed = std::make_shared<api::ResourceClaim>(*claim);
      for (api::DeviceRequest& request : changed->spec.devices.requests) {
        if (request.exactly.has_value()) request.exactly->selectors.push_back(selector);
        for (api::DeviceSubRequest& sub : request.first_available) {
          sub.selectors.push_back(selector);
        }
      }
      limited.push_back(std::move(changed));
    }
    claims = limited;
  }
  return allocator::MakePlan(claims, world, world.features(), world.expressions());
}

KnownPlan PlanCache::Get(ClaimList claims, World& world) {
  const std::size_t hash = Hasher().Hash(claims);
  Entry* const entry = entries_.Find(hash);
  if (entry != nullptr && Same(*entry, claims) && Current(*entry->known.plan, world)) {
    return entry->known;
  }
  Entry made{{claims.begin(), claims.end()}, {.number = next_++, .plan = Make(claims, world)}};
  if (entry != nullptr) return (*entry = std::move(made)).known;
  entries_.Trim();
  return entries_.Put(hash, std::move(made)).known;
}

}  // namespace dray::scheduler
