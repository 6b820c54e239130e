// SPDX-License-Identifier: Apache-2.0
#include "image/reference.h"

#include <algorithm>

#include "fmt/format.h"

namespace dray::image {
namespace {

constexpr std::string_view kAlgorithm = "sha256:";
constexpr std::size_t kHexDigits = 64;
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestTag = 128;

bool IsLower(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsWord(char c) { return IsLower(c) || (c >= 'A' && c <= 'Z') || c == '_'; }

// Lower case letters and digits, with one of . _ __ or any number of - between them.
bool IsPathComponent(std::string_view s) {
  if (s.empty() || !IsLower(s.front()) || !IsLower(s.back())) return false;
  for (std::size_t i = 0; i < s.size();) {
    if (IsLower(s[i])) {
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < s.size() && !IsLower(s[i])) ++i;
    const std::string_view between = s.substr(begin, i - begin);
    const bool dashes = between.find_first_not_of('-') == between.npos;
    if (!dashes && between != "." && between != "_" && between != "__") return false;
  }
  return true;
}

bool IsTag(std::string_view s) {
  return !s.empty() && s.size() <= kLongestTag && IsWord(s.front()) &&
         std::ranges::all_of(s, [](char c) { return IsWord(c) || c == '.' || c == '-'; });
}

bool IsDomain(std::string_view s) {
  const std::size_t colon = s.rfind(':');
  const std::string_view host = s.substr(0, colon);
  const std::string_view port = colon == s.npos ? "1" : s.substr(colon + 1);
  return !host.empty() && IsWord(host.front()) && IsWord(host.back()) && !port.empty() &&
         port.find_first_not_of("0123456789") == port.npos && std::ranges::all_of(host, [](char c) {
           return (IsWord(c) && c != '_') || c == '.' || c == '-';
         });
}

bool LooksLikeDomain(std::string_view first) {
  return first.find_first_of(".:") != first.npos || first == "localhost" ||
         std::ranges::any_of(first, [](char c) { return c >= 'A' && c <= 'Z'; });
}

Status Wrong(std::string_view text, std::string_view why) {
  return base::InvalidArgument(fmt::format("\"{}\" is not a valid image name: {}", text, why));
}

}  // namespace

bool IsDigest(std::string_view text) {
  return text.size() == kAlgorithm.size() + kHexDigits && text.starts_with(kAlgorithm) &&
         text.find_first_not_of("0123456789abcdef", kAlgorithm.size()) == text.npos;
}

std::string Reference::ToString() const {
  std::string text = Name();
  if (!tag.empty()) text += ":" + tag;
  if (!digest.empty()) text += "@" + digest;
  return text;
}

StatusOr<Reference> ParseReference(std::string_view text) {
  Reference reference;
  std::string_view rest = text;
  if (const std::size_t at = rest.find('@'); at != rest.npos) {
    reference.digest = rest.substr(at + 1);
    if (!IsDigest(reference.digest)) {
      return Wrong(text, "what follows @ must be sha256: and 64 hexadecimal digits");
    }
    rest = rest.substr(0, at);
  }
  // A colon before the last slash is a port's.
  const std::size_t colon = rest.rfind(':');
  if (colon != rest.npos && rest.find('/', colon) == rest.npos) {
    reference.tag = rest.substr(colon + 1);
    if (!IsTag(reference.tag)) {
      return Wrong(text, "a tag has letters, digits, '_', '.' and '-', at most 128");
    }
    rest = rest.substr(0, colon);
  }
  const std::size_t slash = rest.find('/');
  if (slash != rest.npos && LooksLikeDomain(rest.substr(0, slash))) {
    reference.domain = rest.substr(0, slash);
    rest = rest.substr(slash + 1);
  } else {
    reference.domain = "docker.io";
  }
  if (reference.domain == "index.docker.io") reference.domain = "docker.io";
  reference.path = rest;
  if (reference.domain == "docker.io" && rest.find('/') == rest.npos) {
    reference.path = fmt::format("library/{}", rest);
  }
  if (!IsDomain(reference.domain)) {
    return Wrong(text, fmt::format("\"{}\" is not a valid registry name", reference.domain));
  }
  for (std::string_view left = reference.path; !left.empty() || reference.path.empty();) {
    const std::size_t end = std::min(left.find('/'), left.size());
    if (!IsPathComponent(left.substr(0, end)) || end + 1 == left.size()) {
      return Wrong(
          text, "its parts have lower case letters and digits, and '.', '_' or '-' between them");
    }
    if (end == left.size()) break;
    left.remove_prefix(end + 1);
  }
  if (reference.Name().size() > kLongestName) return Wrong(text, "it is longer than 255 bytes");
  if (reference.tag.empty() && reference.digest.empty()) reference.tag = "latest";
  return reference;
}

}  // namespace dray::image
