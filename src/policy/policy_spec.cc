// SPDX-License-Identifier: Apache-2.0
#include "policy/policy_spec.h"

#include <utility>

#include "api/field_view.h"
#include "fmt/format.h"

namespace dray::policy {
namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

std::vector<NamedExpression> Named(const api::FieldView& list, std::string_view name,
                                   std::string_view expression) {
  std::vector<NamedExpression> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    all.push_back(
        {std::string(list.item(i)[name].text()), std::string(list.item(i)[expression].text())});
  }
  return all;
}

}  // namespace

std::string ParamKind::Shown() const { return fmt::format("{}, Kind={}", api_version, kind); }

bool IsPolicy(const api::KindInfo& kind) {
  return kind.kind == "ValidatingAdmissionPolicy" && kind.group == kGroup;
}
bool IsBinding(const api::KindInfo& kind) {
  return kind.kind == "ValidatingAdmissionPolicyBinding" && kind.group == kGroup;
}

PolicySpec PolicySpec::Read(const api::Object& policy) {
  const api::FieldView spec = api::FieldView::Of(policy)["spec"];
  PolicySpec read{.name = policy.metadata().name,
                  .params = {},
                  .match = MatchResources::Read(spec["matchConstraints"]),
                  .conditions = Named(spec["matchConditions"], "name", "expression"),
                  .variables = Named(spec["variables"], "name", "expression"),
                  .validations = {},
                  .annotations = Named(spec["auditAnnotations"], "key", "valueExpression"),
                  .ignore_failures = spec["failurePolicy"].text() == "Ignore"};
  if (const api::FieldView kind = spec["paramKind"]; kind.value() != nullptr) {
    read.params =
        ParamKind{std::string(kind["apiVersion"].text()), std::string(kind["kind"].text())};
  }
  for (std::size_t i = 0; i < spec["validations"].size(); ++i) {
    const api::FieldView one = spec["validations"].item(i);
    read.validations.push_back(
        {.expression = std::string(one["expression"].text()),
         .message = std::string(one["message"].text()),
         .reason = std::string(one["reason"].text()),
         .message_expression = std::string(one["messageExpression"].text())});
  }
  return read;
}

BindingSpec BindingSpec::Read(const api::Object& binding) {
  const api::FieldView spec = api::FieldView::Of(binding)["spec"];
  BindingSpec read{.name = binding.metadata().name,
                   .policy = std::string(spec["policyName"].text()),
                   .params = {},
                   .match = {},
                   .actions = {}};
  if (const api::FieldView match = spec["matchResources"]; match.value() != nullptr) {
    read.match = MatchResources::Read(match);
  }
  if (const api::FieldView ref = spec["paramRef"]; ref.value() != nullptr) {
    read.params = ParamRef{.name = std::string(ref["name"].text()),
                           .namespace_ = std::string(ref["namespace"].text()),
                           .selector = {},
                           .deny_if_none = ref["parameterNotFoundAction"].text() == "Deny"};
    if (const auto* selector = ref["selector"].As<api::LabelSelector>()) {
      auto matcher = api::LabelMatcher::From(*selector);
      read.params->selector = matcher.ok() ? *std::move(matcher) : api::LabelMatcher();
    }
  }
  const api::FieldView actions = spec["validationActions"];
  for (std::size_t i = 0; i < actions.size(); ++i) {
    read.actions.emplace_back(actions.item(i).text());
  }
  return read;
}

}  // namespace dray::policy
