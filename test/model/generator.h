// SPDX-License-Identifier: Apache-2.0
//
// Random instances, small enough for the model, with every feature mixed in. The same seed gives
// the same instance.
#pragma once

#include "model/dice.h"
#include "model/instance.h"

namespace dray::model {

// How often a theme is present in an instance; where it is, many devices and requests have it.
struct GeneratorOptions {
  int max_pools = 3;
  int max_devices = 10;  // in all
  int max_claims = 3;
  int max_requests = 3;  // per claim
  int max_count = 4;
  int max_alternatives = 4;  // per request
  int padding = 0;  // further devices that nobody tolerates; more than 128 fill a bit set's heap

  double counters = 0.4;
  double groups = 0.6;  // of those with counters
  double lists = 0.3;   // of every type
  double derived = 0.2;
  double capacity = 0.4;
  double multi = 0.6;          // of those with capacity; devices can be shared without any, too
  double odd_amounts = 0.12;   // nothing, less than nothing, defaults above what there is
  double two_spellings = 0.2;  // of those with capacity: `memory` and `<driver>/memory`
  double taints = 0.25;
  double taint_rules = 0.1;
  double binding = 0.2;
  double per_device = 0.15;
  double node_selectors = 0.25;
  double other_nodes = 0.2;    // slices of one pool on several nodes
  double broken_pools = 0.12;  // incomplete, invalid, obsolete
  double skip_operations = 0.12;
  double same_pools = 0.2;  // drivers whose pools and devices have the same names
  double taken = 0.55;
  double odd_snapshots = 0.15;  // groups that the slice no longer says, devices that are gone
  double constraints = 0.4;
  double alike = 0.35;  // requests and claims that differ from earlier ones in one thing or none
  double prioritized = 0.4;
  double all = 0.35;
  double admin = 0.2;
  double config = 0.2;
  double features_off = 0.2;  // some, or one whose data is there
  double errors = 0.06;       // expressions that fail, attributes without a value, broken requests
  // Claims taken that could not have been made by anybody: groups that exclude each other.
  double contradictions = 0.03;
};

// Fewer kinds of trouble, more claims and constraints: what there is to decide is deep.
inline GeneratorOptions DeepOptions() {
  return {.max_pools = 2,
          .max_claims = 4,
          .max_requests = 3,
          .counters = 0.5,
          .taints = 0.05,
          .binding = 0.05,
          .per_device = 0.05,
          .node_selectors = 0.05,
          .other_nodes = 0.05,
          .broken_pools = 0.0,
          .skip_operations = 0.0,
          .constraints = 0.7,
          .all = 0.1,
          .features_off = 0.05,
          .errors = 0.0};
}

Instance RandomInstance(Dice& dice, const GeneratorOptions& options = {});
Instance RandomInstance(std::uint64_t seed, const GeneratorOptions& options = {});

}  // namespace dray::model
