// SPDX-License-Identifier: Apache-2.0
//
// Volumes of pods that a plan cannot bind: nobody provisions there. Refusing the pod for them would
// hide what else is in its way, so it is planned as if they could be had on every node, and a note
// says so.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "api/volume.h"

namespace dray::planner::internal {

// Thread-compatible.
class OpenVolumes {
 public:
  // Takes them out of the pods that have no node: claims that are not bound and do not wait for
  // their first consumer, claims of ephemeral volumes that are not made yet, and, with
  // `missing_too`, claims that are not among the objects. What is lost, deleted or somebody else's
  // stays: that pod cannot run anywhere.
  OpenVolumes(std::vector<api::Object>& objects, bool missing_too, std::vector<std::string>& notes);

  // Puts them back.
  void Restore(std::vector<api::Object>& objects) const;

 private:
  std::map<std::string, std::vector<api::Volume>> volumes_;  // of pods, by "namespace/name"
};

}  // namespace dray::planner::internal
