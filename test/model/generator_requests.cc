// SPDX-License-Identifier: Apache-2.0
//
// Random requests: one, its alternatives, and others like it.
#include <algorithm>

#include "fmt/format.h"
#include "model/generator_internal.h"

namespace dray::model::generator {
namespace {

std::string RandomSelector(Dice& dice, const Themes& themes) {
  if (themes.errors && dice.Chance(0.3)) {
    return dice.Pick({"device.attributes['size.example.com'].tier > 1",
                      "device.attributes['nowhere.example.com'].missing == 1", "device.nothing",
                      "device.capacity['gpu.example.com'].memory.compareTo(quantity('1')) > 0"});
  }
  return dice.Pick({"device.attributes['size.example.com'].?tier.orValue(0) >= 1",
                    "device.attributes['size.example.com'].?tier.orValue(0) < 3",
                    "device.attributes['topo.example.com'].?numa.orValue(0) != 1",
                    "!device.allowMultipleAllocations", "device.name != 'dev-0-0'",
                    "device.driver.startsWith('gpu')"});
}

std::vector<api::DeviceToleration> RandomTolerations(Dice& dice) {
  std::vector<api::DeviceToleration> tolerations;
  for (int i = dice.Range(1, dice.Chance(0.3) ? 3 : 1); i > 0; --i) {
    auto& toleration = tolerations.emplace_back();
    toleration.key = dice.Pick({"sick", "old", "sick", "old", ""});
    toleration.operator_ = dice.Pick({"Exists", "Equal", ""});
    toleration.value = dice.Pick({"", "x"});
    toleration.effect = dice.Pick({"", "NoSchedule", "NoExecute"});
    // Without a key everything is tolerated, the padding as well.
    if (toleration.key.empty()) toleration.operator_ = "Exists";
    if (toleration.operator_ == "Exists") toleration.value.clear();
  }
  return tolerations;
}

void SetCapacity(Dice& dice, const Themes& themes, api::CapacityRequirements& capacity) {
  const auto amount = [&] {
    if (themes.odd_amounts && dice.Chance(0.3)) {
      return Amount(dice.Pick({"0", "1m", "1500u", "1n", "9E", "2500m"}));
    }
    return Amount(dice.Pick({"1", "2", "3", "5", "700m", "1300m", "0"}));
  };
  const std::string name = dice.Pick({"memory", "memory", "gpu.example.com/memory", "cores"});
  capacity.requests[name] = amount();
  if (dice.Chance(0.15)) capacity.requests["cores"] = amount();
  if (themes.two_spellings && dice.Chance(0.5)) {
    capacity.requests["memory"] = amount();
    capacity.requests[dice.Pick({"gpu.example.com/memory", "nic.example.com/memory"})] = amount();
  }
  if (themes.errors && dice.Chance(0.1)) {
    capacity.requests[name] = Amount(dice.Pick({"-1", "1e30"}));
  }
}

// Of every type, the same on all devices, different on each; under names of its own and under
// names that devices publish.
api::DeviceDerivedAttribute RandomDerived(Dice& dice, const Themes& themes) {
  api::DeviceDerivedAttribute derived;
  derived.name = dice.Pick(DerivedNames());
  derived.expression =
      dice.Pick({"device.attributes['topo.example.com'].?numa.orValue(0) / 2",
                 "device.attributes['size.example.com'].?tier.orValue(0) % 2",
                 "[device.attributes['topo.example.com'].?numa.orValue(0), 7]", "device.driver",
                 "'x'", "'y'", "['x', 'z']", "1", "device.name", "device.allowMultipleAllocations",
                 "semver('1.2.0')", "[semver('1.0.0'), semver('1.2.0')]", "[true]",
                 "device.attributes['topo.example.com'].?roots.orValue('p0')"});
  if (themes.errors && dice.Chance(0.3)) {
    derived.expression = "device.attributes['topo.example.com'].numa + 1";
  }
  return derived;
}

template <typename T>
void SetCount(Dice& dice, const GeneratorOptions& options, T& request) {
  const int roll = dice.Range(0, 99);
  request.count = roll < 4 ? 0 : roll < 60 ? 1 : roll < 85 ? 2 : dice.Range(1, options.max_count);
  // Near the limit of a claim, so that it is met during the search and before it.
  if (dice.Chance(0.01)) request.count = dice.Range(20, 33);
}

template <typename T>
void SetDerived(Dice& dice, const Themes& themes, T& request) {
  request.derived_attributes.clear();
  request.derived_attributes.push_back(RandomDerived(dice, themes));
  api::DeviceDerivedAttribute second = RandomDerived(dice, themes);
  if (dice.Chance(0.3) && second.name != request.derived_attributes[0].name) {
    request.derived_attributes.push_back(std::move(second));
  }
}

template <typename T>
void FillRequest(Dice& dice, const Themes& themes, const GeneratorOptions& options, T& request) {
  const int kind = dice.Range(0, 9);
  request.device_class_name = kind < 4 ? "gpu" : kind < 5 ? "nic" : kind < 9 ? "any" : "big";
  if (dice.Chance(0.3)) {
    request.selectors.push_back(
        {.cel = api::CELDeviceSelector{.expression = RandomSelector(dice, themes)}});
  }
  if (themes.all && dice.Chance(0.35)) {
    request.allocation_mode = "All";
  } else {
    request.allocation_mode = "ExactCount";
    SetCount(dice, options, request);
  }
  if (themes.taints && dice.Chance(0.5)) request.tolerations = RandomTolerations(dice);
  if (themes.capacity && dice.Chance(0.5)) {
    request.capacity.emplace();
    SetCapacity(dice, themes, *request.capacity);
  }
  if (themes.derived && dice.Chance(0.7)) SetDerived(dice, themes, request);
}

// Changes one thing of it that an instance like this one has.
template <typename T>
void ChangeOne(Dice& dice, const Themes& themes, const GeneratorOptions& options, T& request) {
  switch (dice.Range(0, 6)) {
    case 0:
    case 1:
      if (themes.taints) {
        request.tolerations.clear();
        if (dice.Chance(0.7)) request.tolerations = RandomTolerations(dice);
        return;
      }
      break;
    case 2:
      if (themes.derived) return SetDerived(dice, themes, request);
      break;
    case 3:
      if (themes.capacity) {
        request.capacity.emplace();
        return SetCapacity(dice, themes, *request.capacity);
      }
      break;
    case 4:
      if (request.allocation_mode == "ExactCount") return SetCount(dice, options, request);
      break;
    default:
      break;
  }
  request.selectors.clear();
  if (dice.Chance(0.7)) {
    request.selectors.push_back(
        {.cel = api::CELDeviceSelector{.expression = RandomSelector(dice, themes)}});
  }
}

}  // namespace

const std::vector<std::string>& DerivedNames() {
  static const std::vector<std::string> names = {"half",  "half", "derived.example.com/d",
                                                 "model", kNuma,  "gpu.example.com/model",
                                                 kRoots,  kLanes};
  return names;
}

api::DeviceRequest RandomRequest(Dice& dice, const Themes& themes,
                                 const GeneratorOptions& options) {
  api::DeviceRequest request;
  if (themes.prioritized && dice.Chance(0.5)) {
    const int n = dice.Range(
        1, dice.Chance(0.7) ? std::min(3, options.max_alternatives) : options.max_alternatives);
    for (int i = 0; i < n; ++i) {
      api::DeviceSubRequest sub;
      if (themes.alike && i > 0 && dice.Chance(0.4)) {
        sub = dice.Pick(request.first_available);
        ChangeOne(dice, themes, options, sub);
      } else {
        FillRequest(dice, themes, options, sub);
      }
      sub.name = fmt::format("s{}", i);
      request.first_available.push_back(std::move(sub));
    }
    return request;
  }
  request.exactly.emplace();
  FillRequest(dice, themes, options, *request.exactly);
  if (themes.admin && dice.Chance(0.4)) request.exactly->admin_access = dice.Chance(0.9);
  return request;
}

api::DeviceRequest RequestLike(Dice& dice, const Themes& themes, const GeneratorOptions& options,
                               api::DeviceRequest like) {
  if (like.exactly) {
    if (dice.Chance(0.6)) ChangeOne(dice, themes, options, *like.exactly);
    return like;
  }
  if (like.first_available.empty()) return like;
  switch (dice.Range(0, 3)) {
    case 0:  // all alternatives in the same way
      for (auto& sub : like.first_available) sub.tolerations = like.first_available[0].tolerations;
      if (themes.taints) {
        const auto tolerations = RandomTolerations(dice);
        for (auto& sub : like.first_available) sub.tolerations = tolerations;
      }
      break;
    case 1:
      for (auto& sub : like.first_available) {
        if (dice.Chance(0.5)) ChangeOne(dice, themes, options, sub);
      }
      break;
    case 2:  // in another order
      dice.Shuffle(like.first_available);
      for (std::size_t i = 0; i < like.first_available.size(); ++i) {
        like.first_available[i].name = fmt::format("s{}", i);
      }
      break;
    default:
      break;
  }
  return like;
}

}  // namespace dray::model::generator
