// SPDX-License-Identifier: Apache-2.0
//
// Random instances with a solution in them. Devices are given to requests first, and then claims
// are written that this meets, just so: counters, capacities and values are used up, and further
// devices and alternatives lead the search astray. Whoever refuses such an instance is wrong,
// and hardly one is decided without going back; among instances where everything is left to
// chance both are rare.
#pragma once

#include "model/dice.h"
#include "model/instance.h"

namespace dray::model {

// How often an instance has the thing at all.
struct PlantedOptions {
  int max_devices = 7;
  int max_claims = 3;
  int max_requests = 5;  // in all
  double twins = 0.5;    // devices like the one before
  double names = 0.4;    // requests name their devices; otherwise they go by kind
  double taints = 0.3;
  double multi = 0.3;
  double capacity = 0.5;  // of those with devices to share; rarely otherwise
  double counters = 0.3;
  double groups = 0.6;  // of those with counters
  double lists = 0.25;
  double lists_off = 0.0;  // lists there are all the same
  double groups_off = 0.0;
  double derived = 0.2;
  double constraints = 0.6;
  double alternatives = 0.4;
  double alike = 0.4;        // requests that ask for the same as another, but for tolerations
  double same_claims = 0.2;  // claims that ask for the same as another
  double taken = 0.2;
  double admin = 0.1;
  double all = 0.1;
  double limit = 0.0;    // so many devices that the limit of a claim matters
  double spoiled = 0.1;  // a constraint that the solution does not meet
};

// There is a solution, unless it is spoiled, or something is in it that depends on the order of
// requests and devices (admin, lists_off) or on their number (limit).
Instance PlantedInstance(Dice& dice, const PlantedOptions& options = {});

}  // namespace dray::model
