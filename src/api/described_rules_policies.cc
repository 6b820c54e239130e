// SPDX-License-Identifier: Apache-2.0
//
// Rules of admission policies and their bindings, but for what their expressions say: those are
// compiled where there is a compiler (room policy).
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "api/internal/described_rules.h"
#include "api/internal/name_validation.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::size_t kMaxValueExpression = 5 * 1024;

bool IsBlank(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return absl::ascii_isspace(c); });
}

std::string Shown(const FieldView& list) {
  std::string shown;
  for (std::size_t i = 0; i < list.size(); ++i) {
    shown += fmt::format("{}\"{}\"", i == 0 ? "" : ",", list.item(i).text());
  }
  return fmt::format("[{}]", shown);
}

// A list in which "*" stands for all has nothing else.
void CheckWildcard(Report& report, const Path& at, const FieldView& list, std::string_view what) {
  bool any = false;
  for (std::size_t i = 0; i < list.size(); ++i) any |= list.item(i).text() == "*";
  if (!any || list.size() < 2) return;
  report.InvalidAsIs(at, Shown(list),
                     fmt::format("if '*' is present, must not specify other {}", what));
}

// "pods", "pods/status", "pods/*", "*/scale", "*/*", "*".
void CheckResources(Report& report, const Path& at, const FieldView& list) {
  base::StringSet all_parts;      // x of x/*
  base::StringSet all_resources;  // x of */x
  bool everything = false;
  bool single = false;
  bool plain = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view text = list.item(i).text();
    if (text.empty()) {
      report.Required(at.Index(i), "");
      continue;
    }
    everything |= text == "*/*";
    single |= text == "*";
    const std::size_t slash = text.find('/');
    if (slash == text.npos) {
      plain = text != "*";  // as in Kubernetes, the last one decides
      continue;
    }
    const std::string_view resource = text.substr(0, slash);
    const std::string_view part = text.substr(slash + 1);
    if (all_parts.contains(resource)) {
      report.Invalid(at.Index(i), text,
                     fmt::format("if '{}/*' is present, must not specify {}", resource, text));
    }
    if (all_resources.contains(part)) {
      report.Invalid(at.Index(i), text,
                     fmt::format("if '*/{}' is present, must not specify {}", part, text));
    }
    if (part == "*") all_parts.emplace(resource);
    if (resource == "*") all_resources.emplace(part);
  }
  if (everything && list.size() > 1) {
    report.Invalid(at, "*/*", "if '*/*' is present, must not specify other resources");
  }
  if (single && plain) {
    report.Invalid(at, "*",
                   "if '*' is present, must not specify other resources without subresources");
  }
}

void CheckRules(Report& report, const Path& at, const FieldView& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const FieldView rule = rules.item(i);
    const Path place = at.Index(i);
    const Path names = place.Child("resourceNames");
    base::StringSet seen;
    for (std::size_t n = 0; n < rule["resourceNames"].size(); ++n) {
      const std::string_view name = rule["resourceNames"].item(n).text();
      CheckForm(report, names.Index(n), name, kPathSegment);
      if (!seen.emplace(name).second) report.Duplicate(names.Index(n), name);
    }
    CheckWildcard(report, place.Child("operations"), rule["operations"], "operations");
    CheckWildcard(report, place.Child("apiGroups"), rule["apiGroups"], "API groups");
    CheckWildcard(report, place.Child("apiVersions"), rule["apiVersions"], "API versions");
    CheckResources(report, place.Child("resources"), rule["resources"]);
  }
}

void CheckMatch(Report& report, const Path& at, const FieldView& match) {
  CheckRules(report, at.Child("resourceRules"), match["resourceRules"]);
  CheckRules(report, at.Child("excludeResourceRules"), match["excludeResourceRules"]);
}

void CheckParamKind(Report& report, const Path& at, const FieldView& kind) {
  const std::string_view version = kind["apiVersion"].text();
  const Path place = at.Child("apiVersion");
  const std::size_t slash = version.find('/');
  if (slash != version.npos && version.find('/', slash + 1) != version.npos) {
    report.Invalid(place, version, fmt::format("unexpected GroupVersion string: {}", version));
  } else if (!version.empty()) {
    const std::string_view group = slash == version.npos ? "" : version.substr(0, slash);
    const std::string_view name = slash == version.npos ? version : version.substr(slash + 1);
    if (!group.empty()) CheckForm(report, place, group, kDnsSubdomain);
    if (name.empty()) {
      report.Invalid(place, version, "version must be specified");
    } else {
      CheckForm(report, place, name, kDns1035Label);
    }
  }
  const std::string_view word = kind["kind"].text();
  for (const std::string& reason : base::CheckDns1035Label(LowerCase(word))) {
    if (word.empty()) break;
    report.Invalid(at.Child("kind"), word,
                   fmt::format("may have mixed case, but should otherwise match: {}", reason));
  }
}

// Text for people: something, on one line.
void CheckMessage(Report& report, const Path& at, std::string_view text) {
  if (text.empty()) return;
  if (IsBlank(text)) {
    report.Invalid(at, text, "must be non-empty if specified");
  } else if (base::FromAbsl(absl::StripAsciiWhitespace(base::ToAbsl(text))).find_first_of("\n\r") !=
             text.npos) {
    report.Invalid(at, text, "must not contain line breaks");
  }
}

