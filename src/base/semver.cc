// SPDX-License-Identifier: Apache-2.0
#include "base/semver.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

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

using What = SemVerFault::What;
using Part = SemVerFault::Part;

bool ReadNumber(std::string_view text, std::uint64_t* out) {
  return std::from_chars(text.data(), text.data() + text.size(), *out).ec == std::errc();
}

What NumberFault(std::string_view number, bool any_length, std::uint64_t* value) {
  if (!IsAllDigits(number)) return What::kNotDigits;
  if (number.size() > 1 && number[0] == '0') return What::kLeadingZeros;
  if (number.empty()) return What::kEmpty;
  return any_length || ReadNumber(number, value) ? What::kNone : What::kTooLarge;
}

What IdentifierFault(std::string_view identifier, Part part, bool any_length) {
  if (identifier.empty()) return What::kEmpty;
  if (part == Part::kPrerelease && IsAllDigits(identifier)) {
    std::uint64_t ignored = 0;
    return NumberFault(identifier, any_length, &ignored);
  }
  return std::all_of(identifier.begin(), identifier.end(), IsIdentifierChar) ? What::kNone
                                                                             : What::kCharacter;
}

SemVerFault FaultOfList(std::string_view list, Part part, bool any_length) {
  // An empty list has one empty identifier, and so does one that ends in a dot.
  for (bool more = true; more;) {
    more = list.find('.') != std::string_view::npos;
    const std::string_view identifier = CutAt('.', &list);
    if (const What what = IdentifierFault(identifier, part, any_length); what != What::kNone) {
      return {what, part, std::string(identifier)};
    }
  }
  return {};
}

// The grammar. `any_length`: numbers need not fit, and have no value.
SemVerFault FaultOf(std::string_view text, const Parts& parts, bool any_length,
                    std::array<std::uint64_t, 3>* numbers) {
  if (text.empty()) return {.what = What::kEmpty};
  if (parts.number_count != 3) return {.what = What::kNotThreeNumbers};
  static constexpr std::array<Part, 3> kParts = {Part::kMajor, Part::kMinor, Part::kPatch};
  for (std::size_t i = 0; i < 3; ++i) {
    const What what = NumberFault(parts.numbers[i], any_length, &(*numbers)[i]);
    if (what != What::kNone) return {what, kParts[i], std::string(parts.numbers[i])};
  }
  if (parts.has_prerelease) {
    SemVerFault fault = FaultOfList(parts.prerelease, Part::kPrerelease, any_length);
    if (fault.what != What::kNone) return fault;
  }
  return parts.has_build ? FaultOfList(parts.build, Part::kBuild, any_length) : SemVerFault{};
}

Status StatusOf(std::string_view text, const SemVerFault& fault) {
  static constexpr std::array<std::string_view, 6> kParts = {
      "", "major", "minor", "patch", "pre-release identifier", "build identifier"};
  const auto about_part = [&](std::string_view what) {
    return InvalidArgument(fmt::format("version \"{}\": {} \"{}\" {}", text,
                                       kParts[static_cast<std::size_t>(fault.part)], fault.text,
                                       what));
  };
  switch (fault.what) {
    case What::kNone:
      break;
    case What::kEmpty:
      if (fault.part != Part::kVersion) return about_part("is empty");
      [[fallthrough]];
    case What::kNotThreeNumbers:
      return InvalidArgument(
          fmt::format("version \"{}\" must have the form major.minor.patch", text));
    case What::kNotDigits:
      return about_part("must consist of digits");
    case What::kCharacter:
      return about_part("must consist of letters, digits and '-'");
    case What::kLeadingZeros:
      return about_part("must not have leading zeros");
    case What::kTooLarge:
      return OutOfRange(
          fmt::format("number {} in version is above 18446744073709551615", fault.text));
    case What::kShortWithPrerelease:
      return InvalidArgument(fmt::format(
          "version \"{}\": a short version must not have a pre-release or build", text));
  }
  return InvalidArgument(fmt::format("version \"{}\" is none", text));
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
  std::array<std::uint64_t, 3> ignored{};
  return FaultOf(text, Split(text), true, &ignored).what == What::kNone;
}

std::optional<SemVer> SemVer::Read(std::string_view text, SemVerFault* fault) {
  const Parts parts = Split(text);
  std::array<std::uint64_t, 3> numbers{};
  *fault = FaultOf(text, parts, false, &numbers);
  if (fault->what != What::kNone) return std::nullopt;
  SemVer version(numbers[0], numbers[1], numbers[2]);
  version.prerelease_ = parts.prerelease;
  version.build_ = parts.build;
  return version;
}

StatusOr<SemVer> SemVer::Parse(std::string_view text) {
  SemVerFault fault;
  if (auto version = Read(text, &fault)) return *std::move(version);
  if (fault.what == What::kTooLarge) {
    // Only what has the form of a version can be too large for one.
    std::array<std::uint64_t, 3> ignored{};
    SemVerFault form = FaultOf(text, Split(text), true, &ignored);
    if (form.what != What::kNone) fault = std::move(form);
  }
  return StatusOf(text, fault);
}

StatusOr<SemVer> SemVer::ParseTolerant(std::string_view text) {
  SemVerFault fault;
  if (auto version = ReadTolerant(text, &fault)) return *std::move(version);
  return StatusOf(text, fault);
}

std::optional<SemVer> SemVer::ReadTolerant(std::string_view text, SemVerFault* fault) {
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
    *fault = {.what = What::kShortWithPrerelease};
    return std::nullopt;
  }
  for (; count < 3; ++count) normal += ".0";
  return Read(normal, fault);
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
