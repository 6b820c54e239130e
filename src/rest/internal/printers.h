// SPDX-License-Identifier: Apache-2.0
//
// The columns and cells of each kind's table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/described_kinds.h"
#include "api/kinds.h"
#include "api/meta.h"
#include "base/time.h"
#include "rest/table.h"

namespace dray::rest::internal {

struct Printer {
  std::vector<Column> columns;
  std::vector<Cell> (*cells)(const api::Object&, const TableContext&);
};

inline constexpr Column kNameColumn = {
    .name = "Name",
    .format = "name",
    .description = "What the object is called: unique among those of its kind in a namespace."};
inline constexpr Column kAgeColumn = {.name = "Age",
                                      .description = "How long ago the object was made."};

// Name and age, for kinds with nothing else to show.
Printer PlainPrinter();
// printers_devices.cc
Printer ClaimPrinter();
Printer SlicePrinter();
Printer TaintRulePrinter();
Printer PoolStatusRequestPrinter();
// printers_pods.cc
Printer PodPrinter();
// printers_core.cc
Printer NodePrinter();
Printer NamespacePrinter();
Printer QuotaPrinter();
Printer EventPrinter();
Printer LeasePrinter();
Printer PriorityClassPrinter();
Printer CertificateRequestPrinter();
// printers_workloads.cc
Printer ReplicaSetPrinter();
Printer DeploymentPrinter();
Printer JobPrinter();
// printers_rbac.cc
Printer RolePrinter();
Printer RoleBindingPrinter();
Printer ClusterRoleBindingPrinter();
Printer DaemonSetPrinter();
Printer StatefulSetPrinter();
Printer ControllerRevisionPrinter();
Printer CronJobPrinter();
Printer DisruptionBudgetPrinter();
Printer LimitRangePrinter();
Printer PodGroupPrinter();
// As of roles: name and when it was made.
Printer DefinitionPrinter();

// printers_described.cc
Printer DescribedPrinter(const api::KindTraits& traits);
Printer ConfigMapPrinter();
Printer SecretPrinter();
Printer ServiceAccountPrinter();
// "app=web,tier in (a,b)"
std::string SelectorShown(const api::LabelSelector& selector);

// "<unknown>" for a time that is not set.
std::string Since(const std::optional<base::Time>& time, base::Time now);
inline std::string AgeOf(const api::Object& object, const TableContext& context) {
  return Since(object.metadata().creation_timestamp, context.now);
}
// The text, or what stands for nothing.
std::string OrNone(std::string_view text, std::string_view nothing = "<none>");
// "a,b,c"
std::string Joined(const std::vector<std::string>& parts, std::string_view separator = ",");

}  // namespace dray::rest::internal
