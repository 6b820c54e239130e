// SPDX-License-Identifier: Apache-2.0
#include "controllers/pool_status_controller.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "api/device_class.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "controllers/pool_status.h"
#include "fmt/format.h"

namespace dray::controllers {
namespace {

// As long as Kubernetes keeps them.
constexpr std::chrono::hours kKeptAnswered{1};
constexpr std::chrono::hours kKeptOpen{24};
// How long an answer waits for a driver that is publishing.
constexpr std::chrono::seconds kPatience{30};

std::array<const api::KindInfo*, 4> Kinds() {
  return {&KindOf<api::ResourcePoolStatusRequest>(), &KindOf<api::ResourceSlice>(),
          &KindOf<api::ResourceClaim>(), &KindOf<api::DeviceTaintRule>()};
}

base::Time MadeAt(const api::ResourcePoolStatusRequest& request) {
  return request.metadata.creation_timestamp.value_or(base::Time());
}

base::Time AnsweredAt(const api::ResourcePoolStatusRequest& request) {
  for (const api::Condition& condition : request.status->conditions) {
    const bool answer =
        condition.type == api::kPoolStatusComplete || condition.type == api::kPoolStatusFailed;
    if (answer && condition.last_transition_time) return *condition.last_transition_time;
  }
  return MadeAt(request);
}

}  // namespace

PoolStatusController::PoolStatusController(const Source& source, const base::Clock& clock,
                                           api::FeatureGates gates)
    : Reconciler(source, clock, Kinds()),
      enabled_(gates.Enabled(api::Gate::kDRAResourcePoolStatus)),
      rules_counted_(gates.Enabled(api::Gate::kDRADeviceTaintRules)) {}

void PoolStatusController::OnChange(const api::Object* before, const api::Object* after) {
  if (!enabled_) return;
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::ResourceSlice>() != nullptr) return OnSlice(before, after);
  if (either.As<api::ResourceClaim>() != nullptr) return OnClaim(before, after);
  if (either.As<api::DeviceTaintRule>() == nullptr) return OnRequest(before, after);
  if (after == nullptr) {
    rules_.erase(either.metadata().name);
  } else {
    rules_.insert_or_assign(either.metadata().name, *after);
  }
}

void PoolStatusController::OnSlice(const api::Object* before, const api::Object* after) {
  const auto key_of = [](const api::Object& object) {
    const api::ResourceSliceSpec& spec = object.As<api::ResourceSlice>()->spec;
    return PoolKey(spec.driver, spec.pool.name);
  };
  if (before != nullptr && (after == nullptr || key_of(*before) != key_of(*after))) {
    const PoolKey key = key_of(*before);
    pools_[key].slices.erase(before->metadata().name);
    DropIfEmpty(key);
  }
  if (after == nullptr) return;
  pools_[key_of(*after)].slices.insert_or_assign(after->metadata().name, *after);
  // What an answer waits for may have come.
  for (const ObjectKey& request : open_) queue().Add(request);
}

void PoolStatusController::OnClaim(const api::Object* before, const api::Object* after) {
  const auto each = [](const api::Object* object, auto look) {
    if (object == nullptr) return;
    const auto& allocation = object->As<api::ResourceClaim>()->status.allocation;
    if (!allocation) return;
    for (const auto& result : allocation->devices.results)
      look(PoolKey(result.driver, result.pool));
  };
  each(before, [&](const PoolKey& key) {
    pools_[key].claims.erase(ObjectKey::Of(*before));
    DropIfEmpty(key);
  });
  each(after, [&](const PoolKey& key) { pools_[key].claims.insert(ObjectKey::Of(*after)); });
}

void PoolStatusController::OnRequest(const api::Object* before, const api::Object* after) {
  const ObjectKey key = ObjectKey::Of(after != nullptr ? *after : *before);
  if (after == nullptr || after->As<api::ResourcePoolStatusRequest>()->status) {
    open_.erase(key);
  } else {
    open_.insert(key);
  }
  if (after != nullptr) queue().Add(key);
}

void PoolStatusController::DropIfEmpty(const PoolKey& key) {
  const auto found = pools_.find(key);
  if (found != pools_.end() && found->second.slices.empty() && found->second.claims.empty()) {
    pools_.erase(found);
  }
}

Status PoolStatusController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr || view().Leaving(*found)) return {};
  const api::Object object = *found;
  const auto& request = *object.As<api::ResourcePoolStatusRequest>();
  const base::Time now = clock().Now();
  const base::Time until =
      request.status ? AnsweredAt(request) + kKeptAnswered : MadeAt(request) + kKeptOpen;
  if (until <= now) return view().Delete(object);
  queue().AddAfter(key, until - now);
  if (request.status) return {};
  bool incomplete = false;
  api::ResourcePoolStatusRequestStatus answer = AnswerTo(request.spec, &incomplete);
  const base::Time patience = MadeAt(request) + kPatience;
  if (incomplete && now < patience) {
    queue().AddAfter(key, patience - now);
    return {};
  }
  answer.conditions.front().last_transition_time = now.TruncateToSeconds();
  return view().EditStatus(object, [&](api::Object& edited) {
    auto* target = edited.Mutable<api::ResourcePoolStatusRequest>();
    if (target->status) return false;
    target->status = answer;
    return true;
  });
}

api::PoolStatus PoolStatusController::StatusOf(
    const PoolKey& key, const Pool& pool, const api::ResourcePoolStatusRequestSpec& spec) const {
  std::vector<const api::ResourceSlice*> slices;
  for (const auto& [name, slice] : pool.slices) slices.push_back(slice.As<api::ResourceSlice>());
  std::vector<const api::ResourceClaim*> claims;
  for (const ObjectKey& at : pool.claims) {
    const auto* claim = view().Find<api::ResourceClaim>(at.namespace_, at.name);
    if (claim != nullptr) claims.push_back(claim);
  }
  std::vector<const api::DeviceTaintRule*> rules;
  for (const auto& [name, rule] : rules_) {
    if (rules_counted_) rules.push_back(rule.As<api::DeviceTaintRule>());
  }
  return PoolStatusOf(key.first, key.second, {slices, claims, rules},
                      spec.default_partition_type_attribute);
}

api::ResourcePoolStatusRequestStatus PoolStatusController::AnswerTo(
    const api::ResourcePoolStatusRequestSpec& spec, bool* incomplete) const {
  api::ResourcePoolStatusRequestStatus answer;
  const auto limit = static_cast<std::size_t>(spec.limit.value_or(api::kPoolStatusLimitDefault));
  std::int32_t count = 0;
  std::size_t errors = 0;
  for (auto at = pools_.lower_bound(PoolKey(spec.driver, "")); at != pools_.end(); ++at) {
    const auto& [key, pool] = *at;
    if (key.first != spec.driver) break;
    if (pool.slices.empty() || (spec.pool_name && *spec.pool_name != key.second)) continue;
    ++count;
    if (answer.pools.size() >= limit) continue;
    answer.pools.push_back(StatusOf(key, pool, spec));
    const auto& error = answer.pools.back().validation_error;
    if (error) ++errors;
    *incomplete |= error && error->starts_with(kPoolIncomplete);
  }
  answer.pool_count = count;
  std::string message = fmt::format("Calculated status for {} pools", answer.pools.size());
  if (errors > 0) message += fmt::format(" ({} incomplete)", errors);
  answer.conditions.push_back({.type = std::string(api::kPoolStatusComplete),
                               .status = "True",
                               .reason = "CalculationComplete",
                               .message = std::move(message)});
  return answer;
}

}  // namespace dray::controllers
