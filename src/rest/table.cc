// SPDX-License-Identifier: Apache-2.0
#include "rest/table.h"

#include <map>
#include <utility>

#include "api/certificate_signing_request.h"
#include "api/config_map.h"
#include "api/cron_job.h"
#include "api/custom_kind.h"
#include "api/daemon_set.h"
#include "api/device_class.h"
#include "api/disruption_budget.h"
#include "api/event.h"
#include "api/job.h"
#include "api/json.h"
#include "api/lease.h"
#include "api/limit_range.h"
#include "api/meta.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/pool_status_request.h"
#include "api/priority_class.h"
#include "api/rbac.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "api/service_account.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "base/human_duration.h"
#include "fmt/format.h"
#include "rest/internal/printers.h"
#include "rest/tree.h"

namespace dray::rest {
namespace {

using internal::Printer;

// Printers by the struct of a kind.
const std::map<const api::TypeInfo*, Printer>& Printers() {
  using api::TypeInfoOf;
  static const std::map<const api::TypeInfo*, Printer> printers = [] {
    std::map<const api::TypeInfo*, Printer> all = {
        {&TypeInfoOf<api::DeviceClass>(), internal::PlainPrinter()},
        {&TypeInfoOf<api::ResourceClaimTemplate>(), internal::PlainPrinter()},
        {&TypeInfoOf<api::DeviceTaintRule>(), internal::TaintRulePrinter()},
        {&TypeInfoOf<api::ResourcePoolStatusRequest>(), internal::PoolStatusRequestPrinter()},
        {&TypeInfoOf<api::ResourceClaim>(), internal::ClaimPrinter()},
        {&TypeInfoOf<api::ResourceSlice>(), internal::SlicePrinter()},
        {&TypeInfoOf<api::Pod>(), internal::PodPrinter()},
        {&TypeInfoOf<api::Node>(), internal::NodePrinter()},
        {&TypeInfoOf<api::Namespace>(), internal::NamespacePrinter()},
        {&TypeInfoOf<api::ResourceQuota>(), internal::QuotaPrinter()},
        {&TypeInfoOf<api::Event>(), internal::EventPrinter()},
        {&TypeInfoOf<api::ReplicaSet>(), internal::ReplicaSetPrinter()},
        {&TypeInfoOf<api::Deployment>(), internal::DeploymentPrinter()},
        {&TypeInfoOf<api::Job>(), internal::JobPrinter()},
        {&TypeInfoOf<api::Lease>(), internal::LeasePrinter()},
        {&TypeInfoOf<api::PriorityClass>(), internal::PriorityClassPrinter()},
        {&TypeInfoOf<api::Role>(), internal::RolePrinter()},
        {&TypeInfoOf<api::ClusterRole>(), internal::RolePrinter()},
        {&TypeInfoOf<api::RoleBinding>(), internal::RoleBindingPrinter()},
        {&TypeInfoOf<api::ClusterRoleBinding>(), internal::ClusterRoleBindingPrinter()},
        {&TypeInfoOf<api::DaemonSet>(), internal::DaemonSetPrinter()},
        {&TypeInfoOf<api::StatefulSet>(), internal::StatefulSetPrinter()},
        {&TypeInfoOf<api::ControllerRevision>(), internal::ControllerRevisionPrinter()},
        {&TypeInfoOf<api::CronJob>(), internal::CronJobPrinter()},
        {&TypeInfoOf<api::PodDisruptionBudget>(), internal::DisruptionBudgetPrinter()},
        {&TypeInfoOf<api::LimitRange>(), internal::LimitRangePrinter()},
        {&TypeInfoOf<api::PodGroup>(), internal::PodGroupPrinter()},
        {&TypeInfoOf<api::Workload>(), internal::PlainPrinter()},
        {&TypeInfoOf<api::CertificateSigningRequest>(), internal::CertificateRequestPrinter()},
        {&TypeInfoOf<api::ConfigMap>(), internal::ConfigMapPrinter()},
        {&TypeInfoOf<api::Secret>(), internal::SecretPrinter()},
        {&TypeInfoOf<api::ServiceAccount>(), internal::ServiceAccountPrinter()},
        {api::DefinitionKind().hub, internal::DefinitionPrinter()},
    };
    for (const api::KindInfo& kind : api::Kinds()) {
      if (kind.traits != nullptr) all.emplace(kind.hub, internal::DescribedPrinter(*kind.traits));
    }
    return all;
  }();
  return printers;
}

void AppendColumn(const Column& column, std::string& out) {
  out += fmt::format(R"({{"name":{},"type":"{}","format":"{}","description":{},"priority":{}}})",
                     ToJson(StringNode(column.name)), column.type, column.format,
                     ToJson(StringNode(column.description)), column.priority);
}

void AppendCell(const Cell& cell, std::string& out) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) {
    out += fmt::format_int(*number).str();
  } else if (const auto* real = std::get_if<double>(&cell)) {
    out += fmt::format("{}", *real);
  } else if (const auto* flag = std::get_if<bool>(&cell)) {
    out += *flag ? "true" : "false";
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    out += ToJson(StringNode(*text));
  } else {
    out += "null";
  }
}

}  // namespace

std::span<const Column> ColumnsOf(const api::KindInfo& kind) {
  return Printers().at(kind.hub).columns;
}

std::vector<Cell> CellsOf(const api::Object& object, const TableContext& context) {
  return Printers().at(object.kind().hub).cells(object, context);
}

std::string PartialMetadataJson(const api::Object& object) {
  return fmt::format(
      R"({{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{}}})",
      api::EncodeJson(object.metadata()));
}

std::string TableJson(const api::KindInfo& kind, std::span<const api::Object> objects,
                      const TableOptions& options, const TableContext& context) {
  std::string out = fmt::format(
      R"({{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"columnDefinitions":)",
      options.list_metadata);
  if (options.headers) {
    out += '[';
    const std::span<const Column> columns = context.custom != nullptr
                                                ? std::span<const Column>(context.custom->columns)
                                                : ColumnsOf(kind);
    for (const Column& column : columns) {
      if (out.back() != '[') out += ',';
      AppendColumn(column, out);
    }
    out += ']';
  } else {
    out += "null";
  }
  out += ",\"rows\":[";
  for (const api::Object& object : objects) {
    if (out.back() != '[') out += ',';
    out += "{\"cells\":[";
    for (const Cell& cell :
         context.custom != nullptr ? context.custom->cells(object) : CellsOf(object, context)) {
      if (out.back() != '[') out += ',';
      AppendCell(cell, out);
    }
    out += ']';
    if (options.include == IncludeObject::kMetadata) {
      out += ",\"object\":" + PartialMetadataJson(object);
    } else if (options.include == IncludeObject::kObject) {
      out += ",\"object\":" + object.ToJson(kind);
    }
    out += '}';
  }
  return out + "]}";
}

std::string HumanDuration(std::int64_t seconds) { return base::HumanDuration(seconds); }

}  // namespace dray::rest
