// SPDX-License-Identifier: Apache-2.0
//
// What devices have in common: shapes, and which attributes are in them.
#include <algorithm>
#include <utility>

#include "api/device_class.h"
#include "fleet/fleet.h"
#include "fleet/internal/values.h"
#include "fmt/format.h"

namespace dray::fleet {

using inventory::DeviceRow;
using inventory::NameId;
using inventory::SliceTable;

namespace {

// An attribute of which more than so many values are known, and most devices have one of their own,
// is a serial number: shapes are about what devices have in common.
constexpr std::size_t kCommonValues = 64;

}  // namespace

// Which devices a class matches is part of their shapes, so everybody begins anew.
void Fleet::SettleClasses() {
  if (!classes_changed_) return;
  classes_changed_ = false;
  class_names_.clear();
  class_selectors_.clear();
  for (const auto& [name, object] : class_objects_) {
    class_names_.push_back(name);
    auto& selectors = class_selectors_.emplace_back();
    for (const api::DeviceSelector& selector : object.As<api::DeviceClass>()->spec.selectors) {
      if (selector.cel) selectors.push_back(expressions_.Selector(selector.cel->expression));
    }
  }
  shapes_.clear();
  shape_ids_.clear();
  for (Device& device : devices_) {
    if (device.slice != nullptr) device.shape = ShapeOf(device);
  }
  // Those without a slice keep a shape that says nothing but their driver.
  for (Device& device : devices_) {
    if (device.slice == nullptr && device.state != State::kRemoved) device.shape = ShapeOf(device);
  }
  oldest_ = Stamp();
}

void Fleet::CountAttributes(const SliceTable& slice, const DeviceRow& row, int sign) {
  for (const inventory::AttributeEntry& entry : slice.attributes(row)) {
    const AttributeKey key(slice.driver().id(), entry.name.id());
    OwnAttribute& counted = attributes_[key];
    std::uint32_t& devices = counted.values[entry.value];
    devices += static_cast<std::uint32_t>(sign);
    counted.devices += static_cast<std::size_t>(sign);
    if (devices == 0) counted.values.erase(entry.value);
    flipped_.insert(key);
  }
}

bool Fleet::IsOwn(const Device& device, NameId attribute) const {
  if (device.slice == nullptr) return false;
  const auto it = attributes_.find(AttributeKey(device.slice->driver().id(), attribute.id()));
  return it != attributes_.end() && it->second.own;
}

Id Fleet::ShapeOf(const Device& device) {
  Shape shape{.driver = pools_[device.pool].driver};
  std::string key = fmt::format("{}", shape.driver);
  if (device.slice != nullptr) {
    const DeviceRow& row = device.slice->devices()[device.row];
    const std::string& driver = strings_.At(shape.driver);
    for (const inventory::AttributeEntry& entry : device.slice->attributes(row)) {
      if (IsOwn(device, entry.name)) continue;
      shape.attributes.emplace_back(
          strings_.Of(internal::Qualified(driver, dictionary_->View(entry.name))),
          internal::AttributeJson(dictionary_->Attribute(entry.value)));
    }
    std::ranges::sort(shape.attributes, {}, [&](const auto& attribute) -> const std::string& {
      return strings_.At(attribute.first);
    });
    for (const inventory::CapacityEntry& entry : device.slice->capacities(row)) {
      shape.capacity.emplace_back(
          strings_.Of(internal::Qualified(driver, dictionary_->View(entry.name))),
          strings_.Of(dictionary_->At(entry.capacity).capacity.value.ToString()));
    }
    shape.multiple = row.allow_multiple_allocations;
    for (std::uint32_t i = 0; i < class_selectors_.size(); ++i) {
      const bool match = std::ranges::all_of(class_selectors_[i], [&](const auto& expression) {
        return expression->program != nullptr &&
               expression->program->Match(*device.slice, row, nullptr) == inventory::Verdict::kYes;
      });
      if (match) shape.classes.push_back(i);
    }
    for (const auto& [name, value] : shape.attributes) key += fmt::format("a{}={}", name, value);
    for (const auto& [name, value] : shape.capacity) key += fmt::format("c{}={}", name, value);
    key += shape.multiple ? "m" : "";
    for (const std::uint32_t in : shape.classes) key += fmt::format("k{}", in);
  }
  const auto [it, fresh] = shape_ids_.try_emplace(std::move(key), static_cast<Id>(shapes_.size()));
  if (fresh) shapes_.push_back(std::move(shape));
  return it->second;
}

// Of all devices of these pools, and of those that have an attribute of which it is known now that
// everybody has a value of their own, or no longer.
void Fleet::SettleShapes(const std::vector<Id>& pools) {
  absl::flat_hash_set<std::uint32_t> drivers;
  for (const AttributeKey& key : flipped_) {
    const auto it = attributes_.find(key);
    if (it->second.devices == 0) {
      attributes_.erase(it);
      continue;
    }
    OwnAttribute& counted = it->second;
    const bool own =
        counted.values.size() > kCommonValues && counted.values.size() * 2 > counted.devices;
    if (own != counted.own) drivers.insert(key.first);
    counted.own = own;
  }
  flipped_.clear();
  const auto settle = [&](Id id) {
    Device& device = devices_[id];
    if (device.state == State::kRemoved && device.slice == nullptr) return;
    const Id shape = ShapeOf(device);
    if (shape == device.shape && device.announced > 0) return;
    device.shape = shape;
    Announce(id);
  };
  for (const Id pool : pools) {
    for (const Id device : pools_[pool].devices) settle(device);
  }
  if (drivers.empty()) return;
  for (Id id = 0; id < devices_.size(); ++id) {
    const Device& device = devices_[id];
    if (device.slice != nullptr && drivers.contains(device.slice->driver().id())) settle(id);
  }
}

void Fleet::Announce(Id device) {
  devices_[device].announced = Stamp();
  now_.devices.push_back(device);
}

}  // namespace dray::fleet
