// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/object_checks.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/errors.h"
#include "api/strategy.h"
#include "api/validation.h"
#include "base/check.h"

namespace dray::cli::internal {
namespace {

// The name that a server makes from generateName has five more characters.
constexpr std::string_view kGeneratedSuffix = "xxxxx";

api::ObjectMeta& MutableMetadata(api::Object& object) {
  return *object.kind().metadata(object.MutableData());
}

// What the request, not the file, says on a real cluster.
void FillIn(api::Object& object) {
  api::ObjectMeta& metadata = MutableMetadata(object);
  if (object.kind().namespaced && metadata.namespace_.empty()) metadata.namespace_ = "default";
  if (metadata.name.empty() && !metadata.generate_name.empty()) {
    metadata.name = metadata.generate_name + std::string(kGeneratedSuffix);
  }
}

// What a stored object has and a file need not have. A deletion that is under way would forbid
// changes that were made before it began.
void PretendStored(api::Object& object) {
  api::ObjectMeta& metadata = MutableMetadata(object);
  if (metadata.uid.empty()) metadata.uid = "00000000-0000-0000-0000-000000000000";
  if (metadata.resource_version.empty()) metadata.resource_version = "1";
  metadata.deletion_timestamp.reset();
  metadata.deletion_grace_period_seconds.reset();
}

bool IsUnderStatus(const api::FieldError& error) {
  return error.field.ToString().starts_with("status");
}

// The status as its writer would bring it: an update of the object as it was just created.
api::ErrorList CheckStatus(const api::Object& object, api::Object created,
                           const api::StrategyOptions& strategy,
                           const api::ValidationOptions& validation) {
  api::Object updated = object;
  PretendStored(created);
  PretendStored(updated);
  api::PrepareForStatusUpdate(updated, created, strategy);
  api::ErrorList errors = api::ValidateStatusUpdate(updated, created, validation);
  std::erase_if(errors, [](const api::FieldError& error) { return !IsUnderStatus(error); });
  return errors;
}

api::Diagnostic ToDiagnostic(const api::FieldError& error, const api::Object& object) {
  std::string message = error.Message();
  const std::string prefix = error.field.ToString() + ": ";
  if (message.starts_with(prefix)) message.erase(0, prefix.size());
  return {.severity = api::Severity::kError,
          .reason = std::string(api::ReasonOf(error.type)),
          .path = error.field,
          .message = std::move(message),
          .hint = HintFor(error, object),
          .position = {}};
}

// "spec.driver: driver names should be lowercase" -> the path and the rest.
api::Diagnostic ToDiagnostic(const std::string& warning) {
  api::Diagnostic diagnostic{.severity = api::Severity::kWarning,
                             .reason = "ServerWarning",
                             .path = {},
                             .message = warning,
                             .hint = {},
                             .position = {}};
  const auto colon = warning.find(": ");
  const std::string_view path = std::string_view(warning).substr(0, colon);
  if (colon == std::string::npos || path.find_first_of(" []") != std::string_view::npos) {
    return diagnostic;
  }
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const auto end = std::min(path.find('.', begin), path.size());
    diagnostic.path = diagnostic.path.Child(path.substr(begin, end - begin));
    begin = end + 1;
  }
  diagnostic.message.erase(0, colon + 2);
  return diagnostic;
}

}  // namespace

std::vector<Fault> CheckObject(const api::Object& given, const ValidateOptions& options) {
  const api::StrategyOptions strategy{
      .gates = options.gates, .now = options.now, .kubernetes_only = options.kubernetes_only};
  const api::ValidationOptions validation{.gates = options.gates,
                                          .expressions = options.expressions,
                                          .kubernetes_only = options.kubernetes_only};
  std::vector<Fault> found;
  for (api::Diagnostic& gated : CheckGatedFields(given, options)) {
    found.push_back({std::move(gated), ""});
  }
  api::Object object = given;
  FillIn(object);
  api::SetDefaults(object, options.now);

  api::Object created = object;
  api::PrepareForCreate(created, strategy);
  api::ErrorList errors = api::ValidateCreate(created, validation);
  if (api::CarriesStatus(object))
    api::Append(errors, CheckStatus(object, created, strategy, validation));

  for (std::size_t i = 0; i < errors.size(); ++i) {
    // Two layers of rules may say the same; once is enough for a reader.
    if (std::find(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(i), errors[i]) !=
        errors.begin() + static_cast<std::ptrdiff_t>(i)) {
      continue;
    }
    found.push_back({ToDiagnostic(errors[i], object), Unquoted(errors[i].bad_value)});
  }
  for (const std::string& warning : api::WarningsFor(created)) {
    found.push_back({ToDiagnostic(warning), ""});
  }
  return found;
}

}  // namespace dray::cli::internal
