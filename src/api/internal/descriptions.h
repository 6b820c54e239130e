// SPDX-License-Identifier: Apache-2.0
//
// The descriptions (described_kinds.h), a text per group. Structs are known within their text.
#pragma once

#include <string_view>
#include <vector>

#include "api/kinds.h"

namespace dray::api::internal {

// described_core.cc
std::string_view ServiceDescriptions();
std::string_view VolumeDescriptions();
// described_network.cc
std::string_view EndpointSliceDescriptions();
std::string_view NetworkDescriptions();
// described_storage.cc
std::string_view StorageDescriptions();
// described_others.cc
std::string_view AutoscalingDescriptions();
std::string_view NodeDescriptions();
std::string_view CertificateDescriptions();
std::string_view WebhookDescriptions();
// described_extensions.cc
std::string_view ExtensionDescriptions();
// described_policies.cc: webhooks and policies.
std::string_view AdmissionDescriptions();

// autoscaler_versions.cc: the kind in autoscaling/v1, which is another table over v2's records.
KindInfo AutoscalerV1(const KindInfo& v2);

inline std::vector<std::string_view> AllDescriptions() {
  return {ServiceDescriptions(),  VolumeDescriptions(),      EndpointSliceDescriptions(),
          NetworkDescriptions(),  StorageDescriptions(),     AutoscalingDescriptions(),
          NodeDescriptions(),     CertificateDescriptions(), AdmissionDescriptions(),
          ExtensionDescriptions()};
}

}  // namespace dray::api::internal
