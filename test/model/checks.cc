// SPDX-License-Identifier: Apache-2.0
//
// The checks of one candidate, each computed from what is taken and what is chosen so far.
// Spec: docs/spec/allocator.md 4.1 and the chapters it names.
#include <algorithm>

#include "model/abort.h"
#include "model/constraints.h"
#include "model/node_match.h"
#include "model/search.h"

namespace dray::model {
namespace {

bool DeclaresGroups(const api::Device& device) {
  return std::ranges::any_of(device.consumes_counters,
                             [](const auto& use) { return !use.compatibility_groups.empty(); });
}

bool Tolerates(const api::DeviceToleration& toleration, const api::DeviceTaint& taint) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.operator_ == api::kTolerationOpExists) return true;
  if (!toleration.operator_.empty() && toleration.operator_ != api::kTolerationOpEqual)
    return false;
  return toleration.value == taint.value;
}

bool RuleSelects(const api::DeviceTaintRule& rule, const DeviceId& id) {
  if (!rule.spec.device_selector) return false;
  const api::DeviceTaintSelector& s = *rule.spec.device_selector;
  return (!s.driver || *s.driver == id.driver) && (!s.pool || *s.pool == id.pool) &&
         (!s.device || *s.device == id.device);
}

// The derived attribute of that name, or null; of several with one name the last counts.
const api::DeviceDerivedAttribute* FindDerived(const RequestView& view, std::string_view name) {
  const api::DeviceDerivedAttribute* found = nullptr;
  for (const api::DeviceDerivedAttribute& derived : *view.derived) {
    if (derived.name == name) found = &derived;
  }
  return found;
}

// The attributes that it compares: one, or two where somebody stored a constraint with both.
std::vector<std::string> AttributesOf(const api::DeviceConstraint& constraint) {
  std::vector<std::string> names;
  for (const auto* name : {&constraint.match_attribute, &constraint.distinct_attribute}) {
    if (*name) names.push_back(**name);
  }
  return names;
}

}  // namespace

bool Search::MultiAllocatable(const Candidate& candidate) const {
  return features_.consumable_capacity &&
         candidate.device->allow_multiple_allocations.value_or(false);
}

bool Search::InUse(std::size_t claim, const RequestView& view, const Candidate& candidate) const {
  const bool multi = MultiAllocatable(candidate);
  const bool chosen = !multi && std::ranges::any_of(choices_, [&](const Choice& choice) {
    return candidates_[choice.candidate].id == candidate.id &&
           (!view.admin_access || choice.claim == claim);
  });
  if (view.admin_access) return chosen;
  // A device that no longer can be shared is closed while it has shares (KEP-5075).
  return chosen || taken_.exclusive.contains(candidate.id) ||
         (!multi && taken_.shared.contains(candidate.id));
}

bool Search::Selectable(const api::ResourceClaim& claim, const Alternative& alternative,
                        std::size_t candidate) {
  const auto key = std::pair<const void*, std::size_t>(&alternative, candidate);
  const auto known = selectable_.find(key);
  if (known != selectable_.end()) return known->second;
  const bool answer = SelectableAnew(claim, alternative, candidates_[candidate]);
  selectable_.emplace(key, answer);
  return answer;
}

bool Search::Selected(const Alternative& alternative, const Candidate& candidate) {
  const api::Device& device = *candidate.device;
  if (!features_.device_binding_and_status && !device.binding_conditions.empty()) return false;
  // What cannot be enforced is not given away (KEP-5963, gate off).
  if (!features_.compatibility_groups && DeclaresGroups(device)) return false;
  return expressions_.Match(alternative.device_class->spec.selectors, candidate.id.driver,
                            device) &&
         expressions_.Match(*alternative.view.selectors, candidate.id.driver, device);
}

// Throws where a derived attribute that a constraint wants fails.
void Search::DeriveFor(const api::ResourceClaim& claim, const RequestView& view,
                       const Candidate& candidate) {
  for (const api::DeviceConstraint& constraint : claim.spec.devices.constraints) {
    if (!Covers(constraint, view.name, view.sub)) continue;
    for (const std::string& name : AttributesOf(constraint)) {
      (void)AttributeFor(view, candidate, name);
    }
  }
}

bool Search::SelectableAnew(const api::ResourceClaim& claim, const Alternative& alternative,
                            const Candidate& candidate) {
  const api::Device& device = *candidate.device;
  if (!Selected(alternative, candidate)) return false;
  DeriveFor(claim, alternative.view, candidate);
  return !candidate.slice->spec.per_device_node_selection.value_or(false) ||
         DeviceMatchesNode(instance_.node, device);
}

