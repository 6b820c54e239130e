// SPDX-License-Identifier: Apache-2.0
#include "simulator/internal/scenario_reader.h"

#include "base/names.h"
#include "base/time.h"
#include "fmt/format.h"

namespace dray::simulator::internal {

using base::FieldPath;

namespace {

void AddFaults(const std::vector<api::Diagnostic>& diagnostics, const FieldPath& at,
               std::vector<Fault>& faults) {
  for (const api::Diagnostic& found : diagnostics) {
    const std::string before = at.ToString();
    const std::string inside = found.path.ToString();
    const std::string_view dot = before.empty() || inside.empty() ? "" : ".";
    // The field says which one it is: the message need not say it again.
    std::string message = found.message;
    if (found.reason == "UnknownField") message = "unknown field";
    if (found.reason == "DuplicateField") message = "given more than once";
    faults.push_back(
        {found.position, fmt::format("{}{}{}", before, dot, inside), message, found.hint});
  }
}

}  // namespace

void DecodeStrictly(const api::DocumentNode& node, const FieldPath& at, const api::TypeInfo& type,
                    void* value, std::vector<Fault>& faults) {
  std::vector<api::Diagnostic> diagnostics;
  api::DecodeNode(node, type, value, api::Severity::kError, diagnostics);
  AddFaults(diagnostics, at, faults);
}

void ProbeForObject(const api::DocumentNode& node, const FieldPath& at,
                    std::vector<Fault>& faults) {
  DecodeObjectStrictly(node, at, faults);
}

std::optional<api::Object> DecodeObjectStrictly(const api::DocumentNode& node, const FieldPath& at,
                                                std::vector<Fault>& faults) {
  std::vector<api::Diagnostic> diagnostics;
  const std::vector<api::ObjectNode> found = api::ObjectsIn(node, diagnostics);
  std::optional<api::Object> object;
  if (found.size() == 1) {
    object = api::DecodeObject(found[0], api::Severity::kError, diagnostics);
  } else if (diagnostics.empty()) {
    faults.push_back({node.position, at.ToString(), "must be one object", ""});
  }
  AddFaults(diagnostics, at, faults);
  return object;
}

void PartReader::Fault(const FieldPath& at, std::string_view message, std::string_view hint) {
  faults_.push_back(
      {api::Locate(root_, at), at.ToString(), std::string(message), std::string(hint)});
}
void PartReader::Wrong(const FieldPath& at, std::string_view value, std::string_view message,
                       std::string_view hint) {
  Fault(at, fmt::format("\"{}\": {}", value, message), hint);
}

std::int64_t PartReader::Count(const FieldPath& at, std::optional<std::int64_t> count,
                               std::int64_t otherwise, std::int64_t min, std::int64_t max) {
  if (!count) return otherwise;
  if (*count >= min && *count <= max) return *count;
  Fault(at, fmt::format("{}: must be from {} to {}", *count, min, max));
  return otherwise;
}

std::string PartReader::Name(const FieldPath& at, const std::string& name) {
  if (name.empty()) {
    Fault(at, "must be set");
  } else if (!base::IsDnsLabel(name) || name.size() > 40) {
    Wrong(at, name,
          "must be at most 40 lower-case letters, digits and '-', and begin and end with a letter "
          "or digit");
  } else {
    return name;
  }
  return "";
}

Duration PartReader::Time(const FieldPath& at, const std::string& text) {
  const auto parsed = base::ParseGoDuration(text);
  if (!parsed.ok() || *parsed < Duration(0) || *parsed > kMaxDuration) {
    Wrong(at, text, "must be a duration up to a year, for example 90s or 1h30m");
    return Duration(0);
  }
  return *parsed;
}
Duration PartReader::Positive(const FieldPath& at, const std::string& text) {
  if (text.empty()) {
    Fault(at, "must be set, for example 90s or 1h30m");
    return Duration(1);
  }
  const Duration time = Time(at, text);
  if (time > Duration(0)) return time;
  const auto parsed = base::ParseGoDuration(text);
  if (parsed.ok() && *parsed == Duration(0)) Wrong(at, text, "must be longer than 0s");
  return Duration(1);
}

double PartReader::Share(const FieldPath& at, std::optional<double> share) {
  if (!share) {
    Fault(at, "must be set, from 0 to 1");
  } else if (!(*share >= 0 && *share <= 1)) {
    Wrong(at, fmt::format("{}", *share), "must be from 0 to 1");
  } else {
    return *share;
  }
  return 0;
}

bool PartReader::Distribution(const FieldPath& at, const std::string& text,
                              std::string_view random) {
  if (text == random) return true;
  if (!text.empty() && text != "fixed") {
    Wrong(at, text, fmt::format("must be fixed or {}", random));
  }
  return false;
}

Interval PartReader::ReadInterval(const FieldPath& at, std::string_view field,
                                  const std::string& mean, const std::string& distribution,
                                  std::string_view random) {
  return {Positive(at / field, mean), Distribution(at / "distribution", distribution, random)};
}

Template PartReader::ReadTemplate(const FieldPath& at, std::span<const std::string_view> known,
                                  Probe probe, bool required) {
  const api::DocumentNode* node = api::FindValue(root_, at);
  if (node == nullptr || node->kind == api::DocumentNode::Kind::kNull) {
    if (required) Fault(at, "must be set");
    return {};
  }
  const std::size_t before = faults_.size();
  Template made = Template::Create(*node, known, at, faults_);
  const api::DocumentNode first = made.Expand({}, faults_);
  if (probe != nullptr && faults_.size() == before) probe(first, at, faults_);
  return made;
}

}  // namespace dray::simulator::internal
