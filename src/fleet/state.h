// SPDX-License-Identifier: Apache-2.0
//
// What a device looks like: a state, of which it has one, and marks, of which it may have any. The
// numbers are part of the console's API (docs/console-api.md).
#pragma once

#include <cstdint>
#include <string_view>

namespace dray::fleet {

enum class State : std::uint8_t {
  kFree = 0,
  kHeld = 1,         // a claim has it, alone
  kShared = 2,       // claims have shares of it; see Device::fill
  kPartitioned = 3,  // it is all of a card, of which partitions are in use
  kBlocked = 4,      // nobody has it, and nobody can: counters or compatibility groups exclude it
  kGone = 5,         // a claim has it, and no slice of its pool's newest generation does
  kUnknown = 6,      // who holds devices may not be read
  kRemoved = 255,    // no device any more; only its number is left
};

// Of a device.
enum Mark : std::uint8_t {
  kTainted = 1,  // NoSchedule or NoExecute, by its slice or a rule
  kUnhealthy = 2,
  kAdmin = 4,  // somebody has it with admin access, which takes nothing
};
using Marks = std::uint8_t;

// Of a node.
enum NodeFlag : std::uint8_t {
  kNotReady = 1,
  kCordoned = 2,
  kNoSuchNode = 4,  // slices name it, and there is no such object
  kNodeRemoved = 8,
};
// Of a pool.
enum PoolFlag : std::uint8_t {
  kIncomplete = 1,
  kInvalid = 2,
  kPoolRemoved = 4,
};

enum class ClaimState : std::uint8_t { kPending = 0, kAllocated = 1, kReserved = 2 };

// "free", "held", ...
std::string_view NameOf(State state);

}  // namespace dray::fleet
