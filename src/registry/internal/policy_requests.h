// SPDX-License-Identifier: Apache-2.0
//
// Requests as admission policies see them: of objects, and of what is sent to subresources.
#pragma once

#include <memory>

#include "api/document.h"
#include "api/kinds.h"
#include "policy/request.h"
#include "registry/registry.h"
#include "rest/served_kinds.h"

namespace dray::registry::internal {

struct Exchange;

// With what it points to that nobody else keeps.
struct PolicyRequest {
  policy::Request request;
  std::unique_ptr<api::UserInfo> user = nullptr;
  std::unique_ptr<api::DocumentNode> document = nullptr;
  std::unique_ptr<api::DocumentNode> old_document = nullptr;
  std::unique_ptr<api::DocumentNode> options = nullptr;
};

// Everything outlives the result. See Registry::AskPolicies.
PolicyRequest ObjectRequest(const WriteContext& context, Part part, const api::KindInfo& asked,
                            const api::Object* next, const api::Object* old,
                            const rest::ServedKinds& served);
// Likewise, of a deletion: how it is done is seen, too.
PolicyRequest DeleteRequest(const WriteContext& context, const api::KindInfo& asked,
                            const api::Object& old, const DeleteOptions& options,
                            const rest::ServedKinds& served);
// pods/binding, pods/eviction
PolicyRequest BindingRequest(const WriteContext& context, const api::Object& pod,
                             const Binding& binding);
PolicyRequest EvictionRequest(const WriteContext& context, const api::Object& pod,
                              const DeleteOptions& options);
// pods/exec, pods/attach, pods/portforward
PolicyRequest ConnectRequest(const Exchange& exchange);
// serviceaccounts/token
PolicyRequest TokenPolicyRequest(const Exchange& exchange, const api::DocumentNode& body);

}  // namespace dray::registry::internal
