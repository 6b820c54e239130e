// SPDX-License-Identifier: Apache-2.0
//
// What the search believes of partial choices, held against all their completions, instance by
// instance. Each function walks through the places that a plain search comes by and returns how
// many of them are judged wrongly.
#pragma once

#include <cstdint>

#include "allocator/attempt.h"
#include "engine/engine.h"
#include "model/instance.h"

namespace dray::engine {

// An instance up to the point where a search would begin. One thread.
struct Prepared {
  explicit Prepared(const model::Instance& of);
  const model::Instance& instance;
  World world;
  allocator::VerdictCache cache;
  allocator::Attempt attempt;
  bool ready = false;  // and nothing stops the search before it looks ahead
};

// How much there was to judge: who never says anything is right, too.
struct Judged {
  std::uint64_t places = 0;
  std::uint64_t completable = 0;
  std::uint64_t hopeless = 0;  // said the bounds
  std::uint64_t alike = 0;     // places with the fingerprint of an earlier one
  std::uint64_t twins = 0;     // devices with a twin that had led nowhere
};

// Nothing that can be completed is called hopeless.
std::uint64_t WrongBounds(const Prepared& it, Judged& judged);
// The same of the linear relaxation, alone.
std::uint64_t WrongLinear(const Prepared& it, Judged& judged);
// What has one fingerprint has one answer.
std::uint64_t WrongFingerprints(const Prepared& it, Judged& judged);
// Where a device has led nowhere, its twins behind it do neither.
std::uint64_t WrongTwins(const Prepared& it, Judged& judged);
// The oracle says yes exactly where something can be completed, and leaves the state as it was.
std::uint64_t WrongOracle(const Prepared& it, Judged& judged);

}  // namespace dray::engine
