// SPDX-License-Identifier: Apache-2.0
#include "api/internal/json_cursor.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace dray::api::internal {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// Eight bytes at a time: managed fields of lists are most of what goes through here.
constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;
std::uint64_t EightAt(const char* at) {
  std::uint64_t eight = 0;
  std::memcpy(&eight, at, sizeof(eight));
  return eight;
}
// The high bit of bytes that are `c`. Those above the lowest one may be wrong.
constexpr std::uint64_t Those(std::uint64_t eight, char c) {
  const std::uint64_t zero = eight ^ (kOnes * static_cast<unsigned char>(c));
  return (zero - kOnes) & ~zero & kHighs;
}

// Behind the string that begins at `at`, or null when it does not end.
const char* EndOfString(const char* at, const char* end) {
  ++at;
  if constexpr (std::endian::native == std::endian::little) {
    while (end - at >= 8) {
      const std::uint64_t eight = EightAt(at);
      const std::uint64_t found = Those(eight, '"') | Those(eight, '\\');
      if (found == 0) {
        at += 8;
        continue;
      }
      at += std::countr_zero(found) / 8;
      if (*at == '"') return at + 1;
      if (end - at < 2) return nullptr;
      at += 2;
    }
  }
  for (; at < end; ++at) {
    if (*at == '"') return at + 1;
    if (*at == '\\') ++at;
  }
  return nullptr;
}

// Whether there is a blank between tokens; a blank in a string counts, too.
bool MayHaveBlanks(std::string_view json) {
  const char* at = json.data();
  const char* const end = at + json.size();
  for (; end - at >= 8; at += 8) {
    const std::uint64_t eight = EightAt(at);
    if (((eight - kOnes * (' ' + 1)) & ~eight & kHighs) != 0) return true;
  }
  return std::any_of(at, end, IsSpace);
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

const char* JsonCursor::SkipValue(const char* at, std::size_t depth) const {
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
        if (depth > 0 || IsSpace(*at)) {
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
  around_.push_back({.at = at, .end = nullptr, .number = 0, .map = map});
  return true;
}

bool JsonCursor::Next() {
  Around& in = around_.back();
  const char* at = in.end != nullptr ? in.end : SkipValue(in.at);
  if (at == nullptr) return false;
  at = SkipSpace(at);
  if (at == end_ || *at != ',') return false;
  at = SkipSpace(at + 1);
  if (in.map && !SkipKey(at)) return false;
  in.at = at;
  in.end = nullptr;
  ++in.number;
  return true;
}

std::string_view JsonCursor::Find(std::span<const std::uint32_t> path) {
  std::size_t same = 0;
  while (same < around_.size() && same < path.size() && around_[same].number == path[same]) ++same;
  // What lies deeper than the first difference is left behind, and so is a value that was gone into.
  // The value around that ends behind where the cursor was, not before.
  const std::size_t kept = std::min(around_.size(), same + (same < path.size() ? 1 : 0));
  if (kept > 0 && around_.size() > kept && around_[kept - 1].end == nullptr) {
    const Around& deepest = around_.back();
    const char* const passed = deepest.end != nullptr ? deepest.end : deepest.at;
    around_[kept - 1].end = SkipValue(passed, around_.size() - kept);
  }
  around_.resize(kept);
  for (std::size_t level = same; level < path.size(); ++level) {
    const bool inside = around_.size() > level;
    if (!inside && !Enter(level == 0 ? root_ : around_.back().at)) return {};
    while (around_.back().number < path[level]) {
      if (!Next()) return {};
    }
    if (around_.back().number != path[level]) return {};
  }
  const char* const begin = path.empty() ? root_ : around_.back().at;
  const char* const known = path.empty() ? nullptr : around_.back().end;
  const char* const end = known != nullptr ? known : SkipValue(begin);
  if (end == nullptr) return {};
  if (!path.empty()) around_.back().end = end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

void AppendCompact(std::string_view json, std::string& out) {
  const char* at = json.data();
  const char* const end = at + json.size();
  // What a server writes has no blanks between tokens and seldom one in a string.
  if (!MayHaveBlanks(json)) {
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
