// SPDX-License-Identifier: Apache-2.0
#include "api/kinds.h"

#include <algorithm>

#include "api/certificate_signing_request.h"
#include "api/config_map.h"
#include "api/cron_job.h"
#include "api/custom_kind.h"
#include "api/daemon_set.h"
#include "api/described_kinds.h"
#include "api/device_class.h"
#include "api/disruption_budget.h"
#include "api/event.h"
#include "api/internal/json_text.h"
#include "api/job.h"
#include "api/lease.h"
#include "api/limit_range.h"
#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/pool_status_request.h"
#include "api/priority_class.h"
#include "api/rbac.h"
#include "api/resource_claim.h"
#include "api/resource_quota.h"
#include "api/resource_slice.h"
#include "api/service_account.h"
#include "api/stateful_set.h"
#include "api/versions.h"
#include "api/workloads.h"
#include "base/check.h"
#include "base/edit_distance.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

constexpr bool kNamespaced = true;
constexpr bool kClusterWide = false;

template <typename T>
KindInfo Kind(std::string_view group, std::string_view version, std::string_view kind,
              std::string_view plural, bool namespaced, const TypeInfo& type = TypeInfoOf<T>()) {
  return {
      .group = group,
      .version = version,
      .kind = kind,
      .plural = plural,
      .namespaced = namespaced,
      .type = &type,
      .hub = &TypeInfoOf<T>(),
      .make = [] { return base::SharedValue::Make<T>(); },
      .copy = [](const void* v) { return base::SharedValue::Make<T>(*static_cast<const T*>(v)); },
      .equal = [](const void* a,
                  const void* b) { return *static_cast<const T*>(a) == *static_cast<const T*>(b); },
      .metadata = [](void* v) { return &static_cast<T*>(v)->metadata; },
  };
}

KindInfo Behind(Gate gate, KindInfo kind) {
  kind.gate = gate;
  return kind;
}

