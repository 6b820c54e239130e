// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/special_claim.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "fmt/format.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

// A container with its index over init containers and containers.
struct Indexed {
  const api::Container* container = nullptr;
  std::size_t index = 0;
  bool short_lived = false;  // an init container that ends before the next one starts
};

std::vector<Indexed> ContainersOf(const api::PodSpec& spec) {
  std::vector<Indexed> all;
  for (const api::Container& container : spec.init_containers) {
    all.push_back({&container, all.size(), container.restart_policy != api::kRestartPolicyAlways});
  }
  for (const api::Container& container : spec.containers) {
    all.push_back({&container, all.size(), false});
  }
  return all;
}

// How many devices the container wants: see WrongAmount for what cannot be counted.
std::int64_t AmountOf(const api::Container& container, std::string_view resource) {
  const base::Quantity* amount = container.resources.requests.Find(resource);
  if (amount == nullptr) return 0;
  const std::optional<std::int64_t> devices = amount->ExactInt64();
  DRAY_CHECK(devices.has_value() && *devices >= 0, "an amount that no number of devices is");
  return *devices;
}

// Numbered by the place of the resource among all that the container requests, by name.
std::string RequestName(const Indexed& container, std::string_view resource) {
  const auto& requests = container.container->resources.requests;
  std::size_t place = 0;
  while (requests.entry(place).first != resource) ++place;
  return fmt::format("container-{}-request-{}", container.index, place);
}

api::DeviceRequest MakeRequest(std::string name, const std::string& device_class,
                               std::int64_t count) {
  api::DeviceRequest request{.name = std::move(name)};
  api::ExactDeviceRequest& exactly = request.exactly.emplace();
  exactly.device_class_name = device_class;
  exactly.allocation_mode = api::kAllocationModeExactCount;
  exactly.count = count;
  return request;
}

// One resource: requests of containers that stay, and at most one for those that come and go, who
// use what containers after them will have and share the rest.
class ResourcePlanner {
 public:
  ResourcePlanner(const ExtendedResource& resource, std::span<const Indexed> containers)
      : resource_(resource), containers_(containers) {}

  void AddTo(SpecialRequests& out) {
    for (const Indexed& container : containers_) {
      if (!container.short_lived) AddLasting(container);
    }
    for (const Indexed& container : containers_) {
      if (container.short_lived) AddShortLived(container);
    }
    for (auto& mapping : for_short_) {
      if (mapping.request_name.empty()) mapping.request_name = shared_.name;
    }
    if (shared_.exactly.has_value()) out.requests.push_back(std::move(shared_));
    for (auto& [container, request] : lasting_) out.requests.push_back(std::move(request));
    std::ranges::move(for_lasting_, std::back_inserter(out.mappings));
    std::ranges::move(for_short_, std::back_inserter(out.mappings));
  }

 private:
  struct Lasting {
    std::size_t container = 0;
    api::DeviceRequest request;
  };

  api::ContainerExtendedResourceRequest Mapping(const Indexed& container, std::string request) {
    return {.container_name = container.container->name,
            .resource_name = resource_.name,
            .request_name = std::move(request)};
  }

  void AddLasting(const Indexed& container) {
    const std::int64_t amount = AmountOf(*container.container, resource_.name);
    if (amount <= 0) return;
    std::string name = RequestName(container, resource_.name);
    for_lasting_.push_back(Mapping(container, name));
    lasting_.push_back(
        {container.index, MakeRequest(std::move(name), resource_.device_class, amount)});
  }

  void AddShortLived(const Indexed& container) {
    std::int64_t missing = AmountOf(*container.container, resource_.name);
    if (missing <= 0) return;
    for (const Lasting& later : lasting_) {
      if (later.container < container.index) continue;
      for_short_.push_back(Mapping(container, later.request.name));
      missing -= later.request.exactly->count;
      if (missing <= 0) return;
    }
    // The name of the shared request is not known before all have asked: see AddTo.
    for_short_.push_back(Mapping(container, {}));
    if (!shared_.exactly.has_value() || shared_.exactly->count < missing) {
      shared_ =
          MakeRequest(RequestName(container, resource_.name), resource_.device_class, missing);
    }
  }

