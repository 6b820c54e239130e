// SPDX-License-Identifier: Apache-2.0
//
// Regular expressions, RE2's: linear in the text, and a bound on memory per pattern.
#include <algorithm>
#include <array>

#include "cel/bounds.h"
#include "cel/functions.h"
#include "cel/internal/regex.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"
#include "re2/re2.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

bool Strings(Args args) { return args[0].is(Kind::kString) && args[1].is(Kind::kString); }

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

// A pattern's length says little: (a|b){1000} has 4,000 instructions, and where RE2 does without
// its tables each of them may look at each byte.
constexpr std::uint64_t kMakeWork = 16;    // for each instruction
constexpr std::uint64_t kBytesByWork = 8;  // of text, for each instruction

// A letter that is no escape in RE2, to stand for one that is none in Go.
constexpr char kNoEscape = 'c';

std::uint64_t ProgramSize(const re2::RE2& pattern) {
  return static_cast<std::uint64_t>(std::max(pattern.ProgramSize(), 1));
}
bool SpendMatch(Arena& arena, const re2::RE2& pattern, std::string_view text) {
  return arena.work().Spend(ProgramSize(pattern) * text.size() / kBytesByWork);
}

template <typename Use>
Value WithPattern(Arena& arena, Args args, Use use) {
  if (!Strings(args) || (args.size() == 3 && !args[2].is(Kind::kInt))) return UnmatchedCall();
  const re2::RE2 pattern(GoPattern(args[1].as_text()), RegexOptions());
  if (!pattern.ok()) return MakeError(arena, RegexError(pattern, args[1].as_text()));
  if (!arena.work().Spend(ProgramSize(pattern) * kMakeWork)) return StaticError(kWorkExceeded);
  return use(arena, pattern, args);
}

Value MatchesPattern(Arena& arena, Args args) { return WithPattern(arena, args, RegexMatches); }
Value Find(Arena& arena, Args args) { return WithPattern(arena, args, RegexFind); }
Value FindAll(Arena& arena, Args args) { return WithPattern(arena, args, RegexFindAll); }

}  // namespace

re2::RE2::Options RegexOptions() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(8 << 20);
  return options;
}

std::string GoPattern(std::string_view pattern) {
  std::string out;
  out.reserve(pattern.size() + 1);
  bool quoted = false;     // between \Q and \E
  bool in_class = false;   // between [ and ]
  std::size_t opened = 0;  // where the class begins: a ] right there is one of its members
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const std::string_view rest = pattern.substr(i);
    if (quoted) {
      quoted = !rest.starts_with("\\E");
      if (!quoted) out += pattern[i++];
      out += pattern[i];
    } else if (c == '\\' && rest.size() > 1) {
      quoted = rest[1] == 'Q' && !in_class;
      out += c;
      out += rest[1] == 'C' && !in_class ? kNoEscape : rest[1];
      ++i;
    } else if (in_class) {
      in_class = c != ']' || i == opened;
      // [[:alpha:]] has a bracket of its own.
      const std::size_t end = rest.starts_with("[:") ? rest.find(":]") : rest.npos;
      if (end != rest.npos) {
        out += rest.substr(0, end + 2);
        i += end + 1;
        continue;
      }
      out += c;
    } else if (c == '[') {
      in_class = true;
      opened = i + (rest.starts_with("[^") ? 2 : 1);
      out += c;
    } else if (rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!")) {
      out += "(?P<";
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

std::string RegexError(const re2::RE2& pattern, std::string_view source) {
  // Go's words for RE2's errors.
  std::string_view reason = pattern.error();
  switch (pattern.error_code()) {
    case re2::RE2::ErrorMissingParen:
      reason = "missing closing )";
      break;
    case re2::RE2::ErrorMissingBracket:
      reason = "missing closing ]";
      break;
    case re2::RE2::ErrorRepeatArgument:
      reason = "missing argument to repetition operator";
      break;
    case re2::RE2::ErrorRepeatOp:
      reason = "invalid nested repetition operator";
      break;
    case re2::RE2::ErrorRepeatSize:
      reason = "invalid repeat count";
      break;
    case re2::RE2::ErrorBadCharRange:
      reason = "invalid character class range";
      break;
    case re2::RE2::ErrorBadEscape:
      reason = "invalid escape sequence";
      break;
    case re2::RE2::ErrorTrailingBackslash:
      reason = "trailing backslash at end of expression";
      break;
    default:
      break;
  }
  std::string what = pattern.error_arg();
  if (what == std::string{'\\', kNoEscape} && source.find(what) == source.npos) what = "\\C";
  return fmt::format("error parsing regexp: {}: `{}`", reason, what);
}

Value RegexMatches(Arena& arena, const re2::RE2& pattern, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const std::string_view text = args[0].as_text();
  if (!SpendMatch(arena, pattern, text)) return StaticError(kWorkExceeded);
  return Value::Bool(pattern.Match(Piece(text), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0));
}

Value RegexFind(Arena& arena, const re2::RE2& pattern, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const std::string_view text = args[0].as_text();
  if (!SpendMatch(arena, pattern, text)) return StaticError(kWorkExceeded);
  re2::StringPiece match;
  if (!pattern.Match(Piece(text), 0, text.size(), re2::RE2::UNANCHORED, &match, 1)) {
    return Value::String("");
  }
  return Value::String({match.data(), match.size()});
}

Value RegexFindAll(Arena& arena, const re2::RE2& pattern, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  const std::string_view text = args[0].as_text();
  if (!SpendMatch(arena, pattern, text)) return StaticError(kWorkExceeded);
  std::int64_t limit = args.size() == 3 ? args[2].as_int() : -1;
  auto* found = arena.New<GrowingList>();
  std::size_t at = 0;
  std::size_t last_end = std::string_view::npos;
  while (limit != 0 && at <= text.size()) {
    re2::StringPiece match;
    // To know that a match ends here may take a look at the whole rest, each time: a.*b|a.
    if (!arena.work().Spend((text.size() - at) / 16 + 1)) return StaticError(kWorkExceeded);
    if (!pattern.Match(Piece(text), at, text.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const std::size_t begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    // As in Go, no empty match right after another match.
    const bool counts = !match.empty() || begin != last_end;
    if (counts) {
      found->Append(arena, Value::String({match.data(), match.size()}));
      --limit;
    }
    last_end = end;
    if (match.empty()) {
      at = end + 1;
      while (at < text.size() && base::IsContinuation(text[at])) ++at;
    } else {
      at = end;
    }
  }
  return Value::Pointer(Kind::kList, static_cast<const List*>(found));
}

Library library::Matches() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"matches", "matches (string, string) -> bool", MatchesPattern, RunTimeCost(kPattern, kOne),
       estimate::Unit},
      {"matches", "matches_string string.(string) -> bool", MatchesPattern,
       RunTimeCost(kPattern, kOne), estimate::Matches},
  });
  return kRows;
}

Library library::Regex() {
  using enum CostRule;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"find", "string_find_string string.(string) -> string", Find, kPattern, estimate::FindAll},
      {"findAll", "string_find_all_string string.(string) -> list(string)", FindAll, kPattern,
       estimate::FindAll},
      {"findAll", "string_find_all_string_int string.(string, int) -> list(string)", FindAll,
       kPattern, estimate::FindAll},
  });
  return kRows;
}

}  // namespace dray::cel
