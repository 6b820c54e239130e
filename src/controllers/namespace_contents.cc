// SPDX-License-Identifier: Apache-2.0
#include "controllers/namespace_contents.h"

#include <array>
#include <utility>

#include "api/config_map.h"
#include "api/namespace.h"
#include "api/service_account.h"

namespace dray::controllers {
namespace {

constexpr std::string_view kAccount = "default";
constexpr std::string_view kAuthority = "kube-root-ca.crt";
constexpr std::string_view kFile = "ca.crt";
constexpr std::string_view kDescription = "kubernetes.io/description";
constexpr std::string_view kWhatFor =
    "The certificate by which pods know the API server. Made and kept by the control plane.";

std::array<const api::KindInfo*, 3> Kinds() {
  return {&KindOf<api::Namespace>(), &KindOf<api::ServiceAccount>(), &KindOf<api::ConfigMap>()};
}

// A namespace that is going takes nothing new; what is there already is right.
Status Made(const Status& status) {
  const bool settled = status.code() == StatusCode::kAlreadyExists ||
                       status.code() == StatusCode::kNotFound ||
                       status.code() == StatusCode::kPermissionDenied;
  return settled ? Status() : status;
}

}  // namespace

NamespaceContents::NamespaceContents(const Source& source, const base::Clock& clock,
                                     std::string authority)
    : Reconciler(source, clock, Kinds()), authority_(std::move(authority)) {}

void NamespaceContents::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& object = after != nullptr ? *after : *before;
  const api::ObjectMeta& metadata = object.metadata();
  if (object.As<api::Namespace>() != nullptr) {
    if (before == nullptr) queue().Add(ObjectKey::Of<api::Namespace>("", metadata.name));
    return;
  }
  const bool account = object.As<api::ServiceAccount>() != nullptr;
  if (metadata.name != (account ? kAccount : kAuthority)) return;
  if (account && after != nullptr) return;
  queue().Add(ObjectKey::Of<api::Namespace>("", metadata.namespace_));
}

Status NamespaceContents::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr || found->metadata().deletion_timestamp) return {};
  const std::string space = found->metadata().name;
  DRAY_RETURN_IF_ERROR(EnsureAccount(space));
  return authority_.empty() ? Status() : EnsureAuthority(space);
}

Status NamespaceContents::EnsureAccount(const std::string& space) {
  if (view().Find<api::ServiceAccount>(space, kAccount) != nullptr) return {};
  api::ServiceAccount account;
  account.metadata.namespace_ = space;
  account.metadata.name = kAccount;
  return Made(view().Create(api::Object::Of(std::move(account))).status());
}

Status NamespaceContents::EnsureAuthority(const std::string& space) {
  const api::Object* found = view().Find(ObjectKey::Of<api::ConfigMap>(space, kAuthority));
  if (found == nullptr) {
    api::ConfigMap map;
    map.metadata.namespace_ = space;
    map.metadata.name = kAuthority;
    map.metadata.annotations[kDescription] = std::string(kWhatFor);
    map.data[kFile] = authority_;
    return Made(view().Create(api::Object::Of(std::move(map))).status());
  }
  const auto& map = *found->As<api::ConfigMap>();
  const std::string* text = map.data.Find(kFile);
  if (text != nullptr && *text == authority_ && map.data.size() == 1) return {};
  api::Object next = *found;
  auto& data = next.Mutable<api::ConfigMap>()->data;
  data = {};
  data[kFile] = authority_;
  return Made(view().Update(std::move(next)).status());
}

}  // namespace dray::controllers