FitResult Search::CapacityFor(const RequestView& view, const Candidate& candidate) const {
  Amounts already;
  if (const auto taken = taken_.consumed.find(candidate.id); taken != taken_.consumed.end()) {
    for (const auto& [name, amount] : taken->second) {
      already[PublishedName(name, candidate.id.driver, candidate.device->capacity)] += amount;
    }
  }
  for (const Choice& choice : choices_) {
    if (candidates_[choice.candidate].id != candidate.id) continue;
    for (const auto& [name, amount] : choice.consumed) already[name] += amount;
  }
  return Fits(view.capacity, candidate.id.driver, candidate.device->capacity, already,
              features_.fractional_capacity_range);
}

bool Search::Usable(std::size_t claim, const Alternative& alternative, const Candidate& candidate) {
  if (!NodeOperationsAllow(candidate)) return false;
  const bool counters = !candidate.device->consumes_counters.empty();
  if (counters && !features_.partitionable_devices) return false;
  if (counters && Draws(candidate, choices_.size())) {
    if (!GroupsAllow(candidate) || !CountersAllow(candidate)) return false;
  }
  return TaintsAllow(alternative.view, candidate) &&
         ConstraintsAllow(claim, alternative.view, candidate);
}

bool Search::NodeOperationsAllow(const Candidate& candidate) const {
  if (candidate.slice->spec.skip_node_operations.empty()) return true;
  const auto& declared = instance_.node.status.declared_features;
  return features_.optional_node_operations &&
         std::ranges::find(declared, "DRAOptionalNodeOperations") != declared.end();
}

bool Search::Draws(const Candidate& candidate, std::size_t before) const {
  if (!MultiAllocatable(candidate)) return true;
  if (taken_.shared.contains(candidate.id)) return false;
  return std::none_of(
      choices_.begin(), choices_.begin() + static_cast<std::ptrdiff_t>(before),
      [&](const Choice& choice) { return candidates_[choice.candidate].id == candidate.id; });
}

std::map<std::string, CommonGroups> Search::GroupsOfTaken(const Pool& pool) const {
  std::map<std::string, CommonGroups> sets;
  std::set<DeviceId> published;
  for (const auto* slices : {&pool.device_slices, &pool.other_slices}) {
    for (const api::ResourceSlice* slice : *slices) {
      if (!slice->spec.devices) continue;
      for (const api::Device& device : *slice->spec.devices) {
        const DeviceId id{pool.driver, pool.name, device.name};
        published.insert(id);
        const auto results = taken_.results.find(id);
        if (results == taken_.results.end()) continue;
        for (const auto* result : results->second) {
          // What the device said of a set when it was given away counts; without that, what it
          // says now.
          const auto& snapshot = result->compatibility_groups;
          for (const auto& [set, groups] : snapshot) sets[set.str()].Add(groups);
          for (const api::DeviceCounterConsumption& use : device.consumes_counters) {
            if (snapshot.contains(use.counter_set)) continue;
            sets[use.counter_set].Add(use.compatibility_groups);
          }
        }
      }
    }
  }
  for (const auto& [id, results] : taken_.results) {
    if (id.driver != pool.driver || id.pool != pool.name || published.contains(id)) continue;
    for (const auto* result : results) {
      for (const auto& [set, groups] : result->compatibility_groups) sets[set.str()].Add(groups);
    }
  }
  return sets;
}

std::set<std::string> Search::ClosedCounterSets(const Pool& pool) const {
  std::set<std::string> closed;
  for (const auto& [id, results] : taken_.results) {
    if (id.driver != pool.driver || id.pool != pool.name) continue;
    for (const auto* result : results) {
      for (const auto& [set, groups] : result->compatibility_groups) {
        if (!groups.empty()) closed.insert(set.str());
      }
    }
  }
  return closed;
}

bool Search::GroupsAllow(const Candidate& candidate) const {
  const Pool& pool = pools_[candidate.pool];
  if (!features_.compatibility_groups) {
    const std::set<std::string> closed = ClosedCounterSets(pool);
    return std::ranges::none_of(candidate.device->consumes_counters,
                                [&](const auto& use) { return closed.contains(use.counter_set); });
  }
  std::map<std::string, CommonGroups> sets = GroupsOfTaken(pool);
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const Candidate& other = candidates_[choices_[i].candidate];
    if (other.pool != candidate.pool || !Draws(other, i)) continue;
    for (const auto& use : other.device->consumes_counters) {
      sets[use.counter_set].Add(use.compatibility_groups);
    }
  }
  for (const api::DeviceCounterConsumption& use : candidate.device->consumes_counters) {
    if (!sets[use.counter_set].Admits(use.compatibility_groups)) return false;
    sets[use.counter_set].Add(use.compatibility_groups);
  }
  return true;
}

