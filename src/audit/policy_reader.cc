// SPDX-License-Identifier: Apache-2.0
//
// Policy files: a tree with positions, walked by hand so that each error can say what is right.
#include <array>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "api/document.h"
#include "audit/policy.h"
#include "base/edit_distance.h"
#include "base/field_path.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::audit {
namespace {

using api::DocumentNode;
using base::FieldPath;
using Kind = DocumentNode::Kind;

constexpr std::string_view kApiVersion = "audit.k8s.io/v1";
constexpr std::size_t kShown = 60;  // bytes of a value

std::string Shown(const DocumentNode& node) {
  std::string text = api::ToJson(node);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

Status Fault(const DocumentNode& node, const FieldPath& path, std::string_view what) {
  return base::InvalidArgument(fmt::format("line {}: {}: {}", node.position.line,
                                           path.ToString().empty() ? "policy" : path.ToString(),
                                           what));
}

// A map with these fields and no others.
Status CheckFields(const DocumentNode& node, const FieldPath& path,
                   std::span<const std::string_view> known) {
  if (node.kind != Kind::kMap) {
    return Fault(
        node, path,
        fmt::format("{} must be a map with the fields {}", Shown(node), fmt::join(known, ", ")));
  }
  for (std::size_t i = 0; i < node.members.size(); ++i) {
    const api::Member& member = node.members[i];
    const FieldPath at = path / member.key;
    if (std::ranges::find(known, member.key) == known.end()) {
      const auto closest = base::ClosestMatch(member.key, known);
      return base::InvalidArgument(
          fmt::format("line {}: {}: unknown field; {}", member.key_position.line, at.ToString(),
                      closest ? fmt::format("did you mean {}?", *closest)
                              : fmt::format("there are {}", fmt::join(known, ", "))));
    }
    if (node.Find(member.key) != &member) {
      return base::InvalidArgument(fmt::format("line {}: {}: given more than once",
                                               member.key_position.line, at.ToString()));
    }
  }
  return {};
}

// Null when it is missing or null.
const DocumentNode* FieldOf(const DocumentNode& map, std::string_view name) {
  const api::Member* member = map.Find(name);
  return member == nullptr || member->value.kind == Kind::kNull ? nullptr : &member->value;
}

StatusOr<std::vector<std::string>> StringsOf(const DocumentNode& map, const FieldPath& path,
                                             std::string_view name) {
  std::vector<std::string> strings;
  const DocumentNode* list = FieldOf(map, name);
  if (list == nullptr) return strings;
  const FieldPath at = path / name;
  if (list->kind != Kind::kList) {
    return Fault(*list, at, fmt::format("{} must be a list of strings", Shown(*list)));
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const DocumentNode& item = list->items[i];
    if (item.kind != Kind::kString) {
      return Fault(item, at.Index(i), fmt::format("{} must be a string", Shown(item)));
    }
    strings.push_back(item.text);
  }
  return strings;
}

template <typename T>
StatusOr<T> NamedOf(const DocumentNode& node, const FieldPath& at, std::size_t count,
                    std::string_view what) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<T>(i);
    if (node.kind == Kind::kString && node.text == NameOf(value)) return value;
    names.push_back(NameOf(value));
  }
  return Fault(node, at,
               fmt::format("{} is not a {}; it must be one of {}", Shown(node), what,
                           fmt::join(names, ", ")));
}

StatusOr<Stages> StagesOf(const DocumentNode& map, const FieldPath& path) {
  Stages stages;
  const DocumentNode* list = FieldOf(map, "omitStages");
  if (list == nullptr) return stages;
  const FieldPath at = path / "omitStages";
  if (list->kind != Kind::kList) {
    return Fault(*list, at, fmt::format("{} must be a list of stages", Shown(*list)));
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    DRAY_ASSIGN_OR_RETURN(const Stage stage, NamedOf<Stage>(list->items[i], at.Index(i), kStages,
                                                            "stage of a request"));
    stages.Add(stage);
  }
  return stages;
}

