// SPDX-License-Identifier: Apache-2.0
//
// One device, one node, the classes, and what is found by a text.
#include <algorithm>
#include <functional>
#include <map>

#include "api/device_class.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pod_resources.h"
#include "api/resource_slice.h"
#include "fleet/fleet_json.h"
#include "fleet/internal/values.h"
#include "fmt/format.h"
#include "inventory/capacity_names.h"

namespace dray::fleet {
namespace {

using inventory::Amount;

void TimeIf(JsonOut& out, std::string_view key, const std::optional<base::Time>& time) {
  if (time) out.Text(key, time->ToRfc3339());
}

// "held by pod default/a", "claims default/a and default/b have shares of it".
std::string NamesOf(const std::vector<const Claim*>& claims) {
  std::vector<std::string> names;
  std::size_t hidden = 0;
  for (const Claim* claim : claims) {
    if (claim->namespace_ == kHidden) {
      ++hidden;
    } else if (claim->pods.size() == 1) {
      names.push_back(fmt::format("pod {}/{}", claim->namespace_, claim->pods.front()));
    } else {
      names.push_back(fmt::format("claim {}/{}", claim->namespace_, claim->name));
    }
  }
  constexpr std::size_t kNamed = 3;
  if (names.size() > kNamed) {
    const std::size_t more = names.size() - kNamed;
    names.resize(kNamed);
    names.push_back(fmt::format("{} more", more));
  }
  if (hidden > 0) names.emplace_back("a claim you may not read");
  if (names.empty()) return "a claim";
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += fmt::format("{}{}", i + 1 == names.size() ? " and " : ", ", names[i]);
  }
  return text;
}

std::string WhyOf(const Fleet& fleet, Id id, const Draw& draw) {
  const Device& device = fleet.devices()[id];
  const Pool& pool = fleet.pools()[device.pool];
  switch (device.state) {
    case State::kFree:
      if (!pool.why.empty()) {
        return fmt::format("not allocated, and not available as long as {}", pool.why);
      }
      return "free: not allocated to any claim";
    case State::kHeld:
      return "held by " + NamesOf(fleet.HoldersOf(id));
    case State::kShared:
      return fmt::format("shared by {}: {} % of its fullest capacity is in use",
                         NamesOf(fleet.HoldersOf(id)), device.fill);
    case State::kPartitioned: {
      constexpr std::string_view kBlocked = "blocked: ";
      return "partitioned: " +
             (draw.why.starts_with(kBlocked) ? draw.why.substr(kBlocked.size()) : draw.why);
    }
    case State::kBlocked:
      return draw.why;
    case State::kGone:
      return fmt::format(
          "gone: still allocated to {}, but no longer in the newest slices of its pool",
          NamesOf(fleet.HoldersOf(id)));
    case State::kUnknown:
      return "unknown: you may not list claims, so it is not known whether it is in use";
    case State::kRemoved:
      break;
  }
  return "removed: no slice publishes it any more";
}

std::string PolicyText(const api::DeviceCapacity& capacity) {
  if (!capacity.request_policy.has_value()) return "";
  const api::CapacityRequestPolicy& policy = *capacity.request_policy;
  std::vector<std::string> parts;
  if (policy.default_value) parts.push_back("default " + policy.default_value->ToString());
  if (!policy.valid_values.empty()) {
    std::vector<std::string> values;
    for (const base::Quantity& value : policy.valid_values) values.push_back(value.ToString());
    parts.push_back(fmt::format("one of {}", fmt::join(values, ", ")));
  }
  if (policy.valid_range.has_value()) {
    const api::CapacityRequestPolicyRange& range = *policy.valid_range;
    std::string text;
    if (range.min) text += "from " + range.min->ToString();
    if (range.max) text += (text.empty() ? "up to " : " to ") + range.max->ToString();
    if (range.step)
      text += (text.empty() ? "in steps of " : " in steps of ") + range.step->ToString();
    if (!text.empty()) parts.push_back(text);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

void Capacities(JsonOut& out, const Fleet& fleet, const Device& device,
                const api::Device& published) {
  const ledger::DeviceUsage* usage = fleet.UsageOf(device);
  const auto& row = device.slice->devices()[device.row];
  const auto entries = device.slice->capacities(row);
  out.List("capacity");
  std::size_t at = 0;
  for (const auto& [name, capacity] : published.capacity) {
    Amount used = 0;
    if (usage != nullptr) {
      for (const ledger::ConsumedCapacity& consumed : usage->consumed) {
        const auto which =
            inventory::FindCapacity(consumed.capacity, *device.slice, entries, fleet.dictionary());
        if (which && *which == at) used += consumed.amount;
      }
    }
    ++at;
    out.BeginMap().Text("name", name).Text("value", capacity.value.ToString());
    if (used > 0) out.Text("used", internal::AmountText(used));
    out.TextIf("policy", PolicyText(capacity)).EndMap();
  }
  out.EndList();
}

void Health(JsonOut& out, const Fleet& fleet, Id id) {
  const Device& device = fleet.devices()[id];
  const Pool& pool = fleet.pools()[device.pool];
  const auto one = [&](std::string_view source, std::string_view text,
                       const std::optional<base::Time>& since) {
    out.BeginMap().Text("source", source).Text("text", text);
    TimeIf(out, "since", since);
    out.EndMap();
  };
  out.List("health");
  if (device.node != kNone) {
    const Node& node = fleet.nodes()[static_cast<Id>(device.node)];
    if (node.object && (node.flags & kNotReady) != 0) {
      for (const api::NodeCondition& condition : node.object->As<api::Node>()->status.conditions) {
        if (condition.type != api::kNodeReadyCondition) continue;
        one("node",
            fmt::format("node {} is not ready: {}", fleet.strings().At(node.name),
                        condition.message.empty() ? condition.reason : condition.message),
            condition.last_transition_time);
      }
    }
  }
  if ((pool.flags & (kIncomplete | kInvalid)) != 0) one("pool", pool.why, std::nullopt);
  const std::string key = fleet.NameOf(device);
  for (const Claim* claim : fleet.HoldersOf(id)) {
    if (!claim->object || claim->namespace_ == kHidden) continue;
    for (const auto& status : claim->object->As<api::ResourceClaim>()->status.devices) {
      if (fmt::format("{}/{}/{}", status.driver, status.pool, status.device) != key) continue;
      for (const api::Condition& condition : status.conditions) {
        if (condition.status != "False") continue;
        one("condition " + condition.type,
            condition.message.empty() ? condition.reason : condition.message,
            condition.last_transition_time);
      }
    }
    for (const std::string& name : claim->pods) {
      const auto pod = fleet.pods().find(Fleet::Key(claim->namespace_, name));
      if (pod == fleet.pods().end()) continue;
      if (std::ranges::find(pod->second.unhealthy, key) == pod->second.unhealthy.end()) continue;
      one(fmt::format("pod {}/{}", claim->namespace_, name),
          "the node's agent says in the pod's allocatedResourcesStatus that it is unhealthy",
          std::nullopt);
    }
  }
  out.EndList();
}

void Holders(JsonOut& out, const Fleet& fleet, Id id) {
  const std::string key = fleet.NameOf(fleet.devices()[id]);
  std::size_t hidden = 0;
  out.List("holders");
  for (const Claim* claim : fleet.HoldersOf(id)) {
    const auto& stored = *claim->object->As<api::ResourceClaim>();
    for (const auto& result : stored.status.allocation->devices.results) {
      if (fmt::format("{}/{}/{}", result.driver, result.pool, result.device) != key) continue;
      if (claim->namespace_ == kHidden) {
        ++hidden;
        continue;
      }
      out.BeginMap().Text("namespace", claim->namespace_).Text("claim", claim->name);
      out.Text("request", result.request);
      out.List("pods");
      for (const std::string& pod : claim->pods) out.String(pod);
      out.EndList();
      TimeIf(out, "since", stored.status.allocation->allocation_timestamp);
      if (!result.consumed_capacity.empty()) {
        out.Map("consumed");
        for (const auto& [name, amount] : result.consumed_capacity)
          out.Text(name, amount.ToString());
        out.EndMap();
      }
      if (result.share_id) out.Text("share", *result.share_id);
      if (result.admin_access.value_or(false)) out.Flag("adminAccess", true);
      out.EndMap();
    }
  }
  out.EndList().Count("hidden", hidden);
}

}  // namespace

std::optional<std::string> DeviceJson(const Fleet& fleet, Id id) {
  if (id >= fleet.devices().size()) return std::nullopt;
  const Device& device = fleet.devices()[id];
  const Pool& pool = fleet.pools()[device.pool];
  const Strings& strings = fleet.strings();
  const Draw draw = fleet.DrawOf(device);
  JsonOut out;
  out.BeginMap().Count("id", id).Text("driver", strings.At(pool.driver));
  out.Text("pool", strings.At(pool.name)).Text("device", strings.At(device.name));
  out.Text("node",
           device.node == kNone
               ? std::string_view()
               : std::string_view(strings.At(fleet.nodes()[static_cast<Id>(device.node)].name)));
  out.Count("rev", fleet.revision()).Count("state", static_cast<int>(device.state));
  out.Count("fill", device.fill).Count("marks", device.marks);
  out.Text("why", WhyOf(fleet, id, draw));
  const api::Device* published = fleet.PublishedOf(device);
  if (published != nullptr) {
    out.List("attributes");
    for (const auto& [name, attribute] : published->attributes) {
      out.BeginList().String(internal::Qualified(strings.At(pool.driver), name));
      out.Raw(internal::AttributeJson(attribute)).EndList();
    }
    out.EndList();
    Capacities(out, fleet, device, *published);
    out.List("counters");
    for (const Draw::Counter& counter : draw.counters) {
      out.BeginMap().Text("set", counter.set).Text("name", counter.name);
      out.Text("needs", internal::AmountText(counter.needs));
      out.Text("left", internal::AmountText(counter.left)).EndMap();
    }
    out.EndList();
    std::vector<std::string> groups;
    for (const auto& use : published->consumes_counters) {
      groups.insert(groups.end(), use.compatibility_groups.begin(), use.compatibility_groups.end());
    }
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    out.List("groups");
    for (const std::string& group : groups) out.String(group);
    out.EndList();
    out.List("classes");
    for (const std::uint32_t number : fleet.shapes()[device.shape].classes) {
      out.String(fleet.classes()[number]);
    }
    out.EndList();
  }
  out.List("taints");
  for (const Fleet::TaintOn& taint : fleet.TaintsOf(device)) {
    out.BeginMap().Text("key", taint.taint.key).Text("value", taint.taint.value);
    out.Text("effect", taint.taint.effect).Text("source", taint.source);
    TimeIf(out, "since", taint.taint.time_added);
    out.EndMap();
  }
  out.EndList();
  Health(out, fleet, id);
  Holders(out, fleet, id);
  out.EndMap();
  return out.Take();
}

std::optional<std::string> NodeJson(const Fleet& fleet, std::string_view name) {
  const auto id = fleet.FindNode(name);
  if (!id) return std::nullopt;
  const Node& node = fleet.nodes()[*id];
  JsonOut out;
  out.BeginMap().Text("name", name);
  if (node.object) {
    const auto& stored = *node.object->As<api::Node>();
    out.Map("labels");
    for (const auto& [key, value] : stored.metadata.labels) out.Text(key, value);
    out.EndMap().Count("flags", node.flags);
    TimeIf(out, "created", stored.metadata.creation_timestamp);
    out.List("conditions");
    for (const api::NodeCondition& condition : stored.status.conditions) {
      out.BeginMap().Text("type", condition.type).Text("status", condition.status);
      out.TextIf("reason", condition.reason).TextIf("message", condition.message);
      TimeIf(out, "since", condition.last_transition_time);
      out.EndMap();
    }
    out.EndList().List("taints");
    for (const api::Taint& taint : stored.spec.taints) {
      out.BeginMap().Text("key", taint.key).Text("value", taint.value).Text("effect", taint.effect);
      out.EndMap();
    }
    out.EndList().Map("allocatable");
    for (const auto& [resource, amount] : stored.status.allocatable) {
      out.Text(resource, amount.ToString());
    }
    out.EndMap();
  } else {
    out.Map("labels").EndMap().Count("flags", node.flags);
    out.List("conditions").EndList().List("taints").EndList().Map("allocatable").EndMap();
  }
  std::map<std::string, base::Quantity> requested;
  std::size_t pods = 0;
  for (const auto& [key, pod] : fleet.pods()) {
    if (!pod.object) continue;
    const auto& stored = *pod.object->As<api::Pod>();
    if (stored.spec.node_name != name || stored.status.phase == "Succeeded" ||
        stored.status.phase == "Failed") {
      continue;
    }
    ++pods;
    for (const auto& [resource, amount] : api::PodRequests(stored)) {
      requested[std::string(resource)] = requested[std::string(resource)] + amount;
    }
  }
  out.Map("requested");
  for (const auto& [resource, amount] : requested) out.Text(resource, amount.ToString());
  out.EndMap().Count("pods", pods).EndMap();
  return out.Take();
}

std::string ClassesJson(const Fleet& fleet) {
  std::vector<std::size_t> devices(fleet.classes().size());
  for (const Device& device : fleet.devices()) {
    if (device.slice == nullptr) continue;
    for (const std::uint32_t number : fleet.shapes()[device.shape].classes) ++devices[number];
  }
  JsonOut out;
  out.BeginMap().Count("rev", fleet.revision()).List("classes");
  for (const auto& [name, object] : fleet.class_objects()) {
    const api::DeviceClassSpec& spec = object.As<api::DeviceClass>()->spec;
    out.BeginMap().Text("name", name).List("selectors");
    for (const api::DeviceSelector& selector : spec.selectors) {
      if (selector.cel) out.String(selector.cel->expression);
    }
    out.EndList();
    if (spec.extended_resource_name) out.Text("extendedResourceName", *spec.extended_resource_name);
    const auto number = fleet.FindClass(name);
    out.Count("devices", number ? devices[*number] : 0).Count("config", spec.config.size());
    out.TextIf("error", number ? fleet.ClassError(*number) : "").EndMap();
  }
  out.EndList().EndMap();
  return out.Take();
}

std::string SearchJson(const Fleet& fleet, std::string_view text, std::size_t limit) {
  JsonOut out;
  std::size_t hits = 0;
  bool more = false;
  const auto lower = [](std::string_view of) {
    std::string small(of);
    for (char& c : small) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return small;
  };
  const std::string wanted = lower(text);
  const auto has = [&](std::string_view in) { return lower(in).find(wanted) != std::string::npos; };
  const auto full = [&] {
    more = more || hits >= limit;
    return hits >= limit;
  };
  const auto hit = [&](std::string_view kind, std::string_view space, std::string_view name,
                       std::string_view why, std::optional<Id> id = std::nullopt) {
    if (full()) return;
    ++hits;
    out.BeginMap().Text("kind", kind);
    if (id) out.Count("id", *id);
    out.TextIf("namespace", space).Text("name", name).TextIf("text", why).EndMap();
  };
  out.BeginMap().List("hits");
  if (!wanted.empty()) {
    for (const Node& node : fleet.nodes()) {
      if (full()) break;
      const std::string& name = fleet.strings().At(node.name);
      if ((node.flags & kNodeRemoved) == 0 && has(name)) hit("node", "", name, "");
    }
    for (const std::string& name : fleet.classes()) {
      if (has(name)) hit("class", "", name, "");
    }
    for (const auto& [name, object] : fleet.namespaces()) {
      if (has(name)) hit("namespace", "", name, "");
    }
    for (const auto& [key, pod] : fleet.pods()) {
      if (full()) break;
      if (pod.object && has(key.second)) {
        const auto& stored = *pod.object->As<api::Pod>();
        hit("pod", key.first, key.second,
            pod.pending ? std::string("pending") : stored.spec.node_name);
      }
    }
    for (const auto& [key, claim] : fleet.claims()) {
      if (full()) break;
      if (claim.object && key.first != kHidden && has(key.second)) {
        hit("claim", key.first, key.second, "");
      }
    }
    // Values that many devices have are asked for once per value.
    std::map<inventory::ValueId, bool> values;
    for (Id id = 0; id < fleet.devices().size() && !full(); ++id) {
      const Device& device = fleet.devices()[id];
      if (device.state == State::kRemoved) continue;
      const std::string& name = fleet.strings().At(device.name);
      if (has(name) || has(fleet.NameOf(device))) {
        hit("device", "", name, fleet.NameOf(device), id);
        continue;
      }
      if (device.slice == nullptr) continue;
      for (const auto& entry : device.slice->attributes(device.slice->devices()[device.row])) {
        auto known = values.find(entry.value);
        if (known == values.end()) {
          const std::string value =
              internal::AttributeText(fleet.dictionary().Attribute(entry.value));
          known = values.emplace(entry.value, has(value)).first;
        }
        if (!known->second) continue;
        hit("device", "", name,
            fmt::format("{} = {}", fleet.dictionary().View(entry.name),
                        internal::AttributeText(fleet.dictionary().Attribute(entry.value))),
            id);
        break;
      }
    }
  }
  out.EndList().Flag("more", more).EndMap();
  return out.Take();
}

}  // namespace dray::fleet
