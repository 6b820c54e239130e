// SPDX-License-Identifier: Apache-2.0
//
// Quota, enforced: the usage that a write adds is in the same transaction as the write.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/extended_resources.h"
#include "api/pod.h"
#include "api/pod_resources.h"
#include "api/quota_scopes.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "fmt/format.h"
#include "registry/admission.h"
#include "registry/custom_kinds.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

using Amounts = api::Map<base::Quantity>;

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

// Pods and claims as quota computations look for them. Keeps what it has handed out alive.
class StoredQuotaObjects final : public api::QuotaObjects {
 public:
  explicit StoredQuotaObjects(const Objects& objects) : objects_(objects) {}
  const Objects& objects() const { return objects_; }

  const api::Pod* FindPod(std::string_view namespace_, std::string_view name) const override {
    const auto found = objects_.Find(KindOf<api::Pod>(), namespace_, name);
    if (!found.ok() || !found->has_value()) return nullptr;
    kept_.push_back((*found)->stored);
    return (*found)->object().As<api::Pod>();
  }

  std::vector<const api::ResourceClaim*> ExtendedResourceClaimsOf(
      std::string_view namespace_, std::string_view pod_uid) const override {
    std::vector<const api::ResourceClaim*> claims;
    for (StoredObjectPtr& stored : objects_.Readable(KindOf<api::ResourceClaim>(), namespace_)) {
      const auto* claim = stored->object().As<api::ResourceClaim>();
      const api::OwnerReference* owner = api::FindController(claim->metadata);
      if (owner == nullptr || owner->uid != pod_uid) continue;
      claims.push_back(claim);
      kept_.push_back(std::move(stored));
    }
    return claims;
  }

 private:
  const Objects& objects_;
  mutable std::vector<StoredObjectPtr> kept_;
};

api::ExtendedResourceIndex ClassesOf(const Objects& objects) {
  api::ExtendedResourceIndex index;
  for (const StoredObjectPtr& stored : objects.Readable(KindOf<api::DeviceClass>())) {
    index.OnAdd(*stored->object().As<api::DeviceClass>());
  }
  return index;
}

// What objects take, as far as it is known at this moment.
class Usage {
 public:
  Usage(const Objects& objects, const api::WriteRules& rules, base::Time now)
      : rules_(rules), now_(now), stored_(objects) {}

  Amounts Of(const api::Object& object) {
    // Only claims are counted under names that classes give.
    if (object.As<api::ResourceClaim>() != nullptr && !classes_) {
      classes_ = ClassesOf(stored_.objects());
    }
    static const api::ExtendedResourceIndex kNone;
    return api::QuotaUsage(object, {classes_ ? *classes_ : kNone, stored_, rules_.gates, now_});
  }

 private:
  const api::WriteRules& rules_;
  base::Time now_;
  StoredQuotaObjects stored_;
  std::optional<api::ExtendedResourceIndex> classes_;
};

base::Quantity AmountOf(const Amounts& amounts, std::string_view name) {
  const base::Quantity* amount = amounts.Find(name);
  return amount == nullptr ? base::Quantity() : *amount;
}

// "a=1,b=2" of these names.
std::string Shown(const std::vector<std::string>& names, const Amounts& amounts) {
  std::string text;
  for (const std::string& name : names) {
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ",", name, AmountOf(amounts, name).ToString());
  }
  return text;
}

// What the write adds to a quota's usage. The change of nothing is none.
struct Charge {
  Amounts used;
  Amounts requested;
  bool changed = false;
  std::vector<std::string> exceeded;
};

Charge ChargeOf(const api::ResourceQuota& quota, const Amounts& after, const Amounts& before) {
  Charge charge{.used = quota.status.used};
  for (const auto& [key, limit] : api::NormalizeHard(quota.spec.hard)) {
    const std::string name(key);
    const base::Quantity delta = AmountOf(after, name) - AmountOf(before, name);
    if (delta == base::Quantity()) continue;
    const base::Quantity total = AmountOf(charge.used, name) + delta;
    charge.requested[name] = delta;
    charge.used[name] = total;
    charge.changed = true;
    if (delta > base::Quantity() && total > limit) charge.exceeded.push_back(name);
  }
  return charge;
}

