// SPDX-License-Identifier: Apache-2.0
#include "crd/definition_status.h"

#include <algorithm>
#include <set>
#include <utility>

#include "fmt/format.h"

namespace dray::crd {
namespace {

struct Verdict {
  Names accepted;
  std::string reason = "NoConflicts";
  std::string message = "no conflicts found";
};

// Names of resources and of kinds are looked up apart. A definition that is being deleted keeps its
// own until it is gone.
Verdict Accept(const Definition& definition, std::span<const Definition> others) {
  std::set<std::string> resources;
  std::set<std::string> kinds;
  for (const Definition& other : others) {
    if (other.group != definition.group || other.name == definition.name) continue;
    const Names& names = other.accepted_names;
    for (const std::string& name : {names.plural, names.singular}) {
      if (!name.empty()) resources.insert(name);
    }
    resources.insert(names.short_names.begin(), names.short_names.end());
    for (const std::string& name : {names.kind, names.list_kind}) {
      if (!name.empty()) kinds.insert(name);
    }
  }
  Verdict verdict{.accepted = definition.accepted_names};
  bool conflict = false;
  const auto refuse = [&](std::string_view reason, const std::string& name) {
    // The last conflict is the one that is told, as in Kubernetes.
    conflict = true;
    verdict.reason = reason;
    verdict.message = fmt::format("\"{}\" is already in use", name);
  };
  const auto take = [&](const std::string& wanted, std::string& accepted,
                        const std::set<std::string>& taken, std::string_view reason) {
    if (wanted != accepted && taken.contains(wanted)) {
      refuse(reason, wanted);
    } else {
      accepted = wanted;
    }
  };
  const Names& wanted = definition.names;
  take(wanted.plural, verdict.accepted.plural, resources, "PluralConflict");
  take(wanted.singular, verdict.accepted.singular, resources, "SingularConflict");
  std::string in_use;
  for (const std::string& name : wanted.short_names) {
    const auto& had = definition.accepted_names.short_names;
    const bool own = std::ranges::find(had, name) != had.end();
    if (!own && resources.contains(name)) in_use = name;
  }
  if (in_use.empty()) {
    verdict.accepted.short_names = wanted.short_names;
  } else {
    refuse("ShortNamesConflict", in_use);
  }
  take(wanted.kind, verdict.accepted.kind, kinds, "KindConflict");
  take(wanted.list_kind, verdict.accepted.list_kind, kinds, "ListKindConflict");
  verdict.accepted.categories = wanted.categories;
  return verdict;
}

DocumentNode TextsNode(const std::vector<std::string>& texts) {
  DocumentNode list = rest::ListNode();
  for (const std::string& text : texts) list.items.push_back(rest::StringNode(text));
  return list;
}

DocumentNode NamesNode(const Names& names) {
  DocumentNode node = rest::MapNode();
  rest::SetIn(node, "plural", rest::StringNode(names.plural));
  if (!names.singular.empty()) rest::SetIn(node, "singular", rest::StringNode(names.singular));
  if (!names.short_names.empty()) rest::SetIn(node, "shortNames", TextsNode(names.short_names));
  rest::SetIn(node, "kind", rest::StringNode(names.kind));
  if (!names.list_kind.empty()) rest::SetIn(node, "listKind", rest::StringNode(names.list_kind));
  if (!names.categories.empty()) rest::SetIn(node, "categories", TextsNode(names.categories));
  return node;
}

// The time moves when the status does.
void SetCondition(std::vector<Condition>& conditions, Condition wanted, base::Time now) {
  auto it = std::ranges::find(conditions, wanted.type, &Condition::type);
  if (it == conditions.end()) {
    it = conditions.insert(conditions.end(), {.type = wanted.type});
  }
  wanted.last_transition_time =
      it->status == wanted.status ? it->last_transition_time : now.TruncateToSeconds().ToRfc3339();
  *it = std::move(wanted);
}

DocumentNode ConditionsNode(const std::vector<Condition>& conditions) {
  DocumentNode list = rest::ListNode();
  for (const Condition& condition : conditions) {
    DocumentNode node = rest::MapNode();
    rest::SetIn(node, "type", rest::StringNode(condition.type));
    rest::SetIn(node, "status", rest::StringNode(condition.status));
    if (!condition.last_transition_time.empty()) {
      rest::SetIn(node, "lastTransitionTime", rest::StringNode(condition.last_transition_time));
    }
    if (!condition.reason.empty()) rest::SetIn(node, "reason", rest::StringNode(condition.reason));
    if (!condition.message.empty()) {
      rest::SetIn(node, "message", rest::StringNode(condition.message));
    }
    list.items.push_back(std::move(node));
  }
  return list;
}

}  // namespace

void SetDefinitionStatus(DocumentNode& object, std::span<const Definition> others, base::Time now) {
  const Definition definition = ReadDefinition(object);
  const Verdict verdict = Accept(definition, others);
  std::vector<Condition> conditions = definition.conditions;
  const bool accepted = verdict.reason == "NoConflicts";
  SetCondition(conditions,
               {.type = std::string(kNamesAccepted),
                .status = accepted ? "True" : "False",
                .reason = verdict.reason,
                .message = verdict.message},
               now);
  // One that is served goes on being served, by the names that it has.
  if (!definition.Is(kEstablished)) {
    SetCondition(conditions,
                 {.type = std::string(kEstablished),
                  .status = accepted ? "True" : "False",
                  .reason = accepted ? "InitialNamesAccepted" : "NotAccepted",
                  .message = accepted ? "the initial names have been accepted"
                                      : "not all names are accepted"},
                 now);
  }
  if (definition.deleted) {
    const bool known =
        std::ranges::find(conditions, kTerminating, &Condition::type) != conditions.end();
    if (!known) {
      SetCondition(conditions,
                   {.type = std::string(kTerminating),
                    .status = "True",
                    .reason = "InstanceDeletionPending",
                    .message = "CustomResourceDefinition marked for deletion; CustomResource "
                               "deletion will begin soon"},
                   now);
    }
  }
  DocumentNode* status = rest::FindIn(object, "status");
  if (status == nullptr || !rest::IsMap(*status)) {
    status = &rest::SetIn(object, "status", rest::MapNode());
  }
  rest::SetIn(*status, "conditions", ConditionsNode(conditions));
  rest::SetIn(*status, "acceptedNames", NamesNode(verdict.accepted));
  std::vector<std::string> stored = definition.stored_versions;
  if (const Version* storage = definition.StorageVersion()) {
    if (std::ranges::find(stored, storage->name) == stored.end()) stored.push_back(storage->name);
  }
  rest::SetIn(*status, "storedVersions", TextsNode(stored));
}

}  // namespace dray::crd
