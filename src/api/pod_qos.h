// SPDX-License-Identifier: Apache-2.0
//
// The quality of service that a pod gets from its node, by how it asks for cpu and memory.
#pragma once

#include <string_view>

#include "api/pod.h"

namespace dray::api {

inline constexpr std::string_view kQosBestEffort = "BestEffort";
inline constexpr std::string_view kQosBurstable = "Burstable";
inline constexpr std::string_view kQosGuaranteed = "Guaranteed";

// What follows from the spec.
std::string_view QosClassOf(const PodSpec& spec);
// What the status says, which a later change of the spec does not change; else as above.
std::string_view QosClassOf(const Pod& pod);

}  // namespace dray::api
