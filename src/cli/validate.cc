// SPDX-License-Identifier: Apache-2.0
#include "cli/validate.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "api/cross_check.h"
#include "api/errors.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/source_map.h"
#include "cli/internal/cross_expressions.h"
#include "cli/internal/expressions.h"
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

void AddCrossFindings(const Manifests& given, bool all, Report& report) {
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
  std::vector<api::CrossFinding> found = api::CrossCheck(objects);
  if (all) std::ranges::move(internal::CrossCheckExpressions(objects), std::back_inserter(found));
  for (const api::CrossFinding& cross : found) {
    if (!all && cross.reason != "DuplicateObject") continue;
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

// Fields that the proposals have and Kubernetes does not, in a status: of those in a spec the rules
// speak.
void AddOwnFields(const Manifest& manifest, std::vector<Finding>& found) {
  const base::FieldPath status("status");
  const auto add = [&](const base::FieldPath& path, std::string hint) {
    found.push_back(ToFinding(manifest, {.severity = api::Severity::kError,
                                         .reason = "OnlyInDray",
                                         .path = path,
                                         .message = "Kubernetes does not have this field",
                                         .hint = std::move(hint),
                                         .position = {}}));
  };
  if (const auto* claim = manifest.object.As<api::ResourceClaim>();
      claim != nullptr && claim->status.allocation) {
    const auto& results = claim->status.allocation->devices.results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].compatibility_groups.empty()) continue;
      add((status / "allocation" / "devices" / "results").Index(i) / "compatibilityGroups",
          "a Kubernetes server drops it and reads the groups from the slice");
    }
  }
  const base::FieldPath mapping = status / "extendedResourceClaimStatus" / "requestMapping";
  if (manifest.object.As<api::Pod>() != nullptr &&
      api::FindValue(*manifest.node, mapping) != nullptr) {
    add(mapping, "its name there is requestMappings");
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

// Expressions that do not compile are told once per issue, at its character in the file; what the
// object's rules said about them, in one lump at the field, gives way.
class ExpressionReporter {
 public:
  ExpressionReporter(const Manifests& manifests, const ValidateOptions& options)
      : manifests_(manifests), options_(options) {}

  // Adds findings about the manifest's expressions, and changes those of its rules.
  void Add(const Manifest& manifest, std::vector<Finding>& of_rules, Report& report) {
    for (const internal::ExpressionField& field : internal::ExpressionsOf(manifest.object)) {
      const std::string path = field.path.ToString();
      if (IsBroken(manifest, path)) continue;
      const auto said = [&](const Finding& finding, std::string_view reason) {
        return finding.level == Level::kError && finding.field == path && finding.reason == reason;
      };
      const auto of = internal::CheckExpression(field, options_.gates, options_.kubernetes_only);
      const std::string_view invalid = api::ReasonOf(api::ErrorType::kInvalid);
      if (!of.errors.empty()) {
        std::erase_if(of_rules, [&](const Finding& finding) { return said(finding, invalid); });
      }
      for (const cel::Advice& error : of.errors) {
        report.findings.push_back(At(manifest, field, error, Level::kError, invalid));
      }
      for (const cel::Advice& warning : of.warnings) {
        report.findings.push_back(
            At(manifest, field, warning, Level::kWarning, "SuspiciousExpression"));
      }
      if (!of.cost) continue;
      for (Finding& finding : of_rules) {
        if (!said(finding, api::ReasonOf(api::ErrorType::kForbidden))) continue;
        finding.position = Place(manifest, field, of.cost->offset);
        finding.message += "; " + internal::WithSnippet(*of.cost, field.text);
        finding.hint = of.cost->hint;
      }
    }
  }

 private:
  Finding At(const Manifest& manifest, const internal::ExpressionField& field,
             const cel::Advice& advice, Level level, std::string_view reason) {
    return {.level = level,
            .reason = std::string(reason),
            .object = manifest.id,
            .position = Place(manifest, field, advice.offset),
            .field = field.path.ToString(),
            .message = internal::WithSnippet(advice, field.text),
            .hint = advice.hint};
  }

  api::Position Place(const Manifest& manifest, const internal::ExpressionField& field,
                      cel::Offset offset) {
    const api::DocumentNode* scalar = api::FindValue(*manifest.node, field.path);
    if (scalar == nullptr) return api::Locate(*manifest.node, field.path);
    const auto [it, fresh] =
        maps_.try_emplace(manifest.source, manifests_.sources[manifest.source].text);
    return it->second.Inside(*scalar, offset == cel::kNowhere ? 0 : offset);
  }

  const Manifests& manifests_;
  const ValidateOptions& options_;
  std::map<std::size_t, api::SourceMap> maps_;  // by source, made when needed
};

}  // namespace

Report Validate(const Manifests& manifests, const ValidateOptions& options) {
  Report report = manifests.report;
  ExpressionReporter expressions(manifests, options);
  for (const Manifest& manifest : manifests.manifests) {
    std::vector<Finding> found;
    for (const internal::Fault& fault : internal::CheckObject(manifest.object, options)) {
      if (IsBroken(manifest, fault.diagnostic.path.ToString())) continue;
      found.push_back(ToFinding(manifest, fault.diagnostic, fault.value));
    }
    if (options.kubernetes_only) AddOwnFields(manifest, found);
    if (options.expressions != nullptr) expressions.Add(manifest, found, report);
    std::ranges::move(found, std::back_inserter(report.findings));
  }
  AddCrossFindings(manifests, options.fit_together, report);
  SortFindings(report);
  return report;
}

}  // namespace dray::cli
