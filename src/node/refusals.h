// SPDX-License-Identifier: Apache-2.0
//
// What a pod asks for and this agent cannot give. A pod that would run without it, as if nothing had
// been asked, is not let in. docs/node.md has the table of all fields. Pure.
#pragma once

#include <optional>

#include "api/pod.h"
#include "node/admission.h"
#include "node/security.h"

namespace dray::node {

// The first such field, by name; nothing: all of it can be had. Volumes are not looked at: a pod waits
// for those.
std::optional<Rejection> RefusedField(const api::Pod& pod, const Enforcing& enforcing);
// Of a container for debugging, which comes when the pod was let in long ago: it does not run.
std::optional<Rejection> RefusedDebugger(const api::Pod& pod, const api::Container& container,
                                         const Enforcing& enforcing);

}  // namespace dray::node
