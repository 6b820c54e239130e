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
#include "rest/served_kinds.h"

namespace dray::rest {

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

// What can be done with a kind that is built in.
ResourceInfo DescribeResource(const api::KindInfo& kind);
bool HasVerb(std::string_view verbs, std::string_view verb);

// /api
std::string ApiVersionsJson(std::string_view server_address);
// /apis
std::string ApiGroupListJson(const ServedKinds& kinds = ServedKinds::BuiltIn());
// /apis/{group}; nothing for a group that is not served.
std::optional<std::string> ApiGroupJson(std::string_view group,
                                        const ServedKinds& kinds = ServedKinds::BuiltIn());
// /api/v1, /apis/{group}/{version}
std::optional<std::string> ApiResourceListJson(std::string_view group, std::string_view version,
                                               const ServedKinds& kinds = ServedKinds::BuiltIn());
// /api or /apis in the aggregated form.
std::string AggregatedDiscoveryJson(bool core, const ServedKinds& kinds = ServedKinds::BuiltIn());
inline constexpr std::string_view kAggregatedContentType =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

// The groups that are served, sorted, without core; the versions of one, the preferred one first.
std::vector<std::string_view> ServedGroups(const ServedKinds& kinds = ServedKinds::BuiltIn());
std::vector<std::string_view> ServedVersions(std::string_view group,
                                             const ServedKinds& kinds = ServedKinds::BuiltIn());

}  // namespace dray::rest
