// SPDX-License-Identifier: Apache-2.0
#include "controllers/replicas.h"

#include <algorithm>

#include "api/pod.h"
#include "controllers/pods.h"
#include "controllers/workload_pods.h"

namespace dray::controllers {
namespace {

// Null: it has no controller.
const std::string* OwnerOf(const api::Object& pod) {
  const api::OwnerReference* owner = api::FindController(pod.metadata());
  return owner == nullptr ? nullptr : &owner->uid;
}

bool HasAll(const api::Map<std::string>& labels, const api::Map<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& entry) {
    const std::string* value = labels.Find(entry.first.view());
    return value != nullptr && *value == entry.second;
  });
}

}  // namespace

void Replicas::OnChange(const api::Object* before, const api::Object* after) {
  if (before != nullptr) {
    const std::string* was = OwnerOf(*before);
    const std::string* is = after == nullptr ? nullptr : OwnerOf(*after);
    const bool stays = was != nullptr && is != nullptr && *was == *is;
    if (!stays) Drop(*before);
  }
  if (after != nullptr) Take(*after);
}

void Replicas::Take(const api::Object& pod) {
  const std::string& name = pod.metadata().name;
  const std::string* owner = OwnerOf(pod);
  if (owner == nullptr) {
    Orphans& orphans = orphans_[pod.metadata().namespace_];
    orphans.pods.insert_or_assign(name, pod);
    orphans.version = ++orphan_changes_;
    return;
  }
  Family& family = families_[*owner];
  const auto [it, added] = family.children.try_emplace(name, Child{.pod = pod});
  if (!added) it->second.pod = pod;
  if (family.rules.has_value()) family.changed.insert(name);
}

void Replicas::Drop(const api::Object& pod) {
  const std::string& name = pod.metadata().name;
  const std::string* owner = OwnerOf(pod);
  if (owner == nullptr) {
    const auto orphans = orphans_.find(pod.metadata().namespace_);
    if (orphans == orphans_.end()) return;
    orphans->second.pods.erase(name);
    orphans->second.version = ++orphan_changes_;
    if (orphans->second.pods.empty()) orphans_.erase(orphans);
    return;
  }
  const auto found = families_.find(*owner);
  if (found == families_.end()) return;
  Family& family = found->second;
  const auto child = family.children.find(name);
  if (child == family.children.end()) return;
  Uncount(family, name, child->second);
  family.children.erase(child);
  family.changed.erase(name);
  if (family.children.empty()) families_.erase(found);
}

void Replicas::Uncount(Family& family, const std::string& name, Child& child) {
  if (child.stray) family.strays.erase(name);
  if (child.ready && !child.available) family.soon.erase({child.available_at, name});
  family.counts.active -= child.active ? 1 : 0;
  family.counts.labelled -= child.labelled ? 1 : 0;
  family.counts.ready -= child.ready ? 1 : 0;
  family.counts.available -= child.available ? 1 : 0;
  child = {.pod = std::move(child.pod)};
}

void Replicas::Look(Family& family, const std::string& name, const View& view, base::Time now) {
  ++looked_at_;
  Child& child = family.children.find(name)->second;
  Uncount(family, name, child);
  const api::Pod& pod = *child.pod.As<api::Pod>();
  child.stray = !family.rules->selector.Matches(pod.metadata.labels);
  if (child.stray) family.strays.insert(name);
  child.active = !IsTerminal(pod) && !view.Leaving(child.pod);
  if (!child.active) return;
  child.labelled = HasAll(pod.metadata.labels, family.rules->labels);
  if (const auto at = AvailableAt(pod, family.rules->min_ready_seconds)) {
    child.ready = true;
    child.available_at = *at;
    child.available = *at <= now;
    if (!child.available) family.soon.insert({*at, name});
  }
  ++family.counts.active;
  family.counts.labelled += child.labelled ? 1 : 0;
  family.counts.ready += child.ready ? 1 : 0;
  family.counts.available += child.available ? 1 : 0;
}

