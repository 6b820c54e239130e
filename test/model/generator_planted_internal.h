// SPDX-License-Identifier: Apache-2.0
//
// A solution, and what is asked for so that it is one. Not for others.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/generator_planted.h"

namespace dray::model::planted {

// The attribute that requests derive.
inline constexpr const char* kHalf = "half";

// A device; what is not here is written when everything else is known.
struct Thing {
  api::Device device;  // with counters, taints and whether it can be shared
  std::string kind;
  int twin = 0;  // the same for those that were made alike
  int numa = 0;
  int tier = 0;
  std::vector<std::string> roots;
  bool scalar = false;  // a single root is no list
  int step = 1;         // amounts of memory are 1, 1 + step, 1 + 2 * step, ...
  int usual = 0;        // what a request gets that does not say how much
  int memory = 0;       // that requests take of it
  bool given = false;   // part of the solution
};

// A request.
struct Wish {
  int claim = 0;
  int shape = 0;                // its number in the claim
  int family = 0;               // claims of one family ask for the same
  std::vector<int> things;      // the solution
  std::set<std::string> kinds;  // that it may have
  std::set<std::string> names;  // that it may have; none: by kind
  std::set<std::string> tolerates;
  std::string derived;  // the expression, if any
  int memory = 0;       // asked for; 0: nothing
  bool all = false;
};

struct Constraint {
  int claim = 0;
  std::string attribute;
  bool match = false;
  std::vector<int> covers;  // wishes
};

// Which themes an instance has.
struct Themes {
  bool taints, multi, capacity, counters, groups, lists, lists_off, derived, names, limit;
  bool same_claims;
};

struct Plant {
  Themes themes{};
  std::vector<Thing> things;
  std::vector<Wish> wishes;
  std::vector<Constraint> constraints;
  std::map<std::string, std::map<std::string, int>> drawn;  // by counter set and counter
};

Plant MakePlant(Dice& dice, const PlantedOptions& options);
Instance WritePlant(Dice& dice, const PlantedOptions& options, const Plant& plant);

}  // namespace dray::model::planted
