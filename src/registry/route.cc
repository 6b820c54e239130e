// SPDX-License-Identifier: Apache-2.0
#include "registry/route.h"

#include <algorithm>

#include "base/percent.h"
#include "rest/discovery.h"

namespace dray::registry {
namespace {

// Decoded parts; a slash at the end makes no empty part.
std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::size_t end = std::min(path.find('/'), path.size());
    parts.push_back(base::PercentDecoded(path.substr(0, end)));
    path.remove_prefix(end);
  }
  while (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

}  // namespace

bool IsServed(const rest::ServedKinds& kinds, std::string_view group, std::string_view version) {
  const auto versions = rest::ServedVersions(group, kinds);
  return std::ranges::find(versions, version) != versions.end();
}

std::optional<Route> ParseRoute(std::string_view path, const rest::ServedKinds& kinds) {
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string> parts = PartsOf(path);
  Route route;
  std::size_t at = 0;
  if (parts.size() >= 3 && parts[0] == "api") {
    route.version = parts[1];
    at = 2;
  } else if (parts.size() >= 4 && parts[0] == "apis") {
    route.group = parts[1];
    route.version = parts[2];
    at = 3;
  } else {
    return std::nullopt;
  }
  // /namespaces/x is about a namespace unless a resource follows that is not its own part.
  const std::size_t left = parts.size() - at;
  const bool own_part = left == 3 && (parts[at + 2] == "status" || parts[at + 2] == "finalize");
  if (parts[at] == "namespaces" && left >= 3 && !own_part) {
    route.namespace_ = parts[at + 1];
    at += 2;
  }
  const auto take = [&] { return at < parts.size() ? std::move(parts[at++]) : std::string(); };
  route.resource = take();
  route.name = take();
  route.subresource = take();
  if (at < parts.size()) route.subresource += "/" + take();  // longer than anything there is
  const rest::ServedKind* served = kinds.FindResource(route.group, route.version, route.resource);
  route.kind = served == nullptr ? nullptr : served->kind;
  if (route.kind != nullptr && !route.kind->namespaced && !route.namespace_.empty()) {
    route.kind = nullptr;
  }
  return route;
}

}  // namespace dray::registry
