// SPDX-License-Identifier: Apache-2.0
//
// Strings: the language's own functions and the extension of version 2. Positions count code
// points.
#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "cel/bounds.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/source.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

bool AllStrings(Args args) {
  return std::ranges::all_of(args, [](const Value& v) { return v.is(Kind::kString); });
}

// The byte offset of the code point `n`, which is at most the number of code points.
std::size_t OffsetOf(std::string_view text, std::size_t n) {
  std::size_t at = 0;
  while (n > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && base::IsContinuation(text[at])) ++at;
    --n;
  }
  return at;
}

Value OutOfRange(Arena& arena, std::int64_t index) {
  return MakeError(arena, fmt::format("index out of range: {}", index));
}

Value ContainsText(Arena&, Args args) {
  if (!AllStrings(args)) return UnmatchedCall();
  return Value::Bool(args[0].as_text().find(args[1].as_text()) != std::string_view::npos);
}
Value StartsWith(Arena&, Args args) {
  if (!AllStrings(args)) return UnmatchedCall();
  return Value::Bool(args[0].as_text().starts_with(args[1].as_text()));
}
Value EndsWith(Arena&, Args args) {
  if (!AllStrings(args)) return UnmatchedCall();
  return Value::Bool(args[0].as_text().ends_with(args[1].as_text()));
}

Value CharAt(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString) || !args[1].is(Kind::kInt)) return UnmatchedCall();
  const std::string_view text = args[0].as_text();
  const std::int64_t index = args[1].as_int();
  const auto n = static_cast<std::int64_t>(CodePoints(text));
  if (index < 0 || index > n) return OutOfRange(arena, index);
  const std::size_t at = OffsetOf(text, static_cast<std::size_t>(index));
  return Value::String(text.substr(at, OffsetOf(text.substr(at), 1)));
}

Value ListIndexOf(Work& work, Args args) {
  const List& list = args[0].as<List>();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (work.Spend(1) && IsEqual(work, args[1], list.At(i)))
      return Value::Int(static_cast<std::int64_t>(i));
  }
  return Value::Int(-1);
}
Value ListLastIndexOf(Work& work, Args args) {
  const List& list = args[0].as<List>();
  for (std::size_t i = list.size(); i-- > 0;) {
    if (work.Spend(1) && IsEqual(work, args[1], list.At(i)))
      return Value::Int(static_cast<std::int64_t>(i));
  }
  return Value::Int(-1);
}

}  // namespace

// Also of Kubernetes' lists.
Value IndexOf(Arena& arena, Args args) {
  if (args[0].is(Kind::kList) && args.size() == 2) return ListIndexOf(arena.work(), args);
  if (!AllStrings(args.first(2)) || (args.size() == 3 && !args[2].is(Kind::kInt))) {
    return UnmatchedCall();
  }
  const std::string_view text = args[0].as_text();
  const std::string_view sought = args[1].as_text();
  const std::int64_t offset = args.size() == 3 ? args[2].as_int() : 0;
  if (offset < 0) return OutOfRange(arena, offset);
  const auto n = static_cast<std::int64_t>(CodePoints(text));
  if (sought.empty()) return Value::Int(std::min(offset, n));
  if (offset >= n) return Value::Int(-1);
  const std::size_t found = text.find(sought, OffsetOf(text, static_cast<std::size_t>(offset)));
  if (found == std::string_view::npos) return Value::Int(-1);
  return Value::Int(static_cast<std::int64_t>(CodePoints(text.substr(0, found))));
}

// An offset past the end finds nothing in Kubernetes; the language refuses it.
template <Dialect dialect>
Value LastIndexOf(Arena& arena, Args args) {
  if (args[0].is(Kind::kList) && args.size() == 2) return ListLastIndexOf(arena.work(), args);
  if (!AllStrings(args.first(2)) || (args.size() == 3 && !args[2].is(Kind::kInt))) {
    return UnmatchedCall();
  }
  const std::string_view text = args[0].as_text();
  const std::string_view sought = args[1].as_text();
  const auto n = static_cast<std::int64_t>(CodePoints(text));
  if (args.size() == 2) {
    if (sought.empty()) return Value::Int(n);
    if (text.size() < sought.size()) return Value::Int(-1);
  }
  const std::int64_t offset = args.size() == 3 ? args[2].as_int() : n - 1;
  if (offset < 0) return OutOfRange(arena, offset);
  if (sought.empty()) return Value::Int(std::min(offset, n));
  if (offset >= n) {
    return dialect == Dialect::kLanguage ? OutOfRange(arena, offset) : Value::Int(-1);
  }
  const std::size_t found = text.rfind(sought, OffsetOf(text, static_cast<std::size_t>(offset)));
  if (found == std::string_view::npos) return Value::Int(-1);
  return Value::Int(static_cast<std::int64_t>(CodePoints(text.substr(0, found))));
}
template Value LastIndexOf<Dialect::kKubernetes>(Arena&, Args);
template Value LastIndexOf<Dialect::kLanguage>(Arena&, Args);

