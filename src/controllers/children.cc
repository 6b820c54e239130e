// SPDX-License-Identifier: Apache-2.0
#include "controllers/children.h"

#include <string>
#include <utility>

#include "controllers/workload_pods.h"

namespace dray::controllers {

void Children::OnChange(const api::Object* before, const api::Object* after) {
  const auto family_of = [this](const api::ObjectMeta& metadata) {
    const api::OwnerReference* owner = api::FindController(metadata);
    return owner != nullptr ? std::pair(&by_owner_, &owner->uid)
                            : std::pair(&orphans_, &metadata.namespace_);
  };
  if (before != nullptr && after != nullptr) {
    // A child mostly stays in its family, and under its name.
    const auto [families, name] = family_of(after->metadata());
    const auto [others, other] = family_of(before->metadata());
    if (families == others && *name == *other) {
      (*families)[*name].insert_or_assign(after->metadata().name, *after);
      return;
    }
  }
  if (before != nullptr) {
    const auto [families, name] = family_of(before->metadata());
    const auto family = families->find(*name);
    if (family != families->end()) {
      family->second.erase(before->metadata().name);
      if (family->second.empty()) families->erase(family);
    }
  }
  if (after != nullptr) {
    const auto [families, name] = family_of(after->metadata());
    (*families)[*name].insert_or_assign(after->metadata().name, *after);
  }
}

std::vector<api::Object> Children::All(const Families& families, std::string_view family) {
  std::vector<api::Object> all;
  const auto found = families.find(family);
  if (found == families.end()) return all;
  all.reserve(found->second.size());
  for (const auto& [name, object] : found->second) all.push_back(object);
  return all;
}

StatusOr<std::vector<api::Object>> Children::Gather(const api::Object& owner,
                                                    const api::LabelMatcher& selector,
                                                    View& view) const {
  std::vector<api::Object> children = Of(owner);
  if (view.Leaving(owner)) return children;
  bool changes = false;
  const std::string& uid = owner.metadata().uid;
  for (const api::Object& child : children) {
    if (selector.Matches(child.metadata().labels)) continue;
    changes = true;
    DRAY_RETURN_IF_ERROR(view.EditObject(child, [&](api::Object& changed) {
      return std::erase_if(changed.MutableMetadata().owner_references,
                           [&](const auto& reference) { return reference.uid == uid; }) > 0;
    }));
  }
  for (const api::Object& orphan : All(orphans_, owner.metadata().namespace_)) {
    if (view.Leaving(orphan) || !selector.Matches(orphan.metadata().labels)) continue;
    changes = true;
    // Not with the stored one after a conflict: it may have found another controller.
    api::Object adopted = orphan;
    adopted.MutableMetadata().owner_references.push_back(ControllerReference(owner));
    DRAY_RETURN_IF_ERROR(view.Update(std::move(adopted)).status());
  }
  return changes ? Of(owner) : std::move(children);
}

}  // namespace dray::controllers
