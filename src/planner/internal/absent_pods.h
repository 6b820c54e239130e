// SPDX-License-Identifier: Apache-2.0
//
// Pods that claims speak of and that were not given: a dump of claims alone. For a controller they
// would be gone, and their devices free.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "api/meta.h"
#include "api/resource_claim.h"

namespace dray::planner::internal {

// Thread-compatible.
class AbsentPods {
 public:
  // Takes owners and reservations that name such pods out of the claims: so nobody gives their
  // devices back. Says so in `notes`.
  AbsentPods(std::vector<api::Object>& objects, std::vector<std::string>& notes);

  // Puts them back.
  void Restore(std::vector<api::Object>& objects) const;

 private:
  struct Taken {
    std::vector<api::OwnerReference> owners;
    std::vector<api::ResourceClaimConsumerReference> users;
  };
  std::map<std::pair<std::string, std::string>, Taken>
      taken_;  // by namespace and name of the claim
};

}  // namespace dray::planner::internal