namespace {

template <typename Change>
Value MapCharacters(Arena& arena, Args args, Change change) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const std::string_view text = args[0].as_text();
  char* out = static_cast<char*>(arena.Allocate(text.size(), 1));
  std::ranges::transform(text, out, change);
  return Value::String({out, text.size()});
}
Value LowerAscii(Arena& arena, Args args) {
  return MapCharacters(arena, args, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
}
Value UpperAscii(Arena& arena, Args args) {
  return MapCharacters(arena, args, [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
  });
}

Value Replace(Arena& arena, Args args) {
  if (!AllStrings(args.first(3)) || (args.size() == 4 && !args[3].is(Kind::kInt))) {
    return UnmatchedCall();
  }
  const std::string_view text = args[0].as_text();
  const std::string_view from = args[1].as_text();
  const std::string_view to = args[2].as_text();
  std::int64_t limit = args.size() == 4 ? args[3].as_int() : -1;
  if (limit < 0) limit = std::numeric_limits<std::int64_t>::max();
  std::string out;
  std::size_t at = 0;
  if (from.empty()) {
    // Before every character and at the end.
    while (limit-- > 0) {
      out += to;
      if (out.size() > kMaxMadeBytes) return TooLarge();
      if (at == text.size()) return MakeString(arena, out);
      const std::size_t n = OffsetOf(text.substr(at), 1);
      out += text.substr(at, n);
      at += n;
    }
  } else {
    for (; limit > 0; --limit) {
      const std::size_t found = text.find(from, at);
      if (found == std::string_view::npos) break;
      out += text.substr(at, found - at);
      out += to;
      if (out.size() > kMaxMadeBytes) return TooLarge();
      at = found + from.size();
    }
  }
  out += text.substr(at);
  return MakeString(arena, out);
}

Value Split(Arena& arena, Args args) {
  if (!AllStrings(args.first(2)) || (args.size() == 3 && !args[2].is(Kind::kInt))) {
    return UnmatchedCall();
  }
  std::string_view text = args[0].as_text();
  const std::string_view separator = args[1].as_text();
  const std::int64_t limit = args.size() == 3 ? args[2].as_int() : -1;
  if (limit == 0) return EmptyList();
  auto* parts = arena.New<GrowingList>();
  const auto has_room = [&] {
    return limit < 0 || static_cast<std::int64_t>(parts->size()) + 1 < limit;
  };
  if (separator.empty()) {
    while (!text.empty() && has_room()) {
      const std::size_t n = OffsetOf(text, 1);
      parts->Append(arena, Value::String(text.substr(0, n)));
      if (parts->size() > kMaxMadeValues) return TooLarge();
      text.remove_prefix(n);
    }
    if (!text.empty()) parts->Append(arena, Value::String(text));
  } else {
    while (has_room()) {
      const std::size_t found = text.find(separator);
      if (found == std::string_view::npos) break;
      parts->Append(arena, Value::String(text.substr(0, found)));
      if (parts->size() > kMaxMadeValues) return TooLarge();
      text.remove_prefix(found + separator.size());
    }
    parts->Append(arena, Value::String(text));
  }
  return Value::Pointer(Kind::kList, static_cast<const List*>(parts));
}

Value Substring(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString) || !args[1].is(Kind::kInt) ||
      (args.size() == 3 && !args[2].is(Kind::kInt))) {
    return UnmatchedCall();
  }
  const std::string_view text = args[0].as_text();
  const auto n = static_cast<std::int64_t>(CodePoints(text));
  const std::int64_t start = args[1].as_int();
  const std::int64_t end = args.size() == 3 ? args[2].as_int() : n;
  if (args.size() == 3 && start > end) {
    return MakeError(arena, fmt::format("invalid substring range. start: {}, end: {}", start, end));
  }
  if (start < 0 || start > n) return OutOfRange(arena, start);
  if (end < 0 || end > n) return OutOfRange(arena, end);
  const std::size_t from = OffsetOf(text, static_cast<std::size_t>(start));
  const std::size_t length = OffsetOf(text.substr(from), static_cast<std::size_t>(end - start));
  return Value::String(text.substr(from, length));
}

// The length of the white space (Unicode's property) at the start of `text`, or 0.
std::size_t SpaceLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto c = static_cast<unsigned char>(text[0]);
  if (c == ' ' || (c >= 9 && c <= 13)) return 1;
  for (const std::string_view space :
       {"\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005",
        "\u2006", "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f",
        "\u3000"}) {
    if (text.starts_with(space)) return space.size();
  }
  return 0;
}

Value Trim(Arena&, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  std::string_view text = args[0].as_text();
  while (const std::size_t n = SpaceLength(text)) text.remove_prefix(n);
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && base::IsContinuation(text[last])) --last;
    if (SpaceLength(text.substr(last)) == 0) break;
    text = text.substr(0, last);
  }
  return Value::String(text);
}

