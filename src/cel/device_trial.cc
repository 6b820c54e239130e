// SPDX-License-Identifier: Apache-2.0
#include "cel/device_trial.h"

#include <utility>

#include "api/resource_claim.h"
#include "cel/device_env.h"
#include "cel/device_errors.h"
#include "cel/device_values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// About an expression that compiles: what the API server has against it, and what is probably not
// meant.
void AddRemarks(std::string_view expression, const CompileResult& compiled, Review& review) {
  if (expression.size() > api::kCELSelectorExpressionMaxLength) {
    review.remarks.push_back(
        {true,
         {kNowhere,
          fmt::format("the expression has {} bytes, the API server takes at most {}",
                      expression.size(), api::kCELSelectorExpressionMaxLength),
          ""}});
  }
  if (compiled.cost.max > review.limit) {
    const std::string fault =
        fmt::format("too complex: it may cost {}, the API server takes at most {}",
                    compiled.cost.max, review.limit);
    Advice advice{kNowhere, fault, ""};
    if (const auto reason = ExplainCost(*compiled.checked)) {
      advice = {reason->offset, fault + "; " + reason->message, reason->hint};
    }
    review.remarks.push_back({true, std::move(advice)});
  }
  for (Advice& advice : FindSuspicious(*compiled.checked)) {
    review.remarks.push_back({false, std::move(advice)});
  }
}

}  // namespace

DeviceTrial TryOn(const Program& program, Purpose purpose, std::string_view driver,
                  const api::Device& device) {
  DeviceTrial trial;
  Arena arena;
  const ApiDeviceView view(program.device_reads(), driver, device);
  const EvaluationResult result = Evaluate(program, view, arena);
  trial.cost = result.cost;
  if (result.value.is_error()) {
    trial.error = ErrorText(program, view, result.value);
    trial.hint = ErrorHint(program, view, result.value);
  } else if (purpose == Purpose::kDerivedAttribute) {
    auto attribute = ToAttribute(result.value);
    if (attribute.ok()) {
      trial.attribute = *std::move(attribute);
    } else {
      trial.error = std::string(base::Message(attribute.status()));
    }
  } else {
    const auto match = ToMatch(result.value);
    if (match.ok()) {
      trial.match = *match;
    } else {
      trial.error = std::string(base::Message(match.status()));
    }
  }
  return trial;
}

std::vector<std::string> ReadNames(const Reads& reads) {
  if (reads.whole_device) return {"the whole device"};
  std::vector<std::string> names;
  if (reads.driver) names.emplace_back("driver");
  if (reads.name) names.emplace_back("name");
  if (reads.allow_multiple_allocations) names.emplace_back("allowMultipleAllocations");
  if (reads.all_attributes) names.emplace_back("all attributes");
  if (reads.all_capacities) names.emplace_back("all capacities");
  for (const auto& name : reads.attributes) {
    names.push_back(fmt::format("attribute {}/{}", name.domain, name.id));
  }
  for (const auto& name : reads.capacities) {
    names.push_back(fmt::format("capacity {}/{}", name.domain, name.id));
  }
  return names;
}

Review ReviewExpression(std::string_view expression, Purpose purpose) {
  Review review;
  review.limit = purpose == Purpose::kDerivedAttribute ? api::kDeviceClaimDerivedAttributeCELMaxCost
                                                       : api::kCELSelectorExpressionMaxCost;
  const auto environment = DeviceEnvironment(DeviceEnvironmentOptions::Stored());
  const CompileResult compiled = Compile(expression, environment, {.purpose = purpose});
  if (!compiled.ok()) {
    for (Advice& advice : Explain(expression, compiled, *environment, purpose)) {
      review.remarks.push_back({true, std::move(advice)});
    }
    review.error = compiled.error;
    return review;
  }
  auto program = Program::Compile(*compiled.checked);
  if (!program.ok()) {
    review.error = std::string(base::Message(program.status()));
    review.remarks.push_back({true, {kNowhere, review.error, ""}});
    return review;
  }
  review.program = *std::move(program);
  review.type = compiled.checked->result_type().ToString();
  review.cost = compiled.cost.max;
  AddRemarks(expression, compiled, review);
  return review;
}

}  // namespace dray::cel
