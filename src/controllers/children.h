// SPDX-License-Identifier: Apache-2.0
//
// Children: which objects of one kind are controlled by whom. A workload's children are those that
// its selector selects: it adopts what has no controller, and lets go what no longer fits.
#pragma once

#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "api/label_selector.h"
#include "base/status.h"
#include "controllers/index.h"
#include "controllers/object_key.h"
#include "controllers/view.h"

namespace dray::controllers {

// Kept from changes. One thread.
class Children {
 public:
  explicit Children(const api::KindInfo& kind) : kind_(kind.hub) {}

  // Of an object of the kind.
  void OnChange(const api::Object* before, const api::Object* after);
  // In order of their names.
  std::vector<api::Object> Of(const api::Object& owner, const View& view) const;

  // Adopts and lets go, unless the owner is leaving. Its children then.
  StatusOr<std::vector<api::Object>> Gather(const api::Object& owner,
                                            const api::LabelMatcher& selector, View& view) const;

 private:
  std::vector<api::Object> Find(const std::vector<std::string>& names, std::string_view namespace_,
                                const View& view) const;

  const api::TypeInfo* kind_;
  Index by_owner_;  // uid
  Index orphans_;   // namespace
};

// The controller of an object if it is of kind T: its key, whatever has become of it.
template <typename T>
std::optional<ObjectKey> ControllerKey(const api::ObjectMeta& metadata) {
  const api::OwnerReference* owner = api::FindController(metadata);
  if (owner == nullptr || owner->kind != KindOf<T>().kind) return std::nullopt;
  if (owner->api_version != KindOf<T>().ApiVersion()) return std::nullopt;
  return ObjectKey::Of<T>(metadata.namespace_, owner->name);
}

}  // namespace dray::controllers
