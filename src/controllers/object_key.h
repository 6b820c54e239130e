// SPDX-License-Identifier: Apache-2.0
//
// ObjectKey: which object is meant, whatever has become of it.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "api/kinds.h"

namespace dray::controllers {

// The hub's row of a kind.
template <typename T>
const api::KindInfo& KindOf() {
  static const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<T>());
  return kind;
}

// Equal for all versions of a kind. Thread-compatible.
struct ObjectKey {
  const api::TypeInfo* kind = nullptr;  // the hub's
  std::string namespace_;
  std::string name;

  template <typename T>
  static ObjectKey Of(std::string_view namespace_, std::string_view name) {
    return {&api::TypeInfoOf<T>(), std::string(namespace_), std::string(name)};
  }
  static ObjectKey Of(const api::Object& object) {
    const api::ObjectMeta& metadata = object.metadata();
    return {object.kind().hub, metadata.namespace_, metadata.name};
  }
  template <typename T>
  bool Is() const {
    return kind == &api::TypeInfoOf<T>();
  }

  friend bool operator==(const ObjectKey&, const ObjectKey&) = default;
  // By namespace and name.
  friend bool operator<(const ObjectKey& a, const ObjectKey& b) {
    return std::tie(a.namespace_, a.name, a.kind) < std::tie(b.namespace_, b.name, b.kind);
  }
  template <typename H>
  friend H AbslHashValue(H h, const ObjectKey& key) {
    return H::combine(std::move(h), key.kind, key.namespace_, key.name);
  }
};

}  // namespace dray::controllers
