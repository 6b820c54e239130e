// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/console_manifests.h"

#include <cstddef>
#include <utility>

#include "cel/device_env.h"
#include "cli/internal/server_objects.h"
#include "cli/manifests.h"
#include "cli/run.h"
#include "cli/validate.h"
#include "fleet/json.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

using console::Answer;
using console::Refusal;
using fleet::JsonOut;

constexpr std::size_t kMostObjects = 10'000;

// What is wrong with manifests, with its places.
Answer OfReport(const Report& report) {
  JsonOut out;
  std::string message;
  JsonOut issues;
  issues.BeginList();
  std::size_t errors = 0;
  for (const Finding& finding : report.findings) {
    if (finding.level != Level::kError) continue;
    if (++errors > 100) break;
    const std::string text = finding.field.empty()
                                 ? finding.message
                                 : fmt::format("{}: {}", finding.field, finding.message);
    if (message.empty()) message = text;
    issues.BeginMap().Count("line", finding.position.line).Count("column", finding.position.column);
    issues.Text("message", text).Text("hint", finding.hint).EndMap();
  }
  issues.EndList();
  out.BeginMap().Text("kind", "Status").Text("apiVersion", "v1").Map("metadata").EndMap();
  out.Text("status", "Failure");
  out.Text("message", message.empty() ? "the manifests cannot be used" : message);
  out.Text("reason", "Invalid").Count("code", 422).Key("issues").Raw(issues.Take()).EndMap();
  return {.code = 422, .json = out.Take()};
}

}  // namespace

std::variant<console::ManifestResult, Answer> ReadConsoleManifests(
    const std::string& manifests, std::vector<api::Object> objects, const std::string& namespace_,
    const planner::PlanOptions& options) {
  Sources sources;
  sources.files.push_back({"manifests", manifests});
  const Manifests read = ReadManifests(std::move(sources));
  if (read.manifests.size() > kMostObjects) {
    return Refusal(413, "RequestEntityTooLarge",
                   fmt::format("the console plans at most {} objects at a time", kMostObjects));
  }
  const cel::DeviceExpressionChecker expressions;
  const Report report = Validate(read, {.gates = options.gates,
                                        .expressions = &expressions,
                                        .now = options.now,
                                        .fit_together = false});
  if (report.ExitCode() != kExitOk) return OfReport(report);
  console::ManifestResult result;
  for (const auto& [kind, count] : report.skipped_kinds) {
    result.skipped.push_back({.kind = kind, .count = count});
  }
  for (const Manifest& manifest : read.manifests) {
    const api::ObjectMeta& metadata = manifest.object.metadata();
    result.put.push_back(
        {.kind = std::string(manifest.object.kind().kind),
         .namespace_ = metadata.namespace_.empty() ? namespace_ : metadata.namespace_,
         .name = metadata.name});
  }
  auto applied = Applied(std::move(objects), read, namespace_);
  if (!applied.ok()) return Refusal(422, "Invalid", base::Message(applied.status()));
  result.objects = *std::move(applied);
  return result;
}

}  // namespace dray::cli::internal
