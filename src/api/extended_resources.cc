// SPDX-License-Identifier: Apache-2.0
#include "api/extended_resources.h"

#include "base/names.h"

namespace dray::api {

bool IsNativeResource(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

bool IsExtendedResourceName(std::string_view name) {
  if (IsNativeResource(name) || name.starts_with(kRequestsPrefix)) return false;
  return base::IsQualifiedName(std::string(kRequestsPrefix).append(name));
}

bool IsDeviceResourceName(std::string_view name) {
  return name.starts_with(kDeviceClassResourcePrefix) || IsExtendedResourceName(name);
}

std::string ImplicitResourceName(std::string_view class_name) {
  return std::string(kDeviceClassResourcePrefix).append(class_name);
}

const OwnerReference* ExtendedResourcePod(const ResourceClaim& claim) {
  const std::string* annotation = claim.metadata.annotations.Find(kExtendedResourceClaimAnnotation);
  const OwnerReference* owner = FindController(claim.metadata);
  if (annotation == nullptr || owner == nullptr) return nullptr;
  if (owner->kind != "Pod" || owner->api_version != "v1") return nullptr;
  return *annotation == "true" || *annotation == owner->name ? owner : nullptr;
}

const std::string* ExtendedResourceIndex::FindClass(std::string_view resource_name) const {
  if (resource_name.starts_with(kDeviceClassResourcePrefix)) {
    resource_name.remove_prefix(kDeviceClassResourcePrefix.size());
    const auto found = classes_.find(resource_name);
    return found != classes_.end() ? &found->first : nullptr;
  }
  const auto found = candidates_.find(resource_name);
  return found != candidates_.end() ? &found->second.begin()->class_name : nullptr;
}

const std::string* ExtendedResourceIndex::FindExplicitName(std::string_view class_name) const {
  const auto found = classes_.find(class_name);
  if (found == classes_.end() || found->second.explicit_name.empty()) return nullptr;
  return &found->second.explicit_name;
}

void ExtendedResourceIndex::Put(const DeviceClass& device_class) {
  Remove(device_class.metadata.name);
  const Entry entry{device_class.spec.extended_resource_name.value_or(""),
                    device_class.metadata.creation_timestamp};
  if (!entry.explicit_name.empty()) {
    candidates_[entry.explicit_name].insert({entry.created, device_class.metadata.name});
  }
  classes_.emplace(device_class.metadata.name, entry);
}

void ExtendedResourceIndex::Remove(const std::string& class_name) {
  const auto found = classes_.find(class_name);
  if (found == classes_.end()) return;
  const Entry& entry = found->second;
  if (const auto named = candidates_.find(entry.explicit_name); named != candidates_.end()) {
    named->second.erase({entry.created, class_name});
    if (named->second.empty()) candidates_.erase(named);
  }
  classes_.erase(found);
}

}  // namespace dray::api
