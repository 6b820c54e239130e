// SPDX-License-Identifier: Apache-2.0
#include "rest/discovery.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/certificate_signing_request.h"
#include "api/described_kinds.h"
#include "api/namespace.h"
#include "api/pod.h"
#include "api/stateful_set.h"
#include "api/workloads.h"
#include "api/write_rules.h"
#include "fmt/format.h"
#include "rest/tree.h"

namespace dray::rest {
namespace {

constexpr std::string_view kNamespaceVerbs = "create,delete,get,list,patch,update,watch";

constexpr ObjectlessResource kObjectless[] = {
    {"", "v1", "bindings", "binding", "Binding", true},
    {"authentication.k8s.io", "v1", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview"},
    {"authentication.k8s.io", "v1", "tokenreviews", "tokenreview", "TokenReview"},
    {"authorization.k8s.io", "v1", "localsubjectaccessreviews", "localsubjectaccessreview",
     "LocalSubjectAccessReview", true},
    {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "selfsubjectaccessreview",
     "SelfSubjectAccessReview"},
    {"authorization.k8s.io", "v1", "selfsubjectrulesreviews", "selfsubjectrulesreview",
     "SelfSubjectRulesReview"},
    {"authorization.k8s.io", "v1", "subjectaccessreviews", "subjectaccessreview",
     "SubjectAccessReview"},
};

struct Names {
  std::string_view kind;
  std::vector<std::string_view> short_names;
  bool in_all = false;  // shown by `kubectl get all`
};
const std::vector<Names>& KnownNames() {
  static const std::vector<Names> names = {
      {"Pod", {"po"}, true},
      {"Node", {"no"}},
      {"Namespace", {"ns"}},
      {"Event", {"ev"}},
      {"ResourceQuota", {"quota"}},
      {"Deployment", {"deploy"}, true},
      {"ReplicaSet", {"rs"}, true},
      {"Job", {}, true},
      {"PriorityClass", {"pc"}},
      {"ConfigMap", {"cm"}},
      {"ServiceAccount", {"sa"}},
      {"DaemonSet", {"ds"}, true},
      {"StatefulSet", {"sts"}, true},
      {"CronJob", {"cj"}, true},
      {"PodDisruptionBudget", {"pdb"}},
      {"LimitRange", {"limits"}},
      {"CertificateSigningRequest", {"csr"}},
  };
  return names;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

DocumentNode ListOf(std::string_view commas) {
  DocumentNode list = ListNode();
  while (!commas.empty()) {
    const std::size_t end = std::min(commas.find(','), commas.size());
    list.items.push_back(StringNode(commas.substr(0, end)));
    commas.remove_prefix(std::min(end + 1, commas.size()));
  }
  return list;
}
DocumentNode ListOf(const std::vector<std::string>& texts) {
  DocumentNode list = ListNode();
  for (const std::string& text : texts) list.items.push_back(StringNode(text));
  return list;
}

std::vector<const ServedKind*> KindsOf(const ServedKinds& kinds, std::string_view group,
                                       std::string_view version) {
  std::vector<const ServedKind*> found;
  for (const ServedKind& row : kinds.all()) {
    if (row.kind->group == group && row.kind->version == version) found.push_back(&row);
  }
  std::ranges::sort(found, {}, [](const ServedKind* row) { return row->kind->plural; });
  return found;
}

DocumentNode VersionNode(std::string_view group, std::string_view version) {
  DocumentNode node = MapNode();
  SetIn(node, "groupVersion", StringNode(fmt::format("{}/{}", group, version)));
  SetIn(node, "version", StringNode(version));
  return node;
}

DocumentNode GroupNode(const ServedKinds& kinds, std::string_view group) {
  DocumentNode node = MapNode();
  SetIn(node, "name", StringNode(group));
  DocumentNode versions = ListNode();
  for (const std::string_view version : ServedVersions(group, kinds)) {
    versions.items.push_back(VersionNode(group, version));
  }
  SetIn(node, "preferredVersion", versions.items.front());
  SetIn(node, "versions", std::move(versions));
  return node;
}

DocumentNode Header(std::string_view kind, std::string_view api_version) {
  DocumentNode node = MapNode();
  SetIn(node, "kind", StringNode(kind));
  SetIn(node, "apiVersion", StringNode(api_version));
  return node;
}

DocumentNode ObjectlessNode(const ObjectlessResource& resource) {
  DocumentNode node = MapNode();
  SetIn(node, "name", StringNode(resource.plural));
  SetIn(node, "singularName", StringNode(resource.singular));
  SetIn(node, "namespaced", BoolNode(resource.namespaced));
  SetIn(node, "kind", StringNode(resource.kind));
  SetIn(node, "verbs", ListOf("create"));
  return node;
}

DocumentNode ResourceNode(const ServedKind& row) {
  const api::KindInfo& kind = *row.kind;
  const ResourceInfo& info = row.resource;
  DocumentNode node = MapNode();
  SetIn(node, "name", StringNode(kind.plural));
  SetIn(node, "singularName", StringNode(info.singular));
  SetIn(node, "namespaced", BoolNode(kind.namespaced));
  SetIn(node, "kind", StringNode(kind.kind));
  SetIn(node, "verbs", ListOf(info.verbs));
  if (!info.short_names.empty()) SetIn(node, "shortNames", ListOf(info.short_names));
  if (!info.categories.empty()) SetIn(node, "categories", ListOf(info.categories));
  return node;
}

DocumentNode SubresourceNode(const api::KindInfo& kind, const Subresource& part) {
  DocumentNode node = MapNode();
  SetIn(node, "name", StringNode(fmt::format("{}/{}", kind.plural, part.name)));
  SetIn(node, "singularName", StringNode(""));
  SetIn(node, "namespaced", BoolNode(kind.namespaced));
  if (!part.group.empty()) {
    SetIn(node, "group", StringNode(part.group));
    SetIn(node, "version", StringNode(part.version));
  }
  SetIn(node, "kind", StringNode(part.kind.empty() ? kind.kind : part.kind));
  SetIn(node, "verbs", ListOf(part.verbs));
  return node;
}

DocumentNode ResponseKind(std::string_view group, std::string_view version, std::string_view kind) {
  DocumentNode node = MapNode();
  SetIn(node, "group", StringNode(group));
  SetIn(node, "version", StringNode(version));
  SetIn(node, "kind", StringNode(kind));
  return node;
}

DocumentNode AggregatedObjectless(const ObjectlessResource& resource) {
  DocumentNode node = MapNode();
  SetIn(node, "resource", StringNode(resource.plural));
  SetIn(node, "responseKind", ResponseKind("", "", resource.kind));
  SetIn(node, "scope", StringNode(resource.namespaced ? "Namespaced" : "Cluster"));
  SetIn(node, "singularResource", StringNode(resource.singular));
  SetIn(node, "verbs", ListOf("create"));
  return node;
}

DocumentNode AggregatedResource(const ServedKind& row) {
  const api::KindInfo& kind = *row.kind;
  const ResourceInfo& info = row.resource;
  DocumentNode node = MapNode();
  SetIn(node, "resource", StringNode(kind.plural));
  SetIn(node, "responseKind", ResponseKind("", "", kind.kind));
  SetIn(node, "scope", StringNode(kind.namespaced ? "Namespaced" : "Cluster"));
  SetIn(node, "singularResource", StringNode(info.singular));
  SetIn(node, "verbs", ListOf(info.verbs));
  if (!info.short_names.empty()) SetIn(node, "shortNames", ListOf(info.short_names));
  if (!info.categories.empty()) SetIn(node, "categories", ListOf(info.categories));
  if (info.subresources.empty()) return node;
  DocumentNode parts = ListNode();
  for (const Subresource& part : info.subresources) {
    DocumentNode entry = MapNode();
    SetIn(entry, "subresource", StringNode(part.name));
    SetIn(entry, "responseKind",
          ResponseKind(part.group, part.version, part.kind.empty() ? kind.kind : part.kind));
    SetIn(entry, "verbs", ListOf(part.verbs));
    parts.items.push_back(std::move(entry));
  }
  SetIn(node, "subresources", std::move(parts));
  return node;
}

DocumentNode AggregatedGroup(const ServedKinds& kinds, std::string_view group) {
  DocumentNode metadata = MapNode();
  if (!group.empty()) SetIn(metadata, "name", StringNode(group));
  DocumentNode node = MapNode();
  SetIn(node, "metadata", std::move(metadata));
  DocumentNode versions = ListNode();
  for (const std::string_view version : ServedVersions(group, kinds)) {
    DocumentNode entry = MapNode();
    SetIn(entry, "version", StringNode(version));
    DocumentNode resources = ListNode();
    for (const ObjectlessResource& resource : kObjectless) {
      if (resource.group != group || resource.version != version) continue;
      resources.items.push_back(AggregatedObjectless(resource));
    }
    for (const ServedKind* row : KindsOf(kinds, group, version)) {
      resources.items.push_back(AggregatedResource(*row));
    }
    SetIn(entry, "resources", std::move(resources));
    SetIn(entry, "freshness", StringNode("Current"));
    versions.items.push_back(std::move(entry));
  }
  SetIn(node, "versions", std::move(versions));
  return node;
}

}  // namespace

ResourceInfo DescribeResource(const api::KindInfo& kind) {
  ResourceInfo info{.singular = Lower(kind.kind), .verbs = kAllVerbs};
  for (const Names& names : KnownNames()) {
    if (names.kind != kind.kind) continue;
    info.short_names.assign(names.short_names.begin(), names.short_names.end());
    if (names.in_all) info.categories = {"all"};
  }
  if (kind.traits != nullptr) {
    info.short_names.assign(kind.traits->short_names.begin(), kind.traits->short_names.end());
    if (kind.traits->in_all) info.categories = {"all"};
  }
  if (kind.hub == &api::TypeInfoOf<api::Namespace>()) {
    info.verbs = kNamespaceVerbs;
    info.subresources.push_back({.name = "finalize", .kind = {}, .verbs = "update"});
  }
  if (kind.hub == &api::TypeInfoOf<api::Pod>()) {
    info.subresources.push_back({.name = "binding", .kind = "Binding", .verbs = "create"});
    info.subresources.push_back({.name = "eviction",
                                 .kind = "Eviction",
                                 .verbs = "create",
                                 .group = "policy",
                                 .version = "v1"});
    info.subresources.push_back({.name = "ephemeralcontainers", .kind = {}, .verbs = kStatusVerbs});
  }
  if (kind.hub == &api::TypeInfoOf<api::Deployment>() ||
      kind.hub == &api::TypeInfoOf<api::ReplicaSet>() ||
      kind.hub == &api::TypeInfoOf<api::StatefulSet>()) {
    info.subresources.push_back({.name = "scale",
                                 .kind = "Scale",
                                 .verbs = kStatusVerbs,
                                 .group = "autoscaling",
                                 .version = "v1"});
  }
  if (kind.kind == "ServiceAccount") {
    info.subresources.push_back({.name = "token",
                                 .kind = "TokenRequest",
                                 .verbs = "create",
                                 .group = "authentication.k8s.io",
                                 .version = "v1"});
  }
  if (kind.hub == &api::TypeInfoOf<api::CertificateSigningRequest>()) {
    info.subresources.push_back({.name = "approval", .kind = {}, .verbs = kStatusVerbs});
  }
  if (api::HasStatusPart(kind)) {
    info.subresources.push_back({.name = "status", .kind = {}, .verbs = kStatusVerbs});
  }
  return info;
}

const ObjectlessResource* FindObjectless(std::string_view group, std::string_view version,
                                         std::string_view plural) {
  const auto* it = std::ranges::find_if(kObjectless, [&](const ObjectlessResource& resource) {
    return resource.group == group && resource.version == version && resource.plural == plural;
  });
  return it == std::end(kObjectless) ? nullptr : it;
}

bool HasVerb(std::string_view verbs, std::string_view verb) {
  return (fmt::format(",{},", verbs)).find(fmt::format(",{},", verb)) != std::string::npos;
}

std::vector<std::string_view> ServedGroups(const ServedKinds& kinds) {
  std::vector<std::string_view> groups;
  for (const ServedKind& row : kinds.all()) {
    if (!row.kind->group.empty()) groups.push_back(row.kind->group);
  }
  for (const ObjectlessResource& resource : kObjectless) {
    if (!resource.group.empty()) groups.push_back(resource.group);
  }
  std::ranges::sort(groups);
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

std::vector<std::string_view> ServedVersions(std::string_view group, const ServedKinds& kinds) {
  std::vector<std::string_view> versions;
  const auto add = [&](std::string_view of, std::string_view version) {
    const bool known = std::ranges::find(versions, version) != versions.end();
    if (of == group && !known) versions.push_back(version);
  };
  for (const ServedKind& row : kinds.all()) add(row.kind->group, row.kind->version);
  for (const ObjectlessResource& resource : kObjectless) add(resource.group, resource.version);
  return versions;
}

std::string ApiVersionsJson(std::string_view server_address) {
  return fmt::format(R"({{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":)"
                     R"([{{"clientCIDR":"0.0.0.0/0","serverAddress":{}}}]}})",
                     ToJson(StringNode(server_address)));
}

std::string ApiGroupListJson(const ServedKinds& kinds) {
  DocumentNode list = Header("APIGroupList", "v1");
  DocumentNode groups = ListNode();
  for (const std::string_view group : ServedGroups(kinds)) {
    groups.items.push_back(GroupNode(kinds, group));
  }
  SetIn(list, "groups", std::move(groups));
  return ToJson(list);
}

std::optional<std::string> ApiGroupJson(std::string_view group, const ServedKinds& kinds) {
  if (group.empty() || ServedVersions(group, kinds).empty()) return std::nullopt;
  DocumentNode node = Header("APIGroup", "v1");
  for (api::Member& member : GroupNode(kinds, group).members) {
    SetIn(node, member.key, std::move(member.value));
  }
  return ToJson(node);
}

std::optional<std::string> ApiResourceListJson(std::string_view group, std::string_view version,
                                               const ServedKinds& kinds) {
  DocumentNode resources = ListNode();
  for (const ObjectlessResource& resource : kObjectless) {
    if (resource.group != group || resource.version != version) continue;
    resources.items.push_back(ObjectlessNode(resource));
  }
  for (const ServedKind* row : KindsOf(kinds, group, version)) {
    resources.items.push_back(ResourceNode(*row));
    for (const Subresource& part : row->resource.subresources) {
      resources.items.push_back(SubresourceNode(*row->kind, part));
    }
  }
  if (resources.items.empty()) return std::nullopt;
  DocumentNode list = Header("APIResourceList", "v1");
  SetIn(list, "groupVersion",
        StringNode(group.empty() ? std::string(version) : fmt::format("{}/{}", group, version)));
  SetIn(list, "resources", std::move(resources));
  return ToJson(list);
}

std::string AggregatedDiscoveryJson(bool core, const ServedKinds& kinds) {
  DocumentNode list = Header("APIGroupDiscoveryList", "apidiscovery.k8s.io/v2");
  SetIn(list, "metadata", MapNode());
  DocumentNode items = ListNode();
  if (core) {
    items.items.push_back(AggregatedGroup(kinds, ""));
  } else {
    for (const std::string_view group : ServedGroups(kinds)) {
      items.items.push_back(AggregatedGroup(kinds, group));
    }
  }
  SetIn(list, "items", std::move(items));
  return ToJson(list);
}

}  // namespace dray::rest
