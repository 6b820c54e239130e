// SPDX-License-Identifier: Apache-2.0
#include "base/semver.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "fmt/format.h"

namespace dray::base {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsIdentifierChar(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}
bool IsAllDigits(std::string_view s) { return std::all_of(s.begin(), s.end(), IsDigit); }

// Cuts the part before the first `separator` off `rest`; `rest` is what follows it.
std::string_view CutAt(char separator, std::string_view* rest) {
  const std::size_t end = rest->find(separator);
  const std::string_view part = rest->substr(0, end);
  *rest = end == std::string_view::npos ? std::string_view() : rest->substr(end + 1);
  return part;
}

// The five parts of a version, split but not judged.
struct Parts {
  std::array<std::string_view, 3> numbers;
  int number_count = 0;
  bool has_prerelease = false;
  bool has_build = false;
  std::string_view prerelease, build;
};

Parts Split(std::string_view text) {
  Parts parts;
  // Only the patch may carry a pre-release and a build; a sign before the second dot is a bad
  // number.
  for (int i = 0; i < 2; ++i) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) break;
    parts.numbers[parts.number_count++] = text.substr(0, dot);
    text.remove_prefix(dot + 1);
  }
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    parts.has_build = true;
    parts.build = text.substr(plus + 1);
    text = text.substr(0, plus);
  }
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    parts.has_prerelease = true;
    parts.prerelease = text.substr(dash + 1);
    text = text.substr(0, dash);
  }
  parts.numbers[parts.number_count++] = text;
  return parts;
}

// Null if the number is well formed, else what is wrong with it.
const char* NumberFault(std::string_view number) {
  if (number.empty()) return "is empty";
  if (!IsAllDigits(number)) return "must consist of digits";
  if (number.size() > 1 && number[0] == '0') return "must not have leading zeros";
  return nullptr;
}

const char* IdentifierFault(std::string_view identifier, bool numbers_are_canonical) {
  if (identifier.empty()) return "is empty";
  if (!std::all_of(identifier.begin(), identifier.end(), IsIdentifierChar)) {
    return "must consist of letters, digits and '-'";
  }
  if (numbers_are_canonical && identifier.size() > 1 && identifier[0] == '0' &&
      IsAllDigits(identifier)) {
    return "must not have leading zeros";
  }
  return nullptr;
}

// The first fault of a version, and which of its parts has it.
struct Fault {
  std::string_view part;
  std::string_view text;
  const char* what = nullptr;
};

Fault FaultOfList(std::string_view list, std::string_view part, bool numbers_are_canonical) {
  // An empty list has one empty identifier, and so does one that ends in a dot.
  for (bool more = true; more;) {
    more = list.find('.') != std::string_view::npos;
    const std::string_view identifier = CutAt('.', &list);
    if (const char* what = IdentifierFault(identifier, numbers_are_canonical)) {
      return {part, identifier, what};
    }
  }
  return {};
}

Fault FaultOf(const Parts& parts) {
  static constexpr std::array<std::string_view, 3> kNames = {"major", "minor", "patch"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (const char* what = NumberFault(parts.numbers[i]))
      return {kNames[i], parts.numbers[i], what};
  }
  if (parts.has_prerelease) {
    if (Fault f = FaultOfList(parts.prerelease, "pre-release identifier", true); f.what) return f;
  }
  if (parts.has_build) return FaultOfList(parts.build, "build identifier", false);
  return {};
}

bool ReadNumber(std::string_view text, std::uint64_t* out) {
  return std::from_chars(text.data(), text.data() + text.size(), *out).ec == std::errc();
}

Status TooLarge(std::string_view number) {
  return OutOfRange(fmt::format("number {} in version is above 18446744073709551615", number));
}

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

int CompareIdentifiers(std::string_view a, std::string_view b) {
  const bool a_number = IsAllDigits(a), b_number = IsAllDigits(b);
  if (a_number != b_number) return a_number ? -1 : 1;
  // Numbers have no leading zeros, so the longer one is larger.
  if (a_number && a.size() != b.size()) return Order(a.size(), b.size());
  return Order(a, b);
}

int ComparePrereleases(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return Order(a.empty(), b.empty());  // a release comes after
  while (!a.empty() && !b.empty()) {
    if (const int order = CompareIdentifiers(CutAt('.', &a), CutAt('.', &b)); order != 0)
      return order;
  }
  return Order(!a.empty(), !b.empty());  // the longer list wins
}

}  // namespace

bool IsSemVer(std::string_view text) {
  const Parts parts = Split(text);
  return parts.number_count == 3 && FaultOf(parts).what == nullptr;
}

StatusOr<SemVer> SemVer::Parse(std::string_view text) {
  const Parts parts = Split(text);
  if (parts.number_count != 3) {
    return InvalidArgument(
        fmt::format("version \"{}\" must have the form major.minor.patch", text));
  }
  if (const Fault fault = FaultOf(parts); fault.what != nullptr) {
    return InvalidArgument(
        fmt::format("version \"{}\": {} \"{}\" {}", text, fault.part, fault.text, fault.what));
  }
  SemVer version;
  if (!ReadNumber(parts.numbers[0], &version.major_)) return TooLarge(parts.numbers[0]);
  if (!ReadNumber(parts.numbers[1], &version.minor_)) return TooLarge(parts.numbers[1]);
  if (!ReadNumber(parts.numbers[2], &version.patch_)) return TooLarge(parts.numbers[2]);
  for (std::string_view rest = parts.prerelease; !rest.empty();) {
    const std::string_view identifier = CutAt('.', &rest);
    std::uint64_t ignored;
    if (IsAllDigits(identifier) && !ReadNumber(identifier, &ignored)) return TooLarge(identifier);
  }
  version.prerelease_ = parts.prerelease;
  version.build_ = parts.build;
  return version;
}

StatusOr<SemVer> SemVer::ParseTolerant(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && rest[0] == 'v') rest.remove_prefix(1);
  std::string normal;
  int count = 0;
  bool more = true;
  std::string_view last;
  for (; more && count < 3; ++count) {
    const std::size_t dot = count < 2 ? rest.find('.') : std::string_view::npos;
    more = dot != std::string_view::npos;
    last = rest.substr(0, dot);
    rest = more ? rest.substr(dot + 1) : std::string_view();
    if (count > 0) normal += '.';
    std::string_view digits = last;
    if (digits.size() > 1) {
      digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
      if (digits.empty() || !IsDigit(digits[0])) normal += '0';
    }
    normal += digits;
  }
  if (count < 3 && last.find_first_of("+-") != std::string_view::npos) {
    return InvalidArgument(
        fmt::format("version \"{}\": a short version must not have a pre-release or build", text));
  }
  for (; count < 3; ++count) normal += ".0";
  return Parse(normal);
}

std::string SemVer::ToString() const {
  return fmt::format("{}.{}.{}{}{}{}{}", major_, minor_, patch_, prerelease_.empty() ? "" : "-",
                     prerelease_, build_.empty() ? "" : "+", build_);
}

int SemVer::Compare(const SemVer& other) const {
  if (const int order = Order(major_, other.major_); order != 0) return order;
  if (const int order = Order(minor_, other.minor_); order != 0) return order;
  if (const int order = Order(patch_, other.patch_); order != 0) return order;
  return ComparePrereleases(prerelease_, other.prerelease_);
}

}  // namespace dray::base
