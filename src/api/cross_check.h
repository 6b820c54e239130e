// SPDX-License-Identifier: Apache-2.0
//
// Cross-checks: what is wrong between objects that are each valid alone. A server accepts them one
// by one and the mistake shows up as a pod that stays pending; given together, they can be told
// apart before.
//
// What is not given is not missing: a check about a reference speaks up only when objects of the
// kind it points to are among the given ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/document.h"
#include "api/kinds.h"
#include "base/field_path.h"

namespace dray::api {

struct CrossFinding {
  std::size_t object = 0;  // index into the given objects
  base::FieldPath path;
  Severity severity = Severity::kError;
  std::string reason;   // stable, for machines: UnknownDeviceClass, IncompletePool, ...
  std::string message;  // does not repeat the path
  std::string hint;     // what was probably meant; may be empty
  std::optional<std::size_t> related = {};  // the other object, when there is exactly one
};

// All findings, in the order of the objects; of one object, in the order of the checks. Objects
// without a namespace are taken to live in "default", as kubectl would have it. Near-linear in the
// size of the objects: a dump of a whole cluster is an ordinary input.
// `steps`, unless null, is told how much the checks have looked at that are not obviously linear.
std::vector<CrossFinding> CrossCheck(std::span<const Object> objects,
                                     std::uint64_t* steps = nullptr);

}  // namespace dray::api
