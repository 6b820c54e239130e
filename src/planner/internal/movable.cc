// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/movable.h"

#include <algorithm>
#include <utility>

#include "api/disruption_budget.h"
#include "api/label_selector.h"
#include "api/pod.h"
#include "api/pod_claims.h"
#include "api/resource_claim.h"
#include "controllers/object_key.h"
#include "fmt/format.h"
#include "planner/internal/outcomes.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kConfigSource = "kubernetes.io/config.source";
constexpr std::string_view kSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";

bool Says(const api::ObjectMeta& metadata, std::string_view key, std::string_view value) {
  const auto* said = metadata.annotations.Find(key);
  return said != nullptr && *said == value;
}

}  // namespace

bool IsDaemon(const api::Pod& pod) {
  const api::OwnerReference* owner = api::FindController(pod.metadata);
  if (owner != nullptr && (owner->kind == "DaemonSet" || owner->kind == "Node")) return true;
  if (pod.metadata.annotations.contains(kMirror)) return true;
  const auto* source = pod.metadata.annotations.Find(kConfigSource);
  return source != nullptr && *source != "api";
}

// A budget's selector, and how many it lets go now.
struct MoveRules::Budget {
  std::string name;
  std::string namespace_;
  api::LabelMatcher selector;
  std::int32_t allowed = 0;
};

MoveRules::MoveRules(const std::vector<api::Object>& objects, const DefragOptions& options,
                     std::int32_t limit, std::string because)
    : options_(options), limit_(limit), because_(std::move(because)) {
  for (const api::Object& object : objects) {
    if (const auto* claim = object.As<api::ResourceClaim>()) {
      claims_.emplace(KeyOf(claim->metadata), claim);
    }
    const auto* budget = object.As<api::PodDisruptionBudget>();
    // As in Kubernetes: one without a selector, or with an empty one, is for nobody.
    if (budget == nullptr || !budget->spec.selector) continue;
    auto selector = api::LabelMatcher::From(*budget->spec.selector);
    if (!selector.ok() || selector->empty()) continue;
    budgets_.push_back({.name = budget->metadata.name,
                        .namespace_ = budget->metadata.namespace_,
                        .selector = *std::move(selector),
                        .allowed = budget->status.disruptions_allowed});
  }
}

MoveRules::~MoveRules() = default;

std::optional<std::string> MoveRules::KeptByBudget(const api::Pod& pod) const {
  const Budget* found = nullptr;
  for (const Budget& budget : budgets_) {
    if (budget.namespace_ != pod.metadata.namespace_ || pod.metadata.labels.empty() ||
        !budget.selector.Matches(pod.metadata.labels)) {
      continue;
    }
    if (found != nullptr) {
      return fmt::format(
          "PodDisruptionBudgets {} and {} both select it, and Kubernetes evicts no pod that has "
          "more "
          "than one",
          found->name, budget.name);
    }
    found = &budget;
  }
  if (found == nullptr || found->allowed > 0) return std::nullopt;
  return fmt::format("PodDisruptionBudget {} allows no disruption now", found->name);
}

std::optional<std::string> MoveRules::SharedClaimOf(const api::Pod& pod) const {
  const api::ClaimsOfPod claims(pod);
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    const auto name = claims.NameOf(entry);
    if (!name) continue;
    const auto claim = claims_.find(KeyOf(pod.metadata.namespace_, *name));
    if (claim != claims_.end() && api::OwnedBy(*claim->second, pod) &&
        api::OwningGroup(claim->second->metadata) == nullptr) {
      continue;
    }
    return fmt::format("claim {} was not created for this pod alone and would keep its devices",
                       *name);
  }
  return std::nullopt;
}

std::optional<std::string> MoveRules::LocalStorageOf(const api::Pod& pod) const {
  if (Says(pod.metadata, kSafeToEvict, "true")) return std::nullopt;
  for (const api::Volume& volume : pod.spec.volumes) {
    if (volume.host_path.has_value()) {
      return fmt::format("volume {} is a hostPath, whose data stays on the node", volume.name);
    }
    if (volume.empty_dir.has_value() && volume.empty_dir->medium.empty() && !options_.empty_dirs) {
      return fmt::format("volume {} is an emptyDir, whose data would be lost", volume.name);
    }
  }
  return std::nullopt;
}

std::optional<KeptPod> MoveRules::KeptOf(const api::Pod& pod) const {
  const auto kept = [&](KeptBy rule, std::string text) {
    return KeptPod{.pod = {pod.metadata.namespace_, pod.metadata.name},
                   .node = pod.spec.node_name,
                   .rule = rule,
                   .text = std::move(text)};
  };
  const api::OwnerReference* owner = api::FindController(pod.metadata);
  if (owner != nullptr && owner->kind == "DaemonSet") {
    return kept(KeptBy::kDaemonSet, fmt::format("DaemonSet {} has one on each node", owner->name));
  }
  if (IsDaemon(pod)) {
    return kept(KeptBy::kStatic, "it is a static pod, which its node's kubelet runs from a file");
  }
  if (pod.metadata.deletion_timestamp) {
    return kept(KeptBy::kTerminating, "it is already being deleted");
  }
  if (owner == nullptr && !options_.bare_pods) {
    return kept(KeptBy::kNoController, "it has no controller that would recreate it");
  }
  if (Says(pod.metadata, kSafeToEvict, "false")) {
    return kept(KeptBy::kNotSafe, fmt::format("its annotation {} is \"false\"", kSafeToEvict));
  }
  if (auto text = LocalStorageOf(pod)) return kept(KeptBy::kLocalStorage, *std::move(text));
  if (!api::GroupNameOf(pod).empty()) {
    return kept(KeptBy::kGroup, fmt::format("it belongs to the group {}, whose pods run together",
                                            api::GroupNameOf(pod)));
  }
  if (auto text = SharedClaimOf(pod)) return kept(KeptBy::kSharedClaim, *std::move(text));
  if (pod.spec.priority.value_or(0) > limit_) {
    return kept(KeptBy::kPriority,
                fmt::format("its priority is {}, {}", pod.spec.priority.value_or(0), because_));
  }
  if (options_.only &&
      std::ranges::find(*options_.only, PodName{pod.metadata.namespace_, pod.metadata.name}) ==
          options_.only->end()) {
    return kept(KeptBy::kNotNamed, "it is not one of the pods that may be moved");
  }
  if (auto text = KeptByBudget(pod)) return kept(KeptBy::kBudget, *std::move(text));
  return std::nullopt;
}

}  // namespace dray::planner::internal

namespace dray::planner {

std::string_view CodeOf(KeptBy rule) {
  switch (rule) {
    case KeptBy::kDaemonSet:
      return "daemon_set";
    case KeptBy::kStatic:
      return "static_pod";
    case KeptBy::kTerminating:
      return "terminating";
    case KeptBy::kNoController:
      return "no_controller";
    case KeptBy::kNotSafe:
      return "not_safe_to_evict";
    case KeptBy::kLocalStorage:
      return "local_storage";
    case KeptBy::kSharedClaim:
      return "shared_claim";
    case KeptBy::kGroup:
      return "group";
    case KeptBy::kBudget:
      return "budget";
    case KeptBy::kPriority:
      return "priority";
    case KeptBy::kNotNamed:
      return "not_named";
  }
  return "";
}

}  // namespace dray::planner
