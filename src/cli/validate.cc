// SPDX-License-Identifier: Apache-2.0
#include "cli/validate.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "api/cross_check.h"
#include "cli/internal/object_checks.h"
#include "fmt/format.h"

namespace dray::cli {
namespace {

// A rule about the keys of a map names the map; the key's own place is the better one.
Finding ToFinding(const Manifest& manifest, const api::Diagnostic& diagnostic,
                  std::string_view key = "") {
  const base::FieldPath& path = diagnostic.path;
  return {.level = diagnostic.severity == api::Severity::kError ? Level::kError : Level::kWarning,
          .reason = diagnostic.reason,
          .object = manifest.id,
          .position = api::Locate(*manifest.node, key.empty() ? path : path.Key(key)),
          .field = diagnostic.path.ToString(),
          .message = diagnostic.message,
          .hint = diagnostic.hint};
}

// Whether a field could not be read, so that validation only saw its default.
bool IsBroken(const Manifest& manifest, const std::string& field) {
  return std::ranges::any_of(manifest.broken_fields, [&](const std::string& broken) {
    return field == broken || field.starts_with(broken + ".") || field.starts_with(broken + "[");
  });
}

std::string HintOf(const api::CrossFinding& finding, const std::vector<Manifest>& manifests) {
  if (!finding.related) return finding.hint;
  const ObjectId& other = manifests[*finding.related].id;
  const std::string place =
      fmt::format("see {}:{}:{}", other.file, other.position.line, other.position.column);
  return finding.hint.empty() ? place : fmt::format("{} ({})", finding.hint, place);
}

void AddCrossFindings(const Manifests& given, Report& report) {
  std::vector<api::Object> objects;
  for (const Manifest& manifest : given.manifests) objects.push_back(manifest.object);
  // What an object's own rules have said already is not said again; but whoever sees all objects
  // may know better what was meant.
  const auto key = [](const Finding& finding) {
    return std::tuple(finding.object.file, finding.object.position.line,
                      finding.object.position.column, finding.field);
  };
  std::map<std::tuple<std::string, int, int, std::string>, std::size_t> errors;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    if (report.findings[i].level == Level::kError) errors.emplace(key(report.findings[i]), i);
  }
  for (const api::CrossFinding& cross : api::CrossCheck(objects)) {
    const Manifest& manifest = given.manifests[cross.object];
    Finding finding = ToFinding(manifest, {.severity = cross.severity,
                                           .reason = cross.reason,
                                           .path = cross.path,
                                           .message = cross.message,
                                           .hint = HintOf(cross, given.manifests),
                                           .position = {}});
    const auto said = errors.find(key(finding));
    if (said == errors.end()) {
      report.findings.push_back(std::move(finding));
    } else if (report.findings[said->second].hint.empty()) {
      report.findings[said->second].hint = std::move(finding.hint);
    }
  }
}

// Files in the order they were read, then from top to bottom; files that could not be read last.
void SortFindings(Report& report) {
  std::map<std::string, std::size_t> rank;
  for (const std::string& file : report.files) rank.emplace(file, rank.size());
  const auto key = [&](const Finding& finding) {
    const auto it = rank.find(finding.object.file);
    return std::tuple(it == rank.end() ? rank.size() : it->second, finding.position.line,
                      finding.position.column);
  };
  std::ranges::stable_sort(report.findings, {}, key);
}

}  // namespace

Report Validate(Manifests manifests, const ValidateOptions& options) {
  Report report = std::move(manifests.report);
  for (const Manifest& manifest : manifests.manifests) {
    for (const internal::Fault& fault : internal::CheckObject(manifest.object, options)) {
      if (IsBroken(manifest, fault.diagnostic.path.ToString())) continue;
      report.findings.push_back(ToFinding(manifest, fault.diagnostic, fault.value));
    }
  }
  AddCrossFindings(manifests, report);
  SortFindings(report);
  return report;
}

}  // namespace dray::cli
