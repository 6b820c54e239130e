// SPDX-License-Identifier: Apache-2.0
#include "rbac/pod_references.h"

#include <string_view>
#include <utility>
#include <vector>

#include "api/document.h"
#include "api/json.h"
#include "api/pod_claims.h"

namespace dray::rbac {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";

void Insert(std::set<std::string, std::less<>>& names, std::string_view name) {
  if (!name.empty()) names.emplace(name);
}

template <typename Container>
void AddEnvironment(const Container& container, PodReferences& to) {
  for (const api::EnvVar& variable : container.env) {
    if (!variable.value_from) continue;
    if (const auto& ref = variable.value_from->secret_key_ref) Insert(to.secrets, ref->name);
    if (const auto& ref = variable.value_from->config_map_key_ref) {
      Insert(to.config_maps, ref->name);
    }
  }
  for (const api::EnvFromSource& source : container.env_from) {
    if (source.secret_ref) Insert(to.secrets, source.secret_ref->name);
    if (source.config_map_ref) Insert(to.config_maps, source.config_map_ref->name);
  }
}

const api::DocumentNode* At(const api::DocumentNode& node, std::string_view key) {
  const api::Member* member = node.Find(key);
  return member == nullptr ? nullptr : &member->value;
}
std::string_view TextAt(const api::DocumentNode& node, std::string_view key) {
  const api::DocumentNode* value = At(node, key);
  return value != nullptr && value->kind == api::DocumentNode::Kind::kString
             ? std::string_view(value->text)
             : std::string_view();
}

// Sources of volumes that are plain JSON to dray, by the name of the field that names a secret.
constexpr std::pair<std::string_view, std::string_view> kSecretRefs[] = {
    {"cephfs", "secretRef"},     {"csi", "nodePublishSecretRef"},
    {"flexVolume", "secretRef"}, {"iscsi", "secretRef"},
    {"rbd", "secretRef"},        {"scaleIO", "secretRef"},
    {"storageos", "secretRef"},
};

// Volumes are looked at as they are written, so that it does not matter which of their sources are
// structs and which are not.
void AddVolume(const api::Volume& volume, std::string_view pod, PodReferences& to) {
  if (volume.secret) Insert(to.secrets, volume.secret->secret_name);
  if (volume.config_map) Insert(to.config_maps, volume.config_map->name);
  if (volume.persistent_volume_claim) {
    Insert(to.volume_claims, volume.persistent_volume_claim->claim_name);
  }
  if (volume.ephemeral) to.volume_claims.insert(std::string(pod) + "-" + volume.name);
  if (volume.secret || volume.config_map || volume.persistent_volume_claim || volume.host_path ||
      volume.empty_dir) {
    return;
  }
  std::vector<api::Diagnostic> diagnostics;
  const api::DocumentNode tree = api::ParseJson(api::EncodeJson(volume), diagnostics);
  if (const api::DocumentNode* projected = At(tree, "projected")) {
    const api::DocumentNode* sources = At(*projected, "sources");
    static const std::vector<api::DocumentNode> kNone;
    for (const api::DocumentNode& source : sources == nullptr ? kNone : sources->items) {
      if (const auto* secret = At(source, "secret")) Insert(to.secrets, TextAt(*secret, "name"));
      if (const auto* map = At(source, "configMap")) Insert(to.config_maps, TextAt(*map, "name"));
      if (const auto* token = At(source, "serviceAccountToken")) {
        to.audiences.emplace(TextAt(*token, "audience"));
      }
    }
  }
  if (const api::DocumentNode* csi = At(tree, "csi"))
    Insert(to.csi_drivers, TextAt(*csi, "driver"));
  if (const api::DocumentNode* azure = At(tree, "azureFile")) {
    Insert(to.secrets, TextAt(*azure, "secretName"));
  }
  for (const auto& [source, field] : kSecretRefs) {
    const api::DocumentNode* node = At(tree, source);
    const api::DocumentNode* ref = node == nullptr ? nullptr : At(*node, field);
    if (ref != nullptr) Insert(to.secrets, TextAt(*ref, "name"));
  }
}

}  // namespace

PodReferences ReferencesOf(const api::Pod& pod) {
  PodReferences all;
  if (pod.metadata.annotations.Find(kMirror) != nullptr) return all;
  const api::PodSpec& spec = pod.spec;
  Insert(all.service_accounts, spec.service_account_name);
  for (const api::LocalObjectReference& ref : spec.image_pull_secrets) {
    Insert(all.secrets, ref.name);
  }
  for (const api::Container& container : spec.init_containers) AddEnvironment(container, all);
  for (const api::Container& container : spec.containers) AddEnvironment(container, all);
  for (const auto& container : spec.ephemeral_containers) AddEnvironment(container.common, all);
  for (const api::Volume& volume : spec.volumes) AddVolume(volume, pod.metadata.name, all);
  const api::ClaimsOfPod claims(pod);
  for (const api::PodResourceClaim& entry : spec.resource_claims) {
    if (const auto name = claims.NameOf(entry)) Insert(all.resource_claims, *name);
  }
  if (pod.status.extended_resource_claim_status) {
    Insert(all.resource_claims, pod.status.extended_resource_claim_status->resource_claim_name);
  }
  return all;
}

}  // namespace dray::rbac
