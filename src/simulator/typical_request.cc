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

using Asked = std::map<std::string, TypicalRequest>;  // by class

void Add(Asked& asked, const std::string& device_class, std::int64_t count,
         const api::Box<api::CapacityRequirements>& capacity) {
  const auto [found, added] = asked.try_emplace(device_class);
  TypicalRequest& request = found->second;
  request.device_class = device_class;
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
  return asked;
}

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
  std::map<std::string, std::pair<double, TypicalRequest>> best;  // by class
  for (std::size_t w = 0; w < scenario.workloads.size(); ++w) {
    const double pods = PodsOf(scenario.workloads[w], scenario);
    const bool alike = !scenario.workloads[w].pod.Uses("index");
    const std::int64_t looked_at =
        alike ? 1 : std::clamp<std::int64_t>(static_cast<std::int64_t>(pods), 1, kPodsLookedAt);
    for (std::int64_t i = 0; i < looked_at; ++i) {
      for (auto& [device_class, request] : AskedBy(builder.Pod(w, i), catalogue)) {
        auto& [weight, kept] = best[device_class];
        if (kept.device_class.empty() || pods > weight) {
          weight = pods;
          kept = std::move(request);
        }
      }
    }
  }
  std::vector<TypicalRequest> requests;
  for (auto& [name, entry] : best) requests.push_back(std::move(entry.second));
  return requests;
}

std::vector<TypicalRequest> RequestsOf(const std::vector<api::Object>& pods,
                                       const std::vector<api::Object>& objects) {
  const Catalogue catalogue(objects);
  // By class: each request that is asked for, with how many ask for it, in the order they came.
  std::map<std::string, std::vector<std::pair<std::int64_t, TypicalRequest>>> asked;
  for (const api::Object& pod : pods) {
    for (auto& [device_class, request] : AskedBy(*pod.As<api::Pod>(), catalogue)) {
      auto& known = asked[device_class];
      const auto same = std::ranges::find_if(known, [&](const auto& entry) {
        return entry.second.count == request.count && entry.second.capacity == request.capacity;
      });
      if (same == known.end()) {
        known.emplace_back(1, std::move(request));
      } else {
        ++same->first;
      }
    }
  }
  std::vector<TypicalRequest> requests;
  for (auto& [device_class, known] : asked) {
    requests.push_back(
        std::ranges::max_element(known, {}, [](const auto& entry) { return entry.first; })->second);
  }
  return requests;
}

}  // namespace dray::simulator
