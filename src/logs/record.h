// SPDX-License-Identifier: Apache-2.0
//
// A record of a log, and its two texts: a line for people, as Kubernetes's components write it, and
// a line of JSON.
//
//   W1116 03:12:45.000123    4711 store] "Commit was slow" took="1.2s" transactions=17
//   {"ts":1780000000123.456,"logger":"store","level":"warning","msg":"Commit was slow",...}
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace dray::logs {

enum class Level : std::uint8_t { kInfo, kWarning, kError };
inline constexpr std::size_t kLevels = 3;
std::string_view NameOf(Level level);  // "info", "warning", "error"

// What a key stands for. A value; made only where the record is wanted, so it may take a moment.
class Value {
 public:
  Value(std::string_view text)
      : text_(text), is_text_(true) {}  // NOLINT(google-explicit-constructor)
  Value(const std::string& text) : Value(std::string_view(text)) {}  // NOLINT
  Value(const char* text) : Value(std::string_view(text)) {}         // NOLINT
  Value(bool value) : text_(value ? "true" : "false") {}             // NOLINT
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T number) : text_(std::to_string(number)) {}  // NOLINT
  // As Go writes it: 1.5s.
  Value(std::chrono::nanoseconds duration);                      // NOLINT
  Value(const Status& status) : Value(base::Message(status)) {}  // NOLINT

  // A string that has to be quoted, or else a number or a truth value as JSON has them.
  bool is_text() const { return is_text_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool is_text_ = false;
};

struct Field {
  std::string_view key;  // letters, digits, '_', '-' and '.'; a constant of the program
  Value value;
};
using Fields = std::initializer_list<Field>;

struct Record {
  Level level = Level::kInfo;
  int verbosity = 0;  // of an info; 0 is always told
  base::Time time;
  std::string_view component;  // scheduler, apiserver, store, ...
  std::string_view message;    // a constant sentence; what varies is in the fields
  const Field* fields = nullptr;
  std::size_t field_count = 0;
  std::uint64_t suppressed = 0;  // records like it that were not told since the last one
};

struct TextStyle {
  int pid = 0;
  bool color = false;  // for terminals
};
// Both end with a line break and have no other: whatever a client calls its pod, a record is one
// line, and nothing in it is obeyed by a terminal.
std::string TextLine(const Record& record, const TextStyle& style);
std::string JsonLine(const Record& record);

// As a JSON string, with its quotes. What is not UTF-8 becomes U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace dray::logs
