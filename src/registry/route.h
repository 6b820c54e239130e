// SPDX-License-Identifier: Apache-2.0
//
// What a request is about: its path and query, taken apart.
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

namespace dray::registry {

// Decoded parameters, in order. The first of equal names counts.
class Query {
 public:
  Query() = default;
  // Percent-encoding and '+' are undone; bad escapes stay as they are.
  explicit Query(std::string_view text);

  // Empty when it is missing.
  std::string_view Get(std::string_view name) const;
  bool Has(std::string_view name) const;
  // Of one that may be given several times.
  std::vector<std::string> All(std::string_view name) const;
  // Each once for every time that it is given.
  std::vector<std::string> Names() const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

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
std::optional<Route> ParseRoute(std::string_view path);

// Whether there is a version like that at all: others get a plain 404.
bool IsServed(std::string_view group, std::string_view version);

std::string PercentDecoded(std::string_view text, bool plus_is_space);

}  // namespace dray::registry
