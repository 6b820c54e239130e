// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "api/certificate_signing_request.h"
#include "api/event.h"
#include "api/lease.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/priority_class.h"
#include "api/resource_quota.h"
#include "fmt/format.h"
#include "rest/internal/printers.h"

namespace dray::rest::internal {
namespace {

std::string NodeState(const api::Node& node) {
  std::string state = "Unknown";
  for (const api::NodeCondition& condition : node.status.conditions) {
    if (condition.type == "Ready") state = condition.status == "True" ? "Ready" : "NotReady";
  }
  if (node.spec.unschedulable) state += ",SchedulingDisabled";
  return state;
}

std::string NodeRoles(const api::Node& node) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& [key, value] : node.metadata.labels) {
    const std::string_view name = key;
    if (name.starts_with(kPrefix) && name.size() > kPrefix.size()) {
      roles.emplace_back(name.substr(kPrefix.size()));
    }
  }
  return OrNone(Joined(roles));
}

std::string AddressOf(const api::Node& node, std::string_view type) {
  const auto it = std::ranges::find(node.status.addresses, type, &api::NodeAddress::type);
  return it == node.status.addresses.end() ? "<none>" : it->address;
}

// "requests.cpu: 1/2, ..." of the names that begin with limits., or of the others.
std::string QuotaUse(const api::ResourceQuota& quota, bool limits) {
  std::vector<std::string> parts;
  for (const auto& [name, hard] : quota.status.hard) {
    const std::string_view key = name;
    if (key.starts_with("limits.") != limits) continue;
    const base::Quantity* used = quota.status.used.Find(key);
    parts.push_back(
        fmt::format("{}: {}/{}", key, used == nullptr ? "0" : used->ToString(), hard.ToString()));
  }
  return Joined(parts, ", ");
}

std::string EventTimes(const api::Event& event, base::Time now) {
  const std::int64_t count = event.series.has_value() ? event.series->count : event.count;
  const std::optional<base::Time> first = event.first_timestamp ? event.first_timestamp
                                          : event.event_time ? std::optional(event.event_time->time)
                                                             : std::nullopt;
  std::optional<base::Time> last = event.last_timestamp ? event.last_timestamp : first;
  if (event.series.has_value() && event.series->last_observed_time) {
    last = event.series->last_observed_time->time;
  }
  if (count <= 1) return Since(last, now);
  return fmt::format("{} (x{} over {})", Since(last, now), count, Since(first, now));
}

std::string Lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

}  // namespace

std::string Since(const std::optional<base::Time>& time, base::Time now) {
  return time ? HumanDuration(now.seconds() - time->seconds()) : "<unknown>";
}

std::string OrNone(std::string_view text, std::string_view nothing) {
  return std::string(text.empty() ? nothing : text);
}

std::string Joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

Printer PlainPrinter() {
  return {{kNameColumn, kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            return {object.metadata().name, AgeOf(object, context)};
          }};
}

Printer NamespacePrinter() {
  return {{kNameColumn,
           {.name = "Status", .description = "Whether the namespace is in use or on its way out."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            return {object.metadata().name, object.As<api::Namespace>()->status.phase,
                    AgeOf(object, context)};
          }};
}

Printer NodePrinter() {
  return {{kNameColumn,
           {.name = "Status", .description = "Whether the node takes pods."},
           {.name = "Roles", .description = "What the node is for, by its labels."},
           kAgeColumn,
           {.name = "Version", .description = "The version of the node's agent."},
           {.name = "Internal-IP", .description = "Its address in the cluster.", .priority = 1},
           {.name = "External-IP", .description = "Its address outside.", .priority = 1},
           {.name = "OS-Image", .description = "The operating system.", .priority = 1},
           {.name = "Kernel-Version", .description = "The kernel.", .priority = 1},
           {.name = "Container-Runtime", .description = "What runs containers.", .priority = 1}},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::Node& node = *object.As<api::Node>();
            const api::NodeSystemInfo& info = node.status.node_info;
            return {node.metadata.name,
                    NodeState(node),
                    NodeRoles(node),
                    AgeOf(object, context),
                    info.kubelet_version,
                    AddressOf(node, "InternalIP"),
                    AddressOf(node, "ExternalIP"),
                    OrNone(info.os_image, "<unknown>"),
                    OrNone(info.kernel_version, "<unknown>"),
                    OrNone(info.container_runtime_version, "<unknown>")};
          }};
}

