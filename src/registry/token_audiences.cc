// SPDX-License-Identifier: Apache-2.0
#include "registry/internal/token_audiences.h"

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/field_view.h"
#include "fmt/format.h"
#include "rbac/pod_references.h"
#include "rest/api_error.h"
#include "rest/tree.h"

namespace dray::registry::internal {
namespace {

using Names = std::set<std::string, std::less<>>;

// A text of a stored object; empty: there is no such object, or it does not say. As it is written: not
// all of a volume is a struct here.
StatusOr<std::string> TextOf(const Objects& objects, const api::KindInfo& kind,
                             std::string_view space, std::string_view name,
                             std::initializer_list<std::string_view> path) {
  DRAY_ASSIGN_OR_RETURN(const auto found, objects.Find(kind, space, name));
  if (!found) return std::string();
  DRAY_ASSIGN_OR_RETURN(const rest::DocumentNode tree, rest::ReadTree(found->object().ToJson()));
  const rest::DocumentNode* at = &tree;
  for (const std::string_view field : path) {
    at = rest::IsMap(*at) ? rest::FindIn(*at, field) : nullptr;
    if (at == nullptr) return std::string();
  }
  return rest::IsString(*at) ? at->text : std::string();
}

// Those of volumes that were claimed, besides those that the pod names itself.
StatusOr<Names> DriversOf(const Objects& objects, const rbac::PodReferences& pod,
                          std::string_view space) {
  Names drivers = pod.csi_drivers;
  for (const std::string& claim : pod.volume_claims) {
    DRAY_ASSIGN_OR_RETURN(const std::string volume,
                          TextOf(objects, *api::FindKind("v1", "PersistentVolumeClaim"), space,
                                 claim, {"spec", "volumeName"}));
    if (volume.empty()) continue;
    DRAY_ASSIGN_OR_RETURN(std::string driver,
                          TextOf(objects, *api::FindKind("v1", "PersistentVolume"), "", volume,
                                 {"spec", "csi", "driver"}));
    if (!driver.empty()) drivers.insert(std::move(driver));
  }
  return drivers;
}

StatusOr<bool> DriverWants(const Objects& objects, std::string_view driver,
                           std::string_view audience) {
  DRAY_ASSIGN_OR_RETURN(const auto found,
                        objects.Find(*api::FindKind("storage.k8s.io/v1", "CSIDriver"), "", driver));
  if (!found) return false;
  const api::FieldView wishes = api::FieldView::Of(found->object())["spec"]["tokenRequests"];
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (wishes.item(i)["audience"].text() == audience) return true;
  }
  return false;
}

}  // namespace

Status CheckAudiences(const Objects& objects, const TokenWish& wish, const api::Object& account,
                      const api::Pod& pod) {
  if (wish.audiences.size() > 1) {
    return rest::Forbidden(account.kind(), wish.account, "node may only request 0 or 1 audiences");
  }
  const std::string_view audience =
      wish.audiences.empty() ? std::string_view() : std::string_view(wish.audiences[0]);
  const rbac::PodReferences references = rbac::ReferencesOf(pod);
  if (references.audiences.contains(audience)) return {};
  DRAY_ASSIGN_OR_RETURN(const Names drivers, DriversOf(objects, references, wish.namespace_));
  for (const std::string& driver : drivers) {
    DRAY_ASSIGN_OR_RETURN(const bool wants, DriverWants(objects, driver, audience));
    if (wants) return {};
  }
  if (wish.may_ask_for && wish.may_ask_for(audience)) return {};
  return rest::Forbidden(
      account.kind(), wish.account,
      fmt::format("audience \"{}\" not found in pod spec volume, node \"{}\" is not authorized to "
                  "request tokens for this audience",
                  audience, wish.node));
}

}  // namespace dray::registry::internal
