// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/expressions.h"

#include "api/device_class.h"
#include "api/resource_claim.h"
#include "cel/device_env.h"

namespace dray::cli::internal {
namespace {

// What fits beside the margin on a usual terminal.
constexpr std::size_t kSnippetWidth = 88;

void AddSelectors(const std::vector<api::DeviceSelector>& selectors, const base::FieldPath& path,
                  std::vector<ExpressionField>& fields) {
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    if (!selectors[i].cel) continue;
    fields.push_back({path.Index(i) / "cel" / "expression", selectors[i].cel->expression,
                      cel::Purpose::kSelector});
  }
}

template <typename Request>
void AddRequest(const Request& request, const base::FieldPath& path,
                std::vector<ExpressionField>& fields) {
  AddSelectors(request.selectors, path / "selectors", fields);
  for (std::size_t i = 0; i < request.derived_attributes.size(); ++i) {
    fields.push_back({(path / "derivedAttributes").Index(i) / "expression",
                      request.derived_attributes[i].expression, cel::Purpose::kDerivedAttribute});
  }
}

void AddClaim(const api::DeviceClaim& claim, const base::FieldPath& path,
              std::vector<ExpressionField>& fields) {
  for (std::size_t i = 0; i < claim.requests.size(); ++i) {
    const api::DeviceRequest& request = claim.requests[i];
    const base::FieldPath here = (path / "requests").Index(i);
    if (request.exactly) AddRequest(*request.exactly, here / "exactly", fields);
    for (std::size_t j = 0; j < request.first_available.size(); ++j) {
      AddRequest(request.first_available[j], (here / "firstAvailable").Index(j), fields);
    }
  }
}

}  // namespace

std::vector<ExpressionField> ExpressionsOf(const api::Object& object) {
  const base::FieldPath spec("spec");
  std::vector<ExpressionField> fields;
  if (const auto* device_class = object.As<api::DeviceClass>()) {
    AddSelectors(device_class->spec.selectors, spec / "selectors", fields);
  } else if (const auto* claim = object.As<api::ResourceClaim>()) {
    AddClaim(claim->spec.devices, spec / "devices", fields);
  } else if (const auto* claim_template = object.As<api::ResourceClaimTemplate>()) {
    AddClaim(claim_template->spec.spec.devices, spec / "spec" / "devices", fields);
  }
  return fields;
}

ExpressionFindings CheckExpression(const ExpressionField& field, const api::FeatureGates& gates,
                                   bool kubernetes_only) {
  ExpressionFindings findings;
  if (field.text.empty() || field.text.size() > api::kCELSelectorExpressionMaxLength) {
    return findings;
  }
  cel::DeviceEnvironmentOptions options = cel::DeviceEnvironmentOptions::New(gates);
  options.kubernetes_only = kubernetes_only;
  const auto environment = cel::DeviceEnvironment(options);
  const cel::CompileResult compiled =
      cel::Compile(field.text, environment, {.purpose = field.purpose});
  if (!compiled.ok()) {
    findings.errors = cel::Explain(field.text, compiled, *environment, field.purpose);
    return findings;
  }
  findings.warnings = cel::FindSuspicious(*compiled.checked);
  if (compiled.cost.max > api::kCELSelectorExpressionMaxCost) {
    findings.cost = cel::ExplainCost(*compiled.checked);
  }
  return findings;
}

std::string WithSnippet(const cel::Advice& advice, std::string_view expression) {
  return advice.message + cel::Snippet(cel::Source(expression), advice.offset, kSnippetWidth);
}

}  // namespace dray::cli::internal
