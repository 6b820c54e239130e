// SPDX-License-Identifier: Apache-2.0
//
// Binding conditions: what must become true of allocated devices before a pod is bound.
//
// Spec: KEP-5007.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "api/resource_claim.h"
#include "base/time.h"

namespace dray::scheduler {

struct BindingState {
  enum class Kind : std::uint8_t {
    kReady,    // all conditions hold; also when there are none
    kPending,  // not all of them
    kFailed,   // a failure condition holds: see `message`
  };
  Kind kind = Kind::kReady;
  std::string message;
};
// Of an allocated claim.
BindingState BindingStateOf(const api::ResourceClaim& claim);

bool HasBindingConditions(const api::ResourceClaim& claim);
// When waiting for the conditions of an allocated claim is over. Nothing: it has none, or does not
// say when it was allocated.
std::optional<base::Time> BindingDeadline(const api::ResourceClaim& claim,
                                          std::chrono::nanoseconds timeout);

}  // namespace dray::scheduler
