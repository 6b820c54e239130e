// SPDX-License-Identifier: Apache-2.0
//
// What there is: groups, versions, resources and what can be done with them, in the two forms that
// clients ask for (one document per version, or all in one).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"

namespace dray::rest {

// A part of a resource that has a path of its own: pods/binding.
struct Subresource {
  std::string_view name;
  std::string_view kind;        // of what is sent and answered; empty: the resource's own
  std::string_view verbs;       // comma separated
  std::string_view group = {};  // of `kind`, when it is another one
  std::string_view version = {};
};

struct ResourceInfo {
  std::string singular;
  std::string_view verbs;  // comma separated
  std::vector<std::string_view> short_names = {};
  std::vector<std::string_view> categories = {};
  std::vector<Subresource> subresources = {};
};

// Something that is only posted: a binding, a question about oneself. No object is behind it.
struct ObjectlessResource {
  std::string_view group;
  std::string_view version;
  std::string_view plural;
  std::string_view singular;
  std::string_view kind;
  bool namespaced = false;
};
// Null when there is none.
const ObjectlessResource* FindObjectless(std::string_view group, std::string_view version,
                                         std::string_view plural);

const ResourceInfo& ResourceOf(const api::KindInfo& kind);
// Null when there is none.
const Subresource* FindSubresource(const api::KindInfo& kind, std::string_view name);
bool HasVerb(std::string_view verbs, std::string_view verb);

// /api
std::string ApiVersionsJson(std::string_view server_address);
// /apis
std::string ApiGroupListJson();
// /apis/{group}; nothing for a group that is not served.
std::optional<std::string> ApiGroupJson(std::string_view group);
// /api/v1, /apis/{group}/{version}
std::optional<std::string> ApiResourceListJson(std::string_view group, std::string_view version);
// /api or /apis in the aggregated form.
std::string AggregatedDiscoveryJson(bool core);
inline constexpr std::string_view kAggregatedContentType =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

// The groups that are served, sorted, without core; the versions of one, the preferred one first.
std::vector<std::string_view> ServedGroups();
std::vector<std::string_view> ServedVersions(std::string_view group);

}  // namespace dray::rest
