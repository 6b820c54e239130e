// SPDX-License-Identifier: Apache-2.0
//
// Semantic versions, version 1 of Kubernetes' library; and what versions and quantities share.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "base/semver.h"
#include "base/status.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

const base::SemVer& VersionOf(const Value& value) { return value.as<base::SemVer>(); }

std::optional<StatusOr<base::SemVer>> ParseArgs(Args args) {
  if (!args[0].is(Kind::kString) || (args.size() == 2 && !args[1].is(Kind::kBool))) {
    return std::nullopt;
  }
  const bool tolerant = args.size() == 2 && args[1].as_bool();
  return tolerant ? base::SemVer::ParseTolerant(args[0].as_text())
                  : base::SemVer::Parse(args[0].as_text());
}

bool OnlyDigits(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}
bool OnlyAlphanumerics(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  });
}

// What is wrong with one of the three numbers.
std::optional<std::string> NumberFault(std::string_view number, std::string_view lower,
                                       std::string_view upper) {
  if (!OnlyDigits(number)) {
    return fmt::format("Invalid character(s) found in {} number {}", lower, QuoteGo(number));
  }
  if (number.size() > 1 && number[0] == '0') {
    return fmt::format("{} number must not contain leading zeroes {}", upper, QuoteGo(number));
  }
  if (number.empty()) return std::string("strconv.ParseUint: parsing \"\": invalid syntax");
  if (number.size() > 20 || (number.size() == 20 && number > "18446744073709551615")) {
    return fmt::format("strconv.ParseUint: parsing {}: value out of range", QuoteGo(number));
  }
  return std::nullopt;
}

// The words that Kubernetes has for a version that base::SemVer refuses.
std::string Fault(std::string text, bool tolerant) {
  if (tolerant) {
    if (text.starts_with('v')) text.erase(0, 1);
    const auto dots = std::ranges::count(text, '.');
    if (dots < 2) {
      if (text.find_first_of("+-", text.rfind('.') + 1) != std::string::npos) {
        return "short version cannot contain PreRelease/Build meta data";
      }
      for (auto i = dots; i < 2; ++i) text += ".0";
    }
  }
  if (text.empty()) return "Version string empty";
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string::npos ? first : text.find('.', first + 1);
  if (second == std::string::npos) return "No Major.Minor.Patch elements found";
  const std::string_view whole = text;
  if (auto fault = NumberFault(whole.substr(0, first), "major", "Major")) return *fault;
  if (auto fault = NumberFault(whole.substr(first + 1, second - first - 1), "minor", "Minor")) {
    return *fault;
  }
  std::string_view patch = whole.substr(second + 1), build, prerelease;
  const std::size_t plus = patch.find('+');
  const bool has_build = plus != std::string_view::npos;
  if (has_build) {
    build = patch.substr(plus + 1);
    patch = patch.substr(0, plus);
  }
  const std::size_t dash = patch.find('-');
  const bool has_prerelease = dash != std::string_view::npos;
  if (has_prerelease) {
    prerelease = patch.substr(dash + 1);
    patch = patch.substr(0, dash);
  }
  if (auto fault = NumberFault(patch, "patch", "Patch")) return *fault;
  const auto parts = [](std::string_view all, auto check) -> std::optional<std::string> {
    for (;;) {
      const std::size_t dot = all.find('.');
      if (auto fault = check(all.substr(0, dot))) return fault;
      if (dot == std::string_view::npos) return std::nullopt;
      all.remove_prefix(dot + 1);
    }
  };
  if (has_prerelease) {
    const auto fault = parts(prerelease, [](std::string_view part) -> std::optional<std::string> {
      if (part.empty()) return "Prerelease is empty";
      if (OnlyDigits(part)) {
        if (part.size() > 1 && part[0] == '0') {
          return fmt::format("Numeric PreRelease version must not contain leading zeroes {}",
                             QuoteGo(part));
        }
        return std::nullopt;
      }
      if (OnlyAlphanumerics(part)) return std::nullopt;
      return fmt::format("Invalid character(s) found in prerelease {}", QuoteGo(part));
    });
    if (fault) return *fault;
  }
  if (has_build) {
    const auto fault = parts(build, [](std::string_view part) -> std::optional<std::string> {
      if (part.empty()) return "Build meta data is empty";
      if (OnlyAlphanumerics(part)) return std::nullopt;
      return fmt::format("Invalid character(s) found in build meta data {}", QuoteGo(part));
    });
    if (fault) return *fault;
  }
  return "invalid version";
}

