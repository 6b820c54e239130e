// SPDX-License-Identifier: Apache-2.0
//
// Where the pods of a group go, all of them or none: the search.
//
// A place gets a load, so many pods of each kind; identical pods are counted, never permuted, and
// places that nothing tells apart are filled in one order. Where places share nothing, only loads that
// cannot be added to are tried: what is left of a place is of no use to another one. What cannot work
// is mostly proved before anything is tried (bounds.h); what remains is searched place by place, with a
// memory of what has failed, and with a budget.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/places.h"

namespace dray::gang {

struct Request {
  Counts wanted;            // pods of each kind
  std::uint32_t least = 0;  // how many of all must be placed; the rest may be left out
  // What the search may cost: questions to Places, and places entered.
  std::uint64_t budget = 200'000;
};

enum class Verdict : std::uint8_t {
  kPlaced,
  kImpossible,  // proved: no assignment exists
  kGaveUp,      // the budget is used up; nothing is known
};

struct Answer {
  Verdict verdict = Verdict::kGaveUp;
  std::vector<Load> loads;  // kPlaced: by place, ascending; none is empty
  // How many pods could run: so many were found to fit together, and more than so many never will.
  std::uint32_t found = 0;
  std::uint32_t at_most = 0;
  // kImpossible: the kind of which there is too little room by itself, if there is one, and how many
  // of it fit when nothing else of the group is there.
  std::size_t kind = kNoKind;
  std::uint32_t kind_at_most = 0;
  std::uint64_t steps = 0;

  static constexpr std::size_t kNoKind = static_cast<std::size_t>(-1);
};

// Deterministic: the same places and request give the same answer.
Answer Search(Places& places, const Request& request);

}  // namespace dray::gang
