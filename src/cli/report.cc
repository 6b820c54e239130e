// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "api/json.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/paint.h"
#include "cli/internal/wrap.h"
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli {
namespace {

using internal::List;
using internal::Map;
using internal::Number;
using internal::Painter;
using internal::Printable;
using internal::String;

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kError:
      return "error";
    case Level::kWarning:
      return "warning";
    case Level::kNote:
      return "note";
  }
  return "";
}

// As compilers have it.
std::string_view ColorOf(Level level) {
  switch (level) {
    case Level::kError:
      return internal::kRed;
    case Level::kWarning:
      return internal::kMagenta;
    case Level::kNote:
      return internal::kCyan;
  }
  return "";
}

std::string Place(const Finding& finding) {
  if (finding.position.line == 0) return finding.object.file;
  return fmt::format("{}:{}:{}", finding.object.file, finding.position.line,
                     finding.position.column);
}

// A line that begins with `plain`, broken where the terminal ends, and painted there.
std::string Broken(const std::string& line, const std::string& plain, const std::string& painted,
                   std::size_t columns) {
  const std::string text = internal::Wrapped(line, columns);
  return text.starts_with(plain) ? painted + text.substr(plain.size()) : text;
}

std::string Lines(const Finding& finding, const Painter& painter, std::size_t columns) {
  const std::string place = Printable(Place(finding));
  const std::string plain = fmt::format("{}: {}: ", place, NameOf(finding.level));
  std::string text = plain;
  if (const std::string object = finding.object.ToString(); !object.empty()) {
    text += fmt::format("{}: ", Printable(object));
  }
  // `unknown field "spec.x"` names its field already.
  const bool named =
      finding.field.empty() || finding.message.find('"' + finding.field + '"') != std::string::npos;
  if (!named) text += fmt::format("{}: ", Printable(finding.field));
  // What a compiler says in several lines, with a caret below, stays as it is.
  const bool block = finding.message.find('\n') != std::string::npos;
  text = Broken(text + Printable(finding.message), plain,
                fmt::format("{}: {}: ", painter.Bold(place),
                            painter.Paint(ColorOf(finding.level), NameOf(finding.level))),
                block ? 0 : columns) +
         '\n';
  if (!finding.hint.empty()) {
    text += Broken("  hint: " + Printable(finding.hint),
                   "  hint: ", fmt::format("  {}: ", painter.Paint(internal::kGreen, "hint")),
                   columns) +
            '\n';
  }
  return text;
}

constexpr std::string_view kSkippedKind = "SkippedKind";
// So many findings that say the same are told one by one.
constexpr std::size_t kAlike = 3;

// Equal for findings that say the same of objects of one kind.
std::string KeyOf(const Finding& finding) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", NameOf(finding.level), finding.reason,
                     finding.object.kind, finding.field, finding.message, finding.hint);
}

std::string Plural(std::size_t n, std::string_view word) {
  return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s");
}

api::DocumentNode JsonOf(const ObjectId& id) {
  return Map({{"file", String(id.file)},
              {"line", Number(static_cast<std::size_t>(id.position.line))},
              {"column", Number(static_cast<std::size_t>(id.position.column))},
              {"apiVersion", String(id.api_version)},
              {"kind", String(id.kind)},
              {"namespace", String(id.namespace_)},
              {"name", String(id.name)}});
}

api::DocumentNode JsonOf(const Finding& finding) {
  return Map({{"file", String(finding.object.file)},
              {"line", Number(static_cast<std::size_t>(finding.position.line))},
              {"column", Number(static_cast<std::size_t>(finding.position.column))},
              {"severity", String(std::string(NameOf(finding.level)))},
              {"reason", String(finding.reason)},
              {"apiVersion", String(finding.object.api_version)},
              {"kind", String(finding.object.kind)},
              {"namespace", String(finding.object.namespace_)},
              {"name", String(finding.object.name)},
              {"field", String(finding.field)},
              {"message", String(finding.message)},
              {"hint", String(finding.hint)}});
}

}  // namespace

std::string ObjectId::ToString() const {
  std::string text = api_version;
  if (!kind.empty()) text += (text.empty() ? "" : " ") + kind;
  if (text.empty()) return text;
  if (name.empty()) return text;
  text += ' ';
  if (!namespace_.empty()) text += namespace_ + '/';
  return text + name;
}

std::size_t Report::Count(Level level) const {
  return static_cast<std::size_t>(std::ranges::count(findings, level, &Finding::level));
}

int Report::ExitCode() const {
  if (unusable) return kExitUsage;
  return Count(Level::kError) > 0 ? kExitFindings : kExitOk;
}

std::string ToText(const Report& report, const TextOptions& options) {
  const Painter painter(options.color);
  std::map<std::string, std::vector<const Finding*>> alike;
  for (const Finding& finding : report.findings) alike[KeyOf(finding)].push_back(&finding);
  std::string text;
  for (const Finding& finding : report.findings) {
    if (finding.reason == kSkippedKind) continue;
    const auto& same = alike[KeyOf(finding)];
    const bool folded = same.size() > kAlike;
    if (folded && same.front() != &finding) continue;
    text += Lines(finding, painter, options.columns);
    if (folded) {
      const std::string what = finding.object.kind.empty() ? "object" : finding.object.kind;
      text += fmt::format("  {} like it, the last at {}\n",
                          Plural(same.size() - 1, "more " + Printable(what)),
                          Printable(Place(*same.back())));
    }
  }
  const auto first = std::ranges::find(report.findings, kSkippedKind, &Finding::reason);
  if (first == report.findings.end()) return text;
  std::vector<std::string> kinds;
  for (const auto& [kind, count] : report.skipped_kinds) kinds.push_back(Printable(kind));
  return text + fmt::format("{}: {}: skipped {} of {} that dray does not check: {}\n",
                            painter.Bold(Printable(Place(*first))),
                            painter.Paint(ColorOf(Level::kNote), NameOf(Level::kNote)),
                            Plural(report.skipped, "object"),
                            kinds.size() == 1 ? "a kind" : "kinds", fmt::join(kinds, ", "));
}

std::string SummaryOf(const Report& report) {
  std::string text = fmt::format("{} in {}", Plural(report.objects.size(), "object"),
                                 Plural(report.files.size(), "file"));
  if (report.skipped > 0) text += fmt::format(", {} skipped", report.skipped);
  return text + fmt::format(": {}, {}", Plural(report.Count(Level::kError), "error"),
                            Plural(report.Count(Level::kWarning), "warning"));
}

std::string ToJson(const Report& report) {
  std::vector<api::DocumentNode> objects;
  for (const ObjectId& id : report.objects) objects.push_back(JsonOf(id));
  std::vector<api::DocumentNode> findings;
  for (const Finding& finding : report.findings) findings.push_back(JsonOf(finding));
  const api::DocumentNode document =
      Map({{"objects", List(std::move(objects))},
           {"findings", List(std::move(findings))},
           {"counts", Map({{"files", Number(report.files.size())},
                           {"objects", Number(report.objects.size())},
                           {"skipped", Number(report.skipped)},
                           {"errors", Number(report.Count(Level::kError))},
                           {"warnings", Number(report.Count(Level::kWarning))},
                           {"notes", Number(report.Count(Level::kNote))}})}});
  return api::IndentJson(api::ToJson(document), 2) + "\n";
}

}  // namespace dray::cli
