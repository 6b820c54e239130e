// SPDX-License-Identifier: Apache-2.0
#include "policy/match_rules.h"

#include <algorithm>
#include <utility>

namespace dray::policy {
namespace {

std::vector<std::string> TextsOf(const api::FieldView& list) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list.size(); ++i) texts.emplace_back(list.item(i).text());
  return texts;
}

std::vector<MatchRule> RulesOf(const api::FieldView& list) {
  std::vector<MatchRule> rules;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const api::FieldView rule = list.item(i);
    const std::string_view scope = rule["scope"].text();
    rules.push_back({.names = TextsOf(rule["resourceNames"]),
                     .operations = TextsOf(rule["operations"]),
                     .groups = TextsOf(rule["apiGroups"]),
                     .versions = TextsOf(rule["apiVersions"]),
                     .resources = TextsOf(rule["resources"]),
                     .scope = scope.empty() ? "*" : std::string(scope)});
  }
  return rules;
}

// One that makes no sense is not stored.
api::LabelMatcher SelectorOf(const api::FieldView& view) {
  const auto* selector = view.As<api::LabelSelector>();
  if (selector == nullptr) return {};
  auto matcher = api::LabelMatcher::From(*selector);
  return matcher.ok() ? *std::move(matcher) : api::LabelMatcher();
}

bool OneOf(const std::vector<std::string>& list, std::string_view word) {
  return std::ranges::any_of(list,
                             [&](const std::string& item) { return item == "*" || item == word; });
}

bool ResourceFits(const std::vector<std::string>& list, std::string_view resource,
                  std::string_view subresource) {
  return std::ranges::any_of(list, [&](std::string_view item) {
    const std::size_t slash = item.find('/');
    const std::string_view first = item.substr(0, slash);
    const std::string_view second =
        slash == std::string_view::npos ? std::string_view() : item.substr(slash + 1);
    return (first == "*" || first == resource) && (second == "*" || second == subresource);
  });
}

bool IsNamespace(const Version& version) {
  return version.resource.group.empty() && version.resource.name == "namespaces";
}

bool ScopeFits(std::string_view scope, const Request& request, const Version& version) {
  if (scope == "*") return true;
  const bool cluster = IsNamespace(version) || request.namespace_.empty();
  return cluster == (scope == "Cluster");
}

bool Fits(const MatchRule& rule, const Request& request, const Version& version) {
  return ScopeFits(rule.scope, request, version) && OneOf(rule.operations, request.operation) &&
         OneOf(rule.groups, version.resource.group) &&
         OneOf(rule.versions, version.resource.version) &&
         ResourceFits(rule.resources, version.resource.name, request.subresource) &&
         (rule.names.empty() || std::ranges::find(rule.names, request.name) != rule.names.end());
}

// The version by which one of the rules fits: the request's own before its equivalents.
std::optional<Version> FirstFit(const std::vector<MatchRule>& rules, bool exact,
                                const Request& request) {
  for (const MatchRule& rule : rules) {
    if (Fits(rule, request, request.version)) return request.version;
  }
  if (exact) return std::nullopt;
  for (const MatchRule& rule : rules) {
    for (const api::KindInfo* other : request.equivalents) {
      if (other == request.version.info) continue;
      Version version = Version::Of(*other);
      if (!Fits(rule, request, version)) continue;
      // The body of a subresource has its own kind in every version of the resource.
      if (request.document != nullptr) version.kind = request.version.kind;
      return version;
    }
  }
  return std::nullopt;
}

StatusOr<bool> NamespaceFits(const api::LabelMatcher& selector, const Request& request,
                             const LabelsOfNamespace& labels) {
  const bool space = IsNamespace(request.version);
  if ((request.namespace_.empty() && !space) || selector.empty()) return true;
  // One that is being made or changed is judged by what it will be.
  if (space && request.subresource.empty() && request.object != nullptr) {
    return selector.Matches(request.object->metadata().labels);
  }
  DRAY_ASSIGN_OR_RETURN(const api::Map<std::string> found, labels(request.namespace_));
  return selector.Matches(found);
}

const api::DocumentNode* MapIn(const api::DocumentNode& node, std::string_view key) {
  const auto found = std::ranges::find(node.members, key, &api::Member::key);
  const bool is_map =
      found != node.members.end() && found->value.kind == api::DocumentNode::Kind::kMap;
  return is_map ? &found->value : nullptr;
}

// Of something with metadata that is no object of the store.
api::Map<std::string> LabelsIn(const api::DocumentNode& document) {
  api::Map<std::string> labels;
  const api::DocumentNode* metadata = MapIn(document, "metadata");
  const api::DocumentNode* list = metadata == nullptr ? nullptr : MapIn(*metadata, "labels");
  if (list == nullptr) return labels;
  for (const api::Member& member : list->members) labels[member.key] = member.value.text;
  return labels;
}

bool ObjectFits(const api::LabelMatcher& selector, const Request& request) {
  if (selector.empty()) return true;
  // A binding has labels, and may have none; what joins a process is nothing that could have some.
  const bool labelled = request.document != nullptr && request.operation != kConnect;
  if (labelled && selector.Matches(LabelsIn(*request.document))) return true;
  for (const api::Object* object : {request.object, request.old_object}) {
    if (object != nullptr && selector.Matches(object->metadata().labels)) return true;
  }
  return false;
}

}  // namespace

bool IsExempt(std::string_view group, std::string_view resource) {
  if (group == "admissionregistration.k8s.io") {
    return resource.starts_with("validatingadmissionpolic") ||
           resource.starts_with("mutatingadmissionpolic");
  }
  return (group == "authentication.k8s.io" || group == "authorization.k8s.io") &&
         resource.ends_with("reviews");
}

MatchResources MatchResources::Read(const api::FieldView& view) {
  return {.namespaces = SelectorOf(view["namespaceSelector"]),
          .objects = SelectorOf(view["objectSelector"]),
          .rules = RulesOf(view["resourceRules"]),
          .excluded = RulesOf(view["excludeResourceRules"]),
          .exact = view["matchPolicy"].text() == "Exact"};
}

StatusOr<std::optional<Version>> Matches(const MatchResources& match, const Request& request,
                                         const LabelsOfNamespace& labels) {
  // What costs least is asked first; the answer does not depend on the order.
  if (!ObjectFits(match.objects, request)) return std::optional<Version>();
  if (FirstFit(match.excluded, match.exact, request)) return std::optional<Version>();
  std::optional<Version> version = request.version;
  if (!match.rules.empty()) version = FirstFit(match.rules, match.exact, request);
  if (!version) return version;
  DRAY_ASSIGN_OR_RETURN(const bool space, NamespaceFits(match.namespaces, request, labels));
  if (!space) version.reset();
  return version;
}

}  // namespace dray::policy