std::vector<KindInfo> MakeKinds() {
  constexpr std::string_view kCore = "";
  constexpr std::string_view kResource = "resource.k8s.io";
  std::vector<KindInfo> kinds = {
      Kind<DeviceClass>(kResource, "v1", "DeviceClass", "deviceclasses", kClusterWide),
      Kind<DeviceClass>(kResource, "v1beta2", "DeviceClass", "deviceclasses", kClusterWide),
      Kind<DeviceClass>(kResource, "v1beta1", "DeviceClass", "deviceclasses", kClusterWide),
      Kind<ResourceSlice>(kResource, "v1", "ResourceSlice", "resourceslices", kClusterWide),
      Kind<ResourceSlice>(kResource, "v1beta2", "ResourceSlice", "resourceslices", kClusterWide),
      Kind<ResourceSlice>(kResource, "v1beta1", "ResourceSlice", "resourceslices", kClusterWide,
                          ResourceSliceV1beta1()),
      Kind<ResourceClaim>(kResource, "v1", "ResourceClaim", "resourceclaims", kNamespaced),
      Kind<ResourceClaim>(kResource, "v1beta2", "ResourceClaim", "resourceclaims", kNamespaced),
      Kind<ResourceClaim>(kResource, "v1beta1", "ResourceClaim", "resourceclaims", kNamespaced,
                          ResourceClaimV1beta1()),
      Kind<ResourceClaimTemplate>(kResource, "v1", "ResourceClaimTemplate",
                                  "resourceclaimtemplates", kNamespaced),
      Kind<ResourceClaimTemplate>(kResource, "v1beta2", "ResourceClaimTemplate",
                                  "resourceclaimtemplates", kNamespaced),
      Kind<ResourceClaimTemplate>(kResource, "v1beta1", "ResourceClaimTemplate",
                                  "resourceclaimtemplates", kNamespaced,
                                  ResourceClaimTemplateV1beta1()),
      Kind<DeviceTaintRule>(kResource, "v1", "DeviceTaintRule", "devicetaintrules", kClusterWide),
      Kind<DeviceTaintRule>(kResource, "v1beta2", "DeviceTaintRule", "devicetaintrules",
                            kClusterWide),
      Kind<ResourcePoolStatusRequest>(kResource, "v1alpha3", "ResourcePoolStatusRequest",
                                      "resourcepoolstatusrequests", kClusterWide),
      Kind<Pod>(kCore, "v1", "Pod", "pods", kNamespaced),
      Kind<Node>(kCore, "v1", "Node", "nodes", kClusterWide),
      Kind<Namespace>(kCore, "v1", "Namespace", "namespaces", kClusterWide),
      Kind<ResourceQuota>(kCore, "v1", "ResourceQuota", "resourcequotas", kNamespaced),
      Kind<ConfigMap>(kCore, "v1", "ConfigMap", "configmaps", kNamespaced),
      Kind<Secret>(kCore, "v1", "Secret", "secrets", kNamespaced),
      Kind<ServiceAccount>(kCore, "v1", "ServiceAccount", "serviceaccounts", kNamespaced),
      Kind<Event>(kCore, "v1", "Event", "events", kNamespaced),
      Kind<Event>("events.k8s.io", "v1", "Event", "events", kNamespaced, EventOfEventsGroup()),
      Kind<ReplicaSet>("apps", "v1", "ReplicaSet", "replicasets", kNamespaced),
      Kind<Deployment>("apps", "v1", "Deployment", "deployments", kNamespaced),
      Kind<DaemonSet>("apps", "v1", "DaemonSet", "daemonsets", kNamespaced),
      Kind<StatefulSet>("apps", "v1", "StatefulSet", "statefulsets", kNamespaced),
      Kind<ControllerRevision>("apps", "v1", "ControllerRevision", "controllerrevisions",
                               kNamespaced),
      Kind<CronJob>("batch", "v1", "CronJob", "cronjobs", kNamespaced),
      Kind<PodDisruptionBudget>("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets",
                                kNamespaced),
      Kind<LimitRange>(kCore, "v1", "LimitRange", "limitranges", kNamespaced),
      Kind<Job>("batch", "v1", "Job", "jobs", kNamespaced),
      Kind<Lease>("coordination.k8s.io", "v1", "Lease", "leases", kNamespaced),
      Kind<PriorityClass>("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses",
                          kClusterWide),
      Behind(Gate::kGenericWorkload,
             Kind<Workload>(kSchedulingGroup, "v1beta1", "Workload", "workloads", kNamespaced)),
      Behind(Gate::kGenericWorkload,
             Kind<Workload>(kSchedulingGroup, "v1alpha3", "Workload", "workloads", kNamespaced)),
      Behind(Gate::kGenericWorkload,
             Kind<PodGroup>(kSchedulingGroup, "v1beta1", "PodGroup", "podgroups", kNamespaced)),
      Behind(Gate::kGenericWorkload,
             Kind<PodGroup>(kSchedulingGroup, "v1alpha3", "PodGroup", "podgroups", kNamespaced)),
      Kind<CertificateSigningRequest>("certificates.k8s.io", "v1", "CertificateSigningRequest",
                                      "certificatesigningrequests", kClusterWide),
      Kind<Role>(kRbacGroup, "v1", "Role", "roles", kNamespaced),
      Kind<ClusterRole>(kRbacGroup, "v1", "ClusterRole", "clusterroles", kClusterWide),
      Kind<RoleBinding>(kRbacGroup, "v1", "RoleBinding", "rolebindings", kNamespaced),
      Kind<ClusterRoleBinding>(kRbacGroup, "v1", "ClusterRoleBinding", "clusterrolebindings",
                               kClusterWide),
  };
  const std::span<const KindInfo> described = DescribedKinds();
  kinds.insert(kinds.end(), described.begin(), described.end());
  return kinds;
}

const std::vector<KindInfo>& Table() {
  static const std::vector<KindInfo> table = MakeKinds();
  return table;
}

std::string UnknownKindMessage(std::string_view api_version, std::string_view kind) {
  if (kind.empty()) return "kind is missing";
  if (api_version.empty()) return fmt::format("apiVersion is missing from this {}", kind);
  return fmt::format("no kind \"{}\" in version \"{}\"", kind, api_version);
}

std::string UnknownKindHint(std::string_view kind) {
  std::string versions;
  std::vector<std::string_view> names;
  for (const KindInfo& row : Table()) {
    names.push_back(row.kind);
    if (row.kind != kind) continue;
    if (!versions.empty()) versions += ", ";
    versions += row.ApiVersion();
  }
  if (!versions.empty()) return fmt::format("{} is known in {}", kind, versions);
  const auto closest = base::ClosestMatch(kind, names);
  if (closest && *closest != kind) return fmt::format("did you mean {}?", *closest);
  return "";
}

std::string ScalarAt(const DocumentNode& node, std::string_view key) {
  const Member* member = node.Find(key);
  return member != nullptr && member->value.kind == DocumentNode::Kind::kString ? member->value.text
                                                                                : "";
}

}  // namespace

