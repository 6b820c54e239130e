// SPDX-License-Identifier: Apache-2.0
#include "registry/own_objects.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_join.h"

#include "api/lease.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/resource_slice.h"
#include "fmt/format.h"
#include "registry/roles.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

constexpr std::string_view kLeaseNamespace = "kube-node-lease";
// Labels that say what a node may run: its kubelet must not give them to itself.
constexpr std::string_view kRestrictedDomain = "node-restriction.kubernetes.io";
// What a kubelet says of its machine, of the labels that are Kubernetes's.
constexpr std::array<std::string_view, 11> kKubeletLabels = {
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region"};
constexpr std::array<std::string_view, 2> kKubeletDomains = {"kubelet.kubernetes.io",
                                                             "node.kubernetes.io"};

// One write of a node's kubelet, or of a driver that runs on one node.
struct Write {
  std::string_view node;
  const api::Object* next;
  const api::Object* old;

  const api::Object& any() const { return next != nullptr ? *next : *old; }
  Status Refuse(const std::string& why) const {
    return rest::Forbidden(any().kind(), any().metadata().name, why);
  }
};

bool IsIn(std::string_view domain, std::string_view of) {
  return domain == of || (domain.ends_with(of) && domain[domain.size() - of.size() - 1] == '.');
}

// Those that steer work to nodes are for administrators.
bool IsForbidden(std::string_view label) {
  const std::size_t slash = label.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view domain = label.substr(0, slash);
  if (IsIn(domain, kRestrictedDomain)) return true;
  if (!IsIn(domain, "kubernetes.io") && !IsIn(domain, "k8s.io")) return false;
  return std::ranges::find(kKubeletLabels, label) == kKubeletLabels.end() &&
         std::ranges::none_of(kKubeletDomains,
                              [&](std::string_view own) { return IsIn(domain, own); });
}

// Of the labels that are new, gone or other than before.
std::set<std::string> ForbiddenLabels(const api::Map<std::string>& next,
                                      const api::Map<std::string>& old) {
  std::set<std::string> found;
  const auto look = [&](const api::Map<std::string>& from, const api::Map<std::string>& to) {
    for (const auto& [label, value] : from) {
      if (!IsForbidden(label.view())) continue;
      const std::string* other = to.Find(label.view());
      if (other == nullptr || *other != value) found.emplace(label.view());
    }
  };
  look(next, old);
  look(old, next);
  return found;
}

Status CheckNode(const Write& write) {
  const std::string& name = write.any().metadata().name;
  if (name != write.node) {
    return write.Refuse(
        fmt::format("node \"{}\" is not allowed to modify node \"{}\"", write.node, name));
  }
  if (write.next == nullptr) return {};
  const auto& next = *write.next->As<api::Node>();
  const auto* old = write.old == nullptr ? nullptr : write.old->As<api::Node>();
  if (old != nullptr && old->spec.taints != next.spec.taints) {
    return write.Refuse(fmt::format("node \"{}\" is not allowed to modify taints", write.node));
  }
  // A node that is owned by somebody who does not exist is collected, and would come back without
  // its taints.
  if (old != nullptr && old->metadata.owner_references != next.metadata.owner_references) {
    return write.Refuse(
        fmt::format("node \"{}\" is not allowed to modify ownerReferences", write.node));
  }
  const std::set<std::string> labels = ForbiddenLabels(
      next.metadata.labels, old == nullptr ? api::Map<std::string>() : old->metadata.labels);
  if (labels.empty()) return {};
  return write.Refuse(fmt::format("is not allowed to {}: {}",
                                  old == nullptr ? "set the following labels" : "modify labels",
                                  absl::StrJoin(labels, ", ")));
}

Status CheckPod(const Write& write) {
  const auto& pod = *(write.old != nullptr ? write.old : write.next)->As<api::Pod>();
  const bool own = pod.spec.node_name == write.node;
  if (write.next == nullptr) {
    if (own) return {};
    return write.Refuse(fmt::format(
        "node \"{}\" can only delete pods with spec.nodeName set to itself", write.node));
  }
  if (!own) {
    return write.Refuse(
        fmt::format("node \"{}\" can only update pod status for pods with spec.nodeName set to "
                    "itself",
                    write.node));
  }
  const auto& next = *write.next->As<api::Pod>();
  if (next.status.resource_claim_statuses != pod.status.resource_claim_statuses) {
    return write.Refuse(
        fmt::format("node \"{}\" cannot update resource claim statuses", write.node));
  }
  if (next.status.extended_resource_claim_status != pod.status.extended_resource_claim_status) {
    return write.Refuse(
        fmt::format("node \"{}\" cannot update extended resource claim status", write.node));
  }
  if (next.status.node_allocatable_resource_claim_statuses !=
      pod.status.node_allocatable_resource_claim_statuses) {
    return write.Refuse(fmt::format(
        "node \"{}\" cannot update node allocatable resource claim statuses", write.node));
  }
  if (next.metadata.labels != pod.metadata.labels) {
    return write.Refuse(
        fmt::format("node \"{}\" cannot update labels through pod status", write.node));
  }
  return {};
}

Status CheckCsiNode(const Write& write) {
  if (write.any().metadata().name == write.node) return {};
  return write.Refuse(fmt::format("can only {} CSINode with the same name as the requesting node",
                                  write.old == nullptr ? "create" : "access"));
}

Status CheckLease(const Write& write) {
  const api::ObjectMeta& metadata = write.any().metadata();
  if (metadata.namespace_ != kLeaseNamespace) {
    return write.Refuse(
        fmt::format("can only access leases in the \"{}\" system namespace", kLeaseNamespace));
  }
  if (metadata.name == write.node) return {};
  return write.Refuse("can only access node lease with the same name as the requesting node");
}

Status CheckSlice(const Write& write) {
  for (const api::Object* version : {write.next, write.old}) {
    if (version == nullptr) continue;
    if (version->As<api::ResourceSlice>()->spec.node_name == std::string(write.node)) continue;
    return write.Refuse(
        fmt::format("can only {} ResourceSlice with the same NodeName as the requesting node",
                    write.next == nullptr  ? "delete"
                    : write.old == nullptr ? "create"
                                           : "update"));
  }
  return {};
}

Status CheckDriver(std::string_view driver, const api::Object* next, const api::Object* old) {
  for (const api::Object* version : {next, old}) {
    const auto* slice = version == nullptr ? nullptr : version->As<api::ResourceSlice>();
    if (slice == nullptr || slice->spec.driver == driver) continue;
    return rest::Forbidden(version->kind(), slice->metadata.name,
                           fmt::format("driver \"{}\" may only write slices whose spec.driver is "
                                       "its own name, not \"{}\"",
                                       driver, slice->spec.driver));
  }
  return {};
}

}  // namespace

Status CheckOwn(const api::UserInfo& user, const api::Object* next, const api::Object* old) {
  const std::string_view driver = DriverOf(user);
  if (!driver.empty()) DRAY_RETURN_IF_ERROR(CheckDriver(driver, next, old));
  const std::string_view node = NodeOf(user);
  if (node.empty()) return {};
  const Write write{node, next, old};
  const api::TypeInfo* type = write.any().kind().hub;
  if (type == &api::TypeInfoOf<api::ResourceSlice>()) return CheckSlice(write);
  // Drivers may write nothing else that is of a node.
  if (!driver.empty()) return {};
  if (type == &api::TypeInfoOf<api::Node>()) return CheckNode(write);
  if (type == &api::TypeInfoOf<api::Pod>()) return CheckPod(write);
  if (type == &api::TypeInfoOf<api::Lease>()) return CheckLease(write);
  const api::KindInfo& kind = write.any().kind();
  if (kind.kind == "CSINode" && kind.group == "storage.k8s.io") return CheckCsiNode(write);
  return {};
}

}  // namespace dray::registry