StatusOr<std::optional<bool>> BoolOf(const DocumentNode& map, const FieldPath& path,
                                     std::string_view name) {
  const DocumentNode* value = FieldOf(map, name);
  if (value == nullptr) return std::optional<bool>();
  if (value->kind == Kind::kBool) return std::optional<bool>(value->boolean);
  return Fault(*value, path / name, fmt::format("{} must be true or false", Shown(*value)));
}

Status CheckResource(const DocumentNode& node, const FieldPath& at, std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view resource = text.substr(0, slash);
  const std::string_view part = slash == text.npos ? "x" : text.substr(slash + 1);
  const bool whole = !resource.empty() && !part.empty() && part.find('/') == part.npos;
  const auto starred = [](std::string_view word) {
    return word != "*" && word.find('*') != word.npos;
  };
  if (whole && !starred(resource) && !starred(part) && text != "*/*") return {};
  return Fault(
      node, at,
      fmt::format("\"{}\" must be a resource such as pods, pods/status, pods/*, */scale or *",
                  text.substr(0, kShown)));
}

StatusOr<std::vector<GroupResources>> ResourcesOf(const DocumentNode& map, const FieldPath& path) {
  static constexpr std::array<std::string_view, 3> kFields = {"group", "resources",
                                                              "resourceNames"};
  std::vector<GroupResources> all;
  const DocumentNode* list = FieldOf(map, "resources");
  if (list == nullptr) return all;
  const FieldPath base = path / "resources";
  if (list->kind != Kind::kList) {
    return Fault(*list, base,
                 fmt::format("{} must be a list, such as [{{group: \"\", resources: [pods]}}]",
                             Shown(*list)));
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const DocumentNode& item = list->items[i];
    const FieldPath at = base.Index(i);
    DRAY_RETURN_IF_ERROR(CheckFields(item, at, kFields));
    GroupResources group;
    if (const DocumentNode* name = FieldOf(item, "group")) {
      if (name->kind != Kind::kString || name->text.find('/') != std::string::npos) {
        return Fault(*name, at / "group",
                     fmt::format("{} must be an API group without a version, such as apps or "
                                 "resource.k8s.io, or \"\" for the core group",
                                 Shown(*name)));
      }
      group.group = name->text;
    }
    DRAY_ASSIGN_OR_RETURN(group.resources, StringsOf(item, at, "resources"));
    DRAY_ASSIGN_OR_RETURN(group.resource_names, StringsOf(item, at, "resourceNames"));
    for (std::size_t j = 0; j < group.resources.size(); ++j) {
      DRAY_RETURN_IF_ERROR(CheckResource(FieldOf(item, "resources")->items[j],
                                         (at / "resources").Index(j), group.resources[j]));
    }
    if (!group.resource_names.empty() && group.resources.empty()) {
      return Fault(item, at / "resourceNames", "needs resources: names are of some resource");
    }
    all.push_back(std::move(group));
  }
  return all;
}

