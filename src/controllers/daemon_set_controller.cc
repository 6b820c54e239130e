// SPDX-License-Identifier: Apache-2.0
#include "controllers/daemon_set_controller.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "api/affinity.h"
#include "api/generated_name.h"
#include "api/pod.h"
#include "api/taints.h"
#include "api/workloads.h"
#include "controllers/pods.h"
#include "controllers/revisions.h"
#include "controllers/rollout.h"
#include "controllers/workload_pods.h"
#include "fmt/format.h"
#include "inventory/node_matching.h"

namespace dray::controllers {
namespace {

// How many pods are made or deleted before others are looked at again.
constexpr std::size_t kDaemonBurst = 50;
constexpr std::int32_t kKeptRevisions = 10;
constexpr std::string_view kNameField = "metadata.name";

std::array<const api::KindInfo*, 4> DaemonKinds() {
  return {&KindOf<api::DaemonSet>(), &KindOf<api::Pod>(), &KindOf<api::Node>(),
          &KindOf<api::ControllerRevision>()};
}

// What daemons put up with that others do not: they are there for nodes in trouble, too.
std::vector<api::Toleration> DaemonTolerations(const api::PodSpec& spec) {
  const auto tolerate = [](std::string_view key, std::string_view effect) {
    return api::Toleration{.key = std::string(key),
                           .operator_ = std::string(api::kTolerationOpExists),
                           .effect = std::string(effect)};
  };
  std::vector<api::Toleration> all = {
      tolerate(api::kNotReadyTaint, api::kTaintEffectNoExecute),
      tolerate(api::kUnreachableTaint, api::kTaintEffectNoExecute),
      tolerate("node.kubernetes.io/disk-pressure", api::kTaintEffectNoSchedule),
      tolerate("node.kubernetes.io/memory-pressure", api::kTaintEffectNoSchedule),
      tolerate("node.kubernetes.io/pid-pressure", api::kTaintEffectNoSchedule),
      tolerate("node.kubernetes.io/unschedulable", api::kTaintEffectNoSchedule)};
  if (spec.host_network) {
    all.push_back(tolerate("node.kubernetes.io/network-unavailable", api::kTaintEffectNoSchedule));
  }
  return all;
}

void AddTolerations(api::PodSpec& spec) {
  for (api::Toleration& toleration : DaemonTolerations(spec)) {
    const bool there = std::ranges::any_of(spec.tolerations, [&](const api::Toleration& other) {
      return other.key == toleration.key && other.operator_ == toleration.operator_ &&
             other.effect == toleration.effect && other.value == toleration.value;
    });
    if (!there) spec.tolerations.push_back(std::move(toleration));
  }
}

bool MatchesAffinity(const api::PodSpec& spec, const api::Node& node) {
  for (const auto& [key, value] : spec.node_selector) {
    const std::string* label = node.metadata.labels.Find(key);
    if (label == nullptr || *label != value) return false;
  }
  if (!spec.affinity || !spec.affinity->node_affinity || !spec.affinity->node_affinity->required) {
    return true;
  }
  const auto matches = inventory::Matches(*spec.affinity->node_affinity->required, node);
  return matches.ok() && *matches;
}

bool IsFresh(const api::Object& pod, std::string_view hash) {
  const std::string* label = pod.metadata().labels.Find(api::kControllerRevisionHashLabel);
  return label != nullptr && *label == hash;
}

// A number, or a share rounded up.
std::int32_t Resolved(const std::optional<api::IntOrString>& amount, std::int32_t of,
                      std::int32_t standard) {
  if (!amount) return standard;
  if (const auto* number = std::get_if<std::int32_t>(&amount->value)) return *number;
  const std::int64_t percent = std::atoll(std::get<std::string>(amount->value).c_str());
  return static_cast<std::int32_t>((of * percent + 99) / 100);
}

bool MattersToDaemons(const api::Node& was, const api::Node& is) {
  return was.metadata.labels != is.metadata.labels || was.spec.taints != is.spec.taints ||
         was.spec.unschedulable != is.spec.unschedulable;
}

std::string HashOfSet(const api::DaemonSet& set) {
  return HashOf(set.spec.template_, set.status.collision_count.value_or(0));
}

}  // namespace

DaemonFit DaemonFitOf(const api::PodSpec& spec, const api::Node& node) {
  if (!spec.node_name.empty() && spec.node_name != node.metadata.name) return {};
  if (!MatchesAffinity(spec, node)) return {};
  api::PodSpec tolerant;
  tolerant.tolerations = spec.tolerations;
  tolerant.host_network = spec.host_network;
  AddTolerations(tolerant);
  DaemonFit fit{.should_run = true, .may_stay = true};
  for (const api::Taint& taint : node.spec.taints) {
    const bool tolerated = std::ranges::any_of(
        tolerant.tolerations,
        [&](const api::Toleration& toleration) { return api::Tolerates(toleration, taint); });
    if (tolerated || taint.effect == api::kTaintEffectPreferNoSchedule) continue;
    fit.should_run = false;
    if (taint.effect == api::kTaintEffectNoExecute) fit.may_stay = false;
  }
  return fit;
}

api::Pod DaemonPod(const api::Object& set, std::string_view node, std::string_view hash) {
  const api::DaemonSet& wanted = *set.As<api::DaemonSet>();
  api::Pod pod = PodFromTemplate(wanted.spec.template_, set);
  pod.metadata.labels[api::kControllerRevisionHashLabel] = hash;
  pod.metadata.labels[api::kTemplateGenerationLabel] = std::to_string(wanted.metadata.generation);
  AddTolerations(pod.spec);
  // Instead of the node's name in the spec: so the scheduler looks whether it fits, and makes room.
  if (!pod.spec.affinity) pod.spec.affinity.emplace();
  if (!pod.spec.affinity->node_affinity) pod.spec.affinity->node_affinity.emplace();
  auto& required = pod.spec.affinity->node_affinity->required;
  api::NodeSelectorTerm only;
  only.match_fields.push_back(
      {.key = std::string(kNameField), .operator_ = "In", .values = {std::string(node)}});
  if (!required || required->node_selector_terms.empty()) {
    required.emplace();
    required->node_selector_terms.push_back(std::move(only));
  } else {
    // Which of the terms holds does not matter any more: the node is chosen.
    required->node_selector_terms = {std::move(only)};
  }
  return pod;
}

std::string_view DaemonNodeOf(const api::Pod& pod) {
  if (!pod.spec.node_name.empty()) return pod.spec.node_name;
  if (!pod.spec.affinity || !pod.spec.affinity->node_affinity ||
      !pod.spec.affinity->node_affinity->required) {
    return {};
  }
  for (const auto& term : pod.spec.affinity->node_affinity->required->node_selector_terms) {
    for (const auto& field : term.match_fields) {
      if (field.key == kNameField && field.values.size() == 1) return field.values[0];
    }
  }
  return {};
}

DaemonSetController::DaemonSetController(const Source& source, const base::Clock& clock)
    : Reconciler(source, clock, DaemonKinds()) {}

void DaemonSetController::OnChange(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  if (either.As<api::Node>() != nullptr) return OnNode(before, after);
  if (either.As<api::DaemonSet>() != nullptr) {
    const ObjectKey key = ObjectKey::Of(either);
    if (after == nullptr) {
      sets_.erase(key);
      return;
    }
    sets_.insert(key);
    return queue().Add(key);
  }
  const bool pod = either.As<api::Pod>() != nullptr;
  (pod ? pods_ : revisions_).OnChange(before, after);
  for (const api::Object* child : {before, after}) {
    if (child == nullptr) continue;
    if (const auto set = ControllerKey<api::DaemonSet>(child->metadata())) queue().Add(*set);
  }
  if (pod && after != nullptr && api::FindController(after->metadata()) == nullptr) {
    QueueSelecting(after->metadata());
  }
}

void DaemonSetController::OnNode(const api::Object* before, const api::Object* after) {
  const api::Object& either = after != nullptr ? *after : *before;
  const std::string name = either.metadata().name;
  if (after != nullptr) {
    nodes_.insert_or_assign(name, *after);
  } else {
    nodes_.erase(name);
  }
  const bool both = before != nullptr && after != nullptr;
  if (both && !MattersToDaemons(*before->As<api::Node>(), *after->As<api::Node>())) return;
  for (const ObjectKey& set : sets_) queue().Add(set);
}

void DaemonSetController::QueueSelecting(const api::ObjectMeta& orphan) {
  for (const ObjectKey& key : sets_) {
    if (key.namespace_ != orphan.namespace_) continue;
    const auto* set = view().Find<api::DaemonSet>(key.namespace_, key.name);
    if (set == nullptr || !set->spec.selector) continue;
    const auto selector = api::LabelMatcher::From(*set->spec.selector);
    if (selector.ok() && selector->Matches(orphan.labels)) queue().Add(key);
  }
}

Status DaemonSetController::Reconcile(const ObjectKey& key) {
  const api::Object* found = view().Find(key);
  if (found == nullptr) return {};
  const api::Object set = *found;
  const auto& selector = set.As<api::DaemonSet>()->spec.selector;
  if (!selector) return {};
  DRAY_ASSIGN_OR_RETURN(const api::LabelMatcher matcher, api::LabelMatcher::From(*selector));
  DRAY_ASSIGN_OR_RETURN(const std::vector<api::Object> pods, pods_.Gather(set, matcher, view()));
  const std::string hash = HashOfSet(*set.As<api::DaemonSet>());
  Status managed;
  if (!view().Leaving(set)) {
    DRAY_RETURN_IF_ERROR(KeepRevisions(set, hash));
    managed = Manage(set, PlanOf(set, pods), hash);
    if (managed.ok()) managed = RollOut(set, PlanOf(set, pods_.Of(set)), hash);
  }
  DRAY_RETURN_IF_ERROR(WriteStatus(set, PlanOf(set, pods_.Of(set)), hash));
  return managed;
}

Status DaemonSetController::KeepRevisions(const api::Object& set, std::string_view hash) {
  const api::DaemonSet& wanted = *set.As<api::DaemonSet>();
  DRAY_ASSIGN_OR_RETURN(const api::Object now, EnsureRevision(set, wanted.spec.template_, hash,
                                                              revisions_.Of(set), view()));
  std::vector<std::string> in_use = {now.metadata().name};
  for (const api::Object& pod : pods_.Of(set)) {
    const std::string* label = pod.metadata().labels.Find(api::kControllerRevisionHashLabel);
    if (label != nullptr) in_use.push_back(fmt::format("{}-{}", set.metadata().name, *label));
  }
  return TrimRevisions(revisions_.Of(set), in_use,
                       wanted.spec.revision_history_limit.value_or(kKeptRevisions), view());
}

DaemonSetController::Plan DaemonSetController::PlanOf(const api::Object& set,
                                                      const std::vector<api::Object>& pods) const {
  const api::PodSpec& spec = set.As<api::DaemonSet>()->spec.template_.spec;
  Plan plan;
  for (const api::Object& pod : pods) {
    if (view().Leaving(pod)) {
      // It is still there: no second one beside it.
      if (!IsTerminal(*pod.As<api::Pod>()))
        plan.pods[std::string(DaemonNodeOf(*pod.As<api::Pod>()))];
      continue;
    }
    if (pod.As<api::Pod>()->status.phase == api::kPodFailed ||
        pod.As<api::Pod>()->status.phase == api::kPodSucceeded) {
      plan.surplus.push_back(pod);
      continue;
    }
    plan.pods[std::string(DaemonNodeOf(*pod.As<api::Pod>()))].push_back(pod);
  }
  for (auto& [name, there] : plan.pods) {
    const auto node = nodes_.find(name);
    // Of a node that is gone, or never was.
    if (node == nodes_.end()) plan.surplus.insert(plan.surplus.end(), there.begin(), there.end());
    std::ranges::stable_sort(there, {}, [](const api::Object& pod) {
      return pod.metadata().creation_timestamp.value_or(base::Time()).seconds();
    });
  }
  for (const auto& [name, node] : nodes_) {
    const DaemonFit fit = DaemonFitOf(spec, *node.As<api::Node>());
    const auto there = plan.pods.find(name);
    if (fit.should_run) ++plan.desired;
    if (there == plan.pods.end()) {
      if (fit.should_run) plan.missing.push_back(name);
      continue;
    }
    if (fit.should_run || there->second.empty()) continue;
    ++plan.misscheduled;
    if (!fit.may_stay) {
      plan.surplus.insert(plan.surplus.end(), there->second.begin(), there->second.end());
    }
  }
  return plan;
}

Status DaemonSetController::Manage(const api::Object& set, const Plan& plan,
                                   std::string_view hash) {
  std::size_t writes = 0;
  std::vector<api::Object> surplus = plan.surplus;
  // Of each template one pod per node; an old one goes when the new one can be counted on.
  for (const auto& [node, pods] : plan.pods) {
    const api::Object* kept_fresh = nullptr;
    const api::Object* kept_old = nullptr;
    for (const api::Object& pod : pods) {
      const api::Object*& kept = IsFresh(pod, hash) ? kept_fresh : kept_old;
      if (kept == nullptr) {
        kept = &pod;
      } else {
        surplus.push_back(pod);
      }
    }
    if (kept_fresh != nullptr && kept_old != nullptr &&
        (IsAvailable(set, *kept_fresh->As<api::Pod>()) ||
         !ReadySince(*kept_old->As<api::Pod>()).has_value())) {
      surplus.push_back(*kept_old);
    }
  }
  for (const api::Object& pod : surplus) {
    if (view().Leaving(pod)) continue;
    DRAY_RETURN_IF_ERROR(view().Delete(pod));
    ++writes;
    Tell(view(), set,
         {.component = name(),
          .reason = "SuccessfulDelete",
          .message = fmt::format("Deleted pod: {}", pod.metadata().name)});
  }
  for (const std::string& node : plan.missing) {
    if (++writes > kDaemonBurst) {
      queue().Add(ObjectKey::Of(set));
      return {};
    }
    const api::Pod pod = DaemonPod(set, node, hash);
    const auto made = view().Create(api::Object::Of(pod));
    if (!made.ok()) {
      Tell(view(), set,
           {.component = name(),
            .warning = true,
            .reason = "FailedCreate",
            .message = fmt::format("Error creating: {}",
                                   api::WithoutGeneratedParts(base::Message(made.status()),
                                                              pod.metadata.generate_name))});
      return made.status();
    }
    Tell(view(), set,
         {.component = name(),
          .reason = "SuccessfulCreate",
          .message = fmt::format("Created pod: {}", made->metadata().name)});
  }
  return {};
}

Status DaemonSetController::RollOut(const api::Object& set, const Plan& plan,
                                    std::string_view hash) {
  const api::DaemonSetUpdateStrategy& strategy = set.As<api::DaemonSet>()->spec.update_strategy;
  if (strategy.type == api::kStrategyOnDelete) return {};
  std::optional<api::IntOrString> most_unavailable;
  std::optional<api::IntOrString> most_surge;
  if (strategy.rolling_update) {
    most_unavailable = strategy.rolling_update->max_unavailable;
    most_surge = strategy.rolling_update->max_surge;
  }
  const std::int32_t surge = Resolved(most_surge, plan.desired, 0);
  const std::int32_t unavailable =
      surge > 0 ? 0 : std::max(Resolved(most_unavailable, plan.desired, 1), 1);
  std::int32_t missing = static_cast<std::int32_t>(plan.missing.size());
  std::int32_t beside = 0;  // nodes that have both
  std::vector<const api::Object*> at_once;
  std::vector<std::pair<std::string, const api::Object*>> in_turn;
  for (const auto& [node, pods] : plan.pods) {
    const api::Object* fresh = nullptr;
    const api::Object* old = nullptr;
    for (const api::Object& pod : pods) (IsFresh(pod, hash) ? fresh : old) = &pod;
    if (fresh == nullptr && old == nullptr) ++missing;  // one is on its way out
    if (fresh != nullptr && old != nullptr) ++beside;
    if (fresh != nullptr && old == nullptr && !IsAvailable(set, *fresh->As<api::Pod>())) ++missing;
    if (fresh != nullptr || old == nullptr) continue;
    if (IsAvailable(set, *old->As<api::Pod>())) {
      in_turn.emplace_back(node, old);
    } else {
      ++missing;
      at_once.push_back(old);
    }
  }
  for (const api::Object* pod : at_once) DRAY_RETURN_IF_ERROR(view().Delete(*pod));
  std::int32_t room = surge > 0 ? surge - beside : unavailable - missing;
  for (const auto& [node, old] : in_turn) {
    if (room-- <= 0) break;
    if (surge > 0) {
      DRAY_RETURN_IF_ERROR(view().Create(api::Object::Of(DaemonPod(set, node, hash))).status());
    } else {
      DRAY_RETURN_IF_ERROR(view().Delete(*old));
    }
  }
  return {};
}

bool DaemonSetController::IsAvailable(const api::Object& set, const api::Pod& pod) const {
  const auto at = AvailableAt(pod, set.As<api::DaemonSet>()->spec.min_ready_seconds);
  return at.has_value() && *at <= clock().Now();
}

Status DaemonSetController::WriteStatus(const api::Object& set, const Plan& plan,
                                        std::string_view hash) {
  const api::DaemonSet& wanted = *set.As<api::DaemonSet>();
  api::DaemonSetStatus counted;
  counted.desired_number_scheduled = plan.desired;
  counted.number_misscheduled = plan.misscheduled;
  const base::Time now = clock().Now();
  std::optional<base::Time> next;
  for (const auto& [node, pods] : plan.pods) {
    const auto found = nodes_.find(node);
    if (found == nodes_.end() || pods.empty()) continue;
    if (!DaemonFitOf(wanted.spec.template_.spec, *found->second.As<api::Node>()).should_run)
      continue;
    ++counted.current_number_scheduled;
    bool ready = false;
    bool available = false;
    bool updated = false;
    for (const api::Object& pod : pods) {
      const auto at = AvailableAt(*pod.As<api::Pod>(), wanted.spec.min_ready_seconds);
      ready = ready || at.has_value();
      available = available || (at.has_value() && *at <= now);
      if (at.has_value() && *at > now) next = next ? std::min(*next, *at) : *at;
      updated = updated || IsFresh(pod, hash);
    }
    counted.number_ready += ready ? 1 : 0;
    counted.number_available += available ? 1 : 0;
    counted.updated_number_scheduled += updated ? 1 : 0;
  }
  counted.number_unavailable = counted.desired_number_scheduled - counted.number_available;
  if (next) queue().AddAfter(ObjectKey::Of(set), *next - now);
  const Status written = view().EditStatus(set, [&](api::Object& changed) {
    const api::DaemonSetStatus before = changed.As<api::DaemonSet>()->status;
    api::DaemonSetStatus status = counted;
    status.observed_generation = wanted.metadata.generation;
    status.collision_count = before.collision_count;
    status.conditions = before.conditions;
    if (status == before) return false;
    changed.Mutable<api::DaemonSet>()->status = std::move(status);
    return true;
  });
  return written.code() == StatusCode::kNotFound ? Status() : written;
}

}  // namespace dray::controllers
