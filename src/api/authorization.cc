// SPDX-License-Identifier: Apache-2.0
#include "api/authorization.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/names.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::api {
namespace {

constexpr std::string_view kGroup = "resource.k8s.io";
constexpr std::string_view kResource = "resourceclaims";
constexpr std::string_view kBinding = "binding";
constexpr std::string_view kDriver = "driver";
constexpr std::string_view kAssociatedNode = "associated-node:";
constexpr std::string_view kArbitraryNode = "arbitrary-node:";
constexpr std::string_view kServiceAccountPrefix = "system:serviceaccount:";

ErrorList CheckNamespace(base::FieldPath path, std::string_view namespace_,
                         const NamespaceLabels& namespaces) {
  const auto labels = namespaces.LabelsOf(namespace_);
  if (!labels.ok()) {
    return {InternalError(std::move(path),
                          fmt::format("could not retrieve namespace to verify admin access: {}",
                                      base::Message(labels.status())))};
  }
  const std::string* value = labels->Find(kAdminAccessLabel);
  if (value != nullptr && *value == "true") return {};
  return {Forbidden(std::move(path),
                    fmt::format("admin access to devices requires the `{}: true` label on the "
                                "containing namespace",
                                kAdminAccessLabel))};
}

// Kubernetes's path, for templates too: without `exactly` and without the template's own spec.
std::optional<base::FieldPath> AdminRequest(const ResourceClaimSpec& spec) {
  const auto& requests = spec.devices.requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].exactly || requests[i].exactly->admin_access != true) continue;
    return (base::FieldPath("spec") / "devices" / "requests").Index(i) / "adminAccess";
  }
  return std::nullopt;
}

std::optional<base::FieldPath> AdminResult(const ResourceClaimStatus& status) {
  if (!status.allocation) return std::nullopt;
  const auto& results = status.allocation->devices.results;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].admin_access != true) continue;
    const auto path = base::FieldPath("status") / "allocation" / "devices" / "results";
    return path.Index(i) / "adminAccess";
  }
  return std::nullopt;
}

// Nothing when allowed, else the sentence of Kubernetes's 403.
std::optional<std::string> Refusal(const AuthorizationRequest& request,
                                   const Authorizer& authorizer) {
  const AuthorizationDecision decision = authorizer.Authorize(request);
  if (decision.allowed) return std::nullopt;
  std::string why = decision.reason;
  if (!decision.error.ok()) {
    why = base::Message(decision.error);
    if (!decision.reason.empty()) why += ": " + decision.reason;
  }
  std::string text = fmt::format("{}.{}", request.resource, request.api_group);
  if (!request.name.empty()) text += fmt::format(" \"{}\"", request.name);
  text += fmt::format(
      " is forbidden: User \"{}\" cannot {} resource \"{}/{}\" in API group \"{}\" {}",
      request.user.name, request.verb, request.resource, request.subresource, request.api_group,
      request.namespace_.empty() ? "at the cluster scope"
                                 : fmt::format("in the namespace \"{}\"", request.namespace_));
  if (!why.empty()) text += ": " + why;
  return text;
}

AuthorizationRequest ForSubresource(const RequestInfo& request, std::string verb,
                                    std::string_view subresource) {
  return {.user = request.user,
          .verb = std::move(verb),
          .api_group = std::string(kGroup),
          .resource = std::string(kResource),
          .subresource = std::string(subresource)};
}

// system:serviceaccount:<namespace>:<name>
bool IsServiceAccount(std::string_view user) {
  if (!user.starts_with(kServiceAccountPrefix)) return false;
  user.remove_prefix(kServiceAccountPrefix.size());
  const std::size_t colon = user.find(':');
  return colon != std::string_view::npos && base::IsDnsLabel(user.substr(0, colon)) &&
         base::IsDnsSubdomain(user.substr(colon + 1));
}

// The node that an allocation is for, if its selector is the one that the scheduler writes for a
// single node. Empty otherwise.
std::string_view SingleNodeOf(const Box<AllocationResult>& allocation) {
  if (!allocation || !allocation->node_selector) return {};
  const auto& terms = allocation->node_selector->node_selector_terms;
  if (terms.size() != 1 || !terms[0].match_expressions.empty() ||
      terms[0].match_fields.size() != 1) {
    return {};
  }
  const NodeSelectorRequirement& field = terms[0].match_fields[0];
  const bool by_name =
      field.key == "metadata.name" && field.operator_ == "In" && field.values.size() == 1;
  return by_name ? std::string_view(field.values[0]) : std::string_view();
}

bool RunsOn(const UserInfo& user, std::string_view node) {
  if (node.empty() || !IsServiceAccount(user.name)) return false;
  const auto names = user.extra.find(std::string(kNodeNameExtra));
  return names != user.extra.end() && names->second.size() == 1 && names->second[0] == node &&
         base::IsDnsSubdomain(node);
}

