// SPDX-License-Identifier: Apache-2.0
#include "console/rights.h"

#include <utility>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "fleet/fleet.h"
#include "fmt/format.h"

namespace dray::console {
namespace {

std::string NameOf(const api::KindInfo& kind) {
  return fmt::format("{}.{}", kind.plural, kind.group);
}

// That devices are in use, and how much of them: nothing of who uses them for what.
api::Object Redacted(const api::ResourceClaim& claim, const std::string& name) {
  api::ResourceClaim shown;
  shown.metadata.namespace_ = fleet::kHidden;
  shown.metadata.name = name;
  shown.metadata.uid = fmt::format("{}/{}", fleet::kHidden, name);
  if (claim.status.allocation.has_value()) {
    auto& results = shown.status.allocation.emplace().devices.results;
    for (const auto& result : claim.status.allocation->devices.results) {
      api::DeviceRequestAllocationResult& out = results.emplace_back();
      out.request = "hidden";
      out.driver = result.driver;
      out.pool = result.pool;
      out.device = result.device;
      out.admin_access = result.admin_access;
      out.share_id = result.share_id;
      out.consumed_capacity = result.consumed_capacity;
      out.compatibility_groups = result.compatibility_groups;
    }
  }
  return api::Object::Of(std::move(shown));
}

}  // namespace

Rights Rights::All() {
  Rights rights;
  rights.all_ = true;
  return rights;
}

Rights Rights::Of(const api::UserInfo& user, const api::Authorizer& authorizer,
                  std::span<const api::KindInfo* const> kinds,
                  const std::vector<std::string>& namespaces) {
  Rights rights;
  bool all = true;
  for (const api::KindInfo* kind : kinds) {
    const auto may = [&](std::string_view namespace_) {
      // What is shown is kept up with.
      for (const char* verb : {"list", "watch"}) {
        const api::AuthorizationRequest asked{.user = user,
                                              .verb = verb,
                                              .api_group = std::string(kind->group),
                                              .resource = std::string(kind->plural),
                                              .namespace_ = std::string(namespace_)};
        if (!authorizer.Authorize(asked).allowed) return false;
      }
      return true;
    };
    Kind entry{.everywhere = may("")};
    if (!entry.everywhere) {
      all = false;
      if (!kind->namespaced) continue;
      for (const std::string& space : namespaces) {
        if (may(space)) entry.namespaces.insert(space);
      }
      if (entry.namespaces.empty()) continue;
    }
    rights.kinds_[NameOf(*kind)] = std::move(entry);
  }
  if (all) return All();
  return rights;
}

bool Rights::Everywhere(const api::KindInfo& kind) const {
  if (all_) return true;
  const auto it = kinds_.find(NameOf(kind));
  return it != kinds_.end() && it->second.everywhere;
}

bool Rights::May(const api::KindInfo& kind, std::string_view namespace_) const {
  if (all_) return true;
  const auto it = kinds_.find(NameOf(kind));
  return it != kinds_.end() &&
         (it->second.everywhere || (kind.namespaced && it->second.namespaces.contains(namespace_)));
}

bool Rights::None(const api::KindInfo& kind) const {
  return !all_ && kinds_.find(NameOf(kind)) == kinds_.end();
}

std::string Rights::Signature() const {
  if (all_) return "*";
  std::string text;
  for (const auto& [name, kind] : kinds_) {
    text += name;
    text += kind.everywhere ? "=*" : "=";
    for (const std::string& space : kind.namespaces) text += space + ",";
    text += ";";
  }
  return text;
}

std::optional<api::Change> Sight::Of(const api::Change& change) {
  const api::KindInfo& kind = change.object.kind();
  const std::string& space = change.object.metadata().namespace_;
  if (rights_.May(kind, space)) return change;
  const auto* claim = change.object.As<api::ResourceClaim>();
  if (claim == nullptr ||
      !rights_.Everywhere(api::HubKind(api::TypeInfoOf<api::ResourceSlice>()))) {
    return std::nullopt;
  }
  const std::string key = fmt::format("{}/{}", space, claim->metadata.name);
  const auto known = names_.find(key);
  const bool gone =
      change.kind == api::Change::Kind::kDeleted || !claim->status.allocation.has_value();
  if (gone) {
    if (known == names_.end()) return std::nullopt;
    api::ResourceClaim nothing;
    api::Change out{api::Change::Kind::kDeleted, Redacted(nothing, known->second)};
    names_.erase(known);
    return out;
  }
  if (known != names_.end()) {
    return api::Change{api::Change::Kind::kUpdated, Redacted(*claim, known->second)};
  }
  const std::string name = fmt::format("claim-{}", next_++);
  names_.emplace(key, name);
  return api::Change{api::Change::Kind::kAdded, Redacted(*claim, name)};
}

}  // namespace dray::console
