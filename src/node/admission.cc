// SPDX-License-Identifier: Apache-2.0
#include "node/admission.h"

#include <algorithm>
#include <cstdint>

#include "api/extended_resources.h"
#include "api/node.h"
#include "api/pod_resources.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

bool ServedByClaim(const api::Pod& pod, std::string_view container, std::string_view resource) {
  const auto& extended = pod.status.extended_resource_claim_status;
  return extended && std::ranges::any_of(extended->request_mappings, [&](const auto& mapping) {
           return mapping.container_name == container && mapping.resource_name == resource;
         });
}

}  // namespace

api::Map<base::Quantity> RequestsOnNode(const api::Pod& pod,
                                        const api::Map<base::Quantity>& allocatable) {
  api::Pod reduced;
  reduced.spec = pod.spec;
  for (auto* list : {&reduced.spec.containers, &reduced.spec.init_containers}) {
    for (api::Container& container : *list) {
      std::vector<std::string> gone;
      for (const auto& [name, amount] : container.resources.requests) {
        const bool extended = api::IsExtendedResourceName(name.view());
        const bool device = extended || name.view().starts_with(api::kDeviceClassResourcePrefix);
        if ((device && ServedByClaim(pod, container.name, name.view())) ||
            (extended && !allocatable.contains(name.view()))) {
          gone.emplace_back(name.view());
        }
      }
      for (const std::string& name : gone) container.resources.requests.erase(name);
    }
  }
  return api::PodRequests(reduced);
}

std::optional<Rejection> Admit(const api::Pod& pod, const api::Map<base::Quantity>& allocatable,
                               const api::Map<base::Quantity>& used, std::int64_t pods) {
  const auto out_of = [](std::string_view resource, const std::string& requested,
                         const std::string& in_use, const std::string& capacity) {
    return Rejection{
        .reason = fmt::format("OutOf{}", resource),
        .message = fmt::format(
            "Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}", resource,
            requested, in_use, capacity)};
  };
  const base::Quantity* most = allocatable.Find(api::kResourcePods);
  if (most != nullptr && pods + 1 > most->Value()) {
    return out_of(api::kResourcePods, "1", fmt::to_string(pods), fmt::to_string(most->Value()));
  }
  const api::Map<base::Quantity> asked = RequestsOnNode(pod, allocatable);
  for (const auto& [name, amount] : asked) {
    if (amount.Sign() <= 0) continue;
    const base::Quantity* has = allocatable.Find(name.view());
    const base::Quantity capacity = has != nullptr ? *has : base::Quantity();
    const base::Quantity* taken = used.Find(name.view());
    const base::Quantity in_use = taken != nullptr ? *taken : base::Quantity();
    if (in_use + amount <= capacity) continue;
    // CPUs are counted in thousandths, as the kubelet does.
    const auto shown = [&name = name](const base::Quantity& value) {
      return fmt::to_string(name.view() == api::kResourceCpu ? value.MilliValue() : value.Value());
    };
    return out_of(name.view(), shown(amount), shown(in_use), shown(capacity));
  }
  return std::nullopt;
}

}  // namespace dray::node