// Nothing when one of the verbs is allowed; else why the first is not.
std::optional<std::string> DriverRefusal(const RequestInfo& request,
                                         const std::vector<std::string>& verbs,
                                         const std::string& driver, const Authorizer& authorizer) {
  std::optional<std::string> first;
  for (const std::string& verb : verbs) {
    AuthorizationRequest wanted = ForSubresource(request, verb, kDriver);
    wanted.namespace_ = request.namespace_;
    wanted.name = driver;
    std::optional<std::string> refusal = Refusal(wanted, authorizer);
    if (!refusal) return std::nullopt;
    if (!first) first = std::move(refusal);
  }
  return first;
}

auto KeyOf(const AllocatedDeviceStatus& device) {
  return std::tuple(device.driver, device.pool, device.device, device.share_id.value_or(""));
}

}  // namespace

ErrorList CheckAdminAccess(const Object& object, const NamespaceLabels& namespaces) {
  const ResourceClaimSpec* spec = nullptr;
  if (const auto* claim = object.As<ResourceClaim>()) spec = &claim->spec;
  if (const auto* tmpl = object.As<ResourceClaimTemplate>()) spec = &tmpl->spec.spec;
  if (spec == nullptr) return {};
  auto path = AdminRequest(*spec);
  if (!path) return {};
  return CheckNamespace(*std::move(path), object.metadata().namespace_, namespaces);
}

ErrorList CheckAdminAccessOfStatus(const ResourceClaim& claim, const ResourceClaim& old,
                                   const NamespaceLabels& namespaces) {
  if (AdminResult(old.status)) return {};
  auto path = AdminResult(claim.status);
  if (!path) return {};
  return CheckNamespace(*std::move(path), claim.metadata.namespace_, namespaces);
}

ErrorList CheckBinding(const ResourceClaimStatus& status, const ResourceClaimStatus& old,
                       const RequestInfo& request, const Authorizer& authorizer) {
  if (SemanticEqual(status.allocation, old.allocation) &&
      SemanticEqual(status.reserved_for, old.reserved_for)) {
    return {};
  }
  const auto refusal = Refusal(ForSubresource(request, request.verb, kBinding), authorizer);
  if (!refusal) return {};
  return {Forbidden(base::FieldPath("status") / "allocation",
                    fmt::format("changing status.allocation or status.reservedFor requires "
                                "resource=\"resourceclaims/binding\", verb=\"{}\" permission: {}",
                                request.verb, *refusal))};
}

ErrorList CheckDeviceStatus(const ResourceClaimStatus& status, const ResourceClaimStatus& old,
                            const RequestInfo& request, const Authorizer& authorizer) {
  std::vector<std::string> verbs;
  if (RunsOn(request.user, SingleNodeOf(status.allocation))) {
    verbs.push_back(fmt::format("{}{}", kAssociatedNode, request.verb));
  }
  verbs.push_back(fmt::format("{}{}", kArbitraryNode, request.verb));
  ErrorList errors;
  for (const std::string& driver : ModifiedDrivers(old, status)) {
    const auto refusal = DriverRefusal(request, verbs, driver, authorizer);
    if (!refusal) continue;
    errors.push_back(
        Forbidden(base::FieldPath("status") / "devices",
                  fmt::format("changing status.devices requires resource=\"resourceclaims/driver\","
                              " verb=\"[{}]\" permission: {}",
                              fmt::join(verbs, " "), *refusal)));
  }
  return errors;
}

ErrorList AuthorizeStatusUpdate(const ResourceClaim& claim, const ResourceClaim& old,
                                const RequestInfo& request, const FeatureGates& gates,
                                const Authorizer& authorizer, const NamespaceLabels& namespaces) {
  ErrorList errors = CheckAdminAccessOfStatus(claim, old, namespaces);
  if (!gates.Enabled(Gate::kDRAResourceClaimGranularStatusAuthorization)) return errors;
  Append(errors, CheckBinding(claim.status, old.status, request, authorizer));
  // With the allocation all of status.devices goes; whoever may deallocate may do that.
  if (gates.Enabled(Gate::kDRAResourceClaimDeviceStatus) && claim.status.allocation) {
    Append(errors, CheckDeviceStatus(claim.status, old.status, request, authorizer));
  }
  return errors;
}

std::vector<std::string> ModifiedDrivers(const ResourceClaimStatus& old,
                                         const ResourceClaimStatus& status) {
  std::map<decltype(KeyOf(std::declval<const AllocatedDeviceStatus&>())),
           const AllocatedDeviceStatus*>
      before;
  for (const AllocatedDeviceStatus& device : old.devices) before[KeyOf(device)] = &device;
  std::set<std::string> drivers;
  for (const AllocatedDeviceStatus& device : status.devices) {
    const auto entry = before.find(KeyOf(device));
    if (entry == before.end()) {
      drivers.insert(device.driver);
      continue;
    }
    if (!SemanticEqual(*entry->second, device)) drivers.insert(device.driver);
    before.erase(entry);
  }
  for (const auto& [key, device] : before) drivers.insert(device->driver);
  return {drivers.begin(), drivers.end()};
}

}  // namespace dray::api
