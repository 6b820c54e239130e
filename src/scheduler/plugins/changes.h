// SPDX-License-Identifier: Apache-2.0
//
// What a change of an object means for a pod that waits.
#pragma once

#include <cstdint>

#include "api/cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "scheduler/pod_info.h"

namespace dray::scheduler {

// A change of a pod. A pod that has ended holds nothing of its node any more: its end is when it is
// gone, and a later deletion tells nothing new.
struct PodChange {
  enum class Kind : std::uint8_t {
    kNone,     // not of a pod, or of one that was and is on no node
    kOwn,      // of the pod that waits
    kPlaced,   // it now has a node (or one that is being cleared for it)
    kChanged,  // it has had one
    kGone,
  };
  Kind kind = Kind::kNone;
  const api::Pod* before = nullptr;  // kOwn (null when new), kChanged, kGone
  const api::Pod* after = nullptr;   // kOwn (null when deleted), kPlaced, kChanged
};
PodChange ReadPodChange(const PodInfo& waiting, const api::Change& change, const api::Object* old);

// A change of a node. Both null: of something else.
struct NodeChange {
  const api::Node* before = nullptr;  // null: it is new
  const api::Node* after = nullptr;   // null: it was deleted
};
NodeChange ReadNodeChange(const api::Change& change, const api::Object* old);

}  // namespace dray::scheduler
