// SPDX-License-Identifier: Apache-2.0
#include "plane/first_objects.h"

#include <optional>
#include <string>
#include <utility>

#include "api/namespace.h"
#include "api/node.h"
#include "api/priority_class.h"
#include "api/system_priority.h"

namespace dray::plane {
namespace {

api::Object NamespaceNamed(std::string_view name) {
  api::Namespace space;
  space.metadata.name = name;
  return api::Object::Of(std::move(space));
}

const api::KindInfo& PriorityKind() { return api::HubKind(api::TypeInfoOf<api::PriorityClass>()); }

api::Object PriorityNamed(std::string_view name, std::string_view description) {
  api::PriorityClass priority;
  priority.metadata.name = name;
  priority.value = api::SystemPriority(name).value();
  priority.description = description;
  return api::Object::Of(std::move(priority));
}

// One that was made when nobody filled in what is meant by default: kubectl describe cannot show it.
Status Complete(api::Cluster& cluster, const std::string& name) {
  auto read = cluster.Find(PriorityKind(), "", name);
  if (read.status().code() == StatusCode::kDataLoss) return {};
  DRAY_ASSIGN_OR_RETURN(auto found, std::move(read));
  if (!found || found->As<api::PriorityClass>()->preemption_policy) return {};
  found->Mutable<api::PriorityClass>()->preemption_policy = "PreemptLowerPriority";
  return cluster.Update(*std::move(found)).status();
}

}  // namespace

std::vector<api::Object> FirstObjects() {
  std::vector<api::Object> objects;
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    objects.push_back(NamespaceNamed(name));
  }
  objects.push_back(
      PriorityNamed("system-cluster-critical", "For pods that the cluster cannot do without."));
  objects.push_back(
      PriorityNamed("system-node-critical", "For pods that their node cannot do without."));
  return objects;
}

Status CreateMissing(api::Cluster& cluster, std::vector<api::Object> objects) {
  for (api::Object& object : objects) {
    if (object.kind().namespaced && object.metadata().namespace_.empty()) {
      object.MutableMetadata().namespace_ = "default";
    }
    std::optional<api::Node> node;
    if (const auto* wanted = object.As<api::Node>()) node = *wanted;
    std::optional<std::string> priority;
    if (object.As<api::PriorityClass>() != nullptr) priority = object.metadata().name;
    auto stored = cluster.Create(std::move(object));
    if (stored.status().code() == StatusCode::kAlreadyExists) {
      if (priority) DRAY_RETURN_IF_ERROR(Complete(cluster, *priority));
      continue;
    }
    // What is there and cannot be read, or is to lie in a namespace that cannot, is told by log and health:
    // a server that did not start could not be asked to delete it.
    if (stored.status().code() == StatusCode::kDataLoss) continue;
    if (!stored.ok()) return stored.status();
    if (!node) continue;
    node->metadata = stored->metadata();
    const auto written = cluster.UpdateStatus(api::Object::Of(*std::move(node)));
    if (!written.ok()) return written.status();
  }
  return {};
}

}  // namespace dray::plane
