// SPDX-License-Identifier: Apache-2.0
//
// Quota, enforced: the usage that a write adds is in the same transaction as the write.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/extended_resources.h"
#include "api/pod.h"
#include "api/pod_resources.h"
#include "api/quota.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "fmt/format.h"
#include "registry/admission.h"
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

std::vector<std::string> NamesOf(const Amounts& amounts) {
  std::vector<std::string> names;
  for (const auto& [name, amount] : amounts) names.emplace_back(std::string_view(name));
  return names;
}

// The usage of one object under the names that quotas know.
class Usage {
 public:
  Usage(const Objects& objects, const api::WriteRules& rules, base::Time now)
      : rules_(rules), now_(now), stored_(objects), classes_(ClassesOf(objects)) {}

  Amounts Of(const api::Object& object) const {
    if (const auto* pod = object.As<api::Pod>()) return api::PodQuotaUsage(*pod, now_);
    const api::QuotaContext context{classes_, stored_, rules_.gates, now_};
    return api::ClaimQuotaUsage(*object.As<api::ResourceClaim>(), context);
  }
  // Those of a quota's names that objects of this kind count under.
  std::vector<std::string> Names(const api::Object& object, const Amounts& hard) const {
    const std::vector<std::string> names = NamesOf(hard);
    if (object.As<api::Pod>() != nullptr) return api::PodQuotaNames(names);
    return api::ClaimQuotaNames(names, classes_, rules_.gates);
  }

 private:
  const api::WriteRules& rules_;
  base::Time now_;
  StoredQuotaObjects stored_;
  api::ExtendedResourceIndex classes_;
};

bool IsTerminating(const api::Pod& pod) { return pod.spec.active_deadline_seconds.has_value(); }

bool IsBestEffort(const api::Pod& pod) {
  return std::ranges::all_of(pod.spec.containers, [](const api::Container& container) {
    return container.resources.requests.empty() && container.resources.limits.empty();
  });
}

bool ScopeMatches(const api::Pod& pod, std::string_view scope, std::string_view op,
                  const std::vector<std::string>& values) {
  if (scope == api::kQuotaScopeTerminating) return IsTerminating(pod);
  if (scope == api::kQuotaScopeNotTerminating) return !IsTerminating(pod);
  if (scope == api::kQuotaScopeBestEffort) return IsBestEffort(pod);
  if (scope == api::kQuotaScopeNotBestEffort) return !IsBestEffort(pod);
  if (scope == api::kQuotaScopePriorityClass) {
    const std::string& name = pod.spec.priority_class_name;
    const bool listed = std::ranges::find(values, name) != values.end();
    if (op == "Exists") return !name.empty();
    if (op == "DoesNotExist") return name.empty();
    return op == "NotIn" ? !listed : listed;
  }
  return false;
}

// Scopes are about pods; a quota with scopes does not count claims.
bool Counts(const api::ResourceQuota& quota, const api::Object& object) {
  const api::Pod* pod = object.As<api::Pod>();
  const auto& spec = quota.spec;
  const bool selects =
      spec.scope_selector.has_value() && !spec.scope_selector->match_expressions.empty();
  if (spec.scopes.empty() && !selects) return true;
  if (pod == nullptr) return false;
  for (const std::string& scope : spec.scopes) {
    if (!ScopeMatches(*pod, scope, "Exists", {})) return false;
  }
  if (!selects) return true;
  return std::ranges::all_of(spec.scope_selector->match_expressions, [&](const auto& term) {
    return ScopeMatches(*pod, term.scope_name, term.operator_, term.values);
  });
}

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

Charge ChargeOf(const api::ResourceQuota& quota, const std::vector<std::string>& names,
                const Amounts& after, const Amounts& before) {
  Charge charge{.used = quota.status.used};
  const Amounts hard = api::NormalizeHard(quota.spec.hard);
  for (const std::string& written : names) {
    const std::string name = api::NormalizeQuotaName(written);
    const base::Quantity delta = AmountOf(after, name) - AmountOf(before, name);
    if (delta == base::Quantity()) continue;
    const base::Quantity total = AmountOf(charge.used, name) + delta;
    charge.requested[name] = delta;
    charge.used[name] = total;
    charge.changed = true;
    if (delta > base::Quantity() && total > AmountOf(hard, name)) charge.exceeded.push_back(name);
  }
  return charge;
}

}  // namespace

Status AdmitQuota(const Objects& objects, const api::Object& object, const api::Object* old,
                  const api::WriteRules& rules, base::Time now, store::Transaction& transaction) {
  if (object.As<api::Pod>() == nullptr && object.As<api::ResourceClaim>() == nullptr) return {};
  const api::KindInfo& kind = KindOf<api::ResourceQuota>();
  const auto range = objects.store().Range(PrefixOf(kind, object.metadata().namespace_));
  if (!range.ok() || range->entries.empty()) return {};
  const Usage usage(objects, rules, now);
  const Amounts after = usage.Of(object);
  const Amounts before = old == nullptr ? Amounts{} : usage.Of(*old);
  const store::Store& versions = objects.store();
  for (const store::EntryPtr& shown : range->entries) {
    // Writes that are on their way to the disk have charged it already: building on them, instead
    // of waiting for each, lets many share a disk write. Should they fail, this one fails with
    // them.
    const store::EntryPtr entry = versions.FindSubmitted(shown->key);
    if (entry == nullptr) continue;
    DRAY_ASSIGN_OR_RETURN(const StoredObjectPtr stored, objects.Read(*entry));
    const api::ResourceQuota& quota = *stored->object().As<api::ResourceQuota>();
    if (!Counts(quota, object)) continue;
    const Charge charge = ChargeOf(quota, usage.Names(object, quota.spec.hard), after, before);
    if (!charge.exceeded.empty()) {
      const store::EntryPtr known = versions.Find(shown->key);
      if (known != nullptr && known->modified != entry->modified) {
        // Nobody may be refused because of what is not there yet: tried again when it is.
        transaction.Check(shown->key, known->modified);
        return {};
      }
      return rest::Forbidden(
          object.kind(), object.metadata().name,
          fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                      quota.metadata.name, Shown(charge.exceeded, charge.requested),
                      Shown(charge.exceeded, quota.status.used),
                      Shown(charge.exceeded, api::NormalizeHard(quota.spec.hard))));
    }
    if (!charge.changed) continue;
    api::Object charged = stored->object();
    charged.Mutable<api::ResourceQuota>()->status.used = charge.used;
    Objects::Put(transaction, std::move(charged), entry->modified);
  }
  return {};
}

}  // namespace dray::registry
