// SPDX-License-Identifier: Apache-2.0
#include "api/internal/json_cursor.h"

#include <algorithm>
#include <cstring>

namespace dray::api::internal {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Behind the string that begins at `at`, or null when it does not end.
const char* EndOfString(const char* at, const char* end) {
  for (++at; at < end; ++at) {
    if (*at == '"') return at + 1;
    if (*at == '\\') ++at;
  }
  return nullptr;
}

}  // namespace

JsonCursor::JsonCursor(std::string_view json)
    : end_(json.data() + json.size()), root_(SkipSpace(json.data())) {}

const char* JsonCursor::SkipSpace(const char* at) const {
  while (at < end_ && IsSpace(*at)) ++at;
  return at;
}

const char* JsonCursor::SkipString(const char* at) const {
  return at < end_ && *at == '"' ? EndOfString(at, end_) : nullptr;
}

const char* JsonCursor::SkipValue(const char* at) const {
  std::size_t depth = 0;
  while (at != nullptr && at < end_) {
    switch (*at) {
      case '"':
        at = EndOfString(at, end_);
        break;
      case '{':
      case '[':
        ++depth;
        ++at;
        continue;
      case '}':
      case ']':
        if (depth == 0) return nullptr;
        --depth;
        ++at;
        break;
      case ',':
      case ':':
        ++at;
        continue;
      default:
        if (IsSpace(*at)) {
          ++at;
          continue;
        }
        while (at < end_ && !IsSpace(*at) && std::strchr(",:]}", *at) == nullptr) ++at;
    }
    if (depth == 0) return at;
  }
  return nullptr;
}

bool JsonCursor::SkipKey(const char*& at) const {
  at = SkipString(at);
  if (at == nullptr) return false;
  at = SkipSpace(at);
  if (at == end_ || *at != ':') return false;
  at = SkipSpace(at + 1);
  return at < end_;
}

bool JsonCursor::Enter(const char* container) {
  if (container >= end_ || (*container != '{' && *container != '[')) return false;
  const bool map = *container == '{';
  const char* at = SkipSpace(container + 1);
  if (at == end_ || *at == ']' || *at == '}' || (map && !SkipKey(at))) return false;
  around_.push_back({.at = at, .number = 0, .map = map});
  return true;
}

bool JsonCursor::Next() {
  Around& in = around_.back();
  const char* at = SkipValue(in.at);
  if (at == nullptr) return false;
  at = SkipSpace(at);
  if (at == end_ || *at != ',') return false;
  at = SkipSpace(at + 1);
  if (in.map && !SkipKey(at)) return false;
  in.at = at;
  ++in.number;
  return true;
}

std::string_view JsonCursor::Find(std::span<const std::uint32_t> path) {
  std::size_t same = 0;
  while (same < around_.size() && same < path.size() && around_[same].number == path[same]) ++same;
  // What lies deeper than the first difference is left behind, and so is a value that was gone into.
  if (around_.size() > same) around_.resize(same + (same < path.size() ? 1 : 0));
  for (std::size_t level = same; level < path.size(); ++level) {
    const bool inside = around_.size() > level;
    if (!inside && !Enter(level == 0 ? root_ : around_.back().at)) return {};
    while (around_.back().number < path[level]) {
      if (!Next()) return {};
    }
    if (around_.back().number != path[level]) return {};
  }
  const char* const begin = path.empty() ? root_ : around_.back().at;
  const char* const end = SkipValue(begin);
  if (end == nullptr) return {};
  return {begin, static_cast<std::size_t>(end - begin)};
}

void AppendCompact(std::string_view json, std::string& out) {
  const char* at = json.data();
  const char* const end = at + json.size();
  // What a server writes has no blanks between tokens and seldom one in a string.
  if (json.find(' ') == std::string_view::npos && std::none_of(at, end, IsSpace)) {
    out.append(json);
    return;
  }
  while (at < end) {
    if (IsSpace(*at)) {
      ++at;
      continue;
    }
    const char* const begin = at;
    if (*at == '"') {
      at = EndOfString(at, end);
      if (at == nullptr) at = end;
    } else {
      while (at < end && !IsSpace(*at) && *at != '"') ++at;
    }
    out.append(begin, at);
  }
}

}  // namespace dray::api::internal