StatusOr<Rule> RuleOf(const DocumentNode& node, const FieldPath& at) {
  static constexpr std::array<std::string_view, 9> kFields = {
      "level",           "users",      "userGroups",       "verbs", "resources", "namespaces",
      "nonResourceURLs", "omitStages", "omitManagedFields"};
  DRAY_RETURN_IF_ERROR(CheckFields(node, at, kFields));
  Rule rule;
  const DocumentNode* level = FieldOf(node, "level");
  if (level == nullptr) {
    return Fault(node, at / "level",
                 "is missing; it must be one of None, Metadata, Request, RequestResponse");
  }
  DRAY_ASSIGN_OR_RETURN(rule.level,
                        NamedOf<Level>(*level, at / "level", kLevels, "level of auditing"));
  DRAY_ASSIGN_OR_RETURN(rule.users, StringsOf(node, at, "users"));
  DRAY_ASSIGN_OR_RETURN(rule.user_groups, StringsOf(node, at, "userGroups"));
  DRAY_ASSIGN_OR_RETURN(rule.verbs, StringsOf(node, at, "verbs"));
  DRAY_ASSIGN_OR_RETURN(rule.resources, ResourcesOf(node, at));
  DRAY_ASSIGN_OR_RETURN(rule.namespaces, StringsOf(node, at, "namespaces"));
  DRAY_ASSIGN_OR_RETURN(rule.non_resource_urls, StringsOf(node, at, "nonResourceURLs"));
  DRAY_ASSIGN_OR_RETURN(rule.omit_stages, StagesOf(node, at));
  DRAY_ASSIGN_OR_RETURN(rule.omit_managed_fields, BoolOf(node, at, "omitManagedFields"));
  for (std::size_t i = 0; i < rule.non_resource_urls.size(); ++i) {
    const std::string& url = rule.non_resource_urls[i];
    const std::size_t star = url.find('*');
    const bool last = star == std::string::npos || star + 1 == url.size();
    if (url == "*" || (url.starts_with('/') && last)) continue;
    const DocumentNode& item = FieldOf(node, "nonResourceURLs")->items[i];
    return Fault(item, (at / "nonResourceURLs").Index(i),
                 fmt::format("{} must be a path that begins with /, such as /metrics or /healthz*; "
                             "a * is only allowed at its end",
                             Shown(item)));
  }
  if (!rule.non_resource_urls.empty() && (!rule.resources.empty() || !rule.namespaces.empty())) {
    return Fault(node, at / "nonResourceURLs",
                 "cannot be in one rule with resources or namespaces: a request is about one or "
                 "the other, so that the rule would never apply; make two rules");
  }
  return rule;
}

Status CheckText(const DocumentNode& root, std::string_view name, std::string_view right) {
  const DocumentNode* value = FieldOf(root, name);
  if (value != nullptr && value->kind == Kind::kString && value->text == right) return {};
  return Fault(value == nullptr ? root : *value, FieldPath(name),
               value == nullptr ? fmt::format("is missing; it must be {}", right)
                                : fmt::format("{} must be {}", Shown(*value), right));
}

}  // namespace

StatusOr<Policy> ReadPolicy(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kFields = {
      "apiVersion", "kind", "metadata", "rules", "omitStages", "omitManagedFields"};
  std::vector<api::Diagnostic> diagnostics;
  const std::vector<DocumentNode> documents = api::ParseYaml(text, diagnostics);
  for (const api::Diagnostic& found : diagnostics) {
    if (found.severity != api::Severity::kError) continue;
    return base::InvalidArgument(fmt::format("line {}: {}", found.position.line, found.message));
  }
  if (documents.empty()) {
    return base::InvalidArgument(
        fmt::format("the file is empty; it must hold a Policy of {}", kApiVersion));
  }
  if (documents.size() > 1) {
    return base::InvalidArgument(
        fmt::format("line {}: a second document; there is one policy", documents[1].position.line));
  }
  const DocumentNode& root = documents.front();
  const FieldPath top;
  DRAY_RETURN_IF_ERROR(CheckFields(root, top, kFields));
  DRAY_RETURN_IF_ERROR(CheckText(root, "apiVersion", kApiVersion));
  DRAY_RETURN_IF_ERROR(CheckText(root, "kind", "Policy"));
  Policy policy;
  DRAY_ASSIGN_OR_RETURN(policy.omit_stages, StagesOf(root, top));
  DRAY_ASSIGN_OR_RETURN(const std::optional<bool> omit, BoolOf(root, top, "omitManagedFields"));
  policy.omit_managed_fields = omit.value_or(false);
  const DocumentNode* rules = FieldOf(root, "rules");
  if (rules != nullptr && rules->kind != Kind::kList) {
    return Fault(
        *rules, FieldPath("rules"),
        fmt::format("{} must be a list of rules, such as [{{level: Metadata}}]", Shown(*rules)));
  }
  if (rules == nullptr || rules->items.empty()) {
    return Fault(root, FieldPath("rules"),
                 "is missing or empty, so that nothing would be audited; a policy has at least one "
                 "rule, such as {level: Metadata}");
  }
  for (std::size_t i = 0; i < rules->items.size(); ++i) {
    DRAY_ASSIGN_OR_RETURN(Rule rule, RuleOf(rules->items[i], FieldPath("rules").Index(i)));
    policy.rules.push_back(std::move(rule));
  }
  return policy;
}

}  // namespace dray::audit
