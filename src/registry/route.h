// SPDX-License-Identifier: Apache-2.0
//
// What a request is about: its path, taken apart.
//
//   /api/v1/namespaces/{ns}/pods/{name}/{subresource}
//   /apis/{group}/{version}/[namespaces/{ns}/]{resource}[/{name}[/{subresource}]]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "apiserver/query.h"
#include "rest/served_kinds.h"

namespace dray::registry {

using apiserver::Query;

struct Route {
  std::string group;  // of the path: empty for /api
  std::string version;
  std::string resource;  // plural, as in the path
  std::string namespace_;
  std::string name;
  std::string subresource;

  const api::KindInfo* kind = nullptr;  // null: no such resource in that version
};

// Nothing for a path that is not about resources (/healthz, /apis, /openapi/v3, ...).
// Kinds are those that are served at the moment.
std::optional<Route> ParseRoute(std::string_view path,
                                const rest::ServedKinds& kinds = rest::ServedKinds::BuiltIn());

// Whether there is a version like that at all: others get a plain 404.
bool IsServed(const rest::ServedKinds& kinds, std::string_view group, std::string_view version);

}  // namespace dray::registry
