// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/wrap.h"

#include <algorithm>

#include "base/utf8.h"

namespace dray::cli::internal {
namespace {

// The words of `text`, the first line after `line`, the others after `indent` blanks.
std::string Fill(std::string line, std::string_view text, std::size_t indent, std::size_t columns) {
  std::string out;
  bool fresh = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!fresh && base::CodePoints(line) + 1 + base::CodePoints(word) > columns) {
      out += line + '\n';
      line.assign(indent, ' ');
      fresh = true;
    }
    if (!fresh) line += ' ';
    line += word;
    fresh = false;
  }
  return out + line + '\n';
}

// Where what is said about the first words of a line begins, after two blanks; 0: nowhere.
std::size_t RemarkOf(std::string_view line) {
  const std::size_t first = line.find_first_not_of(' ');
  if (first == line.npos) return 0;
  const std::size_t gap = line.find("  ", first);
  if (gap == line.npos) return 0;
  const std::size_t remark = line.find_first_not_of(' ', gap);
  return remark == line.npos ? 0 : remark;
}

// How a line that goes on below begins there: branches of a tree go on, words stand under words.
std::string ContinuationOf(std::string_view line) {
  constexpr std::string_view kThrough = "│  ";
  std::string indent;
  for (;;) {
    if (line.starts_with("├─ ")) {
      indent += kThrough;
      line.remove_prefix(std::string_view("├─ ").size());
    } else if (line.starts_with("└─ ")) {
      indent += "   ";
      line.remove_prefix(std::string_view("└─ ").size());
    } else if (line.starts_with(kThrough)) {
      indent += kThrough;
      line.remove_prefix(kThrough.size());
    } else if (line.starts_with("   ")) {
      indent += "   ";
      line.remove_prefix(3);
    } else {
      return indent + (line.starts_with("  - ") ? "    " : "  ");
    }
  }
}

}  // namespace

std::string Wrapped(std::string_view line, std::size_t columns) {
  if (columns == 0 || base::CodePoints(line) <= std::max(columns, kLeastColumns))
    return std::string(line);
  const std::size_t most = std::max(columns, kLeastColumns);
  const std::string indent = ContinuationOf(line);
  std::string text;
  std::string now;  // the line that is being filled
  bool words = false;
  const auto width = [](std::string_view part) { return base::CodePoints(part); };
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = line.find(' ', at);
    if (end == std::string_view::npos) end = line.size();
    const std::string_view word = line.substr(at, end - at);
    if (words && !word.empty() && width(now) + width(word) > most) {
      while (now.ends_with(' ')) now.pop_back();
      text += now + '\n';
      now = indent;
    }
    now += word;
    // What stands before the first word is no place to break.
    words |= !word.empty() && word != "├─" && word != "└─" && word != "│" && word != "-";
    if (end < line.size()) now += ' ';
    at = end + 1;
  }
  return text + now;
}

std::string WrapHelp(std::string_view text, std::size_t columns) {
  if (columns == 0) return std::string(text);
  columns = std::max(columns, kLeastColumns);
  std::string out;
  bool examples = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end + 1 - (text[end] == '\n' ? 1 : 0));
    text.remove_prefix(end + 1);
    if (!line.starts_with(' ')) examples = line == "Examples:";
    const std::size_t remark = RemarkOf(line);
    const std::size_t indent = line.find_first_not_of(' ');
    if (base::CodePoints(line) <= columns) {
      (out += line) += '\n';
    } else if (remark > 0 && remark + kLeastColumns / 2 <= columns) {
      out += Fill(std::string(line.substr(0, remark)), line.substr(remark), remark, columns);
    } else if (examples) {
      (out += line) += '\n';
    } else {
      out += Fill(std::string(indent, ' '), line, indent, columns);
    }
  }
  return out;
}

std::string Paragraph(std::string_view text, std::size_t indent, std::size_t columns) {
  const std::size_t most = columns == 0 ? text.size() + indent : std::max(columns, kLeastColumns);
  return Fill(std::string(indent, ' '), text, indent, most);
}

}  // namespace dray::cli::internal
