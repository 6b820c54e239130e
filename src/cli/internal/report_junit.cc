// SPDX-License-Identifier: Apache-2.0
//
// JUnit's XML as Jenkins, GitLab, Azure and GitHub's actions read it: they differ in what they allow,
// so this is the common part. A case has at most one failure, since some show only the first.
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/internal/report_formats.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

// Text in an element or in double quotes. What XML 1.0 cannot have at all is replaced.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += byte < 0x20 || byte == 0x7f ? std::string("\xEF\xBF\xBD") : std::string(1, c);
    }
  }
  return out;
}

struct Case {
  std::string name;
  int line = 0;
  std::vector<const Finding*> errors;
  std::vector<const Finding*> others;
  bool skipped = false;
  bool unread = false;  // not an object: a file, or a part of it that could not be read
};

struct Suite {
  std::string file;
  std::vector<Case> cases;

  std::size_t Count(auto condition) const {
    std::size_t n = 0;
    for (const Case& one : cases) n += condition(one) ? 1 : 0;
    return n;
  }
};

std::string LineOf(const Finding& finding) {
  std::string text = fmt::format("{}:{}:{}: ", finding.object.file, finding.position.line,
                                 finding.position.column);
  if (finding.position.line == 0) text = finding.object.file + ": ";
  const bool named =
      finding.field.empty() || finding.message.find('"' + finding.field + '"') != std::string::npos;
  if (!named) text += finding.field + ": ";
  text += finding.message;
  if (!finding.hint.empty()) text += fmt::format(" (hint: {})", finding.hint);
  return text;
}

std::string LinesOf(const std::vector<const Finding*>& findings) {
  std::string text;
  for (const Finding* finding : findings) text += LineOf(*finding) + "\n";
  return text;
}

// Objects by file, each finding with its object; what has none is a case of its own.
std::vector<Suite> SuitesOf(const Report& report) {
  std::vector<Suite> suites;
  std::map<std::string, std::size_t> files;
  const auto suite = [&](const std::string& file) -> Suite& {
    const auto [it, fresh] = files.try_emplace(file, suites.size());
    if (fresh) suites.push_back({.file = file});
    return suites[it->second];
  };
  for (const std::string& file : report.files) suite(file);
  using Key = std::tuple<std::string, int, int>;
  std::map<Key, std::pair<std::size_t, std::size_t>> cases;
  const auto key = [](const ObjectId& id) {
    return Key(id.file, id.position.line, id.position.column);
  };
  for (const ObjectId& id : report.objects) {
    Suite& in = suite(id.file);
    std::string name = id.ToString();
    if (name.empty()) name = fmt::format("object at line {}", id.position.line);
    cases.emplace(key(id), std::pair(files.at(id.file), in.cases.size()));
    in.cases.push_back({.name = std::move(name), .line = id.position.line});
  }
  for (const Finding& finding : report.findings) {
    auto found = cases.find(key(finding.object));
    if (found == cases.end()) {
      Suite& in = suite(finding.object.file);
      found = cases
                  .emplace(key(finding.object),
                           std::pair(files.at(finding.object.file), in.cases.size()))
                  .first;
      const std::string name = finding.object.ToString();
      in.cases.push_back({.name = name.empty() ? "the file can be read" : name,
                          .line = finding.position.line,
                          .unread = name.empty()});
    }
    Case& one = suites[found->second.first].cases[found->second.second];
    if (finding.reason == "SkippedKind") one.skipped = true;
    (finding.level == Level::kError ? one.errors : one.others).push_back(&finding);
  }
  return suites;
}

std::string TextOf(const Case& one, const std::string& file) {
  std::string text = fmt::format("    <testcase name=\"{}\" classname=\"{}\" file=\"{}\"",
                                 Escaped(one.name), Escaped(file), Escaped(file));
  if (one.line > 0) text += fmt::format(" line=\"{}\"", one.line);
  text += " time=\"0\"";
  if (one.errors.empty() && one.others.empty()) return text + "/>\n";
  text += ">\n";
  if (!one.errors.empty()) {
    const std::string more =
        one.errors.size() > 1 ? fmt::format(" (and {} more)", one.errors.size() - 1) : "";
    const std::string_view element = one.unread ? "error" : "failure";
    text += fmt::format("      <{} type=\"{}\" message=\"{}{}\">{}</{}>\n", element,
                        Escaped(one.errors.front()->reason), Escaped(one.errors.front()->message),
                        more, Escaped(LinesOf(one.errors)), element);
  } else if (one.skipped) {
    text += fmt::format("      <skipped message=\"{}\"/>\n", Escaped(one.others.front()->message));
  }
  if (!one.others.empty()) {
    text += fmt::format("      <system-out>{}</system-out>\n", Escaped(LinesOf(one.others)));
  }
  return text + "    </testcase>\n";
}

}  // namespace

std::string ToJUnit(const Report& report) {
  const std::vector<Suite> suites = SuitesOf(report);
  const auto failed = [](const Case& one) { return !one.errors.empty() && !one.unread; };
  const auto unread = [](const Case& one) { return !one.errors.empty() && one.unread; };
  const auto skipped = [](const Case& one) { return one.errors.empty() && one.skipped; };
  std::string body;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::size_t skips = 0;
  for (const Suite& suite : suites) {
    tests += suite.cases.size();
    failures += suite.Count(failed);
    errors += suite.Count(unread);
    skips += suite.Count(skipped);
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
        "time=\"0\">\n",
        Escaped(suite.file), suite.cases.size(), suite.Count(failed), suite.Count(unread),
        suite.Count(skipped));
    for (const Case& one : suite.cases) body += TextOf(one, suite.file);
    body += "  </testsuite>\n";
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"dray validate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "skipped=\"{}\" time=\"0\">\n{}</testsuites>\n",
      tests, failures, errors, skips, body);
}

}  // namespace dray::cli::internal
