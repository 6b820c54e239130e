// SPDX-License-Identifier: Apache-2.0
//
// Semantic versions, version 1 of Kubernetes' library; and what versions and quantities share.
#include <array>
#include <optional>
#include <string>

#include "base/quantity.h"
#include "base/semver.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/values.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

const base::SemVer& VersionOf(const Value& value) { return value.as<base::SemVer>(); }

bool AreVersionArgs(Args args) {
  return args[0].is(Kind::kString) && (args.size() == 1 || args[1].is(Kind::kBool));
}

std::optional<base::SemVer> ReadArgs(Args args, base::SemVerFault* fault) {
  const bool tolerant = args.size() == 2 && args[1].as_bool();
  return tolerant ? base::SemVer::ReadTolerant(args[0].as_text(), fault)
                  : base::SemVer::Read(args[0].as_text(), fault);
}

// The words that Kubernetes has for what base::SemVer refuses.
std::string ReasonOf(const base::SemVerFault& fault) {
  using What = base::SemVerFault::What;
  using Part = base::SemVerFault::Part;
  struct Names {
    std::string_view lower, upper, empty;
  };
  // By Part. An empty number is Go's to refuse.
  static constexpr std::array<Names, 6> kNames = {{
      {"", "", "Version string empty"},
      {"major number", "Major number", ""},
      {"minor number", "Minor number", ""},
      {"patch number", "Patch number", ""},
      {"prerelease", "Numeric PreRelease version", "Prerelease is empty"},
      {"build meta data", "", "Build meta data is empty"},
  }};
  const Names& names = kNames[static_cast<std::size_t>(fault.part)];
  const bool number =
      fault.part == Part::kMajor || fault.part == Part::kMinor || fault.part == Part::kPatch;
  switch (fault.what) {
    case What::kNone:
      break;
    case What::kEmpty:
      if (number) return "strconv.ParseUint: parsing \"\": invalid syntax";
      return std::string(names.empty);
    case What::kNotThreeNumbers:
      return "No Major.Minor.Patch elements found";
    case What::kNotDigits:
    case What::kCharacter:
      return fmt::format("Invalid character(s) found in {} {}", names.lower, QuoteGo(fault.text));
    case What::kLeadingZeros:
      return fmt::format("{} must not contain leading zeroes {}", names.upper, QuoteGo(fault.text));
    case What::kTooLarge:
      return fmt::format("strconv.ParseUint: parsing {}: value out of range", QuoteGo(fault.text));
    case What::kShortWithPrerelease:
      return "short version cannot contain PreRelease/Build meta data";
  }
  return "";
}

Value Parse(Arena& arena, Args args) {
  if (!AreVersionArgs(args)) return UnmatchedCall();
  base::SemVerFault fault;
  auto version = ReadArgs(args, &fault);
  if (!version) return MakeError(arena, ReasonOf(fault));
  return Value::Pointer(Kind::kSemver, arena.New<base::SemVer>(*std::move(version)));
}

Value IsSemver(Arena&, Args args) {
  if (!AreVersionArgs(args)) return UnmatchedCall();
  base::SemVerFault ignored;
  return Value::Bool(ReadArgs(args, &ignored).has_value());
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

Library library::Semver() {
  using enum CostRule;
  using enum OfConstants;
  static constexpr auto kRows = std::to_array<FunctionRow>({
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
      {"isLessThan", "semver_is_less_than kubernetes.Semver.(kubernetes.Semver) -> bool",
       IsLessThan, kOne, estimate::Unit},
      {"compareTo", "semver_compare_to kubernetes.Semver.(kubernetes.Semver) -> int", CompareTo,
       kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel
