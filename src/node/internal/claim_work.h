// SPDX-License-Identifier: Apache-2.0
//
// One Prepare or Unprepare that is under way.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "node/claim_manager.h"

namespace dray::node {

struct ClaimManager::Work {
  bool prepares = true;
  std::string uid;  // the pod's
  api::Pod pod;     // of a Prepare
  Done done;
  std::chrono::nanoseconds begun{0};
  std::vector<PodClaim> names;  // of a Prepare, and as read:
  std::vector<api::ResourceClaim> claims;
  std::vector<Key> keys;   // what it has made busy
  std::vector<Key> added;  // claims that the pod was added to
  std::vector<Key> made;   // entries that were made for it
  // Calls that are still to be made, by driver: by name, and by the claims' UIDs what they are.
  std::map<std::string, std::map<std::string, Key>> batches;

  std::vector<rpc::ClaimName> Names(const std::string& driver) const {
    std::vector<rpc::ClaimName> asked;
    for (const auto& [uid_of_claim, key] : batches.at(driver)) {
      asked.push_back({.namespace_ = key.first, .uid = uid_of_claim, .name = key.second});
    }
    return asked;
  }
};

}  // namespace dray::node