// Letters, digits and underscores, and none of the language's own words.
bool IsIdentifier(std::string_view name) {
  constexpr std::string_view kReserved[] = {
      "as",       "break",   "const",  "continue", "else", "false", "for",
      "function", "if",      "import", "in",       "let",  "loop",  "namespace",
      "null",     "package", "return", "true",     "var",  "void",  "while"};
  const auto letter = [](char c) { return absl::ascii_isalpha(c) || c == '_'; };
  if (name.empty() || !letter(name[0])) return false;
  const bool letters =
      std::ranges::all_of(name, [&](char c) { return letter(c) || absl::ascii_isdigit(c); });
  return letters && std::ranges::find(kReserved, name) == std::end(kReserved);
}

void CheckExpressionThere(Report& report, const Path& at, std::string_view text) {
  // An empty one is told by the description.
  if (!text.empty() && IsBlank(text)) report.Required(at, "expression is not specified");
}

void CheckAnnotations(Report& report, const Path& at, const FieldView& list,
                      std::string_view policy) {
  base::StringSet keys;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Path place = at.Index(i);
    const std::string_view key = list.item(i)["key"].text();
    if (policy.empty()) {
      report.Invalid(place.Child("key"), key, "requires metadata.name be non-empty");
    } else {
      CheckForm(report, place.Child("key"), fmt::format("{}/{}", policy, key), kLabelKey);
    }
    if (!keys.emplace(key).second) report.Duplicate(place.Child("key"), key);
    const std::string_view text = list.item(i)["valueExpression"].text();
    CheckExpressionThere(report, place.Child("valueExpression"), text);
    if (text.size() > kMaxValueExpression) {
      report.Required(place.Child("valueExpression"),
                      fmt::format("must not exceed {} bytes in length", kMaxValueExpression));
    }
  }
}

}  // namespace

void CheckAdmissionPolicy(const Subject& subject) {
  Report& report = subject.report;
  const FieldView view = subject.object["spec"];
  const Path spec("spec");
  if (view["paramKind"].set()) CheckParamKind(report, spec.Child("paramKind"), view["paramKind"]);
  const Path constraints = spec.Child("matchConstraints");
  if (view["matchConstraints"].value() != nullptr) {
    CheckMatch(report, constraints, view["matchConstraints"]);
    if (view["matchConstraints"]["resourceRules"].size() == 0) {
      report.Required(constraints.Child("resourceRules"), "");
    }
  }
  const Path variables = spec.Child("variables");
  for (std::size_t i = 0; i < view["variables"].size(); ++i) {
    const FieldView variable = view["variables"].item(i);
    const Path place = variables.Index(i);
    const std::string_view name = variable["name"].text();
    if (!name.empty() && !IsIdentifier(name)) {
      report.Invalid(place.Child("name"), name, "must be a valid CEL identifier");
    }
    CheckExpressionThere(report, place.Child("expression"), variable["expression"].text());
  }
  const Path validations = spec.Child("validations");
  for (std::size_t i = 0; i < view["validations"].size(); ++i) {
    const FieldView validation = view["validations"].item(i);
    const Path place = validations.Index(i);
    CheckExpressionThere(report, place.Child("expression"), validation["expression"].text());
    CheckMessage(report, place.Child("message"), validation["message"].text());
    const std::string_view message = validation["messageExpression"].text();
    if (!message.empty() && IsBlank(message)) {
      report.Invalid(place.Child("messageExpression"), message, "must be non-empty if specified");
    }
  }
  CheckAnnotations(report, spec.Child("auditAnnotations"), view["auditAnnotations"],
                   subject.object["metadata"]["name"].text());
  if (view["validations"].size() == 0 && view["auditAnnotations"].size() == 0) {
    constexpr std::string_view kNone =
        "validations or auditAnnotations must contain at least one item";
    report.Required(validations, kNone);
    report.Required(spec.Child("auditAnnotations"), kNone);
  }
}

void CheckAdmissionPolicyBinding(const Subject& subject) {
  Report& report = subject.report;
  const FieldView view = subject.object["spec"];
  const Path spec("spec");
  CheckMatch(report, spec.Child("matchResources"), view["matchResources"]);
  const FieldView ref = view["paramRef"];
  const Path at = spec.Child("paramRef");
  if (ref.value() != nullptr) {
    const std::string_view name = ref["name"].text();
    const bool selects = ref["selector"].value() != nullptr;
    if (!name.empty()) CheckForm(report, at.Child("name"), name, kPathSegment);
    if (!name.empty() && selects) {
      report.Forbidden(at.Child("name"), "name and selector are mutually exclusive");
      report.Forbidden(at.Child("selector"), "name and selector are mutually exclusive");
    }
    if (name.empty() && !selects) {
      report.Required(at, "one of name or selector must be specified");
    }
  }
  bool denies = false;
  bool warns = false;
  for (std::size_t i = 0; i < view["validationActions"].size(); ++i) {
    denies |= view["validationActions"].item(i).text() == "Deny";
    warns |= view["validationActions"].item(i).text() == "Warn";
  }
  if (denies && warns) {
    report.InvalidAsIs(spec.Child("validationActions"), Shown(view["validationActions"]),
                       "must not contain both Deny and Warn (repeating the same validation failure "
                       "information in the API response and headers serves no purpose)");
  }
}

}  // namespace dray::api::internal
