// SPDX-License-Identifier: Apache-2.0
#include "simulator/typical_request.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/extended_resources.h"
#include "api/pod.h"
#include "api/resource_claim.h"

namespace dray::simulator {
namespace {

// Enough to see every shape of a workload whose pods differ by their index.
constexpr std::int64_t kPodsLookedAt = 64;

// "namespace/name" of claims and templates.
struct Catalogue {
  explicit Catalogue(const std::vector<api::Object>& objects) {
    for (const api::Object& object : objects) {
      const api::ObjectMeta& metadata = object.metadata();
      const std::string space = metadata.namespace_.empty() ? "default" : metadata.namespace_;
      const std::string key = space + "/" + metadata.name;
      if (const auto* made_from = object.As<api::ResourceClaimTemplate>()) {
        templates[key] = &made_from->spec.spec;
      } else if (const auto* claim = object.As<api::ResourceClaim>()) {
        claims[key] = &claim->spec;
      } else if (const auto* device_class = object.As<api::DeviceClass>()) {
        extended.OnAdd(*device_class);
      }
    }
  }
  std::map<std::string, const api::ResourceClaimSpec*> templates;
  std::map<std::string, const api::ResourceClaimSpec*> claims;
  api::ExtendedResourceIndex extended;
};

using Asked = std::map<std::string, RequestShape>;  // by class

void Add(Asked& asked, const std::string& device_class, std::int64_t count,
         const api::Box<api::CapacityRequirements>& capacity) {
  const auto [found, added] = asked.try_emplace(device_class);
  RequestShape& request = found->second;
  request.count = added ? count : request.count + count;
  if (capacity) request.capacity = capacity->requests;
}

template <typename T>
void AddRequest(Asked& asked, const T& request) {
  if (request.allocation_mode == api::kAllocationModeAll) return;
  Add(asked, request.device_class_name, std::max<std::int64_t>(request.count, 1), request.capacity);
}

void AddClaim(Asked& asked, const api::ResourceClaimSpec& claim) {
  for (const api::DeviceRequest& request : claim.devices.requests) {
    if (!request.first_available.empty()) AddRequest(asked, request.first_available.front());
    if (request.exactly && !request.exactly->admin_access.value_or(false)) {
      AddRequest(asked, *request.exactly);
    }
  }
}

Asked AskedBy(const api::Pod& pod, const Catalogue& catalogue) {
  Asked asked;
  const std::string space = pod.metadata.namespace_ + "/";
  for (const api::PodResourceClaim& claim : pod.spec.resource_claims) {
    const bool by_name = claim.resource_claim_name.has_value();
    const auto& known = by_name ? catalogue.claims : catalogue.templates;
    const auto found =
        known.find(space + (by_name ? *claim.resource_claim_name
                                    : claim.resource_claim_template_name.value_or("")));
    if (found != known.end()) AddClaim(asked, *found->second);
  }
  for (const api::Container& container : pod.spec.containers) {
    // Of an extended resource limit and request are the same; either may be left out.
    api::Map<base::Quantity> amounts = container.resources.limits;
    for (const auto& [name, amount] : container.resources.requests) amounts[name.view()] = amount;
    for (const auto& [name, amount] : amounts) {
      const std::string* device_class = catalogue.extended.FindClass(name.view());
      if (device_class != nullptr && amount.Value() > 0) {
        Add(asked, *device_class, amount.Value(), {});
      }
    }
  }
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  for (const api::Container& container : pod.spec.containers) {
    // A limit without a request is the request.
    const auto amount = [&](std::string_view name) -> const base::Quantity* {
      const base::Quantity* request = container.resources.requests.Find(name);
      return request != nullptr ? request : container.resources.limits.Find(name);
    };
    if (const auto* cpu = amount(api::kResourceCpu)) milli_cpu += cpu->MilliValue();
    if (const auto* bytes = amount(api::kResourceMemory)) memory += bytes->Value();
  }
  for (auto& [device_class, request] : asked) {
    request.milli_cpu = milli_cpu;
    request.memory = memory;
  }
  return asked;
}

bool Alike(const RequestShape& a, const RequestShape& b) {
  return a.count == b.count && a.capacity == b.capacity && a.milli_cpu == b.milli_cpu &&
         a.memory == b.memory;
}

// Shapes by class, with how many pods have each; in the order they came.
class Mixes {
 public:
  void Add(Asked asked, double pods) {
    for (auto& [device_class, request] : asked) {
      std::vector<RequestShape>& known = by_class_[device_class];
      const auto same = std::ranges::find_if(
          known, [&request = request](const RequestShape& shape) { return Alike(shape, request); });
      if (same != known.end()) {
        same->weight += pods;
      } else {
        request.weight = pods;
        known.push_back(std::move(request));
      }
    }
  }

  std::vector<TypicalRequest> Take() {
    std::vector<TypicalRequest> requests;
    for (auto& [device_class, shapes] : by_class_) {
      std::ranges::stable_sort(shapes, std::ranges::greater(), &RequestShape::weight);
      if (shapes.size() > kMostShapes) shapes.resize(kMostShapes);
      requests.push_back({.device_class = device_class,
                          .count = shapes.front().count,
                          .capacity = shapes.front().capacity,
                          .mix = std::move(shapes)});
    }
    return requests;
  }

 private:
  std::map<std::string, std::vector<RequestShape>> by_class_;
};

double PodsOf(const Workload& workload, const Scenario& scenario) {
  double pods = workload.warm_up ? 1 : 0;
  if (workload.count) return pods + static_cast<double>(*workload.count);
  if (workload.arrival && scenario.duration) {
    pods += static_cast<double>(scenario.duration->count()) /
            static_cast<double>(std::max<std::int64_t>(workload.arrival->mean.count(), 1));
  }
  return pods;
}

}  // namespace

std::vector<TypicalRequest> TypicalRequests(const Scenario& scenario, ClusterBuilder& builder,
                                            const std::vector<api::Object>& objects) {
  const Catalogue catalogue(objects);
  Mixes mixes;
  for (std::size_t w = 0; w < scenario.workloads.size(); ++w) {
    const double pods = PodsOf(scenario.workloads[w], scenario);
    const bool alike = !scenario.workloads[w].pod.Uses("index");
    const std::int64_t looked_at =
        alike ? 1 : std::clamp<std::int64_t>(static_cast<std::int64_t>(pods), 1, kPodsLookedAt);
    for (std::int64_t i = 0; i < looked_at; ++i) {
      mixes.Add(AskedBy(builder.Pod(w, i), catalogue), pods / static_cast<double>(looked_at));
    }
  }
  return mixes.Take();
}

std::vector<TypicalRequest> RequestsOf(const std::vector<api::Object>& pods,
                                       const std::vector<api::Object>& objects) {
  const Catalogue catalogue(objects);
  Mixes mixes;
  for (const api::Object& pod : pods) mixes.Add(AskedBy(*pod.As<api::Pod>(), catalogue), 1);
  return mixes.Take();
}

}  // namespace dray::simulator
