// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/unknown_kind.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "api/kinds.h"
#include "base/edit_distance.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

// Closer than base::ClosestMatch asks for: Role and Rule are two kinds, not one and its
// misspelling, and a note too many is better than an error too many.
constexpr std::size_t kMostChanges = 2;

bool Near(std::string_view a, std::string_view b) {
  const std::string_view one[] = {b};
  return base::ClosestMatch(a, one).has_value() &&
         base::EditDistance(a, b, kMostChanges) <= kMostChanges;
}

bool SameButCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::string VersionsOf(std::string_view kind) {
  std::string versions;
  for (const api::KindInfo& row : api::Kinds()) {
    if (row.kind != kind) continue;
    versions += fmt::format("{}{}", versions.empty() ? "" : ", ", row.ApiVersion());
  }
  return versions;
}

}  // namespace

std::optional<std::string> MeantKind(std::string_view api_version, std::string_view kind) {
  const auto slash = api_version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
  for (const api::KindInfo& row : api::Kinds()) {
    if (row.kind != kind) continue;
    // `apiVersion: v1` on a kind of another group is a forgotten group; a kind of the same name in
    // a group that looks nothing like ours is somebody else's.
    if (group == row.group || group.empty() || Near(group, row.group)) {
      return fmt::format("{} is known in {}", kind, VersionsOf(kind));
    }
  }
  for (const api::KindInfo& row : api::Kinds()) {
    if (row.group != group && !Near(group, row.group)) continue;
    if (Near(kind, row.kind) || SameButCase(kind, row.kind) || SameButCase(kind, row.plural)) {
      return fmt::format("did you mean {} {}?", row.ApiVersion(), row.kind);
    }
  }
  return std::nullopt;
}

}  // namespace dray::cli::internal
