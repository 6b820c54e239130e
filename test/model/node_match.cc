// SPDX-License-Identifier: Apache-2.0
#include "model/node_match.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/names.h"
#include "fmt/format.h"
#include "model/abort.h"

namespace dray::model {
namespace {

std::optional<std::int64_t> ToInt(std::string_view text) {
  std::int64_t value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

void CheckLabels(const api::NodeSelectorRequirement& r) {
  const auto refuse = [&](std::string_view why) {
    throw Abort{fmt::format("node selector on {}: {}", r.key, why)};
  };
  if (!base::IsLabelKey(r.key)) refuse("not a label key");
  if (r.operator_ == "In" || r.operator_ == "NotIn") {
    if (r.values.empty()) refuse("needs values");
  } else if (r.operator_ == "Exists" || r.operator_ == "DoesNotExist") {
    if (!r.values.empty()) refuse("takes no values");
  } else if (r.operator_ == "Gt" || r.operator_ == "Lt") {
    if (r.values.size() != 1 || !ToInt(r.values[0])) refuse("needs one integer");
  } else {
    refuse("unknown operator");
  }
  for (const std::string& value : r.values) {
    if (!base::IsLabelValue(value)) refuse("not a label value");
  }
}

void CheckFields(const api::NodeSelectorRequirement& r) {
  if ((r.operator_ != "In" && r.operator_ != "NotIn") || r.values.size() != 1) {
    throw Abort{fmt::format("node selector on field {}: wants In or NotIn and one value", r.key)};
  }
}

bool LabelHolds(const api::Node& node, const api::NodeSelectorRequirement& r) {
  const std::string* label = node.metadata.labels.Find(r.key);
  const bool listed = label != nullptr && std::ranges::find(r.values, *label) != r.values.end();
  if (r.operator_ == "In") return listed;
  if (r.operator_ == "NotIn") return !listed;
  if (r.operator_ == "Exists") return label != nullptr;
  if (r.operator_ == "DoesNotExist") return label == nullptr;
  if (label == nullptr || !ToInt(*label)) return false;
  return r.operator_ == "Gt" ? *ToInt(*label) > *ToInt(r.values[0])
                             : *ToInt(*label) < *ToInt(r.values[0]);
}

bool FieldHolds(const api::Node& node, const api::NodeSelectorRequirement& r) {
  const std::string value = r.key == "metadata.name" ? node.metadata.name : "";
  return (value == r.values[0]) == (r.operator_ == "In");
}

}  // namespace

bool NodeMatches(const api::Node& node, const api::NodeSelector& selector) {
  for (const api::NodeSelectorTerm& term : selector.node_selector_terms) {
    std::ranges::for_each(term.match_expressions, CheckLabels);
    std::ranges::for_each(term.match_fields, CheckFields);
  }
  return std::ranges::any_of(selector.node_selector_terms, [&](const auto& term) {
    if (term.match_expressions.empty() && term.match_fields.empty()) return false;
    return std::ranges::all_of(term.match_expressions,
                               [&](const auto& r) { return LabelHolds(node, r); }) &&
           std::ranges::all_of(term.match_fields,
                               [&](const auto& r) { return FieldHolds(node, r); });
  });
}

bool DeviceMatchesNode(const api::Node& node, const api::Device& device) {
  if (device.node_name && !device.node_name->empty()) {
    return *device.node_name == node.metadata.name;
  }
  if (device.all_nodes.value_or(false)) return true;
  return device.node_selector && NodeMatches(node, *device.node_selector);
}

bool SliceMatchesNode(const api::Node& node, const api::ResourceSlice& slice) {
  const api::ResourceSliceSpec& spec = slice.spec;
  if (!spec.node_name.value_or("").empty()) return *spec.node_name == node.metadata.name;
  if (spec.all_nodes.value_or(false)) return true;
  if (spec.node_selector) return NodeMatches(node, *spec.node_selector);
  if (!spec.per_device_node_selection.value_or(false) || !spec.devices) return false;
  return std::ranges::any_of(
      *spec.devices, [&](const api::Device& device) { return DeviceMatchesNode(node, device); });
}

}  // namespace dray::model