Value Parse(Arena& arena, Args args) {
  auto version = ParseArgs(args);
  if (!version) return UnmatchedCall();
  if (!version->ok()) {
    const bool tolerant = args.size() == 2 && args[1].as_bool();
    return MakeError(arena, Fault(std::string(args[0].as_text()), tolerant));
  }
  return Value::Pointer(Kind::kSemver, arena.New<base::SemVer>(**std::move(version)));
}

Value IsSemver(Arena&, Args args) {
  const auto version = ParseArgs(args);
  return version ? Value::Bool(version->ok()) : UnmatchedCall();
}

Value Major(Arena&, Args args) {
  if (!args[0].is(Kind::kSemver)) return UnmatchedCall();
  return Value::Int(static_cast<std::int64_t>(VersionOf(args[0]).major()));
}
Value Minor(Arena&, Args args) {
  if (!args[0].is(Kind::kSemver)) return UnmatchedCall();
  return Value::Int(static_cast<std::int64_t>(VersionOf(args[0]).minor()));
}
Value Patch(Arena&, Args args) {
  if (!args[0].is(Kind::kSemver)) return UnmatchedCall();
  return Value::Int(static_cast<std::int64_t>(VersionOf(args[0]).patch()));
}

std::optional<int> Order(Args args) {
  if (args[0].kind() != args[1].kind()) return std::nullopt;
  if (args[0].is(Kind::kSemver)) return VersionOf(args[0]).Compare(VersionOf(args[1]));
  if (args[0].is(Kind::kQuantity)) {
    return args[0].as<base::Quantity>().Compare(args[1].as<base::Quantity>());
  }
  return std::nullopt;
}

}  // namespace

Value CompareTo(Arena&, Args args) {
  const auto order = Order(args);
  return order ? Value::Int(*order) : UnmatchedCall();
}

Value IsGreaterThan(Arena&, Args args) {
  const auto order = Order(args);
  return order ? Value::Bool(*order > 0) : UnmatchedCall();
}

Value IsLessThan(Arena&, Args args) {
  const auto order = Order(args);
  return order ? Value::Bool(*order < 0) : UnmatchedCall();
}

namespace {

using enum CostRule;
using enum OfConstants;

constexpr auto kRows = std::to_array<FunctionRow>({
    {"semver", "string_to_semver (string) -> kubernetes.Semver", Parse, kTenth,
     estimate::ReadArgument, kMakeOnce},
    {"semver", "string_bool_to_semver (string, bool) -> kubernetes.Semver", Parse, kTenth,
     estimate::ReadArgument, kMakeOnce},
    {"isSemver", "is_semver_string (string) -> bool", IsSemver, kTenth, estimate::ReadArgument},
    {"isSemver", "is_semver_string_bool (string, bool) -> bool", IsSemver, kTenth,
     estimate::ReadArgument},
    {"major", "semver_major kubernetes.Semver.() -> int", Major, kOne, estimate::Unit},
    {"minor", "semver_minor kubernetes.Semver.() -> int", Minor, kOne, estimate::Unit},
    {"patch", "semver_patch kubernetes.Semver.() -> int", Patch, kOne, estimate::Unit},
    {"isGreaterThan", "semver_is_greater_than kubernetes.Semver.(kubernetes.Semver) -> bool",
     IsGreaterThan, kOne, estimate::Unit},
    {"isLessThan", "semver_is_less_than kubernetes.Semver.(kubernetes.Semver) -> bool", IsLessThan,
     kOne, estimate::Unit},
    {"compareTo", "semver_compare_to kubernetes.Semver.(kubernetes.Semver) -> int", CompareTo, kOne,
     estimate::Unit},
});

}  // namespace

Library library::Semver() { return kRows; }

}  // namespace dray::cel
