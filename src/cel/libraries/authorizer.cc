// SPDX-License-Identifier: Apache-2.0
//
// Questions about who may do what. Declared in all of Kubernetes' environments, although only some
// have a value to call them on: a host (value.h) that answers them itself.
#include <array>

#include "cel/library.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

Value CallHost(std::string_view function, Arena& arena, std::span<const Value> args) {
  if (!args[0].is(Kind::kHost)) return UnmatchedCall();
  return args[0].as<Host>().Call(function, arena, args);
}

#define DRAY_HOST_FUNCTION(name, function) \
  Value name(Arena& arena, std::span<const Value> args) { return CallHost(function, arena, args); }
DRAY_HOST_FUNCTION(HostAllowed, "allowed")
DRAY_HOST_FUNCTION(HostCheck, "check")
DRAY_HOST_FUNCTION(HostError, "error")
DRAY_HOST_FUNCTION(HostErrored, "errored")
DRAY_HOST_FUNCTION(HostFieldSelector, "fieldSelector")
DRAY_HOST_FUNCTION(HostGroup, "group")
DRAY_HOST_FUNCTION(HostLabelSelector, "labelSelector")
DRAY_HOST_FUNCTION(HostName, "name")
DRAY_HOST_FUNCTION(HostNamespace, "namespace")
DRAY_HOST_FUNCTION(HostPath, "path")
DRAY_HOST_FUNCTION(HostReason, "reason")
DRAY_HOST_FUNCTION(HostResource, "resource")
DRAY_HOST_FUNCTION(HostServiceAccount, "serviceAccount")
DRAY_HOST_FUNCTION(HostSubresource, "subresource")
#undef DRAY_HOST_FUNCTION

}  // namespace

Library library::Authorizer() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"allowed", "decision_allowed kubernetes.authorization.Decision.() -> bool", HostAllowed,
       kOne, estimate::Unit},
      {"check",
       "pathcheck_check kubernetes.authorization.PathCheck.(string) -> "
       "kubernetes.authorization.Decision",
       HostCheck, kAuthorize, estimate::Authorize},
      {"check",
       "resourcecheck_check kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.Decision",
       HostCheck, kAuthorize, estimate::Authorize},
      {"error", "decision_error kubernetes.authorization.Decision.() -> string", HostError, kOne,
       estimate::Unit},
      {"errored", "decision_errored kubernetes.authorization.Decision.() -> bool", HostErrored,
       kOne, estimate::Unit},
      {"fieldSelector",
       "authorizer_fieldselector kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       HostFieldSelector, kTenthOfSecond, estimate::ReadArgument},
      {"group",
       "authorizer_group kubernetes.authorization.Authorizer.(string) -> "
       "kubernetes.authorization.GroupCheck",
       HostGroup, kOne, estimate::Unit},
      {"labelSelector",
       "authorizer_labelselector kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       HostLabelSelector, kTenthOfSecond, estimate::ReadArgument},
      {"name",
       "resourcecheck_name kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       HostName, kOne, estimate::Unit},
      {"namespace",
       "resourcecheck_namespace kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       HostNamespace, kOne, estimate::Unit},
      {"path",
       "authorizer_path kubernetes.authorization.Authorizer.(string) -> "
       "kubernetes.authorization.PathCheck",
       HostPath, kOne, estimate::Unit},
      {"reason", "decision_reason kubernetes.authorization.Decision.() -> string", HostReason, kOne,
       estimate::Unit},
      {"resource",
       "groupcheck_resource kubernetes.authorization.GroupCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       HostResource, kOne, estimate::Unit},
      {"serviceAccount",
       "authorizer_serviceaccount kubernetes.authorization.Authorizer.(string, string) -> "
       "kubernetes.authorization.Authorizer",
       HostServiceAccount, kOne, estimate::Unit},
      {"subresource",
       "resourcecheck_subresource kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       HostSubresource, kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel
