// SPDX-License-Identifier: Apache-2.0
//
// All policies of a cluster with their bindings, and what they say of a request together.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/authorization.h"
#include "api/kinds.h"
#include "api/label_selector.h"
#include "base/status.h"
#include "policy/compiled_policy.h"
#include "policy/evaluation.h"
#include "policy/request.h"

namespace dray::policy {

// What policies look at besides the request. Thread-safe.
class World {
 public:
  virtual ~World() = default;
  // NotFound: there is none.
  virtual StatusOr<api::Object> Namespace(std::string_view name) const = 0;
  // A kind that is served; null: there is none.
  virtual const api::KindInfo* FindKind(std::string_view api_version,
                                        std::string_view kind) const = 0;
  // By name, or by labels: of a kind without namespaces `namespace_` is empty.
  virtual StatusOr<std::optional<api::Object>> Find(const api::KindInfo& kind,
                                                    std::string_view namespace_,
                                                    std::string_view name) const = 0;
  virtual StatusOr<std::vector<api::Object>> Select(const api::KindInfo& kind,
                                                    std::string_view namespace_,
                                                    const api::LabelMatcher& labels) const = 0;
  virtual const api::Authorizer& authorizer() const = 0;
};

struct Denial {
  std::string message;  // the whole
  std::string reason;   // of the answer: Invalid, Forbidden, ...
};

struct Verdict {
  std::optional<Denial> denial;  // the first one
  std::vector<std::string> warnings;
  std::map<std::string, std::string> annotations;  // of the audit log
  std::size_t evaluated = 0;                       // expressions
};

// Thread-safe: immutable.
class PolicySet {
 public:
  PolicySet() = default;
  // Bindings without a policy, and policies without a binding, do nothing. Ordered by name.
  PolicySet(std::vector<std::shared_ptr<const CompiledPolicy>> policies,
            std::vector<BindingSpec> bindings);

  bool empty() const { return rows_.empty(); }
  Verdict Admit(const Request& request, const World& world) const;

 private:
  struct Row {
    std::shared_ptr<const CompiledPolicy> policy;
    std::vector<BindingSpec> bindings;
  };
  std::vector<Row> rows_;
};

// The HTTP status that a reason has.
int CodeOf(std::string_view reason);

}  // namespace dray::policy
