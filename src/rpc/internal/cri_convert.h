// SPDX-License-Identifier: Apache-2.0
//
// Plain values to CRI's messages and back.
#pragma once

#include <proto/cri_v1.pb.h>

#include <string>

#include "rpc/cri_messages.h"

namespace dray::rpc::internal {

namespace cri = ::runtime::v1;

cri::PodSandboxConfig ToMessage(const CriSandboxConfig& config);
cri::ContainerConfig ToMessage(const CriContainerConfig& config);
cri::AuthConfig ToMessage(const CriAuth& auth);

CriSandbox FromMessage(const cri::PodSandbox& sandbox);
CriSandbox FromMessage(const cri::PodSandboxStatus& status);
CriContainer FromMessage(const cri::Container& container);
CriContainer FromMessage(const cri::ContainerStatus& status);
CriImage FromMessage(const cri::Image& image);

// For maps of strings, both ways.
template <class Map>
void SetMap(const CriMap& from, Map& to) {
  for (const auto& [key, value] : from) to[key] = value;
}
template <class Map>
CriMap MapOf(const Map& map) {
  return {map.begin(), map.end()};
}

}  // namespace dray::rpc::internal
