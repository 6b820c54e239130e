// SPDX-License-Identifier: Apache-2.0
//
// What a pod needs of other objects, so that its node may read them. Pure.
#pragma once

#include <set>
#include <string>

#include "api/pod.h"

namespace dray::rbac {

// Names in the pod's namespace.
struct PodReferences {
  std::set<std::string, std::less<>> secrets;
  std::set<std::string, std::less<>> config_maps;
  std::set<std::string, std::less<>> volume_claims;
  std::set<std::string, std::less<>> resource_claims;
  std::set<std::string, std::less<>> service_accounts;
};

// Of a mirror pod: nothing. Its node has made it up, and could name whatever it would like to read.
PodReferences ReferencesOf(const api::Pod& pod);

}  // namespace dray::rbac
