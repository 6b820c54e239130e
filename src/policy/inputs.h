// SPDX-License-Identifier: Apache-2.0
//
// A request as the values that expressions see. What no expression asks for is not made.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/document.h"
#include "api/kinds.h"
#include "cel/arena.h"
#include "cel/value.h"
#include "policy/request.h"

namespace dray::policy {

// For one request and all of its policies. One thread.
class Inputs {
 public:
  // Everything outlives it. `space` is the request's namespace; null: it has none.
  Inputs(const Request& request, const api::Object* space, const api::Authorizer& authorizer)
      : request_(request), space_(space), authorizer_(authorizer) {}

  // In a version that one of the policy's rules names.
  cel::Value Object(const Version& version);
  cel::Value OldObject(const Version& version);
  cel::Value RequestAs(const Version& version);
  cel::Value NamespaceObject();
  cel::Value Authorizer();
  cel::Value RequestResource();

 private:
  using Shown = std::map<const api::KindInfo*, cel::Value>;
  cel::Value Document(api::DocumentNode node);
  cel::Value Show(const api::Object* object, const api::KindInfo* info, Shown& shown);

  const Request& request_;
  const api::Object* const space_;
  const api::Authorizer& authorizer_;
  cel::Arena arena_;
  std::vector<std::unique_ptr<api::DocumentNode>> documents_;
  Shown objects_;
  Shown old_objects_;
  std::optional<cel::Value> sent_;
  std::optional<cel::Value> old_sent_;
  std::optional<cel::Value> namespace_;
  std::optional<cel::Value> asker_;
  std::optional<cel::Value> resource_;
};

// An object of the API as expressions see it, in the version given. The document is kept by who
// asks for as long as the value is used.
std::unique_ptr<api::DocumentNode> DocumentOf(const api::Object& object,
                                              const api::KindInfo& version);

}  // namespace dray::policy
