// SPDX-License-Identifier: Apache-2.0
//
// What is asked about one device.
#include <algorithm>

#include "api/resource_slice.h"
#include "fleet/fleet.h"
#include "fmt/format.h"

namespace dray::fleet {

void Fleet::ForEachObject(const std::function<void(const api::Object&)>& each) const {
  for (const auto& [name, object] : namespaces_) each(object);
  for (const auto& [name, object] : class_objects_) each(object);
  for (const auto& [name, object] : rule_objects_) each(object);
  for (const auto& [key, object] : quotas_) each(object);
  for (const Node& node : nodes_) {
    if (node.object) each(*node.object);
  }
  for (const auto& [name, object] : slice_objects_) each(object);
  for (const auto& [key, claim] : claims_) {
    if (claim.object) each(*claim.object);
  }
  for (const auto& [key, pod] : pods_) {
    if (pod.object) each(*pod.object);
  }
}

std::string Fleet::ClassError(std::uint32_t number) const {
  for (const auto& expression : class_selectors_[number]) {
    if (expression->program == nullptr) return std::string(base::Message(expression->error));
  }
  return "";
}

const api::Device* Fleet::PublishedOf(const Device& device) const {
  if (device.slice == nullptr) return nullptr;
  const auto it = slice_objects_.find(device.slice->object_name());
  if (it == slice_objects_.end()) return nullptr;
  const auto& devices = it->second.As<api::ResourceSlice>()->spec.devices;
  if (!devices || device.row >= devices->size()) return nullptr;
  return &(*devices)[device.row];
}

const ledger::DeviceUsage* Fleet::UsageOf(const Device& device) const {
  const Pool& pool = pools_[device.pool];
  if (pool.usage == nullptr) return nullptr;
  const auto name = device.slice != nullptr
                        ? std::optional(device.slice->devices()[device.row].name)
                        : dictionary_->Find(strings_.At(device.name));
  return name ? pool.usage->Find(*name) : nullptr;
}

std::vector<const Claim*> Fleet::HoldersOf(Id device) const {
  std::vector<const Claim*> claims;
  const auto held = holders_.find(NameOf(devices_[device]));
  if (held == holders_.end()) return claims;
  for (const Key& key : held->second) claims.push_back(&claims_.at(key));
  return claims;
}

std::vector<Fleet::TaintOn> Fleet::TaintsOf(const Device& device) const {
  std::vector<TaintOn> taints;
  if (device.slice == nullptr) return taints;
  for (const api::DeviceTaint& taint :
       dictionary_->At(device.slice->devices()[device.row].taints)) {
    taints.push_back({taint, "slice"});
  }
  const Pool& pool = pools_[device.pool];
  for (const inventory::TaintRule& rule : inventory_.snapshot().taint_rules()) {
    const auto same = [&](const std::optional<std::string>& wanted, std::uint32_t name) {
      return !wanted || *wanted == strings_.At(name);
    };
    if (same(rule.selector.driver, pool.driver) && same(rule.selector.pool, pool.name) &&
        same(rule.selector.device, device.name)) {
      taints.push_back({rule.taint, fmt::format("DeviceTaintRule {}", rule.name)});
    }
  }
  return taints;
}

}  // namespace dray::fleet