std::string KindInfo::ApiVersion() const {
  return group.empty() ? std::string(version) : fmt::format("{}/{}", group, version);
}

std::span<const KindInfo> Kinds() { return Table(); }

const KindInfo* FindKind(std::string_view api_version, std::string_view kind) {
  std::string_view group;
  std::string_view version = api_version;
  if (const auto slash = api_version.find('/'); slash != std::string_view::npos) {
    group = api_version.substr(0, slash);
    version = api_version.substr(slash + 1);
  }
  const auto it = std::ranges::find_if(Table(), [&](const KindInfo& row) {
    return row.kind == kind && row.group == group && row.version == version;
  });
  return it == Table().end() ? FindCustomKind(api_version, kind) : &*it;
}

const KindInfo& HubKind(const TypeInfo& hub) {
  if (hub.hub_kind != nullptr) return *hub.hub_kind;
  const auto it = std::ranges::find(Table(), &hub, &KindInfo::type);
  DRAY_CHECK(it != Table().end(), "a kind without a hub version");
  return *it;
}

std::string Object::ToJson(const KindInfo& version) const {
  DRAY_CHECK(version.hub == kind_->hub, "an object has no form in another kind's version");
  std::string head = "\"apiVersion\":";
  internal::AppendJsonString(version.ApiVersion(), head);
  head += ",\"kind\":";
  internal::AppendJsonString(version.kind, head);
  std::string out;
  EncodeJson(*version.type, value_.get(), out, head);
  return out;
}

StatusOr<Object> DecodeObject(JsonDecoder& decoder, std::string_view json, DecodeOptions options) {
  DRAY_ASSIGN_OR_RETURN(const JsonDecoder::TypeMeta meta, decoder.PeekType(json));
  const KindInfo* kind = FindKind(meta.api_version, meta.kind);
  if (kind == nullptr) {
    std::string text = UnknownKindMessage(meta.api_version, meta.kind);
    const std::string hint = UnknownKindHint(meta.kind);
    if (!hint.empty()) text += fmt::format(" ({})", hint);
    return base::InvalidArgument(text);
  }
  Object object = Object::New(*kind);
  DRAY_RETURN_IF_ERROR(decoder.Decode(json, *kind->type, object.MutableData(), options));
  return object;
}

std::vector<ObjectNode> ObjectsIn(const DocumentNode& document,
                                  std::vector<Diagnostic>& diagnostics) {
  if (document.kind != DocumentNode::Kind::kMap) {
    diagnostics.push_back({.severity = Severity::kError,
                           .reason = "TypeMismatch",
                           .path = {},
                           .message = "expected an object with apiVersion and kind",
                           .hint = {},
                           .position = document.position});
    return {};
  }
  const std::string api_version = ScalarAt(document, "apiVersion");
  const std::string kind = ScalarAt(document, "kind");
  const Member* items = document.Find("items");
  // Go writes null for a list that was never filled.
  const bool list = kind.ends_with("List") && items != nullptr &&
                    (items->value.kind == DocumentNode::Kind::kList ||
                     items->value.kind == DocumentNode::Kind::kNull) &&
                    FindKind(api_version, kind) == nullptr;
  if (!list) return {{api_version, kind, &document}};
  std::vector<ObjectNode> objects;
  for (const DocumentNode& item : items->value.items) {
    ObjectNode object{ScalarAt(item, "apiVersion"), ScalarAt(item, "kind"), &item};
    if (object.kind.empty() && kind != "List") object.kind = kind.substr(0, kind.size() - 4);
    if (object.api_version.empty() && kind != "List") object.api_version = api_version;
    objects.push_back(std::move(object));
  }
  return objects;
}

std::optional<Object> DecodeObject(const ObjectNode& source, Severity unknown_severity,
                                   std::vector<Diagnostic>& diagnostics) {
  const KindInfo* kind = FindKind(source.api_version, source.kind);
  if (kind == nullptr) {
    const Member* named = source.node->Find(source.kind.empty() ? "apiVersion" : "kind");
    diagnostics.push_back(
        {.severity = Severity::kError,
         .reason = "UnknownKind",
         .path = {},
         .message = UnknownKindMessage(source.api_version, source.kind),
         .hint = UnknownKindHint(source.kind),
         .position = named != nullptr ? named->value.position : source.node->position});
    return std::nullopt;
  }
  Object object = Object::New(*kind);
  DecodeNode(*source.node, *kind->type, object.MutableData(), unknown_severity, diagnostics);
  return object;
}

}  // namespace dray::api