// Where others write to the store, a quota may be there that is not shown yet. Who makes one leaves a mark
// for its namespace, and what is made there is only made if no mark was left that was not seen. Beside
// what the API shows: no client can read or write it.
void CheckNoneIsMissed(const store::Store& store, const api::Object& object, const api::Object* old,
                       store::Transaction& transaction) {
  if (store.early() != nullptr || old != nullptr) return;
  const bool quota = object.As<api::ResourceQuota>() != nullptr;
  if (!quota && !api::IsCounted(object.kind())) return;
  std::string key = fmt::format("/dray/quotas/{}", object.metadata().namespace_);
  const store::EntryPtr mark = store.Find(key);
  const store::Revision seen = mark == nullptr ? store::Revision() : mark->modified;
  if (quota) {
    transaction.Put(std::move(key), object.metadata().name, seen);
  } else {
    transaction.Check(std::move(key), seen);
  }
}

// The kinds of which something may take part of what a quota limits.
std::vector<const api::KindInfo*> KindsOf(const Objects& objects, const Amounts& hard) {
  std::vector<const api::KindInfo*> kinds;
  std::set<const api::TypeInfo*> seen;
  const auto add = [&](const api::KindInfo& kind) {
    if (!api::IsCounted(kind) || !api::QuotaIsAbout(hard, kind)) return;
    if (seen.insert(kind.hub).second) kinds.push_back(&kind);
  };
  for (const api::KindInfo& kind : api::Kinds()) add(api::HubKind(*kind.hub));
  for (const auto& [place, resource] : objects.custom()->by_place) add(*resource->hub);
  return kinds;
}

// What takes part of a quota in its namespace, added up.
Amounts Counted(const Objects& objects, const api::ResourceQuota& quota,
                const api::WriteRules& rules, base::Time now) {
  Usage usage(objects, rules, now);
  Amounts total;
  for (const api::KindInfo* kind : KindsOf(objects, api::NormalizeHard(quota.spec.hard))) {
    for (const StoredObjectPtr& stored : objects.Readable(*kind, quota.metadata.namespace_)) {
      if (!api::QuotaCounts(quota.spec, stored->object())) continue;
      api::AddResources(total, usage.Of(stored->object()));
    }
  }
  return total;
}

}  // namespace

Status CheckRecount(const Objects& objects, const api::Object& object, const api::Object& old,
                    const api::WriteRules& rules, base::Time now) {
  const auto* next = object.As<api::ResourceQuota>();
  if (next == nullptr) return {};
  const Amounts& before = old.As<api::ResourceQuota>()->status.used;
  const Amounts& used = next->status.used;
  const auto lower = [&](const auto& name) {
    return AmountOf(used, name) < AmountOf(before, name);
  };
  if (std::ranges::none_of(before, [&](const auto& item) { return lower(item.first); })) return {};
  const Amounts counted = Counted(objects, *next, rules, now);
  for (const auto& [name, amount] : before) {
    if (!lower(name) || !(AmountOf(used, name) < AmountOf(counted, name))) continue;
    return rest::Conflict(object.kind(), object.metadata().name,
                          fmt::format("status.used has {} {}, and there are {}: it was counted "
                                      "before all of them were seen; count again",
                                      AmountOf(used, name).ToString(), std::string_view(name),
                                      AmountOf(counted, name).ToString()));
  }
  return {};
}

void CountForLimits(const Objects& objects, api::Object& object, const api::Object* old,
                    const api::WriteRules& rules, base::Time now) {
  const auto* quota = object.As<api::ResourceQuota>();
  if (quota == nullptr) return;
  const auto* before = old == nullptr ? nullptr : old->As<api::ResourceQuota>();
  const bool all = before == nullptr || before->spec.scopes != quota->spec.scopes ||
                   before->spec.scope_selector != quota->spec.scope_selector;
  const Amounts hard = api::NormalizeHard(quota->spec.hard);
  const Amounts was = all ? Amounts() : api::NormalizeHard(before->spec.hard);
  const auto limited = [&](const auto& item) { return was.contains(item.first); };
  if (std::ranges::all_of(hard, limited)) return;
  const Amounts counted = Counted(objects, *quota, rules, now);
  Amounts& used = object.Mutable<api::ResourceQuota>()->status.used;
  for (const auto& [name, limit] : hard) {
    if (was.contains(name)) continue;
    const base::Quantity* amount = counted.Find(name);
    if (amount != nullptr || used.contains(name)) used[name] = AmountOf(counted, name);
  }
}

