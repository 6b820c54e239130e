// SPDX-License-Identifier: Apache-2.0
//
// Spec: OASIS SARIF 2.1.0, chapter 3. Code scanning shows a result at its place in the file, and
// keeps results of equal fingerprints together from run to run.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "api/json.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/report_formats.h"
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

struct RuleText {
  std::string_view reason;
  std::string_view text;
};
// What a reason is about; others are read from their name.
constexpr std::array kRules = {
    RuleText{"FieldValueNotFound", "A field names something that does not exist"},
    RuleText{"FieldValueRequired", "A required field is missing"},
    RuleText{"FieldValueDuplicate", "A value that must be unique appears twice"},
    RuleText{"FieldValueInvalid", "A value is not valid"},
    RuleText{"FieldValueTypeInvalid", "A value has the wrong type"},
    RuleText{"FieldValueNotSupported", "A value is not one of those that are supported"},
    RuleText{"FieldValueForbidden", "A field must not be set"},
    RuleText{"FieldValueTooLong", "A value is too long"},
    RuleText{"FieldValueTooMany", "A list has too many entries"},
    RuleText{"UnknownField", "A field does not exist"},
    RuleText{"DuplicateField", "A field appears twice"},
    RuleText{"SyntaxError", "The text is neither YAML nor JSON"},
    RuleText{"TypeMismatch", "A value has another type than its field"},
    RuleText{"FeatureGateOff", "A field belongs to a feature whose gate is off"},
    RuleText{"OnlyInDray", "Kubernetes does not accept what dray accepts"},
    RuleText{"ServerWarning", "A server would warn about this"},
    RuleText{"SkippedKind", "Objects of this kind are not checked"},
    RuleText{"SuspiciousExpression", "An expression probably does not do what is intended"},
};

// "UnknownDeviceClass" is "Unknown device class".
std::string FromName(std::string_view reason) {
  std::string text;
  for (const char c : reason) {
    const bool upper = absl::ascii_isupper(static_cast<unsigned char>(c));
    if (upper && !text.empty()) text += ' ';
    text += upper && !text.empty() ? absl::ascii_tolower(static_cast<unsigned char>(c)) : c;
  }
  return text;
}

std::string TextOf(std::string_view reason) {
  const auto known = std::ranges::find(kRules, reason, &RuleText::reason);
  return known == kRules.end() ? FromName(reason) : std::string(known->text);
}

std::string_view LevelOf(Level level) {
  switch (level) {
    case Level::kError:
      return "error";
    case Level::kWarning:
      return "warning";
    case Level::kNote:
      return "note";
  }
  return "none";
}

// A relative reference, or a file: URI of an absolute path; RFC 3986.
std::string UriOf(const std::string& file) {
  std::string uri = std::filesystem::path(file).is_absolute() ? "file://" : "";
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain =
        absl::ascii_isalnum(byte) || std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

std::string MessageOf(const Finding& finding) {
  std::string text;
  if (const std::string object = finding.object.ToString(); !object.empty()) text = object + ": ";
  const bool named =
      finding.field.empty() || finding.message.find('"' + finding.field + '"') != std::string::npos;
  if (!named) text += finding.field + ": ";
  text += finding.message;
  if (!finding.hint.empty()) text += "\nHint: " + finding.hint;
  return text;
}

// Stays when lines move: the object, the field and what is wrong, and the how manieth of that.
std::string FingerprintOf(const Finding& finding, std::size_t repeated) {
  const std::string what = fmt::format("{}\n{}\n{}\n{}", finding.reason, finding.object.ToString(),
                                       finding.field, finding.message);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : what) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}:{}", hash, repeated);
}

api::DocumentNode Text(std::string_view text) { return Map({{"text", String(text)}}); }

api::DocumentNode LocationOf(const Finding& finding) {
  std::vector<Entry> physical = {
      {"artifactLocation", Map({{"uri", String(UriOf(finding.object.file))}})}};
  if (finding.position.line > 0) {
    std::vector<Entry> region = {
        {"startLine", Number(static_cast<std::size_t>(finding.position.line))}};
    if (finding.position.column > 0) {
      region.push_back({"startColumn", Number(static_cast<std::size_t>(finding.position.column))});
    }
    physical.push_back({"region", Map(std::move(region))});
  }
  std::vector<Entry> location = {{"physicalLocation", Map(std::move(physical))}};
  const std::string object = finding.object.ToString();
  if (!object.empty()) {
    std::vector<Entry> logical = {
        {"name", String(finding.field.empty() ? finding.object.name : finding.field)},
        {"fullyQualifiedName",
         String(finding.field.empty() ? object : fmt::format("{}/{}", object, finding.field))}};
    location.push_back({"logicalLocations", List({Map(std::move(logical))})});
  }
  return Map(std::move(location));
}

}  // namespace

std::string ToSarif(const Report& report, std::string_view version) {
  std::vector<std::string> reasons;
  for (const Finding& finding : report.findings) reasons.push_back(finding.reason);
  std::ranges::sort(reasons);
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());

  std::vector<api::DocumentNode> rules;
  for (const std::string& reason : reasons) {
    const auto first = std::ranges::find(report.findings, reason, &Finding::reason);
    rules.push_back(
        Map({{"id", String(reason)},
             {"shortDescription", Text(TextOf(reason))},
             {"defaultConfiguration", Map({{"level", String(LevelOf(first->level))}})}}));
  }
  std::vector<api::DocumentNode> results;
  std::map<std::string, std::size_t> seen;
  for (const Finding& finding : report.findings) {
    const auto rule = std::ranges::lower_bound(reasons, finding.reason) - reasons.begin();
    const std::size_t repeated = seen[FingerprintOf(finding, 0)]++;
    results.push_back(Map({{"ruleId", String(finding.reason)},
                           {"ruleIndex", Number(static_cast<std::size_t>(rule))},
                           {"level", String(LevelOf(finding.level))},
                           {"message", Text(MessageOf(finding))},
                           {"locations", List({LocationOf(finding)})},
                           {"partialFingerprints",
                            Map({{"drayFinding/v1", String(FingerprintOf(finding, repeated))}})}}));
  }
  std::vector<api::DocumentNode> artifacts;
  for (const std::string& file : report.files) {
    artifacts.push_back(Map({{"location", Map({{"uri", String(UriOf(file))}})}}));
  }
  const api::DocumentNode driver = Map({{"name", String("dray validate")},
                                        {"version", String(version)},
                                        {"rules", List(std::move(rules))}});
  const api::DocumentNode invocation =
      Map({{"executionSuccessful", Bool(!report.unusable)},
           {"exitCode", Number(static_cast<std::size_t>(report.ExitCode()))}});
  const api::DocumentNode run = Map({{"tool", Map({{"driver", driver}})},
                                     {"columnKind", String("unicodeCodePoints")},
                                     {"invocations", List({invocation})},
                                     {"artifacts", List(std::move(artifacts))},
                                     {"results", List(std::move(results))}});
  const api::DocumentNode document =
      Map({{"$schema", String("https://json.schemastore.org/sarif-2.1.0.json")},
           {"version", String("2.1.0")},
           {"runs", List({run})}});
  return api::IndentJson(api::ToJson(document), 2) + "\n";
}

}  // namespace dray::cli::internal
