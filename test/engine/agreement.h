// SPDX-License-Identifier: Apache-2.0
//
// One instance asked several times: dray's search as it is, without its look-ahead, in the other
// order of preference, and the slow model. They have to agree.
#pragma once

#include <cstdint>
#include <string>

#include "model/instance.h"
#include "model/model.h"

namespace dray::engine {

// What each may spend before it gives up, which is no answer and contradicts nobody.
struct Limits {
  std::uint64_t model_steps = 20'000;
  std::uint64_t plain_work = 20'000'000;
};

struct Agreement {
  model::Outcome dray;
  model::Outcome plain;
  model::Outcome model;
  model::Outcome best_fit;
  double seconds = 0;     // what dray's first answer took, of processor time
  std::string complaint;  // who contradicts whom; empty when nobody does
};

Agreement AskAll(const model::Instance& instance, const Limits& limits = {});

// Whether two answers are the same. Share ids are made by each in its own way; which results have
// one must be the same.
bool SameAnswer(model::Outcome a, model::Outcome b);
std::string Describe(const model::Outcome& outcome);

// What was asked so far, and by whom it was not answered. One thread.
struct Tally {
  std::uint64_t instances = 0;
  std::uint64_t allocated = 0;
  std::uint64_t refused = 0;
  std::uint64_t errors = 0;
  std::uint64_t gave_up = 0;
  std::uint64_t model_gave_up = 0;
  std::uint64_t plain_gave_up = 0;
  std::uint64_t neither = 0;  // dray's answer could be held against nobody's
  std::uint64_t wrong = 0;

  void Count(const Agreement& agreement);
  void Add(const Tally& other);
  std::string ToString() const;
};

}  // namespace dray::engine
