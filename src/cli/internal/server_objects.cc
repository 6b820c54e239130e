// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/server_objects.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "api/config_map.h"
#include "api/daemon_set.h"
#include "api/device_class.h"
#include "api/document.h"
#include "api/event.h"
#include "api/lease.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pool_status_request.h"
#include "api/rbac.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "api/service_account.h"
#include "api/shown_name.h"
#include "api/write_rules.h"
#include "client/http_client.h"
#include "client/object_client.h"
#include "fmt/format.h"
#include "rest/decode.h"
#include "rest/strategic_merge.h"
#include "rest/tree.h"
#include "scheduler/volumes.h"

namespace dray::cli::internal {
namespace {

using Key = std::tuple<const api::TypeInfo*, std::string, std::string>;

Key KeyOf(const api::Object& object) {
  return {object.kind().hub, object.metadata().namespace_, object.metadata().name};
}

// Not: what is only said, only of use to those who are alive, or decides nothing. Nobody who plans
// reads other people's secrets.
bool Matters(const api::KindInfo& kind) {
  // Most described kinds are stored and shown, and looked into by nobody.
  if (kind.traits != nullptr) {
    return std::ranges::any_of(scheduler::Volumes::Kinds(), [&](const api::KindInfo* volumes) {
      return volumes->hub == kind.hub;
    });
  }
  const api::TypeInfo* const others[] = {&api::TypeInfoOf<api::Event>(),
                                         &api::TypeInfoOf<api::Lease>(),
                                         &api::TypeInfoOf<api::ConfigMap>(),
                                         &api::TypeInfoOf<api::Secret>(),
                                         &api::TypeInfoOf<api::ServiceAccount>(),
                                         &api::TypeInfoOf<api::ControllerRevision>(),
                                         &api::TypeInfoOf<api::Role>(),
                                         &api::TypeInfoOf<api::ClusterRole>(),
                                         &api::TypeInfoOf<api::RoleBinding>(),
                                         &api::TypeInfoOf<api::ClusterRoleBinding>(),
                                         &api::TypeInfoOf<api::ResourcePoolStatusRequest>()};
  return std::ranges::find(others, kind.hub) == std::end(others);
}

// Without these a plan would be about another cluster.
bool IsNeeded(const api::KindInfo& kind) {
  const api::TypeInfo* const needed[] = {
      &api::TypeInfoOf<api::Node>(), &api::TypeInfoOf<api::Pod>(),
      &api::TypeInfoOf<api::ResourceSlice>(), &api::TypeInfoOf<api::DeviceClass>(),
      &api::TypeInfoOf<api::ResourceClaim>()};
  return std::ranges::find(needed, kind.hub) != std::end(needed);
}

StatusOr<api::Object> Patched(const api::Object& stored, const Manifest& manifest) {
  const api::KindInfo& version = manifest.object.kind();
  std::vector<api::Diagnostic> none;
  rest::DocumentNode document = api::ParseJson(stored.ToJson(version), none);
  rest::DocumentNode patch = *manifest.node;
  rest::KeepLastOfEqualKeys(patch);
  if (api::HasStatusPart(version)) rest::EraseIn(patch, "status");
  DRAY_RETURN_IF_ERROR(rest::ApplyStrategicMerge(patch, *version.type, document));
  DRAY_ASSIGN_OR_RETURN(rest::DecodedBody body,
                        rest::DecodeTree(document, version, rest::FieldValidation::kIgnore));
  return std::move(body.object).InHub();
}

}  // namespace

std::vector<const api::KindInfo*> DecidingKinds() {
  std::vector<const api::KindInfo*> kinds;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (&kind == &api::HubKind(*kind.hub) && Matters(kind)) kinds.push_back(&kind);
  }
  return kinds;
}

StatusOr<std::vector<api::Object>> ReadServer(const client::ServerAccess& access,
                                              std::vector<std::string>& notes) {
  DRAY_ASSIGN_OR_RETURN(const std::unique_ptr<client::HttpClient> http,
                        client::HttpClient::Create(access));
  const client::ObjectClient client(*http, "dray");
  std::vector<api::Object> objects;
  std::vector<std::string_view> hidden;
  for (const api::KindInfo& kind : api::Kinds()) {
    if (&kind != &api::HubKind(*kind.hub) || !Matters(kind)) continue;
    auto listing = client.List(kind);
    // Servers do not have every kind.
    if (listing.status().code() == StatusCode::kNotFound) continue;
    if (listing.status().code() == StatusCode::kPermissionDenied && !IsNeeded(kind)) {
      hidden.push_back(kind.plural);
      continue;
    }
    if (!listing.ok()) {
      return base::Annotate(listing.status(),
                            fmt::format("cannot list {} at {}", kind.plural, access.url));
    }
    std::move(listing->objects.begin(), listing->objects.end(), std::back_inserter(objects));
  }
  if (!hidden.empty()) {
    std::ranges::sort(hidden);
    notes.push_back(fmt::format("{} may not be read by this user; planned as if there were none",
                                fmt::join(hidden, ", ")));
  }
  return objects;
}

StatusOr<std::vector<api::Object>> Applied(std::vector<api::Object> stored,
                                           const Manifests& manifests,
                                           const std::string& namespace_) {
  std::map<Key, std::size_t> places;
  for (std::size_t i = 0; i < stored.size(); ++i) places.emplace(KeyOf(stored[i]), i);
  for (const Manifest& manifest : manifests.manifests) {
    api::Object object = manifest.object;
    if (object.kind().namespaced && object.metadata().namespace_.empty()) {
      object.MutableMetadata().namespace_ = namespace_;
    }
    const auto found = places.find(KeyOf(object));
    if (found == places.end()) {
      stored.push_back(std::move(object));
      continue;
    }
    auto patched = Patched(stored[found->second], manifest);
    if (!patched.ok()) return base::Annotate(patched.status(), api::ShownName(object));
    stored[found->second] = *std::move(patched);
  }
  return stored;
}

}  // namespace dray::cli::internal
