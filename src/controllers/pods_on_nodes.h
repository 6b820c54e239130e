// SPDX-License-Identifier: Apache-2.0
//
// PodsOnNodes: which pods are bound to which node, kept from changes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/pod.h"
#include "controllers/index.h"
#include "controllers/object_key.h"
#include "fmt/format.h"

namespace dray::controllers {

// The node of a pod; empty without one, and of no pod.
inline std::string_view NodeOf(const api::Object* pod) {
  return pod == nullptr ? std::string_view() : pod->As<api::Pod>()->spec.node_name;
}

// Thread-compatible.
class PodsOnNodes {
 public:
  // Of a pod: null before it was there, and when it is gone.
  void OnChange(const api::Object* before, const api::Object* after) {
    if (NodeOf(before) == NodeOf(after)) return;
    const api::ObjectMeta& metadata = (after != nullptr ? after : before)->metadata();
    const std::string path = fmt::format("{}/{}", metadata.namespace_, metadata.name);
    if (!NodeOf(before).empty()) pods_.Remove(NodeOf(before), path);
    if (!NodeOf(after).empty()) pods_.Add(NodeOf(after), path);
  }

  std::vector<ObjectKey> On(std::string_view node) const {
    std::vector<ObjectKey> keys;
    for (const std::string& path : pods_.At(node)) {
      const auto slash = path.find('/');
      keys.push_back(ObjectKey::Of<api::Pod>(path.substr(0, slash), path.substr(slash + 1)));
    }
    return keys;
  }

 private:
  Index pods_;  // by node: "namespace/name"
};

}  // namespace dray::controllers
