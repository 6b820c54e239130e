// SPDX-License-Identifier: Apache-2.0
#include "logs/record.h"

#include <iterator>

#include "base/valid_utf8.h"
#include "fmt/format.h"

namespace dray::logs {
namespace {

constexpr std::string_view kColors[kLevels] = {"", "\x1b[33m", "\x1b[31m"};
constexpr char kLetters[kLevels] = {'I', 'W', 'E'};

// U+0080 to U+009F are control characters, too: a terminal obeys 0x9b as it does ESC [.
bool IsHighControl(std::string_view character) {
  return character.size() == 2 && character[0] == '\xc2' &&
         static_cast<unsigned char>(character[1]) < 0xa0;
}

// What some readers take for the end of a line, or for no character at all.
bool IsOdd(std::string_view character) {
  if (IsHighControl(character)) return true;
  for (const std::string_view odd :
       {"\xe2\x80\xa8", "\xe2\x80\xa9", "\xef\xbb\xbf", "\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    if (character == odd) return true;
  }
  return false;
}

// Of a character of two or three bytes.
unsigned CodePoint(std::string_view character) {
  unsigned code =
      static_cast<unsigned char>(character[0]) & (character.size() == 2 ? 0x1fu : 0x0fu);
  for (const char c : character.substr(1))
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3fu);
  return code;
}

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t size = base::CharacterSize(text);
    const std::string_view character = text.substr(0, size == 0 ? 1 : size);
    const auto byte = static_cast<unsigned char>(character[0]);
    if (character == "\"" || character == "\\") {
      out += '\\';
      out += character;
    } else if (character == "\n") {
      out += "\\n";
    } else if (character == "\r") {
      out += "\\r";
    } else if (character == "\t") {
      out += "\\t";
    } else if (size == 0 || byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    } else if (IsOdd(character)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", CodePoint(character));
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  out += '"';
}

}  // namespace

std::string_view NameOf(Level level) {
  switch (level) {
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "";
}

Value::Value(std::chrono::nanoseconds duration)
    : text_(base::GoDurationToString(duration)), is_text_(true) {}

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t size = base::CharacterSize(text);
    const std::string_view character = text.substr(0, size == 0 ? 1 : size);
    const auto byte = static_cast<unsigned char>(character[0]);
    if (size == 0) {
      out += "\xef\xbf\xbd";
    } else if (character == "\"" || character == "\\") {
      out += '\\';
      out += character;
    } else if (character == "\n") {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else if (IsOdd(character)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", CodePoint(character));
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  out += '"';
}

std::string TextLine(const Record& record, const TextStyle& style) {
  const auto level = static_cast<std::size_t>(record.level);
  // 2026-11-16T03:12:45.000123Z
  const std::string time = record.time.ToRfc3339Micro();
  const std::string_view view = time;
  std::string line;
  const bool color = style.color && !kColors[level].empty();
  if (color) line += kColors[level];
  fmt::format_to(std::back_inserter(line), "{}{}{} {} {:7} {}]", kLetters[level], view.substr(5, 2),
                 view.substr(8, 2), view.substr(11, 15), style.pid, record.component);
  if (color) line += "\x1b[0m";
  line += ' ';
  AppendQuoted(line, record.message);
  for (std::size_t i = 0; i < record.field_count; ++i) {
    const Field& field = record.fields[i];
    line.append(" ").append(field.key).append("=");
    if (field.value.is_text()) {
      AppendQuoted(line, field.value.text());
    } else {
      line += field.value.text();
    }
  }
  if (record.suppressed > 0) line += fmt::format(" suppressed={}", record.suppressed);
  line += '\n';
  return line;
}

std::string JsonLine(const Record& record) {
  std::string line;
  const std::int64_t micros = record.time.nanos() / 1000;
  fmt::format_to(std::back_inserter(line), R"({{"ts":{}.{:03},"logger":)",
                 record.time.seconds() * 1000 + micros / 1000, micros % 1000);
  AppendJsonString(line, record.component);
  fmt::format_to(std::back_inserter(line), R"(,"level":"{}")", NameOf(record.level));
  if (record.level == Level::kInfo) line += fmt::format(R"(,"v":{})", record.verbosity);
  line += R"(,"msg":)";
  AppendJsonString(line, record.message);
  for (std::size_t i = 0; i < record.field_count; ++i) {
    const Field& field = record.fields[i];
    line += ',';
    AppendJsonString(line, field.key);
    line += ':';
    if (field.value.is_text()) {
      AppendJsonString(line, field.value.text());
    } else {
      line += field.value.text();
    }
  }
  if (record.suppressed > 0) line += fmt::format(R"(,"suppressed":{})", record.suppressed);
  line += "}\n";
  return line;
}

}  // namespace dray::logs
