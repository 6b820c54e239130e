// SPDX-License-Identifier: Apache-2.0
#include "controllers/children.h"

#include <string>
#include <utility>

#include "controllers/workload_pods.h"

namespace dray::controllers {

void Children::OnChange(const api::Object* before, const api::Object* after) {
  if (before != nullptr) {
    const api::ObjectMeta& metadata = before->metadata();
    const api::OwnerReference* owner = api::FindController(metadata);
    owner != nullptr ? by_owner_.Remove(owner->uid, metadata.name)
                     : orphans_.Remove(metadata.namespace_, metadata.name);
  }
  if (after != nullptr) {
    const api::ObjectMeta& metadata = after->metadata();
    const api::OwnerReference* owner = api::FindController(metadata);
    owner != nullptr ? by_owner_.Add(owner->uid, metadata.name)
                     : orphans_.Add(metadata.namespace_, metadata.name);
  }
}

std::vector<api::Object> Children::Find(const std::vector<std::string>& names,
                                        std::string_view namespace_, const View& view) const {
  std::vector<api::Object> found;
  found.reserve(names.size());
  for (const std::string& name : names) {
    const api::Object* object = view.Find(ObjectKey{kind_, std::string(namespace_), name});
    if (object != nullptr) found.push_back(*object);
  }
  return found;
}

std::vector<api::Object> Children::Of(const api::Object& owner, const View& view) const {
  return Find(by_owner_.At(owner.metadata().uid), owner.metadata().namespace_, view);
}

StatusOr<std::vector<api::Object>> Children::Gather(const api::Object& owner,
                                                    const api::LabelMatcher& selector,
                                                    View& view) const {
  if (view.Leaving(owner)) return Of(owner, view);
  const std::string& uid = owner.metadata().uid;
  for (const api::Object& child : Of(owner, view)) {
    if (selector.Matches(child.metadata().labels)) continue;
    DRAY_RETURN_IF_ERROR(view.EditObject(child, [&](api::Object& changed) {
      return std::erase_if(changed.MutableMetadata().owner_references,
                           [&](const auto& reference) { return reference.uid == uid; }) > 0;
    }));
  }
  const std::string& namespace_ = owner.metadata().namespace_;
  for (const api::Object& orphan : Find(orphans_.At(namespace_), namespace_, view)) {
    if (view.Leaving(orphan) || !selector.Matches(orphan.metadata().labels)) continue;
    // Not with the stored one after a conflict: it may have found another controller.
    api::Object adopted = orphan;
    adopted.MutableMetadata().owner_references.push_back(ControllerReference(owner));
    DRAY_RETURN_IF_ERROR(view.Update(std::move(adopted)).status());
  }
  return Of(owner, view);
}

}  // namespace dray::controllers
