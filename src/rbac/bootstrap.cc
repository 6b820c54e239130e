// SPDX-License-Identifier: Apache-2.0
#include "rbac/bootstrap.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/rbac.h"
#include "rbac/aggregation.h"
#include "rbac/internal/bootstrap_roles.h"
#include "rbac/node_authorizer.h"
#include "rbac/rules.h"

namespace dray::rbac {
namespace {

constexpr std::string_view kLabel = "kubernetes.io/bootstrapping";
constexpr std::string_view kDefaults = "rbac-defaults";

std::vector<std::string> Words(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    const std::string_view word = list.substr(0, end);
    if (!word.empty()) words.emplace_back(word == "core" ? std::string_view() : word);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

api::ObjectMeta Metadata(std::string_view name, std::string_view namespace_) {
  api::ObjectMeta metadata;
  metadata.name = name;
  metadata.namespace_ = namespace_;
  metadata.labels[kLabel] = std::string(kDefaults);
  metadata.annotations[kAutoUpdate] = "true";
  return metadata;
}

std::vector<api::PolicyRule> RulesOf(const internal::RoleRow& row) {
  if (row.name == "system:node") return NodeRules();
  std::vector<api::PolicyRule> rules;
  for (const internal::RuleRow& rule : row.rules) {
    rules.push_back({.verbs = Words(rule.verbs),
                     .api_groups = Words(rule.groups),
                     .resources = Words(rule.resources),
                     .resource_names = Words(rule.names),
                     .non_resource_urls = Words(rule.urls)});
  }
  return rules;
}

api::Object RoleOf(const internal::RoleRow& row) {
  if (!row.namespace_.empty()) {
    api::Role role;
    role.metadata = Metadata(row.name, row.namespace_);
    role.rules = RulesOf(row);
    return api::Object::Of(std::move(role));
  }
  api::ClusterRole role;
  role.metadata = Metadata(row.name, "");
  for (const std::string& label : Words(row.labels)) role.metadata.labels[label] = "true";
  role.rules = RulesOf(row);
  if (!row.gathers.empty()) {
    role.aggregation_rule.emplace();
    for (const std::string& label : Words(row.gathers)) {
      api::LabelSelector selector;
      selector.match_labels[label] = "true";
      role.aggregation_rule->cluster_role_selectors.push_back(std::move(selector));
    }
  }
  return api::Object::Of(std::move(role));
}

template <typename Binding>
api::Object BindingOf(const internal::BindingRow& row, std::string_view role_kind) {
  Binding binding;
  binding.metadata = Metadata(row.name.empty() ? row.role : row.name, row.namespace_);
  binding.role_ref = {std::string(api::kRbacGroup), std::string(role_kind), std::string(row.role)};
  const auto add = [&](std::string_view names, std::string_view kind) {
    for (std::string& name : Words(names)) {
      binding.subjects.push_back({.kind = std::string(kind),
                                  .api_group = std::string(api::kRbacGroup),
                                  .name = std::move(name)});
    }
  };
  add(row.users, api::kSubjectUser);
  add(row.groups, api::kSubjectGroup);
  return api::Object::Of(std::move(binding));
}

// Roles may gather roles that gather: until nothing changes.
void Gather(std::vector<api::Object>& objects) {
  for (bool changed = true; changed;) {
    changed = false;
    for (api::Object& object : objects) {
      const auto* role = object.As<api::ClusterRole>();
      if (role == nullptr || !role->aggregation_rule) continue;
      std::vector<const api::ClusterRole*> all;
      for (const api::Object& other : objects) {
        if (const auto* one = other.As<api::ClusterRole>()) all.push_back(one);
      }
      auto rules = AggregatedRules(*role, all);
      if (rules == role->rules) continue;
      object.Mutable<api::ClusterRole>()->rules = std::move(rules);
      changed = true;
    }
  }
}

std::vector<api::Object> Make() {
  std::vector<api::Object> objects;
  for (const internal::RoleRow& row : internal::RoleRows()) objects.push_back(RoleOf(row));
  Gather(objects);
  for (const internal::BindingRow& row : internal::BindingRows()) {
    objects.push_back(row.namespace_.empty()
                          ? BindingOf<api::ClusterRoleBinding>(row, "ClusterRole")
                          : BindingOf<api::RoleBinding>(row, "Role"));
  }
  return objects;
}

// What is there counts; what is missing is added.
bool Merge(api::Map<std::string>& to, const api::Map<std::string>& from) {
  bool changed = false;
  for (const auto& [key, value] : from) {
    if (to.Find(key.view()) != nullptr) continue;
    to[key] = value;
    changed = true;
  }
  return changed;
}

bool AddRules(std::vector<api::PolicyRule>& to, const std::vector<api::PolicyRule>& wanted) {
  Missing missing = Uncovered(to, wanted);
  for (api::PolicyRule& rule : missing.rules) to.push_back(std::move(rule));
  return !missing.rules.empty();
}

bool AddSelectors(std::optional<api::AggregationRule>& to,
                  const std::optional<api::AggregationRule>& wanted) {
  if (!wanted) {
    const bool had = to.has_value();
    to.reset();
    return had;
  }
  if (!to) to.emplace();
  bool changed = false;
  for (const api::LabelSelector& selector : wanted->cluster_role_selectors) {
    auto& list = to->cluster_role_selectors;
    if (std::ranges::find(list, selector) != list.end()) continue;
    list.push_back(selector);
    changed = true;
  }
  return changed;
}

template <typename Binding>
Reconciliation ReconciledBinding(const api::Object& stored, const api::Object& wanted, bool changed,
                                 api::Object next) {
  using Kind = Reconciliation::Kind;
  const Binding& want = *wanted.As<Binding>();
  if (!(stored.As<Binding>()->role_ref == want.role_ref)) return {Kind::kRecreate, wanted};
  for (const api::RbacSubject& subject : want.subjects) {
    const auto& there = next.As<Binding>()->subjects;
    if (std::ranges::find(there, subject) != there.end()) continue;
    next.Mutable<Binding>()->subjects.push_back(subject);
    changed = true;
  }
  return {changed ? Kind::kUpdate : Kind::kNothing, std::move(next)};
}

Status Ensure(api::Cluster& cluster, const api::Object& wanted) {
  const api::ObjectMeta& metadata = wanted.metadata();
  auto found = cluster.Find(wanted.kind(), metadata.namespace_, metadata.name);
  // What cannot be read is for an administrator to look at; others begin meanwhile.
  if (found.status().code() == StatusCode::kDataLoss) return {};
  DRAY_ASSIGN_OR_RETURN(const auto stored, std::move(found));
  if (!stored) {
    const Status made = cluster.Create(wanted).status();
    return made.code() == StatusCode::kAlreadyExists ? Status() : made;
  }
  Reconciliation next = Reconciled(*stored, wanted);
  switch (next.kind) {
    case Reconciliation::Kind::kNothing:
      return {};
    case Reconciliation::Kind::kUpdate:
      return cluster.Update(std::move(next.object)).status();
    case Reconciliation::Kind::kRecreate:
      DRAY_RETURN_IF_ERROR(cluster.Delete(stored->kind(), metadata.namespace_, metadata.name,
                                          stored->metadata().uid));
      return cluster.Create(std::move(next.object)).status();
  }
  return {};
}

}  // namespace

const std::vector<api::Object>& BootstrapObjects() {
  static const std::vector<api::Object> objects = Make();
  return objects;
}

Reconciliation Reconciled(const api::Object& stored, const api::Object& wanted) {
  using Kind = Reconciliation::Kind;
  const std::string* update = stored.metadata().annotations.Find(kAutoUpdate);
  if (update != nullptr && *update == "false") return {Kind::kNothing, stored};
  api::Object next = stored;
  bool changed = Merge(next.MutableMetadata().labels, wanted.metadata().labels);
  changed = Merge(next.MutableMetadata().annotations, wanted.metadata().annotations) || changed;
  if (wanted.As<api::ClusterRoleBinding>() != nullptr) {
    return ReconciledBinding<api::ClusterRoleBinding>(stored, wanted, changed, std::move(next));
  }
  if (wanted.As<api::RoleBinding>() != nullptr) {
    return ReconciledBinding<api::RoleBinding>(stored, wanted, changed, std::move(next));
  }
  if (const auto* role = wanted.As<api::Role>()) {
    changed = AddRules(next.Mutable<api::Role>()->rules, role->rules) || changed;
  } else if (const auto* wide = wanted.As<api::ClusterRole>()) {
    api::ClusterRole& to = *next.Mutable<api::ClusterRole>();
    // The rules of one that gathers others are the controller's to write.
    if (!wide->aggregation_rule) changed = AddRules(to.rules, wide->rules) || changed;
    changed = AddSelectors(to.aggregation_rule, wide->aggregation_rule) || changed;
  }
  return {changed ? Kind::kUpdate : Kind::kNothing, std::move(next)};
}

Status EnsureBootstrapObjects(api::Cluster& cluster) {
  for (const api::Object& wanted : BootstrapObjects()) {
    if (Status done = Ensure(cluster, wanted); !done.ok()) {
      return base::Annotate(done, wanted.metadata().name);
    }
  }
  return {};
}

}  // namespace dray::rbac