Printer QuotaPrinter() {
  return {{kNameColumn,
           {.name = "Request", .description = "Used of what may be asked for."},
           {.name = "Limit", .description = "Used of what limits may add up to."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::ResourceQuota& quota = *object.As<api::ResourceQuota>();
            return {quota.metadata.name, QuotaUse(quota, false), QuotaUse(quota, true),
                    AgeOf(object, context)};
          }};
}

Printer EventPrinter() {
  return {{{.name = "Last Seen", .description = "When it last happened, and how often."},
           {.name = "Type", .description = "Normal, or Warning."},
           {.name = "Reason", .description = "Machine-readable reason."},
           {.name = "Object", .description = "What it happened to."},
           {.name = "Subobject", .description = "The part of it.", .priority = 1},
           {.name = "Source", .description = "Who says so.", .priority = 1},
           {.name = "Message", .description = "Human-readable message."},
           {.name = "First Seen", .description = "When it first happened.", .priority = 1},
           {.name = "Count", .type = "integer", .description = "How often.", .priority = 1},
           {.name = "Name", .format = "name", .description = "Of the event.", .priority = 1}},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::Event& event = *object.As<api::Event>();
            const std::string& source =
                event.source.component.empty() ? event.reporting_component : event.source.component;
            return {EventTimes(event, context.now),
                    event.type,
                    event.reason,
                    fmt::format("{}/{}", Lowered(event.involved_object.kind),
                                event.involved_object.name),
                    event.involved_object.field_path,
                    source,
                    event.message,
                    Since(event.first_timestamp, context.now),
                    static_cast<std::int64_t>(event.count),
                    event.metadata.name};
          }};
}

Printer LeasePrinter() {
  return {{kNameColumn,
           {.name = "Holder", .description = "The process that holds the lease."},
           kAgeColumn},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            return {object.metadata().name,
                    object.As<api::Lease>()->spec.holder_identity.value_or(""),
                    AgeOf(object, context)};
          }};
}

Printer PriorityClassPrinter() {
  return {{kNameColumn,
           {.name = "Value", .type = "integer", .description = "The priority of its pods."},
           {.name = "Global-Default", .description = "Whether pods without a class get it."},
           kAgeColumn,
           {.name = "PreemptionPolicy", .description = "Whether its pods may push others out."}},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const api::PriorityClass& row = *object.As<api::PriorityClass>();
            return {row.metadata.name, static_cast<std::int64_t>(row.value),
                    std::string(row.global_default ? "true" : "false"), AgeOf(object, context),
                    row.preemption_policy.value_or("PreemptLowerPriority")};
          }};
}

Printer CertificateRequestPrinter() {
  return {{kNameColumn,
           kAgeColumn,
           {.name = "SignerName", .description = "The signer."},
           {.name = "Requestor", .description = "Who asks."},
           {.name = "RequestedDuration", .description = "For how long it should be good."},
           {.name = "Condition", .description = "Observed state."}},
          [](const api::Object& object, const TableContext& context) -> std::vector<Cell> {
            const auto& request = *object.As<api::CertificateSigningRequest>();
            const auto has = [&](std::string_view type) {
              return api::FindCondition(request, type) != nullptr;
            };
            std::string state = has(api::kCertificateDenied)     ? "Denied"
                                : has(api::kCertificateApproved) ? "Approved"
                                                                 : "Pending";
            if (has(api::kCertificateFailed)) state += ",Failed";
            if (!request.status.certificate.data.empty()) state += ",Issued";
            const auto& seconds = request.spec.expiration_seconds;
            return {request.metadata.name,
                    AgeOf(object, context),
                    OrNone(request.spec.signer_name),
                    request.spec.username,
                    seconds ? HumanDuration(*seconds) : std::string("<none>"),
                    std::move(state)};
          }};
}

}  // namespace dray::rest::internal
