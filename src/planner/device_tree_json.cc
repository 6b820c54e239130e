// SPDX-License-Identifier: Apache-2.0
#include "api/json_tree.h"
#include "planner/device_tree.h"

namespace dray::planner {
namespace {

using api::DocumentNode;
using api::json::Bool;
using api::json::Entry;
using api::json::List;
using api::json::Map;
using api::json::Number;
using api::json::String;

DocumentNode Strings(const std::vector<std::string>& texts) {
  std::vector<DocumentNode> list;
  for (const std::string& text : texts) list.push_back(String(text));
  return List(std::move(list));
}

DocumentNode Pairs(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<Entry> entries;
  for (const auto& [name, value] : pairs) entries.push_back({name, String(value)});
  return Map(std::move(entries));
}

DocumentNode JsonOf(const std::vector<AmountLeft>& amounts) {
  std::vector<DocumentNode> list;
  for (const AmountLeft& amount : amounts) {
    list.push_back(Map({{"name", String(amount.name)},
                        {"value", String(amount.value)},
                        {"left", String(amount.left)}}));
  }
  return List(std::move(list));
}

DocumentNode JsonOf(const DeviceHolder& holder) {
  std::vector<Entry> entries = {{"claim", String(holder.claim)}, {"pods", Strings(holder.pods)}};
  if (!holder.share_id.empty()) entries.push_back({"shareID", String(holder.share_id)});
  if (!holder.consumed.empty()) entries.push_back({"consumedCapacity", Pairs(holder.consumed)});
  if (holder.admin_access) entries.push_back({"adminAccess", Bool(true)});
  if (holder.since) entries.push_back({"since", String(holder.since->ToRfc3339())});
  if (holder.priority) {
    DocumentNode priority;
    priority.kind = DocumentNode::Kind::kNumber;
    priority.text = std::to_string(*holder.priority);
    entries.push_back({"priority", std::move(priority)});
  }
  return Map(std::move(entries));
}

DocumentNode JsonOf(const DeviceEntry& device) {
  std::vector<Entry> entries = {{"device", String(device.name)},
                                {"state", String(NameOf(device.state))}};
  if (!device.holders.empty()) {
    std::vector<DocumentNode> holders;
    for (const DeviceHolder& holder : device.holders) holders.push_back(JsonOf(holder));
    entries.push_back({"holders", List(std::move(holders))});
  }
  if (device.shareable) entries.push_back({"shareable", Bool(true)});
  if (!device.capacity.empty()) entries.push_back({"capacity", JsonOf(device.capacity)});
  if (!device.blocked_by.empty()) entries.push_back({"blockedBy", Strings(device.blocked_by)});
  if (!device.taints.empty()) entries.push_back({"taints", Strings(device.taints)});
  if (!device.attributes.empty()) entries.push_back({"attributes", Pairs(device.attributes)});
  return Map(std::move(entries));
}

DocumentNode JsonOf(const PoolEntry& pool) {
  std::vector<Entry> entries = {{"driver", String(pool.driver)}, {"pool", String(pool.name)}};
  if (!pool.problem.empty()) entries.push_back({"problem", String(pool.problem)});
  std::vector<DocumentNode> sets;
  for (const CounterSetEntry& set : pool.counter_sets) {
    std::vector<Entry> fields = {{"name", String(set.name)}, {"counters", JsonOf(set.counters)}};
    if (!set.groups.empty()) fields.push_back({"groups", Strings(set.groups)});
    sets.push_back(Map(std::move(fields)));
  }
  if (!sets.empty()) entries.push_back({"counterSets", List(std::move(sets))});
  std::vector<DocumentNode> devices;
  for (const DeviceEntry& device : pool.devices) devices.push_back(JsonOf(device));
  entries.push_back({"devices", List(std::move(devices))});
  return Map(std::move(entries));
}

}  // namespace

DocumentNode ToJson(const DeviceTree& tree) {
  std::vector<DocumentNode> nodes;
  for (const NodeEntry& node : tree.nodes) {
    std::vector<DocumentNode> pools;
    for (const PoolEntry& pool : node.pools) pools.push_back(JsonOf(pool));
    std::vector<Entry> entries = {{"name", String(node.name)}};
    if (!node.marks.empty()) entries.push_back({"marks", Strings(node.marks)});
    entries.push_back({"pools", List(std::move(pools))});
    nodes.push_back(Map(std::move(entries)));
  }
  std::vector<DocumentNode> pools;
  for (const PoolEntry& pool : tree.pools) pools.push_back(JsonOf(pool));
  return Map({{"nodes", List(std::move(nodes))},
              {"pools", List(std::move(pools))},
              {"summary", Map({{"devices", Number(tree.Devices())},
                               {"free", Number(tree.Count(DeviceState::kFree))},
                               {"held", Number(tree.Count(DeviceState::kHeld))},
                               {"shared", Number(tree.Count(DeviceState::kShared))},
                               {"blocked", Number(tree.Count(DeviceState::kBlocked))},
                               {"unusable", Number(tree.Count(DeviceState::kUnusable))},
                               {"gone", Number(tree.Count(DeviceState::kGone))}})}});
}

}  // namespace dray::planner