bool Search::CountersAllow(const Candidate& candidate) const {
  const Pool& pool = pools_[candidate.pool];
  std::map<std::pair<std::string, std::string>, base::Quantity> left;
  for (const auto& [set, counters] : pool.counter_sets) {
    for (const auto& [name, counter] : counters->counters) left[{set, name.str()}] = counter.value;
  }
  const auto draw = [&](const api::Device& device) {
    for (const api::DeviceCounterConsumption& use : device.consumes_counters) {
      for (const auto& [name, counter] : use.counters) {
        left[{use.counter_set, name.str()}] -= counter.value;
      }
    }
  };
  for (const auto* slices : {&pool.device_slices, &pool.other_slices}) {
    for (const api::ResourceSlice* slice : *slices) {
      if (!slice->spec.devices) continue;
      for (const api::Device& device : *slice->spec.devices) {
        if (taken_.Holds({pool.driver, pool.name, device.name})) draw(device);
      }
    }
  }
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    const Candidate& other = candidates_[choices_[i].candidate];
    if (other.pool == candidate.pool && Draws(other, i)) draw(*other.device);
  }
  draw(*candidate.device);
  // Every counter of the pool, not only those of the candidate: one that is overdrawn closes all.
  return std::ranges::all_of(left, [](const auto& entry) { return entry.second.Sign() >= 0; });
}

bool Search::TaintsAllow(const RequestView& view, const Candidate& candidate) const {
  if (!features_.device_taints) return true;
  std::vector<api::DeviceTaint> taints = candidate.device->taints;
  for (const api::DeviceTaintRule& rule : instance_.taint_rules) {
    if (RuleSelects(rule, candidate.id)) taints.push_back(rule.spec.taint);
  }
  return std::ranges::all_of(taints, [&](const api::DeviceTaint& taint) {
    if (taint.effect != api::kTaintEffectNoSchedule && taint.effect != api::kTaintEffectNoExecute) {
      return true;
    }
    return std::ranges::any_of(*view.tolerations,
                               [&](const auto& t) { return Tolerates(t, taint); });
  });
}

std::optional<api::DeviceAttribute> Search::AttributeFor(const RequestView& view,
                                                         const Candidate& candidate,
                                                         const std::string& name) {
  const auto* derived = features_.derived_attributes ? FindDerived(view, name) : nullptr;
  if (derived != nullptr) {
    return expressions_.Derive(derived->expression, candidate.id.driver, *candidate.device);
  }
  const auto* found = FindAttribute(*candidate.device, candidate.id.driver, name);
  if (found == nullptr) return std::nullopt;
  return *found;
}

bool Search::ConstraintAllows(std::size_t claim, const RequestView& view,
                              const Candidate& candidate, const api::DeviceConstraint& constraint,
                              const std::string& name, bool match) {
  const std::optional<api::DeviceAttribute> value = AttributeFor(view, candidate, name);
  if (!value) return false;
  std::vector<api::DeviceAttribute> earlier;
  for (const Choice& choice : choices_) {
    const RequestView& other = choice.alternative->view;
    if (choice.claim != claim || !Covers(constraint, other.name, other.sub)) continue;
    earlier.push_back(*AttributeFor(other, candidates_[choice.candidate], name));
  }
  const bool lists = features_.list_type_attributes;
  return match ? Matches(earlier, *value, lists) : IsDistinct(earlier, *value, lists);
}

bool Search::ConstraintsAllow(std::size_t claim, const RequestView& view,
                              const Candidate& candidate) {
  for (const api::DeviceConstraint& constraint : plans_[claim].claim->spec.devices.constraints) {
    if (!Covers(constraint, view.name, view.sub)) continue;
    if (constraint.match_attribute &&
        !ConstraintAllows(claim, view, candidate, constraint, *constraint.match_attribute, true)) {
      return false;
    }
    if (constraint.distinct_attribute && !ConstraintAllows(claim, view, candidate, constraint,
                                                           *constraint.distinct_attribute, false)) {
      return false;
    }
  }
  return true;
}

// KEP-6080 "Runtime Error Handling": a derived attribute that fails on a candidate ends the
// attempt, even if others evaluate, and so whatever the enumeration would come to.
void Search::DeriveForCandidates() {
  for (const ClaimPlan& plan : plans_) {
    for (const RequestPlan& request : plan.requests) {
      for (const Alternative& alternative : request.alternatives) {
        for (const Candidate& candidate : candidates_) {
          if (InUse(0, alternative.view, candidate)) continue;
          try {
            if (!Selected(alternative, candidate)) continue;
          } catch (const Abort&) {
            continue;  // no candidate; who comes across it hears of it
          }
          DeriveFor(*plan.claim, alternative.view, candidate);
        }
      }
    }
  }
}

}  // namespace dray::model
