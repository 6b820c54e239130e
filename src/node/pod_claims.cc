// SPDX-License-Identifier: Apache-2.0
#include "node/pod_claims.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "api/json.h"
#include "api/pod_claims.h"
#include "fmt/format.h"

namespace dray::node {
namespace {

// Who knows no groups takes a claim for what it is of the pod alone.
bool OwnedByPod(const api::ResourceClaim& claim, const api::Pod& pod) {
  const api::OwnerReference* owner = api::FindController(claim.metadata);
  return owner != nullptr && owner->uid == pod.metadata.uid;
}

bool ReservedForPod(const api::ResourceClaim& claim, const api::Pod& pod) {
  return std::ranges::find(claim.status.reserved_for, pod.metadata.uid,
                           &api::ResourceClaimConsumerReference::uid) !=
         claim.status.reserved_for.end();
}

}  // namespace

StatusOr<std::vector<PodClaim>> ClaimsOf(const api::Pod& pod) {
  std::vector<PodClaim> claims;
  const api::ClaimsOfPod known(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    if (entry.resource_claim_name) {
      claims.push_back({.entry = entry.name, .name = *entry.resource_claim_name});
      continue;
    }
    if (!entry.resource_claim_template_name) {
      return base::InvalidArgument(fmt::format(
          "pod \"{}/{}\", spec.resourceClaims \"{}\": names neither a ResourceClaim nor "
          "a ResourceClaimTemplate",
          pod.metadata.namespace_, pod.metadata.name, entry.name));
    }
    const api::PodResourceClaimStatus* status = known.FindStatus(entry);
    if (status == nullptr) {
      return base::FailedPrecondition(fmt::format("pod \"{}/{}\": ResourceClaim not created yet",
                                                  pod.metadata.namespace_, pod.metadata.name));
    }
    // On purpose there is none.
    if (!status->resource_claim_name) continue;
    claims.push_back(
        {.entry = entry.name, .name = *status->resource_claim_name, .made_for_pod = true});
  }
  if (const auto& extended = pod.status.extended_resource_claim_status) {
    claims.push_back({.name = extended->resource_claim_name, .made_for_pod = true});
  }
  return claims;
}

Status CheckUse(const api::Pod& pod, const PodClaim& entry, const api::ResourceClaim& claim,
                bool groups) {
  const api::ObjectMeta& metadata = claim.metadata;
  // The claim for extended resources is never a group's.
  const bool shared = groups && !entry.entry.empty();
  const bool owned = shared ? api::OwnedBy(claim, pod) : OwnedByPod(claim, pod);
  if (entry.made_for_pod && !owned) {
    return base::FailedPrecondition(fmt::format(
        "ResourceClaim {}/{} was not created for pod {}/{} (pod is not owner)", metadata.namespace_,
        metadata.name, pod.metadata.namespace_, pod.metadata.name));
  }
  if (!(shared ? api::ReservedFor(claim, pod) : ReservedForPod(claim, pod))) {
    return base::FailedPrecondition(
        fmt::format("pod {} ({}) is not allowed to use ResourceClaim {} ({})", pod.metadata.name,
                    pod.metadata.uid, metadata.name, metadata.uid));
  }
  if (!claim.status.allocation) {
    return base::FailedPrecondition(fmt::format("ResourceClaim {}: not allocated", metadata.name));
  }
  return {};
}

std::map<std::string, DriverState, std::less<>> DriversOf(const api::ResourceClaim& claim) {
  struct Skipped {
    bool prepare = true;
    bool unprepare = true;
  };
  std::map<std::string, Skipped, std::less<>> skipped;
  for (const auto& result : claim.status.allocation->devices.results) {
    const auto lists = [&](std::string_view operation) {
      return std::ranges::any_of(result.skip_node_operations, [&](const std::string& listed) {
        return listed == operation || listed == kSkipAll;
      });
    };
    Skipped& driver = skipped[result.driver];
    driver.prepare = driver.prepare && lists(kSkipPrepare);
    driver.unprepare = driver.unprepare && lists(kSkipUnprepare);
  }
  std::map<std::string, DriverState, std::less<>> drivers;
  for (const auto& [name, skips] : skipped) {
    DriverState& driver = drivers[name];
    if (skips.prepare && skips.unprepare) {
      driver.skips = {std::string(kSkipAll)};
    } else if (skips.prepare || skips.unprepare) {
      driver.skips = {std::string(skips.prepare ? kSkipPrepare : kSkipUnprepare)};
    }
  }
  return drivers;
}

std::size_t AllocationHash(const api::ResourceClaim& claim) {
  return std::hash<std::string>()(api::EncodeJson(*claim.status.allocation));
}

bool FitsAllocation(const ClaimState& state, const api::ResourceClaim& claim) {
  const auto drivers = DriversOf(claim);
  const auto same = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.skips == b.second.skips;
  };
  if (!std::ranges::equal(state.drivers, drivers, same)) return false;
  const auto& results = claim.status.allocation->devices.results;
  for (const auto& [driver, has] : state.drivers) {
    for (const DeviceState& device : has.devices) {
      const bool allocated =
          std::ranges::any_of(results, [&, &driver = driver](const auto& result) {
            return result.driver == driver && result.pool == device.pool &&
                   result.device == device.device;
          });
      if (!allocated) return false;
    }
  }
  return true;
}

std::string Shortened(std::string_view text) {
  constexpr std::size_t kMost = 256;
  if (text.size() <= kMost) return std::string(text);
  std::size_t end = kMost - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string_view BaseRequest(std::string_view request) {
  return request.substr(0, request.find('/'));
}

}  // namespace dray::node
