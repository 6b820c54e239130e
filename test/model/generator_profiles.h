// SPDX-License-Identifier: Apache-2.0
//
// Kinds of random instances: each has much of what the others have little of. Tests that hold one
// implementation against another go through all of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/generator.h"
#include "model/generator_planted.h"
#include "model/instance.h"

namespace dray::model {

struct Profile {
  std::string_view name;
  GeneratorOptions options;
};
const std::vector<Profile>& Profiles();

// The same with a solution planted in them.
struct PlantedProfile {
  std::string_view name;
  PlantedOptions options;
};
const std::vector<PlantedProfile>& PlantedProfiles();

// The instance of a seed: of the profiles of both kinds in turn, of small relatives of the hard
// cases, and, rarely, one with more devices than a bit set holds without a heap. It is named after
// its profile and the seed.
Instance InstanceOf(std::uint64_t seed);

// The same, small enough for all its partial choices to be walked through, and without what stops a
// search before it has begun.
Instance TinyInstanceOf(std::uint64_t seed);

// The same profiles with two dozen devices and more claims: too large for the model, to see what a
// search makes of it.
Instance LargeInstanceOf(std::uint64_t seed);

}  // namespace dray::model
