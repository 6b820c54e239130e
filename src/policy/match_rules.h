// SPDX-License-Identifier: Apache-2.0
//
// Which requests a policy or a binding is about: operations, resources, names, namespaces, labels.
//
// Spec: Kubernetes, "Validating Admission Policy", matchConstraints and matchResources.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/field_view.h"
#include "api/kinds.h"
#include "api/label_selector.h"
#include "api/map.h"
#include "base/status.h"
#include "policy/request.h"

namespace dray::policy {

struct MatchRule {
  std::vector<std::string> names;  // empty: all
  std::vector<std::string> operations;
  std::vector<std::string> groups;
  std::vector<std::string> versions;
  std::vector<std::string> resources;  // "pods", "pods/status", "*/*"
  std::string scope = "*";             // Cluster, Namespaced
};

struct MatchResources {
  api::LabelMatcher namespaces;  // empty: all
  api::LabelMatcher objects;     // likewise
  std::vector<MatchRule> rules;  // none: everything, of a binding
  std::vector<MatchRule> excluded;
  bool exact = false;  // a rule for one version is not for the others

  static MatchResources Read(const api::FieldView& view);
};

// Labels of a namespace; NotFound: it is not there.
using LabelsOfNamespace =
    std::function<StatusOr<api::Map<std::string>>(std::string_view namespace_)>;

// The version in which the objects are shown to the policy: that of the request, or the one that a
// rule names for an equivalent of it. Nothing: it is not about this request. An error: the request
// is one of its own, and its namespace cannot be looked at.
StatusOr<std::optional<Version>> Matches(const MatchResources& match, const Request& request,
                                         const LabelsOfNamespace& labels);

}  // namespace dray::policy
