// SPDX-License-Identifier: Apache-2.0
//
// Semantic versions, version 1 of Kubernetes' library; and what versions and quantities share.
#include <array>
#include <optional>

#include "base/quantity.h"
#include "base/semver.h"
#include "base/status.h"
#include "cel/functions.h"
#include "cel/values.h"

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

Value Parse(Arena& arena, Args args) {
  auto version = ParseArgs(args);
  if (!version) return UnmatchedCall();
  if (!version->ok()) return MakeError(arena, base::Message(version->status()));
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

}  // namespace

std::span<const Builtin> SemverFunctions() {
  static constexpr std::array<Builtin, 8> kFunctions = {{
      {"semver", 1, 2, Parse},
      {"isSemver", 1, 2, IsSemver},
      {"major", 1, 1, Major},
      {"minor", 1, 1, Minor},
      {"patch", 1, 1, Patch},
      {"compareTo", 2, 2, CompareTo},
      {"isGreaterThan", 2, 2, IsGreaterThan},
      {"isLessThan", 2, 2, IsLessThan},
  }};
  return kFunctions;
}

}  // namespace dray::cel