void Replicas::BringUpToDate(Family& family, const ReplicaRules& rules, const View& view,
                             base::Time now) {
  // A clock that was set back makes pods unavailable that were not.
  const bool anew = !family.rules.has_value() || *family.rules != rules || now < family.counted;
  family.counted = now;
  const base::StringSet changed = std::exchange(family.changed, {});
  if (anew) {
    family.rules = rules;
    family.orphans_seen.reset();
    for (const auto& [name, child] : family.children) Look(family, name, view, now);
    return;
  }
  for (const std::string& name : changed) Look(family, name, view, now);
  while (!family.soon.empty() && family.soon.begin()->first <= now) {
    const std::string name = family.soon.begin()->second;
    Look(family, name, view, now);
  }
}

ReplicaCounts Replicas::Count(const api::Object& owner, const ReplicaRules& rules, const View& view,
                              base::Time now) {
  const auto family = families_.find(owner.metadata().uid);
  if (family == families_.end()) return {};
  BringUpToDate(family->second, rules, view, now);
  ReplicaCounts counts = family->second.counts;
  const auto& soon = family->second.soon;
  if (!soon.empty()) counts.next_available = soon.begin()->first;
  return counts;
}

std::vector<api::Object> Replicas::Active(const api::Object& owner) const {
  std::vector<api::Object> active;
  const auto family = families_.find(owner.metadata().uid);
  if (family == families_.end()) return active;
  for (const auto& [name, child] : family->second.children) {
    if (child.active) active.push_back(child.pod);
  }
  return active;
}

void Replicas::Leaves(const api::Object& owner, const api::Object& pod) {
  const auto family = families_.find(owner.metadata().uid);
  if (family == families_.end() || !family->second.rules.has_value()) return;
  const std::string& name = pod.metadata().name;
  if (family->second.children.contains(name)) family->second.changed.insert(name);
}

Status Replicas::Gather(const api::Object& owner, const ReplicaRules& rules, View& view,
                        base::Time now) {
  if (view.Leaving(owner)) return {};
  const std::string& uid = owner.metadata().uid;
  std::vector<api::Object> strays;
  if (const auto family = families_.find(uid); family != families_.end()) {
    BringUpToDate(family->second, rules, view, now);
    for (const std::string& name : family->second.strays) {
      strays.push_back(family->second.children.find(name)->second.pod);
    }
  }
  // What is written is a change, and moves pods from family to family.
  for (const api::Object& stray : strays) {
    DRAY_RETURN_IF_ERROR(view.EditObject(stray, [&](api::Object& changed) {
      return std::erase_if(changed.MutableMetadata().owner_references,
                           [&](const auto& reference) { return reference.uid == uid; }) > 0;
    }));
  }
  return Adopt(owner, rules, view);
}

Status Replicas::Adopt(const api::Object& owner, const ReplicaRules& rules, View& view) {
  const auto family = families_.find(owner.metadata().uid);
  const auto orphans = orphans_.find(owner.metadata().namespace_);
  const std::uint64_t version = orphans == orphans_.end() ? 0 : orphans->second.version;
  if (family != families_.end() && family->second.orphans_seen == version) return {};
  std::vector<api::Object> found;
  if (orphans != orphans_.end()) {
    for (const auto& [name, orphan] : orphans->second.pods) {
      ++looked_at_;
      if (!view.Leaving(orphan) && rules.selector.Matches(orphan.metadata().labels)) {
        found.push_back(orphan);
      }
    }
  }
  if (found.empty() && family != families_.end()) family->second.orphans_seen = version;
  for (const api::Object& orphan : found) {
    // Not with the stored one after a conflict: it may have found another controller.
    api::Object adopted = orphan;
    adopted.MutableMetadata().owner_references.push_back(ControllerReference(owner));
    DRAY_RETURN_IF_ERROR(view.Update(std::move(adopted)).status());
  }
  return {};
}

}  // namespace dray::controllers
