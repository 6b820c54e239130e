// SPDX-License-Identifier: Apache-2.0
//
// The service account of a new pod, and the volume with its token.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "api/pod.h"
#include "api/service_account.h"
#include "api/write_rules.h"
#include "base/check.h"
#include "fmt/format.h"
#include "registry/admission.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kVolume = "kube-api-access-";
constexpr std::string_view kFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
// As Kubernetes: whoever reads an hour's token sees a number that nobody would choose.
constexpr std::string_view kSource =
    R"({"name":"","projected":{"defaultMode":420,"sources":[{"serviceAccountToken":)"
    R"({"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt",)"
    R"("items":[{"key":"ca.crt","path":"ca.crt"}]}},{"downwardAPI":{"items":[{"path":)"
    R"("namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}]}})";

// Read once: every pod has one.
api::Volume VolumeNamed(const std::string& name) {
  static const api::Volume model = [] {
    api::JsonDecoder decoder;
    auto volume = decoder.Decode<api::Volume>(kSource);
    DRAY_CHECK(volume.ok(), "the volume of a service account's token cannot be read");
    return *std::move(volume);
  }();
  api::Volume volume = model;
  volume.name = name;
  return volume;
}

bool HasMount(const api::Container& container) {
  return std::ranges::any_of(container.volume_mounts, [](const api::VolumeMount& mount) {
    return mount.mount_path == kFolder;
  });
}

void MountToken(api::PodSpec& spec, base::RandomSource& random) {
  const auto there = std::ranges::find_if(
      spec.volumes, [](const api::Volume& volume) { return volume.name.starts_with(kVolume); });
  std::string name =
      there == spec.volumes.end() ? api::CompletedName(kVolume, random) : there->name;
  const bool made = there == spec.volumes.end();
  bool needed = false;
  for (auto* containers : {&spec.init_containers, &spec.containers}) {
    for (api::Container& container : *containers) {
      if (HasMount(container)) continue;
      api::VolumeMount& mount = container.volume_mounts.emplace_back();
      mount.name = name;
      mount.read_only = true;
      mount.mount_path = kFolder;
      needed = true;
    }
  }
  if (made && needed) spec.volumes.push_back(VolumeNamed(name));
}

}  // namespace

Status AdmitServiceAccount(const Objects& objects, api::Object& object,
                           base::RandomSource& random) {
  const api::Pod* pod = object.As<api::Pod>();
  if (pod == nullptr || pod->metadata.annotations.Find(kMirror) != nullptr) return {};
  const std::string name =
      pod->spec.service_account_name.empty() ? "default" : pod->spec.service_account_name;
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::ServiceAccount>());
  const std::string& space = pod->metadata.namespace_;
  DRAY_ASSIGN_OR_RETURN(const auto found, objects.Find(kind, space, name));
  // The account that every namespace has is made soon after it; until then it is as if it were there.
  if (!found && name != "default") {
    return rest::Forbidden(object.kind(), pod->metadata.name,
                           fmt::format("error looking up service account {}/{}: serviceaccount "
                                       "\"{}\" not found",
                                       space, name, name));
  }
  const auto* account = found ? found->object().As<api::ServiceAccount>() : nullptr;
  api::PodSpec& spec = object.Mutable<api::Pod>()->spec;
  spec.service_account_name = name;
  spec.service_account = name;
  const std::optional<bool> by_account =
      account == nullptr ? std::nullopt : account->automount_service_account_token;
  if (spec.automount_service_account_token.value_or(by_account.value_or(true))) {
    MountToken(spec, random);
  }
  if (spec.image_pull_secrets.empty() && account != nullptr) {
    spec.image_pull_secrets = account->image_pull_secrets;
  }
  return {};
}

}  // namespace dray::registry
