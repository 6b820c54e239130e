// SPDX-License-Identifier: Apache-2.0
//
// The volumes of a pod on this machine: emptyDir below the agent's folder, hostPath where it says.
// Others are refused by name.
#pragma once

#include <map>
#include <string>

#include "api/pod.h"
#include "base/status.h"

namespace dray::node {

// <root>/pods/<uid>
std::string PodFolder(const std::string& root, const std::string& uid);

// Makes what is missing; asked again, nothing changes. By volume where it is. Touches the disk.
StatusOr<std::map<std::string, std::string>> MakeVolumes(const api::Pod& pod,
                                                         const std::string& root);

}  // namespace dray::node
