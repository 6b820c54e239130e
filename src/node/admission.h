// SPDX-License-Identifier: Apache-2.0
//
// Whether a pod that was sent here has room. Pure.
//
// Spec: docs/spec/node.md 9 (admission); KEP-5004: extended resources that a claim serves are not the node's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/map.h"
#include "api/pod.h"
#include "base/quantity.h"

namespace dray::node {

struct Rejection {
  std::string reason;   // OutOfcpu
  std::string message;  // without "Pod was rejected: "
  friend bool operator==(const Rejection&, const Rejection&) = default;
};

// What the pod asks of the node itself: without what a claim serves, and without extended resources
// that the node does not have.
api::Map<base::Quantity> RequestsOnNode(const api::Pod& pod,
                                        const api::Map<base::Quantity>& allocatable);

// `used`: what the pods that are here ask for, `pods` how many they are. Nothing: it is admitted.
std::optional<Rejection> Admit(const api::Pod& pod, const api::Map<base::Quantity>& allocatable,
                               const api::Map<base::Quantity>& used, std::int64_t pods);

}  // namespace dray::node
