// SPDX-License-Identifier: Apache-2.0
#include "fleet/fleet_json.h"

#include <algorithm>

#include "api/node.h"
#include "api/pod.h"
#include "fmt/format.h"

namespace dray::fleet {
namespace {

constexpr std::string_view kNoName = "";

std::int64_t CreatedOf(const std::optional<api::Object>& object) {
  if (!object || !object->metadata().creation_timestamp) return 0;
  return object->metadata().creation_timestamp->seconds();
}

// One column of a table: what `value` says of each row.
template <typename Rows, typename Value>
void Column(JsonOut& out, std::string_view key, const Rows& rows, const Value& value) {
  out.List(key);
  for (const auto& row : rows) out.Number(static_cast<std::int64_t>(value(row)));
  out.EndList();
}

// Columns whose rows say their names as numbers, or as texts.
void Attributes(JsonOut& out, const Fleet& fleet, const Shape& shape) {
  out.List("attributes");
  for (const auto& [name, value] : shape.attributes) {
    out.BeginList().String(fleet.strings().At(name)).Raw(value).EndList();
  }
  out.EndList();
  out.List("capacity");
  for (const auto& [name, value] : shape.capacity) {
    out.BeginList().String(fleet.strings().At(name)).String(fleet.strings().At(value)).EndList();
  }
  out.EndList();
  if (shape.multiple) out.Flag("multiple", true);
}

void PendingPod(JsonOut& out, const Fleet::Key& key, const Pod& pod) {
  out.BeginMap().Text("namespace", key.first).Text("name", key.second);
  if (!pod.object || !pod.pending) {
    out.Flag("removed", true).EndMap();
    return;
  }
  out.Count("since", CreatedOf(pod.object));
  out.List("claims");
  for (const std::string& claim : pod.claims) out.String(claim);
  out.EndList().EndMap();
}

void Announced(JsonOut& out, const Fleet& fleet, Id id) {
  const Strings& strings = fleet.strings();
  const Device& device = fleet.devices()[id];
  const Pool& pool = fleet.pools()[device.pool];
  const Shape& shape = fleet.shapes()[device.shape];
  out.BeginMap().Count("id", id);
  out.Text("driver", strings.At(pool.driver)).Text("pool", strings.At(pool.name));
  out.Text("device", strings.At(device.name));
  out.Text("node", pool.node == kNone ? kNoName : strings.At(fleet.nodes()[pool.node].name));
  out.Text("card", device.card == kNone ? kNoName : strings.At(fleet.cards()[device.card].name));
  out.Map("shape").Text("driver", strings.At(shape.driver));
  Attributes(out, fleet, shape);
  out.List("classes");
  for (const std::uint32_t number : shape.classes) out.String(fleet.classes()[number]);
  out.EndList().EndMap();
  out.Count("state", static_cast<int>(device.state)).Count("fill", device.fill);
  out.Count("marks", device.marks).EndMap();
}

void ChangedClaim(JsonOut& out, const Fleet::Key& key, const Claim& claim) {
  out.BeginMap().Text("namespace", key.first).Text("name", key.second);
  if (!claim.object) {
    out.Flag("removed", true).EndMap();
    return;
  }
  out.Count("state", static_cast<int>(claim.state)).Count("created", CreatedOf(claim.object));
  out.List("devices");
  for (const Id device : claim.devices) out.Number(device);
  out.EndList().List("pods");
  for (const std::string& pod : claim.pods) out.String(pod);
  out.EndList().EndMap();
}

void ChangedNode(JsonOut& out, const Fleet& fleet, const Node& node) {
  out.BeginMap().Text("name", fleet.strings().At(node.name));
  if ((node.flags & kNodeRemoved) != 0) {
    out.Flag("removed", true).EndMap();
    return;
  }
  out.Map("labels");
  const auto& labels = fleet.label_sets()[node.labels];
  for (std::size_t i = 0; i + 1 < labels.size(); i += 2) {
    out.Text(fleet.strings().At(labels[i]), fleet.strings().At(labels[i + 1]));
  }
  out.EndMap().Count("flags", node.flags).EndMap();
}

void ChangedPool(JsonOut& out, const Fleet& fleet, const Pool& pool) {
  const Strings& strings = fleet.strings();
  out.BeginMap().Text("driver", strings.At(pool.driver)).Text("name", strings.At(pool.name));
  if ((pool.flags & kPoolRemoved) != 0) {
    out.Flag("removed", true).EndMap();
    return;
  }
  out.Text("node", pool.node == kNone ? kNoName : strings.At(fleet.nodes()[pool.node].name));
  out.Count("flags", pool.flags).Count("slices", pool.slices);
  out.Count("generation", pool.generation).EndMap();
}

}  // namespace

std::string FleetJson(const Fleet& fleet, std::string_view epoch, base::Time now) {
  JsonOut out;
  out.BeginMap().Text("epoch", epoch).Count("rev", fleet.revision());
  out.Text("time", now.ToRfc3339());
  out.List("strings");
  for (std::uint32_t i = 0; i < fleet.strings().size(); ++i) out.String(fleet.strings().At(i));
  out.EndList();
  out.List("labels");
  for (const auto& set : fleet.label_sets()) {
    out.BeginList();
    for (const std::uint32_t text : set) out.Number(text);
    out.EndList();
  }
  out.EndList();

  out.Map("nodes");
  Column(out, "name", fleet.nodes(), [](const Node& node) { return node.name; });
  Column(out, "labels", fleet.nodes(), [](const Node& node) { return node.labels; });
  Column(out, "flags", fleet.nodes(), [](const Node& node) { return node.flags; });
  out.EndMap();

  out.Map("pools");
  Column(out, "driver", fleet.pools(), [](const Pool& pool) { return pool.driver; });
  Column(out, "name", fleet.pools(), [](const Pool& pool) { return pool.name; });
  Column(out, "node", fleet.pools(), [](const Pool& pool) { return pool.node; });
  Column(out, "flags", fleet.pools(), [](const Pool& pool) { return pool.flags; });
  Column(out, "slices", fleet.pools(), [](const Pool& pool) { return pool.slices; });
  Column(out, "generation", fleet.pools(), [](const Pool& pool) { return pool.generation; });
  out.EndMap();

  out.Map("cards");
  Column(out, "pool", fleet.cards(), [](const Card& card) { return card.pool; });
  Column(out, "name", fleet.cards(), [](const Card& card) { return card.name; });
  out.EndMap();

  out.List("shapes");
  for (const Shape& shape : fleet.shapes()) {
    out.BeginMap().Count("driver", shape.driver);
    Attributes(out, fleet, shape);
    out.List("classes");
    for (const std::uint32_t number : shape.classes) out.Number(number);
    out.EndList().EndMap();
  }
  out.EndList();
  out.List("classes");
  for (const std::string& name : fleet.classes()) out.String(name);
  out.EndList();

  out.Map("devices");
  Column(out, "pool", fleet.devices(), [](const Device& device) { return device.pool; });
  Column(out, "name", fleet.devices(), [](const Device& device) { return device.name; });
  Column(out, "shape", fleet.devices(), [](const Device& device) { return device.shape; });
  Column(out, "card", fleet.devices(), [](const Device& device) { return device.card; });
  Column(out, "state", fleet.devices(), [](const Device& device) { return device.state; });
  Column(out, "fill", fleet.devices(), [](const Device& device) { return device.fill; });
  Column(out, "marks", fleet.devices(), [](const Device& device) { return device.marks; });
  out.EndMap();

  out.List("pending");
  for (const auto& [key, pod] : fleet.pods()) {
    if (pod.pending) PendingPod(out, key, pod);
  }
  out.EndList();
  out.Map("hidden").Flag("claims", fleet.claims_unknown() || fleet.any_hidden()).EndMap();
  out.EndMap();
  return out.Take();
}

std::string HoldersJson(const Fleet& fleet, std::string_view epoch) {
  Strings strings;
  std::vector<const std::pair<const Fleet::Key, Claim>*> claims;
  for (const auto& entry : fleet.claims()) {
    if (entry.second.object && entry.first.first != kHidden) claims.push_back(&entry);
  }
  JsonOut columns;
  columns.BeginMap();
  Column(columns, "namespace", claims,
         [&](const auto* entry) { return strings.Of(entry->first.first); });
  Column(columns, "name", claims,
         [&](const auto* entry) { return strings.Of(entry->first.second); });
  Column(columns, "state", claims, [](const auto* entry) { return entry->second.state; });
  Column(columns, "created", claims,
         [](const auto* entry) { return CreatedOf(entry->second.object); });
  columns.List("devices");
  for (const auto* entry : claims) {
    columns.BeginList();
    for (const Id device : entry->second.devices) columns.Number(device);
    columns.EndList();
  }
  columns.EndList().List("pods");
  for (const auto* entry : claims) {
    columns.BeginList();
    for (const std::string& pod : entry->second.pods) columns.Number(strings.Of(pod));
    columns.EndList();
  }
  columns.EndList().EndMap();

  JsonOut out;
  out.BeginMap().Text("epoch", epoch).Count("rev", fleet.revision());
  out.List("strings");
  for (std::uint32_t i = 0; i < strings.size(); ++i) out.String(strings.At(i));
  out.EndList().Key("claims").Raw(columns.Take()).EndMap();
  return out.Take();
}

std::string ChangesJson(const Fleet& fleet, std::uint64_t from, base::Time now) {
  if (from >= fleet.revision()) return "";
  const Fleet::Changed changed = fleet.ChangedSince(from);
  JsonOut out;
  out.BeginMap().Count("rev", fleet.revision()).Text("time", now.ToRfc3339());
  // Leaves out what is empty.
  const auto list = [&](std::string_view key, const auto& things, const auto& each) {
    if (things.empty()) return;
    out.List(key);
    for (const auto& thing : things) each(thing);
    out.EndList();
  };
  std::vector<Id> announced;
  std::vector<Id> states;
  for (const Id id : changed.devices) {
    const Device& device = fleet.devices()[id];
    const bool is = device.announced > from && device.state != State::kRemoved;
    (is ? announced : states).push_back(id);
  }
  list("n", changed.nodes, [&](Id id) { ChangedNode(out, fleet, fleet.nodes()[id]); });
  list("o", changed.pools, [&](Id id) { ChangedPool(out, fleet, fleet.pools()[id]); });
  list("a", announced, [&](Id id) { Announced(out, fleet, id); });
  list("d", states, [&](Id id) {
    const Device& device = fleet.devices()[id];
    out.BeginList().Number(id).Number(static_cast<int>(device.state));
    out.Number(device.fill).Number(device.marks).EndList();
  });
  std::vector<const std::pair<const Fleet::Key, Claim>*> claims;
  for (const Fleet::Key& key : changed.claims) {
    const auto it = fleet.claims().find(key);
    if (it != fleet.claims().end() && key.first != kHidden) claims.push_back(&*it);
  }
  list("c", claims, [&](const auto* entry) { ChangedClaim(out, entry->first, entry->second); });
  std::vector<const std::pair<const Fleet::Key, Pod>*> pods;
  for (const Fleet::Key& key : changed.pods) {
    if (const auto it = fleet.pods().find(key); it != fleet.pods().end()) pods.push_back(&*it);
  }
  list("p", pods, [&](const auto* entry) { PendingPod(out, entry->first, entry->second); });
  out.EndMap();
  return out.Take() + "\n";
}

std::string RangesOf(std::vector<std::uint32_t> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i]);
    if (end > i + 1) text += fmt::format("-{}", numbers[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace dray::fleet
