// SPDX-License-Identifier: Apache-2.0
//
// The parts of a pod's rules, one source each; pod_spec_validation.cc goes through them.
#pragma once

#include <string_view>
#include <vector>

#include "api/internal/path.h"
#include "api/internal/report.h"
#include "api/pod.h"
#include "base/string_map.h"

namespace dray::api::internal {

// What parts of a pod call each other by.
struct PodNames {
  base::StringSet volumes = {};
  base::StringSet claims = {};
  base::StringSet containers = {};
  base::StringSet host_ports = {};
};

// container_validation.cc. A DNS label that is not among `names` yet, and is then.
void CheckPodName(Report& report, const Path& at, std::string_view name, base::StringSet& names);
void ValidateContainers(Report& report, const Path& at, const std::vector<Container>& containers,
                        PodNames& names);
// Those that are added to a running pod, to look into it: `names` has all others, of which one may be
// the target.
void ValidateEphemeralContainers(Report& report, const Path& at,
                                 const std::vector<EphemeralContainer>& containers,
                                 PodNames& names);

// pod_validation.cc: what containers and the pod as a whole ask for.
void ValidatePodResources(Report& report, const Path& at, const PodSpec& spec);

// placement_validation.cc: where a pod may run: node selector, affinity, tolerations, spreading,
// gates.
void ValidatePlacement(Report& report, const Path& at, const PodSpec& spec);
// Keys and values of labels.
void CheckLabels(Report& report, const Path& at, const Map<std::string>& labels);
// Whether it can be understood.
bool CheckLabelSelector(Report& report, const Path& at, const LabelSelector& selector);

}  // namespace dray::api::internal