Value Join(Arena& arena, Args args) {
  if (!args[0].is(Kind::kList) || (args.size() == 2 && !args[1].is(Kind::kString))) {
    return UnmatchedCall();
  }
  const List& list = args[0].as<List>();
  const std::string_view separator = args.size() == 2 ? args[1].as_text() : std::string_view();
  std::string out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out += separator;
    const Value part = list.At(i);
    if (!part.is(Kind::kString)) {
      return MakeError(arena, fmt::format("join: invalid input: {}", Printed(part)));
    }
    out += part.as_text();
    if (out.size() > kMaxMadeBytes) return TooLarge();
  }
  return MakeString(arena, out);
}

Value Quote(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  if (args[0].as_text().size() > kMaxMadeBytes) return TooLarge();
  std::string out = "\"";
  for (std::string_view text = args[0].as_text(); !text.empty();) {
    const std::size_t n = Utf8Length(text);
    if (n == 0) {
      out += "\ufffd";
      text.remove_prefix(1);
      continue;
    }
    constexpr std::string_view kSpecial = "\a\b\f\n\r\t\v\\\"";
    constexpr std::string_view kLetters = "abfnrtv\\\"";
    if (const std::size_t at = kSpecial.find(text[0]); at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else {
      out += text.substr(0, n);
    }
    text.remove_prefix(n);
  }
  return MakeString(arena, out + '"');
}

Value ReverseText(Arena& arena, std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t last = text.size() - 1;
    while (last > 0 && base::IsContinuation(text[last])) --last;
    out += text.substr(last);
    text = text.substr(0, last);
  }
  return MakeString(arena, out);
}

}  // namespace

// Of strings (not in DRA) and lists.
Value Reverse(Arena& arena, Args args) {
  if (args[0].is(Kind::kString)) return ReverseText(arena, args[0].as_text());
  if (!args[0].is(Kind::kList)) return UnmatchedCall();
  const List& list = args[0].as<List>();
  const std::span<Value> values = arena.NewArray<Value>(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) values[i] = list.At(list.size() - 1 - i);
  return WrapList(arena, values);
}

Library library::Strings() {
  using enum CostRule;
  using enum Dialect;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"contains", "contains_string string.(string) -> bool", ContainsText,
       RunTimeCost(kContains, kOne), estimate::Contains},
      {"startsWith", "starts_with_string string.(string) -> bool", StartsWith,
       RunTimeCost(kTenthOfSecond, kOne), estimate::ReadArgument},
      {"endsWith", "ends_with_string string.(string) -> bool", EndsWith,
       RunTimeCost(kTenthOfSecond, kOne), estimate::ReadArgument},
      {"charAt", "string_char_at_int string.(int) -> string", CharAt, kOne, estimate::Unit},
      {"indexOf", "string_index_of_string string.(string) -> int", IndexOf, kTraversal,
       estimate::Elements},
      {"indexOf", "string_index_of_string_int string.(string, int) -> int", IndexOf, kTraversal,
       estimate::Elements},
      {"lastIndexOf", "string_last_index_of_string string.(string) -> int",
       Implementation(LastIndexOf<kKubernetes>, LastIndexOf<kLanguage>), kTraversal,
       estimate::Elements},
      {"lastIndexOf", "string_last_index_of_string_int string.(string, int) -> int",
       Implementation(LastIndexOf<kKubernetes>, LastIndexOf<kLanguage>), kTraversal,
       estimate::Elements},
      {"lowerAscii", "string_lower_ascii string.() -> string", LowerAscii, kTenth,
       estimate::CopyReceiver},
      {"upperAscii", "string_upper_ascii string.() -> string", UpperAscii, kTenth,
       estimate::CopyReceiver},
      {"replace", "string_replace_string_string string.(string, string) -> string", Replace, kFifth,
       estimate::Replace},
      {"replace", "string_replace_string_string_int string.(string, string, int) -> string",
       Replace, kFifth, estimate::Replace},
      {"split", "string_split_string string.(string) -> list(string)", Split, kFifth,
       estimate::Split},
      {"split", "string_split_string_int string.(string, int) -> list(string)", Split, kFifth,
       estimate::Split},
      {"substring", "string_substring_int string.(int) -> string", Substring, kTenth,
       estimate::CopyReceiver},
      {"substring", "string_substring_int_int string.(int, int) -> string", Substring, kTenth,
       estimate::CopyReceiver},
      {"trim", "string_trim string.() -> string", Trim, kTenth, estimate::CopyReceiver},
      {"strings.quote", "strings_quote (string) -> string", Quote, RunTimeCost(kTenth, kOne),
       estimate::Quote},
      {"join", "list_join list(string).() -> string", Join, kJoin, estimate::Join},
      {"join", "list_join_string list(string).(string) -> string", Join, kJoin, estimate::Join},
  });
  return kRows;
}

Library library::StringReverse() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"reverse", "string_reverse string.() -> string", Reverse, kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel
