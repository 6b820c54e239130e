// SPDX-License-Identifier: Apache-2.0
#include "registry/admission.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/pod_group.h"
#include "api/priority_class.h"
#include "api/system_priority.h"
#include "api/taints.h"
#include "fmt/format.h"
#include "rest/api_error.h"

namespace dray::registry {
namespace {

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

Status Terminating(const api::Object& object) {
  rest::ApiError error = rest::FromStatus(rest::Forbidden(
      object.kind(), object.metadata().name,
      fmt::format("unable to create new content in namespace {} because it is being terminated",
                  object.metadata().namespace_)));
  error.details->causes.push_back(
      {.reason = "NamespaceTerminating",
       .message = fmt::format("namespace {} is being terminated", object.metadata().namespace_),
       .field = "metadata.namespace"});
  return rest::ToStatus(error);
}

struct Priority {
  std::int32_t value = 0;
  std::string class_name;
  std::optional<std::string> preemption_policy;
};

// How long a pod waits for its node, as in Kubernetes.
constexpr std::int64_t kPatienceSeconds = 300;

Priority Of(const api::PriorityClass& row) {
  return {row.value, row.metadata.name, row.preemption_policy};
}

}  // namespace

Status AdmitNamespace(const Objects& objects, const api::Object& object,
                      store::Transaction& transaction) {
  if (!object.kind().namespaced) return {};
  const api::KindInfo& kind = KindOf<api::Namespace>();
  DRAY_ASSIGN_OR_RETURN(const auto found, objects.Find(kind, "", object.metadata().namespace_));
  if (!found) return rest::NotFound(kind, object.metadata().namespace_);
  if (found->object().metadata().deletion_timestamp) return Terminating(object);
  transaction.Check(found->entry->key, found->entry->modified);
  return {};
}

namespace {

// The class for those who name none; of several, which two writers at once can make, the lowest, as in
// Kubernetes.
StatusOr<std::optional<Priority>> FindDefault(const Objects& objects) {
  std::optional<Priority> priority;
  DRAY_ASSIGN_OR_RETURN(const std::vector<StoredObjectPtr> rows,
                        objects.All(KindOf<api::PriorityClass>()));
  for (const StoredObjectPtr& row : rows) {
    const api::PriorityClass& candidate = *row->object().As<api::PriorityClass>();
    if (candidate.global_default && (!priority || candidate.value < priority->value)) {
      priority = Of(candidate);
    }
  }
  return priority;
}

// Of the class that is named, or of the one for those who name none.
StatusOr<Priority> FindPriority(const Objects& objects, const api::Object& asking,
                                std::string_view class_name) {
  if (const auto system = api::SystemPriority(class_name)) {
    return Priority{*system, std::string(class_name), {}};
  }
  const api::KindInfo& kind = KindOf<api::PriorityClass>();
  if (!class_name.empty()) {
    DRAY_ASSIGN_OR_RETURN(const auto found, objects.Find(kind, "", class_name));
    if (!found) {
      return rest::Forbidden(asking.kind(), asking.metadata().name,
                             fmt::format("no PriorityClass with name {} was found", class_name));
    }
    return Of(*found->object().As<api::PriorityClass>());
  }
  DRAY_ASSIGN_OR_RETURN(const auto priority, FindDefault(objects));
  return priority.value_or(Priority{});
}

Status AdmitPodPriority(const Objects& objects, api::Object& object) {
  const api::Pod* pod = object.As<api::Pod>();
  DRAY_ASSIGN_OR_RETURN(const Priority priority,
                        FindPriority(objects, object, pod->spec.priority_class_name));
  if (pod->spec.priority && *pod->spec.priority != priority.value) {
    return rest::Forbidden(
        object.kind(), pod->metadata.name,
        fmt::format("the integer value of priority ({}) must not be provided in pod spec; priority "
                    "admission controller computed {} from the given PriorityClass name",
                    *pod->spec.priority, priority.value));
  }
  // Whether its pods push out others is for who made the class to say, as their number is.
  const std::string policy = priority.preemption_policy.value_or("PreemptLowerPriority");
  if (pod->spec.preemption_policy && *pod->spec.preemption_policy != policy) {
    return rest::Forbidden(
        object.kind(), pod->metadata.name,
        fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod spec; "
                    "priority admission controller computed {} from the given PriorityClass name",
                    *pod->spec.preemption_policy, policy));
  }
  api::PodSpec& spec = object.Mutable<api::Pod>()->spec;
  spec.priority = priority.value;
  spec.priority_class_name = priority.class_name;
  spec.preemption_policy = policy;
  return {};
}

// A group that leaves the policy to its class gets the class's, also where that is Never: Kubernetes
// fills in a default before it looks at the class, and then refuses its own answer.
Status AdmitGroupPriority(const Objects& objects, const api::FeatureGates& gates,
                          api::Object& object) {
  const api::PodGroup* group = object.As<api::PodGroup>();
  DRAY_ASSIGN_OR_RETURN(const Priority priority,
                        FindPriority(objects, object, group->spec.priority_class_name));
  if (group->spec.priority && *group->spec.priority != priority.value) {
    return rest::Forbidden(
        object.kind(), group->metadata.name,
        fmt::format("priority set in the pod group ({}) must match the priority computed ({}) "
                    "based on the priority class set in the spec",
                    *group->spec.priority, priority.value));
  }
  const std::string policy = priority.preemption_policy.value_or("PreemptLowerPriority");
  const bool policies = gates.Enabled(api::Gate::kPodGroupPreemptionPolicy);
  const auto& own = group->spec.preemption_policy;
  if (policies && own && *own != policy && !priority.class_name.empty()) {
    return rest::Forbidden(
        object.kind(), group->metadata.name,
        fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod group "
                    "spec; priority admission controller computed {} from the given PriorityClass "
                    "name",
                    *own, policy));
  }
  api::PodGroupSpec& spec = object.Mutable<api::PodGroup>()->spec;
  spec.priority = priority.value;
  spec.priority_class_name = priority.class_name;
  if (policies && !spec.preemption_policy) spec.preemption_policy = policy;
  return {};
}

}  // namespace

