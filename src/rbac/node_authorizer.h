// SPDX-License-Identifier: Apache-2.0
//
// What a node may: in code, so that no role can give one more. A node reads what pods on it refer to
// and writes what is its own; what a rule cannot say of an object that is not there yet (whose Node
// is being made) is checked when it is written (registry/own_objects.h). Pure.
//
// Spec: Kubernetes, "Using Node authorization".
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/kinds.h"
#include "api/rbac.h"

namespace dray::rbac {

inline constexpr std::string_view kNodesGroup = "system:nodes";
inline constexpr std::string_view kNodeUserPrefix = "system:node:";

// Whether the user is a node's kubelet, and whose; empty: nobody knows.
std::optional<std::string_view> NodeIdentity(const api::UserInfo& user);

// What is stored. Thread-safe.
class NodeObjects {
 public:
  virtual ~NodeObjects() = default;
  // The pods on a node, in one namespace.
  virtual std::vector<api::Object> PodsOn(std::string_view node,
                                          std::string_view namespace_) const = 0;
  // Nothing: there is none, or it cannot be read. Resources by their plural.
  virtual std::optional<api::Object> Find(std::string_view group, std::string_view resource,
                                          std::string_view namespace_,
                                          std::string_view name) const = 0;
};

// Nothing when the user is no node. A refusal says why.
std::optional<api::AuthorizationDecision> AuthorizeNode(const api::AuthorizationRequest& request,
                                                        const NodeObjects& objects);

// What all nodes may alike; also the rules of the ClusterRole system:node, which nobody has.
const std::vector<api::PolicyRule>& NodeRules();

}  // namespace dray::rbac
