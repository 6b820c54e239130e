// SPDX-License-Identifier: Apache-2.0
//
// What namespaces have, and wait for.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "api/namespace.h"
#include "api/pod.h"
#include "api/resource_quota.h"
#include "fleet/fleet_json.h"
#include "fleet/internal/request_view.h"

namespace dray::fleet {

std::string NamespacesJson(const Fleet& fleet) {
  struct ClassPart {
    std::int64_t devices = 0;
    std::int64_t pending = 0;
    std::string quota;
    std::string hard;
    std::string used;
  };
  struct Part {
    std::size_t claims = 0;
    std::size_t pods = 0;
    std::size_t pending = 0;
    std::map<std::string, ClassPart> classes;
  };
  std::map<std::string, Part> parts;
  for (const auto& [name, object] : fleet.namespaces()) parts[name];
  for (const auto& [key, claim] : fleet.claims()) {
    if (!claim.object || key.first == kHidden) continue;
    Part& part = parts[key.first];
    ++part.claims;
    const auto& stored = *claim.object->As<api::ResourceClaim>();
    if (stored.status.allocation.has_value()) {
      for (const auto& result : stored.status.allocation->devices.results) {
        if (result.admin_access.value_or(false)) continue;
        const auto request = internal::FindRequest(stored.spec, result.request);
        if (request) ++part.classes[*request->device_class].devices;
      }
      continue;
    }
    for (const api::DeviceRequest& request : stored.spec.devices.requests) {
      if (request.exactly.has_value()) {
        part.classes[request.exactly->device_class_name].pending +=
            std::max<std::int64_t>(request.exactly->count, 1);
      } else if (!request.first_available.empty()) {
        part.classes[request.first_available.front().device_class_name].pending +=
            std::max<std::int64_t>(request.first_available.front().count, 1);
      }
    }
  }
  for (const auto& [key, pod] : fleet.pods()) {
    if (!pod.object) continue;
    const auto& stored = *pod.object->As<api::Pod>();
    if (stored.status.phase == "Succeeded" || stored.status.phase == "Failed") continue;
    ++parts[key.first].pods;
    if (pod.pending) ++parts[key.first].pending;
  }
  constexpr std::string_view kSuffix = ".deviceclass.resource.k8s.io/devices";
  for (const auto& [key, object] : fleet.quotas()) {
    const auto& quota = *object.As<api::ResourceQuota>();
    for (const auto& [resource, hard] : quota.spec.hard) {
      std::string_view name = resource;
      if (!name.ends_with(kSuffix)) continue;
      name.remove_suffix(kSuffix.size());
      ClassPart& part = parts[key.first].classes[std::string(name)];
      part.quota = key.second;
      part.hard = hard.ToString();
      const base::Quantity* used = quota.status.used.Find(resource);
      part.used = used == nullptr ? "0" : used->ToString();
    }
  }
  const auto number = [](const std::string& amount) {
    base::Quantity quantity;
    if (!base::Quantity::TryParse(amount, &quantity)) return 0.0;
    const auto exact = quantity.ExactInt64();
    return exact ? static_cast<double>(*exact) : 0.0;
  };
  JsonOut out;
  out.BeginMap().Count("rev", fleet.revision()).List("namespaces");
  for (const auto& [name, part] : parts) {
    out.BeginMap().Text("name", name).Count("claims", part.claims).Count("pods", part.pods);
    out.Count("pending", part.pending).List("classes");
    for (const auto& [class_name, use] : part.classes) {
      out.BeginMap().Text("name", class_name).Count("devices", use.devices);
      out.Count("pending", use.pending);
      if (!use.quota.empty()) {
        out.Map("quota").Text("name", use.quota).Key("hard").Real(number(use.hard));
        out.Key("used").Real(number(use.used)).EndMap();
      }
      out.EndMap();
    }
    out.EndList().EndMap();
  }
  out.EndList().EndMap();
  return out.Take();
}

}  // namespace dray::fleet
