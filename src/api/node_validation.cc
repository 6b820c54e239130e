// SPDX-License-Identifier: Apache-2.0
//
// Nodes and leases, besides their metadata. Spec: Kubernetes's validation of both.
#include "api/internal/node_validation.h"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "api/internal/meta_validation.h"
#include "api/internal/name_validation.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::array<std::string_view, 3> kTaintEffects = {"NoSchedule", "PreferNoSchedule",
                                                           "NoExecute"};
constexpr std::size_t kMostPodCidrs = 2;  // one of each family

void CheckTaints(Report& report, const Path& at, const std::vector<Taint>& taints) {
  base::StringSet seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const Taint& taint = taints[i];
    const Path here = at.Index(i);
    CheckRequiredForm(report, here.Child("key"), taint.key, kLabelKey);
    CheckForm(report, here.Child("value"), taint.value, kLabelValue);
    if (taint.effect.empty()) {
      report.Required(here.Child("effect"));
    } else {
      CheckOneOf(report, here.Child("effect"), taint.effect, kTaintEffects);
    }
    const std::string text = fmt::format("{}:{}", taint.key, taint.effect);
    if (!seen.insert(text).second) report.Duplicate(here, text);
  }
}

// `podCIDR` is the first of `podCIDRs`; whoever sets one of them means both.
std::vector<std::string> CidrsOf(const NodeSpec& spec) {
  const bool other = spec.pod_cidrs.empty() || spec.pod_cidrs[0] != spec.pod_cidr;
  if (!spec.pod_cidr.empty() && other) return {spec.pod_cidr};
  return spec.pod_cidrs;
}

void CheckCidrs(Report& report, const Path& at, const std::vector<std::string>& cidrs) {
  CheckSize(report, at, cidrs.size(), kMostPodCidrs);
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    CheckForm(report, at.Index(i), cidrs[i], kInterfaceAddress);
  }
  CheckUnique(report, at, cidrs);
}

}  // namespace

void ValidateNode(Report& report, const Node& node, const Node* old) {
  const Path spec("spec");
  if (old == nullptr || node.spec.taints != old->spec.taints) {
    CheckTaints(report, spec.Child("taints"), node.spec.taints);
  }
  const std::vector<std::string> cidrs = CidrsOf(node.spec);
  const std::vector<std::string> before =
      old == nullptr ? std::vector<std::string>() : CidrsOf(old->spec);
  if (before.empty()) {
    CheckCidrs(report, spec.Child("podCIDRs"), cidrs);
  } else if (cidrs != before) {
    // Its pods have addresses from there.
    report.Forbidden(spec.Child("podCIDRs"),
                     "node updates may not change podCIDR except from \"\" to valid");
  }
  if (old != nullptr && !old->spec.provider_id.empty() &&
      node.spec.provider_id != old->spec.provider_id) {
    report.Forbidden(spec.Child("providerID"),
                     "node updates may not change providerID except from \"\" to valid");
  }
}

void ValidateLease(Report& report, const Lease& lease) {
  const Path spec("spec");
  const auto& seconds = lease.spec.lease_duration_seconds;
  if (seconds && *seconds <= 0) {
    report.InvalidNumber(spec.Child("leaseDurationSeconds"), *seconds, "must be greater than 0");
  }
  const auto& transitions = lease.spec.lease_transitions;
  if (transitions && *transitions < 0) {
    report.InvalidNumber(spec.Child("leaseTransitions"), *transitions,
                         "must be greater than or equal to 0");
  }
}

}  // namespace dray::api::internal
