// SPDX-License-Identifier: Apache-2.0
//
// The kind `validation`: which errors an object causes, once on its own and once as a request (with
// defaults and the kind's preparation before).
#include <algorithm>
#include <stdexcept>

#include "api/strategy.h"
#include "api/validation.h"
#include "cel/device_env.h"
#include "conformance/case_files.h"
#include "conformance/suite.h"
#include "fmt/format.h"

namespace dray::conformance {
namespace {

struct Subject {
  std::string operation;
  api::Object object;
  std::optional<api::Object> old;
  api::FeatureGates gates;
};

Subject SubjectOf(const api::DocumentNode& recorded) {
  std::optional<api::Object> object = ObjectAt(recorded, "object");
  if (!object) throw std::runtime_error("the case has no object");
  Subject subject{TextOf(recorded, "operation"), *std::move(object),
                  ObjectAt(recorded, "oldObject"), GatesOf(recorded)};
  if (subject.operation != "create" && !subject.old) {
    throw std::runtime_error("an update without oldObject");
  }
  return subject;
}

api::ErrorList Validate(const Subject& subject) {
  static const cel::DeviceExpressionChecker expressions(/*kubernetes_only=*/true);
  const api::ValidationOptions options{
      .gates = subject.gates, .expressions = &expressions, .kubernetes_only = true};
  if (subject.operation == "create") return api::ValidateCreate(subject.object, options);
  if (subject.operation == "update") {
    return api::ValidateUpdate(subject.object, *subject.old, options);
  }
  if (subject.operation == "updateStatus") {
    return api::ValidateStatusUpdate(subject.object, *subject.old, options);
  }
  throw std::runtime_error(fmt::format("unknown operation \"{}\"", subject.operation));
}

// What a server does before it validates.
void Prepare(Subject& subject) {
  const api::StrategyOptions options{
      .gates = subject.gates, .now = base::Time::FromUnix(1'700'000'000), .kubernetes_only = true};
  api::SetDefaults(subject.object, options.now);
  if (subject.old) {
    api::SetDefaults(*subject.old, options.now);
    const api::KindInfo& kind = subject.object.kind();
    api::KeepServerFields(*kind.metadata(subject.object.MutableData()), subject.old->metadata());
  }
  if (subject.operation == "create") {
    api::PrepareForCreate(subject.object, options);
  } else if (subject.operation == "update") {
    api::PrepareForUpdate(subject.object, *subject.old, options);
  } else {
    api::PrepareForStatusUpdate(subject.object, *subject.old, options);
  }
}

std::optional<std::string> Compare(const api::DocumentNode& recorded, std::string_view key,
                                   const Subject& subject) {
  return Difference(ErrorsAt(recorded, key), Validate(subject));
}

std::optional<std::string> Run(const api::DocumentNode& recorded) {
  Subject subject = SubjectOf(recorded);
  std::string text;
  if (const auto alone = Compare(recorded, "expectedErrors", subject)) {
    text = "validation: " + *alone;
  }
  Prepare(subject);
  if (const auto request = Compare(recorded, "requestErrors", subject)) {
    if (!text.empty()) text += " | ";
    text += "request: " + *request;
  }
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace

std::vector<Case> LoadValidationCases(const std::filesystem::path& folder) {
  return CasesOf(folder, Run);
}

}  // namespace dray::conformance
