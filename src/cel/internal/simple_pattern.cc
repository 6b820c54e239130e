// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/simple_pattern.h"

namespace dray::cel {
namespace {

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 128; }
// What means something else than itself, outside of a set.
bool IsSpecial(char c) {
  return std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos;
}
// A backslash before one of these makes it stand for itself.
bool IsPunctuation(char c) {
  return c > ' ' && c < 127 && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
         !(c >= 'A' && c <= 'Z') && c != '_';
}

}  // namespace

// Behind the opening bracket. Single characters and ranges of them; no complement.
bool SimplePattern::ParseSet(std::string_view& rest, Set& set) {
  bool empty = true;
  while (!rest.empty() && rest.front() != ']') {
    const char first = rest.front();
    if (!IsAscii(first) || first == '\\' || first == '[' || first == '^' || first == '-') {
      return false;
    }
    rest.remove_prefix(1);
    char last = first;
    if (rest.size() >= 2 && rest[0] == '-') {
      last = rest[1];
      if (!IsAscii(last) || last == ']' || last == '\\' || last == '[' || last < first)
        return false;
      rest.remove_prefix(2);
    }
    for (int c = first; c <= last; ++c) set.Add(static_cast<unsigned char>(c));
    empty = false;
  }
  if (rest.empty() || empty) return false;
  rest.remove_prefix(1);
  return true;
}

std::optional<SimplePattern> SimplePattern::Parse(std::string_view pattern) {
  SimplePattern out;
  if (pattern.starts_with('^')) {
    out.at_begin_ = true;
    pattern.remove_prefix(1);
  }
  while (!pattern.empty()) {
    // Whatever follows, or nothing: the same as not asking.
    if (pattern == ".*") break;
    if (pattern == "$") {
      out.at_end_ = true;
      break;
    }
    if (out.length_ == kMaxLength) return std::nullopt;
    Set& set = out.sets_[out.length_++];
    char c = pattern.front();
    pattern.remove_prefix(1);
    if (c == '[') {
      if (!ParseSet(pattern, set)) return std::nullopt;
      continue;
    }
    if (c == '\\') {
      if (pattern.empty() || !IsPunctuation(pattern.front())) return std::nullopt;
      c = pattern.front();
      pattern.remove_prefix(1);
    } else if (!IsAscii(c) || IsSpecial(c)) {
      return std::nullopt;
    }
    set.Add(static_cast<unsigned char>(c));
  }
  return out;
}

bool SimplePattern::MatchesAt(const char* at) const {
  for (std::size_t i = 0; i < length_; ++i) {
    if (!sets_[i].Has(static_cast<unsigned char>(at[i]))) return false;
  }
  return true;
}

bool SimplePattern::Matches(std::string_view text) const {
  if (text.size() < length_) return false;
  const std::size_t last = text.size() - length_;
  if (at_end_) return (!at_begin_ || last == 0) && MatchesAt(text.data() + last);
  if (at_begin_) return MatchesAt(text.data());
  for (std::size_t at = 0; at <= last; ++at) {
    if (MatchesAt(text.data() + at)) return true;
  }
  return false;
}

}  // namespace dray::cel