bool HasQuotas(const Objects& objects, std::string_view namespace_) {
  const auto range =
      objects.store().Range(PrefixOf(KindOf<api::ResourceQuota>(), namespace_), {.limit = 1});
  return !range.ok() || !range->entries.empty();
}

Status AdmitQuota(const Objects& objects, const api::Object& object, const api::Object* old,
                  const api::WriteRules& rules, base::Time now, store::Transaction& transaction) {
  CheckNoneIsMissed(objects.store(), object, old, transaction);
  if (!api::IsCounted(object.kind())) return {};
  const api::KindInfo& kind = KindOf<api::ResourceQuota>();
  const auto range = objects.store().Range(PrefixOf(kind, object.metadata().namespace_));
  // Limits that cannot be read are not none.
  if (!range.ok()) return range.status();
  if (range->entries.empty()) return {};
  Usage usage(objects, rules, now);
  const Amounts after = usage.Of(object);
  const Amounts before = old == nullptr ? Amounts{} : usage.Of(*old);
  const store::Store& versions = objects.store();
  // False: nothing was charged, because this version has no room for it.
  const auto charge_to = [&](const store::Entry& entry, bool refuse) -> StatusOr<bool> {
    DRAY_ASSIGN_OR_RETURN(const StoredObjectPtr stored, objects.Read(entry));
    const api::ResourceQuota& quota = *stored->object().As<api::ResourceQuota>();
    // What leaves the quota is for the controller to take off.
    if (!api::QuotaCounts(quota.spec, object)) return true;
    const bool counted = old != nullptr && api::QuotaCounts(quota.spec, *old);
    if (const auto* pod = object.As<api::Pod>(); pod != nullptr && !counted) {
      const std::string missing = api::MissingForQuota(*pod, quota.spec.hard);
      if (!missing.empty()) {
        return rest::Forbidden(object.kind(), object.metadata().name,
                               fmt::format("failed quota: {}: {}", quota.metadata.name, missing));
      }
    }
    const Charge charge = ChargeOf(quota, after, counted ? before : Amounts{});
    if (!charge.exceeded.empty()) {
      if (!refuse) return false;
      return rest::Forbidden(
          object.kind(), object.metadata().name,
          fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                      quota.metadata.name, Shown(charge.exceeded, charge.requested),
                      Shown(charge.exceeded, quota.status.used),
                      Shown(charge.exceeded, api::NormalizeHard(quota.spec.hard))));
    }
    if (!charge.changed) return true;
    api::Object charged = stored->object();
    charged.Mutable<api::ResourceQuota>()->status.used = charge.used;
    Objects::Put(transaction, std::move(charged), entry.modified);
    return true;
  };
  for (const store::EntryPtr& shown : range->entries) {
    // Writes that are on their way have charged it already: building on them, instead of waiting for
    // each, lets many share a disk write, or a request to a store that others write to. Should they
    // fail, this one fails with them, or is tried again.
    const store::EntryPtr entry = versions.FindPending(shown->key);
    if (entry == nullptr) continue;
    const store::EntryPtr known = versions.Find(shown->key);
    const bool there = known == nullptr || known->modified == entry->modified;
    DRAY_ASSIGN_OR_RETURN(const bool charged, charge_to(*entry, /*refuse=*/there));
    // Nobody may be refused because of what is not there yet. What is there is charged: that is a
    // conflict, and tried again, unless what was on its way is never done.
    if (!charged) DRAY_RETURN_IF_ERROR(charge_to(*known, /*refuse=*/true).status());
  }
  return {};
}

}  // namespace dray::registry
