// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/selection.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/names.h"

namespace dray::scheduler {
namespace {

constexpr std::string_view kNameField = "metadata.name";

bool Listed(const std::vector<std::string>& values, std::string_view value) {
  return std::ranges::find(values, value) != values.end();
}

bool AllLabelValues(const std::vector<std::string>& values) {
  return std::ranges::all_of(values, [](const std::string& v) { return base::IsLabelValue(v); });
}

std::optional<std::int64_t> ToInteger(std::string_view text) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// In, NotIn, Exists and DoesNotExist mean the same for pods' and nodes' labels. Nothing: another
// operator. What a label cannot be is looked at only where it would not fail anyway.
std::optional<bool> Holds(std::string_view op, std::string_view key,
                          const std::vector<std::string>& values,
                          const api::Map<std::string>& labels) {
  const std::string* value = labels.Find(key);
  if (op == "In") return value != nullptr && Listed(values, *value);
  if (op == "NotIn") {
    if (values.empty() || !base::IsLabelKey(key) || !AllLabelValues(values)) return false;
    return value == nullptr || !Listed(values, *value);
  }
  if (op == "Exists") return value != nullptr && values.empty();
  if (op == "DoesNotExist") return value == nullptr && values.empty() && base::IsLabelKey(key);
  return std::nullopt;
}

bool Holds(const api::NodeSelectorRequirement& r, const api::Map<std::string>& labels) {
  if (const auto known = Holds(r.operator_, r.key, r.values, labels)) return *known;
  if ((r.operator_ != "Gt" && r.operator_ != "Lt") || r.values.size() != 1) return false;
  const std::string* value = labels.Find(r.key);
  const auto is = value == nullptr ? std::nullopt : ToInteger(*value);
  const auto bound = ToInteger(r.values[0]);
  if (!is.has_value() || !bound.has_value()) return false;
  return r.operator_ == "Gt" ? *is > *bound : *is < *bound;
}

bool FieldHolds(const api::NodeSelectorRequirement& r, std::string_view node_name) {
  if (r.values.size() != 1 || (r.operator_ != "In" && r.operator_ != "NotIn")) return false;
  const std::string_view value = r.key == kNameField ? node_name : std::string_view();
  return (value == r.values[0]) == (r.operator_ == "In");
}

const api::NodeSelector* RequiredSelector(const api::Pod& pod) {
  const auto& affinity = pod.spec.affinity;
  if (!affinity.has_value() || !affinity->node_affinity.has_value()) return nullptr;
  return affinity->node_affinity->required.get();
}

}  // namespace

bool Matches(const api::LabelSelector& selector, const api::Map<std::string>& labels) {
  for (const auto& [key, wanted] : selector.match_labels) {
    const std::string* value = labels.Find(key.view());
    if (value == nullptr || *value != wanted) return false;
  }
  return std::ranges::all_of(selector.match_expressions, [&](const auto& r) {
    return Holds(r.operator_, r.key, r.values, labels).value_or(false);
  });
}

bool Matches(const api::NodeSelectorTerm& term, const api::Node& node) {
  if (term.match_expressions.empty() && term.match_fields.empty()) return false;
  return std::ranges::all_of(term.match_expressions,
                             [&](const auto& r) { return Holds(r, node.metadata.labels); }) &&
         std::ranges::all_of(term.match_fields,
                             [&](const auto& r) { return FieldHolds(r, node.metadata.name); });
}

bool HasRequiredAffinity(const api::Pod& pod) {
  return !pod.spec.node_selector.empty() || RequiredSelector(pod) != nullptr;
}

bool MatchesRequiredAffinity(const api::Pod& pod, const api::Node& node) {
  for (const auto& [key, wanted] : pod.spec.node_selector) {
    const std::string* value = node.metadata.labels.Find(key.view());
    if (value == nullptr || *value != wanted) return false;
  }
  const api::NodeSelector* required = RequiredSelector(pod);
  return required == nullptr ||
         std::ranges::any_of(required->node_selector_terms,
                             [&](const auto& term) { return Matches(term, node); });
}

bool MatchesKeys(const api::Pod& owner, const std::vector<std::string>& match_keys,
                 const api::Map<std::string>& other) {
  return std::ranges::all_of(match_keys, [&](const std::string& key) {
    const std::string* mine = owner.metadata.labels.Find(key);
    if (mine == nullptr) return true;
    const std::string* theirs = other.Find(key);
    return theirs != nullptr && *theirs == *mine;
  });
}

bool MismatchesKeys(const api::Pod& owner, const std::vector<std::string>& mismatch_keys,
                    const api::Map<std::string>& other) {
  return std::ranges::all_of(mismatch_keys, [&](const std::string& key) {
    const std::string* mine = owner.metadata.labels.Find(key);
    if (mine == nullptr) return true;
    const std::string* theirs = other.Find(key);
    return theirs == nullptr || *theirs != *mine;
  });
}

bool Matches(const api::Pod& owner, const api::PodAffinityTerm& term, const api::Pod& other,
             const api::Map<std::string>* namespace_labels) {
  static const api::Map<std::string> kNone;
  const auto in_namespace = [&] {
    if (term.namespaces.empty() && !term.namespace_selector.has_value()) {
      return other.metadata.namespace_ == owner.metadata.namespace_;
    }
    if (Listed(term.namespaces, other.metadata.namespace_)) return true;
    return term.namespace_selector.has_value() &&
           Matches(*term.namespace_selector,
                   namespace_labels == nullptr ? kNone : *namespace_labels);
  };
  const api::Map<std::string>& labels = other.metadata.labels;
  return term.label_selector.has_value() && Matches(*term.label_selector, labels) &&
         MatchesKeys(owner, term.match_label_keys, labels) &&
         MismatchesKeys(owner, term.mismatch_label_keys, labels) && in_namespace();
}

}  // namespace dray::scheduler