Status AdmitPriority(const Objects& objects, const api::FeatureGates& gates, api::Object& object) {
  if (object.As<api::Pod>() != nullptr) return AdmitPodPriority(objects, object);
  if (object.As<api::PodGroup>() != nullptr) return AdmitGroupPriority(objects, gates, object);
  return {};
}

Status AdmitDefaultPriority(const Objects& objects, const api::Object& object) {
  const auto* row = object.As<api::PriorityClass>();
  if (row == nullptr || !row->global_default) return {};
  DRAY_ASSIGN_OR_RETURN(const auto there, FindDefault(objects));
  if (!there || there->class_name == row->metadata.name) return {};
  return rest::Forbidden(
      object.kind(), row->metadata.name,
      fmt::format("PriorityClass {} is already marked as default. Only one default can exist",
                  there->class_name));
}

void AdmitGroup(api::Object& object) {
  if (object.As<api::PodGroup>() == nullptr) return;
  std::vector<std::string>& finalizers = object.MutableMetadata().finalizers;
  if (std::ranges::find(finalizers, api::kPodGroupProtection) != finalizers.end()) return;
  finalizers.emplace_back(api::kPodGroupProtection);
}

void AdmitTolerations(api::Object& object) {
  const api::Pod* pod = object.As<api::Pod>();
  if (pod == nullptr) return;
  for (const std::string_view taint : {api::kNotReadyTaint, api::kUnreachableTaint}) {
    const auto speaks_of_it = [&](const api::Toleration& toleration) {
      return (toleration.key.empty() || toleration.key == taint) &&
             (toleration.effect.empty() || toleration.effect == api::kTaintEffectNoExecute);
    };
    if (std::ranges::any_of(object.As<api::Pod>()->spec.tolerations, speaks_of_it)) continue;
    object.Mutable<api::Pod>()->spec.tolerations.push_back(
        {.key = std::string(taint),
         .operator_ = std::string(api::kTolerationOpExists),
         .effect = std::string(api::kTaintEffectNoExecute),
         .toleration_seconds = kPatienceSeconds});
  }
}

}  // namespace dray::registry
