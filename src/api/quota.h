// SPDX-License-Identifier: Apache-2.0
//
// How much quota claims and pods use, under which names.
//
// A device is counted once under each of three names: the class's
// (gpu.deviceclass.resource.k8s.io/devices), the implicit resource's
// (requests.deviceclass.resource.kubernetes.io/gpu) and, if the class has one, the explicit
// resource's (requests.example.com/gpu). Pods are charged for what they name in their requests;
// a claim for the rest, which is everything unless the scheduler made it for such requests.
//
// Spec: KEP-5004 "Resource Quota"; docs/spec/api.md section 7.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/extended_resources.h"
#include "api/gates.h"
#include "api/map.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kClaimCountQuota = "count/resourceclaims.resource.k8s.io";
inline constexpr std::string_view kPodCountQuota = "count/pods";
inline constexpr std::string_view kPodsQuota = "pods";
inline constexpr std::string_view kNodePortsQuota = "services.nodeports";
inline constexpr std::string_view kLoadBalancersQuota = "services.loadbalancers";
inline constexpr std::string_view kVolumeClaimsQuota = "persistentvolumeclaims";
inline constexpr std::string_view kRequestsStorageQuota = "requests.storage";
// Behind the name of a StorageClass, before one of the two above.
inline constexpr std::string_view kStorageClassQuotaSuffix = ".storageclass.storage.k8s.io/";
inline constexpr std::string_view kDevicesPerClassSuffix = ".deviceclass.resource.k8s.io/devices";

// KEP-5004 spells implicit resources `request.deviceclass…`, Kubernetes `requests.deviceclass…`.
// dray reads either and reports the latter. Any other name is its own normal form.
std::string NormalizeQuotaName(std::string_view name);
// spec.hard under normal names. Of two spellings of one name the smaller amount holds.
Map<base::Quantity> NormalizeHard(const Map<base::Quantity>& hard);

// What the usage of a claim depends on besides the claim. Thread-compatible.
class QuotaObjects {
 public:
  virtual ~QuotaObjects() = default;
  // Null when there is no such pod.
  virtual const Pod* FindPod(std::string_view namespace_, std::string_view name) const = 0;
  // The claims of a namespace that were made for the extended resources of a pod (see
  // ExtendedResourcePod). May or may not hold the claim in question.
  virtual std::vector<const ResourceClaim*> ExtendedResourceClaimsOf(
      std::string_view namespace_, std::string_view pod_uid) const = 0;
};

struct QuotaContext {
  const ExtendedResourceIndex& classes;
  const QuotaObjects& objects;
  const FeatureGates& gates;
  base::Time now;
};

Map<base::Quantity> ClaimQuotaUsage(const ResourceClaim& claim, const QuotaContext& context);
// A pod that is over (or long past its deletion) only counts as an object.
Map<base::Quantity> PodQuotaUsage(const Pod& pod, base::Time now);

// Why a quota with these limits takes no such pod, whatever is free: where cpu or memory is limited,
// every container says how much it takes, or the pod for all of them ("must specify limits.cpu for:
// a,b"). Empty when nothing is missing.
std::string MissingForQuota(const Pod& pod, const Map<base::Quantity>& hard);

// Those of the names in a spec.hard that claims, or pods, are counted under; in input order, as
// they were written.
std::vector<std::string> ClaimQuotaNames(std::span<const std::string> names,
                                         const ExtendedResourceIndex& classes,
                                         const FeatureGates& gates);
std::vector<std::string> PodQuotaNames(std::span<const std::string> names);

// Whether an operation (create, update, delete, connect) can change the usage.
bool ClaimQuotaHandles(std::string_view operation, std::string_view subresource);
// `pod` and `old` are only looked at for an update of the pod itself: setting a deadline changes
// the quotas that it counts in.
bool PodQuotaHandles(std::string_view operation, std::string_view subresource,
                     const Pod* pod = nullptr, const Pod* old = nullptr);

}  // namespace dray::api
