// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/quotas.h"

#include <deque>

#include "api/device_class.h"
#include "api/pod.h"
#include "api/pod_resources.h"
#include "api/quota_scopes.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "api/strategy.h"
#include "controllers/object_key.h"
#include "fmt/format.h"

namespace dray::planner::internal {
namespace {

using controllers::KindOf;

// Pods and claims as quota computations look for them; keeps what it has handed out.
class ObjectsOfCluster final : public api::QuotaObjects {
 public:
  explicit ObjectsOfCluster(const api::MemoryCluster& cluster) : cluster_(cluster) {}

  const api::Pod* FindPod(std::string_view namespace_, std::string_view name) const override {
    const auto found = cluster_.Stored(KindOf<api::Pod>(), namespace_, name);
    if (!found) return nullptr;
    return kept_.emplace_back(*found).As<api::Pod>();
  }

  std::vector<const api::ResourceClaim*> ExtendedResourceClaimsOf(
      std::string_view namespace_, std::string_view pod_uid) const override {
    std::vector<const api::ResourceClaim*> claims;
    for (const api::Object& object : cluster_.All(KindOf<api::ResourceClaim>())) {
      if (object.metadata().namespace_ != namespace_) continue;
      const api::OwnerReference* owner = api::FindController(object.metadata());
      if (owner == nullptr || owner->uid != pod_uid) continue;
      claims.push_back(kept_.emplace_back(object).As<api::ResourceClaim>());
    }
    return claims;
  }

 private:
  const api::MemoryCluster& cluster_;
  mutable std::deque<api::Object> kept_;
};

bool IsCounted(const api::Object& object) {
  return object.As<api::Pod>() != nullptr || object.As<api::ResourceClaim>() != nullptr;
}

base::Quantity AmountOf(const api::Map<base::Quantity>& amounts, std::string_view name) {
  const base::Quantity* amount = amounts.Find(name);
  return amount == nullptr ? base::Quantity() : *amount;
}

// "a=1,b=2" of these names.
std::string Shown(const std::vector<std::string>& names, const api::Map<base::Quantity>& amounts) {
  std::string text;
  for (const std::string& name : names) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ",", name, AmountOf(amounts, name).ToString());
  }
  return text;
}

}  // namespace

void Quotas::Read(const api::MemoryCluster& cluster) {
  quotas_.clear();
  for (const api::Object& object : cluster.All(KindOf<api::ResourceQuota>())) {
    const auto& quota = *object.As<api::ResourceQuota>();
    quotas_[quota.metadata.namespace_].push_back(
        {.quota = object, .hard = api::NormalizeHard(quota.spec.hard), .used = quota.status.used});
  }
  if (quotas_.empty()) return;
  for (const api::Object& object : cluster.All(KindOf<api::DeviceClass>())) {
    classes_.OnAdd(*object.As<api::DeviceClass>());
  }
  for (const api::KindInfo* kind : {&KindOf<api::Pod>(), &KindOf<api::ResourceClaim>()}) {
    for (const api::Object& object : cluster.All(*kind)) {
      const auto here = quotas_.find(object.metadata().namespace_);
      if (here == quotas_.end()) continue;
      for (Counted& counted : here->second) {
        const auto& status = counted.quota.As<api::ResourceQuota>()->status;
        if (!status.used.empty() || !Counts(counted, object)) continue;
        const Amounts usage = UsageOf(object, cluster);
        for (const std::string& name : NamesOf(counted, object)) {
          counted.used[name] = AmountOf(counted.used, name) + AmountOf(usage, name);
        }
      }
    }
  }
}

bool Quotas::Counts(const Counted& counted, const api::Object& object) const {
  const api::ResourceQuotaSpec& spec = counted.quota.As<api::ResourceQuota>()->spec;
  return api::QuotaCounts(spec, object);
}

Quotas::Amounts Quotas::UsageOf(const api::Object& object,
                                const api::MemoryCluster& cluster) const {
  if (const auto* pod = object.As<api::Pod>()) return api::PodQuotaUsage(*pod, now_);
  const ObjectsOfCluster objects(cluster);
  return api::ClaimQuotaUsage(*object.As<api::ResourceClaim>(), {classes_, objects, gates_, now_});
}

std::vector<std::string> Quotas::NamesOf(const Counted& counted, const api::Object& object) const {
  std::vector<std::string> names;
  for (const auto& [name, amount] : counted.hard) names.emplace_back(std::string_view(name));
  names = object.As<api::Pod>() != nullptr ? api::PodQuotaNames(names)
                                           : api::ClaimQuotaNames(names, classes_, gates_);
  for (std::string& name : names) name = api::NormalizeQuotaName(name);
  return names;
}

Status Quotas::Admit(const api::Object& object, const api::MemoryCluster& cluster) {
  if (!IsCounted(object)) return {};
  const auto here = quotas_.find(object.metadata().namespace_);
  if (here == quotas_.end()) return {};
  api::Object complete = object;
  api::SetDefaults(complete, now_);
  const Amounts usage = UsageOf(complete, cluster);
  std::vector<std::pair<Counted*, std::string>> charges;
  for (Counted& counted : here->second) {
    if (!Counts(counted, complete)) continue;
    if (const auto* pod = complete.As<api::Pod>()) {
      const std::string missing = api::MissingForQuota(*pod, counted.hard);
      if (!missing.empty()) {
        return base::FailedPrecondition(
            fmt::format("failed quota: {}: {}", counted.quota.metadata().name, missing));
      }
    }
    std::vector<std::string> exceeded;
    for (const std::string& name : NamesOf(counted, complete)) {
      const base::Quantity amount = AmountOf(usage, name);
      if (amount == base::Quantity()) continue;
      if (AmountOf(counted.used, name) + amount > AmountOf(counted.hard, name)) {
        exceeded.push_back(name);
      }
      charges.emplace_back(&counted, name);
    }
    if (exceeded.empty()) continue;
    return base::FailedPrecondition(fmt::format(
        "exceeded quota: {}, requested: {}, used: {}, limited: {}", counted.quota.metadata().name,
        Shown(exceeded, usage), Shown(exceeded, counted.used), Shown(exceeded, counted.hard)));
  }
  for (const auto& [counted, name] : charges) {
    counted->used[name] = AmountOf(counted->used, name) + AmountOf(usage, name);
  }
  return {};
}

void Quotas::Release(const api::Object& object, const api::MemoryCluster& cluster) {
  // What was deleted before and is still there has been released then.
  if (!IsCounted(object) || object.metadata().deletion_timestamp) return;
  const auto here = quotas_.find(object.metadata().namespace_);
  if (here == quotas_.end()) return;
  const Amounts usage = UsageOf(object, cluster);
  for (Counted& counted : here->second) {
    if (!Counts(counted, object)) continue;
    for (const std::string& name : NamesOf(counted, object)) {
      counted.used[name] = AmountOf(counted.used, name) - AmountOf(usage, name);
    }
  }
}

void Quotas::WriteStatus(std::vector<api::Object>& objects) const {
  for (api::Object& object : objects) {
    if (object.As<api::ResourceQuota>() == nullptr) continue;
    const auto here = quotas_.find(object.metadata().namespace_);
    if (here == quotas_.end()) continue;
    for (const Counted& counted : here->second) {
      if (counted.quota.metadata().name != object.metadata().name) continue;
      api::ResourceQuotaStatus& status = object.Mutable<api::ResourceQuota>()->status;
      status.hard = counted.hard;
      for (const auto& [name, limit] : counted.hard) {
        status.used[name] = AmountOf(counted.used, name);
      }
    }
  }
}

}  // namespace dray::planner::internal
