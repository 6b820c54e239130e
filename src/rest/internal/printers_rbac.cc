// SPDX-License-Identifier: Apache-2.0
#include "api/rbac.h"
#include "base/time.h"
#include "fmt/format.h"
#include "rest/internal/printers.h"

namespace dray::rest::internal {
namespace {

std::string MadeAt(const api::Object& object) {
  const auto& made = object.metadata().creation_timestamp;
  return made ? made->ToRfc3339() : std::string("<unknown>");
}

std::string Subjects(const std::vector<api::RbacSubject>& subjects, std::string_view kind) {
  std::vector<std::string> names;
  for (const api::RbacSubject& subject : subjects) {
    if (subject.kind != kind) continue;
    names.push_back(kind == api::kSubjectServiceAccount
                        ? fmt::format("{}/{}", subject.namespace_, subject.name)
                        : subject.name);
  }
  return Joined(names, ", ");
}

std::vector<Column> BindingColumns() {
  return {kNameColumn,
          {.name = "Role", .description = "The role that is given."},
          kAgeColumn,
          {.name = "Users", .description = "The users that it is given to.", .priority = 1},
          {.name = "Groups", .description = "The groups that it is given to.", .priority = 1},
          {.name = "ServiceAccounts",
           .description = "The service accounts that it is given to.",
           .priority = 1}};
}

template <typename Binding>
std::vector<Cell> BindingCells(const api::Object& object, const TableContext& context) {
  const Binding& binding = *object.As<Binding>();
  return {binding.metadata.name,
          fmt::format("{}/{}", binding.role_ref.kind, binding.role_ref.name),
          AgeOf(object, context),
          Subjects(binding.subjects, api::kSubjectUser),
          Subjects(binding.subjects, api::kSubjectGroup),
          Subjects(binding.subjects, api::kSubjectServiceAccount)};
}

}  // namespace

Printer RolePrinter() {
  return {{kNameColumn, {.name = "Created At", .description = "When the object was made."}},
          [](const api::Object& object, const TableContext&) -> std::vector<Cell> {
            return {object.metadata().name, MadeAt(object)};
          }};
}

Printer DefinitionPrinter() { return RolePrinter(); }

Printer RoleBindingPrinter() { return {BindingColumns(), BindingCells<api::RoleBinding>}; }

Printer ClusterRoleBindingPrinter() {
  return {BindingColumns(), BindingCells<api::ClusterRoleBinding>};
}

}  // namespace dray::rest::internal
