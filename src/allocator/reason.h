// SPDX-License-Identifier: Apache-2.0
//
// Reason: the rule for which a device drops out. Deciding records it, explaining puts it into
// words.
#pragma once

#include <cstdint>
#include <string>

namespace dray::allocator {

// Why a device cannot serve an alternative even if nothing else is chosen. In the order of the
// rules (rules.h), which is the order in which they are looked at: a device is counted under the
// first that drops it. What a device is comes before who has it, so that a request for a NIC does
// not count the GPUs that are in use. What Drop has for each is named beside it.
enum class Reason : std::uint8_t {
  kBindingConditionsOff,  // it has binding conditions, and the feature is off
  kSelectorFalse,         // `selector`, `of_class`, `expression`
  kExpressionError,       // `message`; to look at the device is an error
  kOtherNode,
  kCapacityMissing,    // `subject`
  kCapacityPolicy,     // `subject`, `asked`, `allowed`
  kCapacityTooSmall,   // `subject`, `asked`, `available`: all that the device has
  kGroupsOff,          // it declares compatibility groups, and the feature is off
  kInUse,              // `holders`
  kInUseByShares,      // `holders`: for one claim only, but still shared by these
  kCapacityInUse,      // `subject`, `asked`, `available`: what is left; `holders`
  kNodeOperations,     // the driver skips node operations, which the node does not support
  kCountersOff,        // it consumes counters, and the feature is off
  kGroups,             // `pool`, `counter_set`, `declared` against `placed`
  kCounters,           // `pool`, `counter_set`, `subject`, `asked`, `available`
  kCountersOverdrawn,  // `pool`, `counter_set`, `subject`, `available` below zero
  kTaint,              // `subject`: key=value:effect
  kAttributeMissing,   // `subject`, `constraint`: has no value that the constraint could compare
};

// Stable: "in_use", "selector_false", ...
const std::string& CodeOf(Reason reason);

}  // namespace dray::allocator
