// SPDX-License-Identifier: Apache-2.0
//
// The parts of the generator. Not for others.
#pragma once

#include <string>
#include <vector>

#include "model/generator.h"

namespace dray::model::generator {

// Which themes an instance has.
struct Themes {
  bool counters, groups, lists, derived, capacity, multi, taints, binding, per_device;
  bool node_selectors, other_nodes, broken_pools, skip_operations, taken, odd_snapshots;
  bool constraints, prioritized, all, admin, config, errors;
};
Themes RollThemes(Dice& dice, const GeneratorOptions& options);

inline constexpr const char* kGpu = "gpu.example.com";
inline constexpr const char* kNic = "nic.example.com";
inline constexpr const char* kNode = "node-a";
inline constexpr const char* kOtherNode = "node-b";
inline constexpr const char* kNuma = "topo.example.com/numa";
inline constexpr const char* kRoots = "topo.example.com/roots";

base::Quantity Amount(const std::string& text);

void AddNode(Dice& dice, const Themes& themes, Instance& instance);
void AddSlices(Dice& dice, const Themes& themes, const GeneratorOptions& options,
               Instance& instance);
void AddTaken(Dice& dice, const Themes& themes, const GeneratorOptions& options,
              Instance& instance);
void AddClasses(Dice& dice, const Themes& themes, Instance& instance);
void AddClaims(Dice& dice, const Themes& themes, const GeneratorOptions& options,
               Instance& instance);

}  // namespace dray::model::generator
