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
  bool counters, groups, lists, derived, capacity, multi, odd_amounts, two_spellings, taints;
  bool binding, per_device, node_selectors, other_nodes, broken_pools, skip_operations, same_pools;
  bool taken, odd_snapshots, constraints, alike, prioritized, all, admin, config, errors;
};
Themes RollThemes(Dice& dice, const GeneratorOptions& options);
// Switches features off. One alone has its data in the instance: what was stored before.
Features RollFeatures(Dice& dice, const GeneratorOptions& options, Themes& themes);

inline constexpr const char* kGpu = "gpu.example.com";
inline constexpr const char* kNic = "nic.example.com";
inline constexpr const char* kNode = "node-a";
inline constexpr const char* kOtherNode = "node-b";
inline constexpr const char* kNuma = "topo.example.com/numa";
inline constexpr const char* kTier = "size.example.com/tier";
// Attributes with lists: of strings, integers, booleans and versions.
inline constexpr const char* kRoots = "topo.example.com/roots";
inline constexpr const char* kLanes = "topo.example.com/lanes";
inline constexpr const char* kFlags = "topo.example.com/flags";
inline constexpr const char* kFirmwares = "topo.example.com/firmwares";

base::Quantity Amount(const std::string& text);

void AddNode(Dice& dice, const Themes& themes, Instance& instance);
void AddSlices(Dice& dice, const Themes& themes, const GeneratorOptions& options,
               Instance& instance);
void AddAttributes(Dice& dice, const Themes& themes, const std::string& driver,
                   api::Device& device);
void AddTaken(Dice& dice, const Themes& themes, const GeneratorOptions& options,
              Instance& instance);
void AddClasses(Dice& dice, const Themes& themes, Instance& instance);
// The names of derived attributes, some of which devices publish too.
const std::vector<std::string>& DerivedNames();
api::DeviceRequest RandomRequest(Dice& dice, const Themes& themes, const GeneratorOptions& options);
// The same but for one thing, or for nothing.
api::DeviceRequest RequestLike(Dice& dice, const Themes& themes, const GeneratorOptions& options,
                               api::DeviceRequest like);
void AddClaims(Dice& dice, const Themes& themes, const GeneratorOptions& options,
               Instance& instance);

}  // namespace dray::model::generator
