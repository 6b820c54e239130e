// SPDX-License-Identifier: Apache-2.0
//
// Random attributes of a device, of every type.
#include <algorithm>

#include "model/generator_internal.h"

namespace dray::model::generator {
namespace {

// A list in one of its two forms, or one value of it as a scalar.
template <typename Scalar, typename Item, typename Plain, typename InList>
void SetList(Dice& dice, api::DeviceAttribute& attribute, const std::vector<Item>& items,
             Scalar scalar, Plain plain, InList in_list) {
  if (items.size() == 1 && dice.Chance(0.5)) {
    scalar(items[0]);
  } else if (dice.Chance(0.3)) {
    api::ListAttribute list;
    list.*in_list = items;
    attribute.MutableLists().list_value = std::move(list);
  } else {
    attribute.MutableLists().*plain = items;
  }
}

void AddLists(Dice& dice, api::Device& device) {
  using Lists = api::AttributeLists;
  using List = api::ListAttribute;
  const auto length = [&] { return dice.Range(dice.Chance(0.1) ? 0 : 1, 3); };
  if (dice.Chance(0.9)) {
    std::vector<std::string> roots;
    for (int i = length(); i > 0; --i) roots.push_back(dice.Pick({"p0", "p1", "p2", "p3"}));
    auto& attribute = device.attributes[kRoots];
    SetList(
        dice, attribute, roots, [&](const std::string& v) { attribute.string_value = v; },
        &Lists::string_values, &List::string_value);
  }
  if (dice.Chance(0.05)) {
    // The same text in another type is another value.
    device.attributes[kLanes].string_value = dice.Pick({"0", "1"});
  } else if (dice.Chance(0.6)) {
    std::vector<std::int64_t> lanes;
    for (int i = length(); i > 0; --i) lanes.push_back(dice.Range(0, 3));
    auto& attribute = device.attributes[kLanes];
    SetList(
        dice, attribute, lanes, [&](std::int64_t v) { attribute.int_value = v; },
        &Lists::int_values, &List::int_value);
  }
  if (dice.Chance(0.5)) {
    std::vector<api::BoolItem> flags;
    for (int i = std::min(length(), 2); i > 0; --i) flags.push_back({.value = dice.Chance(0.5)});
    auto& attribute = device.attributes[kFlags];
    SetList(
        dice, attribute, flags, [&](const api::BoolItem& v) { attribute.bool_value = v.value; },
        &Lists::bool_values, &List::bool_value);
  }
  if (dice.Chance(0.5)) {
    std::vector<std::string> versions;
    for (int i = length(); i > 0; --i) {
      versions.push_back(dice.Pick({"1.0.0", "1.2.0", "1.2.0+b", "2.0.0-rc.1"}));
    }
    auto& attribute = device.attributes[kFirmwares];
    SetList(
        dice, attribute, versions, [&](const std::string& v) { attribute.version_value = v; },
        &Lists::version_values, &List::version_value);
  }
}

}  // namespace

void AddAttributes(Dice& dice, const Themes& themes, const std::string& driver,
                   api::Device& device) {
  if (dice.Chance(0.9)) device.attributes[kNuma].int_value = dice.Range(0, 2);
  if (dice.Chance(0.8)) device.attributes[kTier].int_value = dice.Range(0, 3);
  if (dice.Chance(0.6)) {
    const std::string key = dice.Chance(0.3) ? driver + "/model" : "model";
    device.attributes[key].string_value = dice.Pick({"a", "b", "c"});
  }
  const double often = themes.constraints ? 0.6 : 0.2;
  if (dice.Chance(often)) {
    device.attributes["firmware"].version_value = dice.Pick({"1.0.0", "1.2.0", "1.2.0+b"});
  }
  if (dice.Chance(often)) device.attributes["spare"].bool_value = dice.Chance(0.5);
  if (themes.lists) AddLists(dice, device);
}

}  // namespace dray::model::generator
