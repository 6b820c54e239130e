// SPDX-License-Identifier: Apache-2.0
#include "model/generator_profiles.h"

#include <algorithm>

#include "fmt/format.h"
#include "model/hard_instances.h"

namespace dray::model {
namespace {

GeneratorOptions Deep() {
  GeneratorOptions options = DeepOptions();
  options.max_devices = 12;
  options.max_count = 3;
  return options;
}

// What has nothing to do with a profile's subject is rare there.
GeneratorOptions Quiet() {
  GeneratorOptions o = DeepOptions();
  o.max_devices = 8;
  o.max_requests = 4;
  o.max_count = 2;
  o.counters = 0.2;
  o.lists = 0.1;
  o.derived = 0.1;
  o.capacity = 0.2;
  o.odd_amounts = 0.05;
  o.taken = 0.25;
  o.constraints = 0.3;
  return o;
}

// Requests that are the same but for tolerations, amounts, derived values, the order of
// alternatives.
GeneratorOptions Alike() {
  GeneratorOptions o = Quiet();
  o.taints = 0.7;
  o.alike = 1.0;
  o.prioritized = 0.8;
  return o;
}

// Derived values on devices that several requests have.
GeneratorOptions SharedAndDerived() {
  GeneratorOptions o = Quiet();
  o.max_devices = 5;
  o.lists = 0.4;
  o.derived = 0.9;
  o.capacity = 0.4;
  o.multi = 3.0;
  o.constraints = 1.0;
  o.alike = 0.5;
  o.prioritized = 0.6;
  return o;
}

// Constraints on attributes of every type, lists among them.
GeneratorOptions Constrained() {
  GeneratorOptions o = Quiet();
  o.lists = 0.8;
  o.capacity = 0.4;
  o.constraints = 1.0;
  o.all = 0.25;
  o.admin = 0.3;
  return o;
}

// One feature off, and its data there.
GeneratorOptions GateOff() {
  GeneratorOptions o = Quiet();
  o.counters = 0.4;
  o.lists = 0.4;
  o.capacity = 0.4;
  o.taken = 0.5;
  o.constraints = 0.7;
  o.all = 0.2;
  o.features_off = 1.0;
  return o;
}

GeneratorOptions OddAmounts() {
  GeneratorOptions o = Quiet();
  o.counters = 0.5;
  o.capacity = 0.9;
  o.odd_amounts = 0.6;
  o.two_spellings = 0.6;
  o.taken = 0.6;
  o.alike = 0.6;
  return o;
}

GeneratorOptions SeveralClaims() {
  GeneratorOptions o = Quiet();
  o.max_claims = 7;
  o.max_requests = 2;
  o.counters = 0.4;
  o.capacity = 0.4;
  o.taints = 0.3;
  o.constraints = 0.7;
  o.alike = 0.8;
  o.all = 0.25;
  o.admin = 0.3;
  return o;
}

// Deep lists of alternatives.
GeneratorOptions ManyAlternatives() {
  GeneratorOptions o = Quiet();
  o.max_alternatives = 8;
  o.max_devices = 6;
  o.counters = 0.4;
  o.taints = 0.3;
  o.constraints = 0.6;
  o.alike = 0.6;
  o.prioritized = 1.0;
  return o;
}

// Steps of nothing, expressions that fail, attributes without a value.
GeneratorOptions Broken() {
  GeneratorOptions o;
  o.capacity = 0.7;
  o.features_off = 0.05;
  o.errors = 0.9;
  return o;
}

GeneratorOptions Wide(Dice& dice) {
  GeneratorOptions o = dice.Pick(Profiles()).options;
  o.padding = dice.Range(110, 190);
  return o;
}

}  // namespace

const std::vector<Profile>& Profiles() {
  static const std::vector<Profile> profiles = {
      {"mixed", {}},
      {"deep", Deep()},
      {"alike", Alike()},
      {"shared-derived", SharedAndDerived()},
      {"constrained", Constrained()},
      {"gate-off", GateOff()},
      {"amounts", OddAmounts()},
      {"many-claims", SeveralClaims()},
      {"many-alternatives", ManyAlternatives()},
      {"broken", Broken()},
  };
  return profiles;
}

const std::vector<PlantedProfile>& PlantedProfiles() {
  static const std::vector<PlantedProfile> profiles = {
      {"planted", {}},
      // Alternatives and requests that differ in tolerations only.
      {"planted-alike",
       {.max_claims = 2,
        .names = 0.15,
        .taints = 0.85,
        .multi = 0.15,
        .counters = 0.1,
        .lists = 0.1,
        .derived = 0.1,
        .constraints = 0.2,
        .alternatives = 0.9,
        .alike = 0.9}},
      // Derived values and lists on devices that several requests have.
      {"planted-shared",
       {.max_devices = 4,
        .multi = 0.9,
        .counters = 0.15,
        .lists = 0.4,
        .derived = 0.8,
        .constraints = 0.95,
        .alternatives = 0.6}},
      // Lists under constraints.
      {"planted-lists",
       {.max_claims = 2,
        .twins = 0.6,
        .names = 0.2,
        .taints = 0.1,
        .multi = 0.15,
        .counters = 0.1,
        .lists = 1.0,
        .constraints = 1.0}},
      // The same while they do not count, and devices that others share draw on what little there
      // is: which of two equal ones is taken then decides who is compared first.
      {"planted-lists-off",
       {.max_devices = 5,
        .max_claims = 1,
        .max_requests = 3,
        .twins = 0.6,
        .names = 0.1,
        .taints = 0.0,
        .multi = 1.0,
        .capacity = 0.1,
        .counters = 0.9,
        .groups = 0.1,
        .lists = 1.0,
        .lists_off = 1.0,
        .derived = 0.0,
        .constraints = 1.0,
        .alternatives = 0.2,
        .spoiled = 0.0}},
      // Counter sets that are drawn empty, and groups.
      {"planted-sets",
       {.taints = 0.1,
        .multi = 0.5,
        .counters = 1.0,
        .groups_off = 0.15,
        .derived = 0.05,
        .constraints = 0.3}},
      // Claims that ask for the same.
      {"planted-claims",
       {.max_devices = 8,
        .max_claims = 4,
        .names = 0.1,
        .taints = 0.5,
        .counters = 0.15,
        .constraints = 1.0,
        .same_claims = 1.0}},
      {"planted-admin",
       {.max_devices = 5, .multi = 0.2, .counters = 0.5, .constraints = 0.8, .admin = 0.8}},
      // As many devices as one claim can have.
      {"planted-limit",
       {.max_claims = 2,
        .max_requests = 4,
        .names = 0.0,
        .taints = 0.1,
        .multi = 0.1,
        .counters = 0.1,
        .lists = 0.0,
        .derived = 0.0,
        .constraints = 0.1,
        .alternatives = 0.9,
        .limit = 0.5}},
  };
  return profiles;
}

Instance InstanceOf(std::uint64_t seed) {
  Dice dice(seed);
  const std::uint64_t planted = PlantedProfiles().size();
  const std::uint64_t kinds = planted + Profiles().size() + 2;
  std::uint64_t kind = seed % kinds;
  Instance instance;
  if (kind < planted) {
    const PlantedProfile& profile = PlantedProfiles()[kind];
    instance = PlantedInstance(dice, profile.options);
    instance.name = fmt::format("{}-{}", profile.name, seed);
    return instance;
  }
  kind -= planted;
  if (kind >= Profiles().size()) {
    const HardKind first = dice.Pick(HardKinds());
    instance = kind == Profiles().size()
                   ? RandomHardInstance(dice, first, true).instance
                   : RandomHardPair(dice, first, dice.Pick(HardKinds()), true).instance;
    instance.name = fmt::format("hard_{}-{}", instance.name, seed);
    return instance;
  }
  const Profile& profile = Profiles()[kind];
  const bool wide = seed / kinds % 16 == 15;
  instance = RandomInstance(dice, wide ? Wide(dice) : profile.options);
  instance.name = fmt::format("{}-{}", wide ? "wide" : profile.name, seed);
  return instance;
}

Instance TinyInstanceOf(std::uint64_t seed) {
  Dice dice(seed);
  if (seed % 3 == 0) {
    return RandomHardInstance(dice, dice.Pick(HardKinds()), true).instance;
  }
  if (seed % 3 == 1) {
    PlantedOptions o = PlantedProfiles()[seed / 3 % PlantedProfiles().size()].options;
    o.max_devices = std::min(o.max_devices, 5);
    o.max_claims = std::min(o.max_claims, 3);
    o.max_requests = 4;
    o.limit = 0.0;
    return PlantedInstance(dice, o);
  }
  GeneratorOptions o = Profiles()[seed / 3 % Profiles().size()].options;
  o.max_devices = std::min(o.max_devices, 6);
  o.max_claims = std::min(o.max_claims, 3);
  o.max_requests = 2;
  o.max_count = 2;
  o.max_alternatives = std::min(o.max_alternatives, 3);
  o.binding = 0.05;
  o.broken_pools = 0.0;
  o.skip_operations = 0.0;
  o.constraints = std::max(o.constraints, 0.7);
  o.errors = 0.0;
  return RandomInstance(dice, o);
}

Instance LargeInstanceOf(std::uint64_t seed) {
  Dice dice(seed);
  const Profile& profile = Profiles()[seed % Profiles().size()];
  GeneratorOptions o = profile.options;
  o.max_devices = 28;
  o.max_claims = std::max(o.max_claims, 4);
  o.max_requests = 4;
  o.max_count = 4;
  o.broken_pools = 0.0;
  o.taken = 0.3;
  o.constraints = std::max(o.constraints, 0.6);
  o.errors = 0.0;
  Instance instance = RandomInstance(dice, o);
  instance.name = fmt::format("large-{}-{}", profile.name, seed);
  return instance;
}

}  // namespace dray::model