  const ExtendedResource& resource_;
  std::span<const Indexed> containers_;
  std::vector<Lasting> lasting_;  // by container
  api::DeviceRequest shared_;
  std::vector<api::ContainerExtendedResourceRequest> for_lasting_;
  std::vector<api::ContainerExtendedResourceRequest> for_short_;
};

}  // namespace

std::vector<ExtendedResource> ExtendedResourcesOf(const api::Pod& pod,
                                                  const api::ExtendedResourceIndex& classes) {
  std::vector<ExtendedResource> found;
  bool served = false;
  const auto look_at = [&](const api::Container& container) {
    for (const auto& [name, amount] : container.resources.requests) {
      const std::string_view resource = name.view();
      // Most resources are cpu and memory: no domain, not extended.
      if (resource.find('/') == std::string_view::npos || amount.IsZero()) continue;
      if (std::ranges::find(found, resource, &ExtendedResource::name) != found.end()) continue;
      if (!api::IsDeviceResourceName(resource)) continue;
      const std::string* device_class = classes.FindClass(resource);
      served = served || device_class != nullptr;
      found.push_back({std::string(resource), device_class == nullptr ? "" : *device_class});
    }
  };
  std::ranges::for_each(pod.spec.init_containers, look_at);
  std::ranges::for_each(pod.spec.containers, look_at);
  if (!served) return {};
  std::ranges::sort(found, {}, &ExtendedResource::name);
  return found;
}

std::string WrongAmount(const api::Pod& pod, std::span<const ExtendedResource> resources) {
  for (const Indexed& indexed : ContainersOf(pod.spec)) {
    for (const ExtendedResource& resource : resources) {
      if (resource.device_class.empty()) continue;
      const base::Quantity* amount = indexed.container->resources.requests.Find(resource.name);
      if (amount == nullptr || (amount->Sign() >= 0 && amount->ExactInt64().has_value())) continue;
      return fmt::format(
          "container {} asks for {} of {}, which devices of class {} serve: the amount must be a "
          "whole number",
          indexed.container->name, amount->ToString(), resource.name, resource.device_class);
    }
  }
  return {};
}

SpecialRequests RequestsFor(const api::Pod& pod,
                            std::span<const ExtendedResource* const> resources) {
  SpecialRequests out;
  const std::vector<Indexed> containers = ContainersOf(pod.spec);
  for (const ExtendedResource* resource : resources) {
    ResourcePlanner(*resource, containers).AddTo(out);
  }
  std::ranges::sort(out.requests, {}, &api::DeviceRequest::name);
  for (const api::DeviceRequest& request : out.requests) {
    const std::int64_t room = std::numeric_limits<std::int64_t>::max() - out.devices;
    out.devices += std::min(room, request.exactly->count);
  }
  return out;
}

api::ResourceClaim MakeSpecialClaim(const api::Pod& pod) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = pod.metadata.namespace_;
  claim.metadata.name = kUnstoredClaimName;
  claim.metadata.uid = fmt::format("{}/{}", kUnstoredClaimName, pod.metadata.uid);
  claim.metadata.generate_name = fmt::format("{}-extended-resources-", pod.metadata.name);
  claim.metadata.annotations[api::kExtendedResourceClaimAnnotation] = "true";
  claim.metadata.owner_references.push_back({.api_version = "v1",
                                             .kind = "Pod",
                                             .name = pod.metadata.name,
                                             .uid = pod.metadata.uid,
                                             .controller = true});
  return claim;
}

bool Stored(const api::ResourceClaim& special) {
  return special.metadata.name != kUnstoredClaimName;
}

}  // namespace dray::scheduler
