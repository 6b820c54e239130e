// SPDX-License-Identifier: Apache-2.0
//
// Reasons: why a pod does not fit on a node, as data.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dray::allocator {
struct Explanation;
}

namespace dray::scheduler {

// One thing that is in the way.
struct Reason {
  std::string plugin;  // filled in by the framework
  std::string code;    // stable: "insufficient_resource", "node_taint", "cannot_allocate_claims"
  std::string text;    // as Kubernetes says it: "Insufficient cpu"
  // How far off it is, when that can be said: {resource, needed, free}.
  struct Shortage {
    std::string what;
    std::string needed;
    std::string free;
  };
  std::vector<Shortage> shortages;
  // The allocator's, when devices are in the way.
  std::shared_ptr<const allocator::Explanation> devices;
};

}  // namespace dray::scheduler
