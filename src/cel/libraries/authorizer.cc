// SPDX-License-Identifier: Apache-2.0
//
// Declared in Kubernetes' environments, although DRA has no value to call them on.
#include <array>

#include "cel/library.h"
#include "cel/operators.h"

namespace dray::cel {

Library library::Authorizer() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"allowed", "decision_allowed kubernetes.authorization.Decision.() -> bool",
       Implementation::None(), kOne, estimate::Unit},
      {"check",
       "pathcheck_check kubernetes.authorization.PathCheck.(string) -> "
       "kubernetes.authorization.Decision",
       Implementation::None(), kOne, estimate::Authorize},
      {"check",
       "resourcecheck_check kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.Decision",
       Implementation::None(), kOne, estimate::Authorize},
      {"error", "decision_error kubernetes.authorization.Decision.() -> string",
       Implementation::None(), kOne, estimate::Unit},
      {"errored", "decision_errored kubernetes.authorization.Decision.() -> bool",
       Implementation::None(), kOne, estimate::Unit},
      {"fieldSelector",
       "authorizer_fieldselector kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       Implementation::None(), kOne, estimate::ReadArgument},
      {"group",
       "authorizer_group kubernetes.authorization.Authorizer.(string) -> "
       "kubernetes.authorization.GroupCheck",
       Implementation::None(), kOne, estimate::Unit},
      {"labelSelector",
       "authorizer_labelselector kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       Implementation::None(), kOne, estimate::ReadArgument},
      {"name",
       "resourcecheck_name kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       Implementation::None(), kOne, estimate::Unit},
      {"namespace",
       "resourcecheck_namespace kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       Implementation::None(), kOne, estimate::Unit},
      {"path",
       "authorizer_path kubernetes.authorization.Authorizer.(string) -> "
       "kubernetes.authorization.PathCheck",
       Implementation::None(), kOne, estimate::Unit},
      {"reason", "decision_reason kubernetes.authorization.Decision.() -> string",
       Implementation::None(), kOne, estimate::Unit},
      {"resource",
       "groupcheck_resource kubernetes.authorization.GroupCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       Implementation::None(), kOne, estimate::Unit},
      {"serviceAccount",
       "authorizer_serviceaccount kubernetes.authorization.Authorizer.(string, string) -> "
       "kubernetes.authorization.Authorizer",
       Implementation::None(), kOne, estimate::Unit},
      {"subresource",
       "resourcecheck_subresource kubernetes.authorization.ResourceCheck.(string) -> "
       "kubernetes.authorization.ResourceCheck",
       Implementation::None(), kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel
