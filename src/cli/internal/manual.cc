// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/manual.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

// Text that man does not take for anything of its own: a backslash, a hyphen that is typed, a line
// that begins as a request does.
std::string Plain(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const bool begins = plain.empty() || plain.back() == '\n';
    if (begins && (c == '.' || c == '\'')) plain += "\\&";
    if (c == '\\') {
      plain += "\\e";
    } else if (c == '-') {
      plain += "\\-";
    } else if (c == '`') {
      plain += "\\(ga";
    } else if (c == '~') {
      plain += "\\(ti";
    } else if (c == '^') {
      plain += "\\(ha";
    } else {
      plain += c;
    }
  }
  return plain;
}

std::string Heading(std::string_view page, std::string_view version) {
  return fmt::format(".TH {} 1 \"\" \"dray {}\" \"dray\"\n",
                     absl::AsciiStrToUpper(base::ToAbsl(page)), version);
}

// Prose is filled, lines that are set off are left as they are. "Examples:" and "Exit code:" begin
// sections of their own, as readers of manuals expect.
std::string Prose(std::string_view footer) {
  std::string text;
  bool set_off = false;
  bool section = false;  // one has begun and has no line yet
  const auto end_set_off = [&] {
    if (std::exchange(set_off, false)) text += ".EE\n";
  };
  for (const absl::string_view piece : absl::StrSplit(base::ToAbsl(footer), '\n')) {
    std::string_view line(piece.data(), piece.size());
    if (line == "Examples:") {
      end_set_off();
      text += ".SH EXAMPLES\n";
      section = true;
      continue;
    }
    if (constexpr std::string_view kCodes = "Exit code: "; line.starts_with(kCodes)) {
      end_set_off();
      text += ".SH EXIT STATUS\n";
      line.remove_prefix(kCodes.size());
    }
    if (line.empty()) {
      if (set_off) {
        text += "\n";
      } else if (!section && !text.empty()) {
        text += ".PP\n";
      }
      continue;
    }
    if (line.starts_with(" ") != set_off) {
      if (set_off) {
        end_set_off();
        text += ".PP\n";
      } else {
        if (!section && !text.empty() && !text.ends_with(".PP\n")) text += ".PP\n";
        text += ".EX\n";
        set_off = true;
      }
    }
    section = false;
    text += Plain(line) + "\n";
  }
  end_set_off();
  // Nothing follows the last of them, and man complains of empty paragraphs.
  constexpr std::string_view kEmpty[] = {".PP\n.SH", "\n\n.EE", ".PP\n.PP"};
  constexpr std::string_view kMended[] = {".SH", "\n.EE", ".PP"};
  for (std::size_t i = 0; i < std::size(kEmpty); ++i) {
    for (auto at = text.find(kEmpty[i]); at != std::string::npos; at = text.find(kEmpty[i], at)) {
      text.replace(at, kEmpty[i].size(), kMended[i]);
    }
  }
  while (text.ends_with(".PP\n")) text.resize(text.size() - 4);
  return text;
}

std::string Flag(const FlagOutline& flag) {
  std::string text = ".TP\n";
  for (const std::string& name : flag.names) {
    text += fmt::format("{}\\fB{}\\fR", &name == &flag.names.front() ? "" : ", ", Plain(name));
  }
  if (!flag.value.empty()) {
    text += fmt::format(" {}\\fI{}\\fR{}", flag.value_optional ? "[" : "", Plain(flag.value),
                        flag.value_optional ? "]" : "");
  }
  text += "\n" + Plain(flag.text);
  if (!flag.choices.empty() && flag.text.find(flag.choices.back()) == std::string::npos) {
    text += Plain(fmt::format(" ({})", fmt::join(flag.choices, ", ")));
  }
  if (!flag.default_value.empty()) text += Plain(fmt::format("; default {}", flag.default_value));
  return text + "\n";
}

std::string Synopsis(const CommandOutline& command) {
  std::string text = fmt::format(".B dray {}\n", Plain(command.name));
  if (!command.flags.empty()) text += "[\\fIOPTIONS\\fR]\n";
  for (const FlagOutline& argument : command.arguments) {
    text += fmt::format("[\\fI{}\\fR]\n", Plain(argument.names.front()));
  }
  return text;
}

}  // namespace

std::string ManualOf(const CommandOutline& command, std::string_view version) {
  std::string text = Heading("dray-" + command.name, version);
  text += fmt::format(".SH NAME\ndray\\-{} \\- {}\n", Plain(command.name), Plain(command.summary));
  text += ".SH SYNOPSIS\n" + Synopsis(command);
  const std::string prose = Prose(command.footer);
  // What is told before the first section; a page without it begins with the options.
  const std::string description = prose.substr(0, prose.find(".SH "));
  const std::string sections = prose.substr(description.size());
  if (!description.empty()) text += ".SH DESCRIPTION\n" + description;
  text += ".SH OPTIONS\n";
  for (const FlagOutline& argument : command.arguments) text += Flag(argument);
  for (const FlagOutline& flag : command.flags) text += Flag(flag);
  return text + sections + ".SH SEE ALSO\n.BR dray (1)\n";
}

std::string ManualOfAll(std::string_view version) {
  std::string text = Heading("dray", version);
  text += ".SH NAME\ndray \\- Dynamic Resource Allocation for Kubernetes objects\n";
  text += ".SH SYNOPSIS\n.B dray\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", Plain(kAbout));
  for (const CommandRow& row : Commands()) {
    text += fmt::format(".TP\n.BR dray\\-{} (1)\n{}\n", Plain(row.name), Plain(row.summary));
  }
  return text + Prose(kExamples);
}

}  // namespace dray::cli::internal
