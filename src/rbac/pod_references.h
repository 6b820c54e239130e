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
  // For whom its volumes have tokens of its account; empty: for the API server.
  std::set<std::string, std::less<>> audiences;
  // Of its inline volumes. They say themselves for whom they want tokens.
  std::set<std::string, std::less<>> csi_drivers;
};

// Of a mirror pod: nothing. Its node has made it up, and could name whatever it would like to read.
PodReferences ReferencesOf(const api::Pod& pod);

}  // namespace dray::rbac
