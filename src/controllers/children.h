// SPDX-License-Identifier: Apache-2.0
//
// Children: which objects of one kind are controlled by whom. A workload's children are those that
// its selector selects: it adopts what has no controller, and lets go what no longer fits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "api/kinds.h"
#include "api/label_selector.h"
#include "base/status.h"
#include "base/string_map.h"
#include "controllers/object_key.h"
#include "controllers/view.h"

namespace dray::controllers {

// Kept from changes. A workload may have many thousands, and is looked at again and again while
// they come: the objects themselves are here, so that nobody has to look each of them up. One
// thread.
class Children {
 public:
  // Of an object of the kind.
  void OnChange(const api::Object* before, const api::Object* after);
  // In order of their names.
  std::vector<api::Object> Of(const api::Object& owner) const {
    return All(by_owner_, owner.metadata().uid);
  }

  // Adopts and lets go, unless the owner is leaving. Its children then.
  StatusOr<std::vector<api::Object>> Gather(const api::Object& owner,
                                            const api::LabelMatcher& selector, View& view) const;

 private:
  using Families = base::StringMap<absl::btree_map<std::string, api::Object>>;  // by name
  static std::vector<api::Object> All(const Families& families, std::string_view family);

  Families by_owner_;  // uid
  Families orphans_;   // namespace
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
