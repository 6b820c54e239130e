// SPDX-License-Identifier: Apache-2.0
#include "api/shown_name.h"

#include "fmt/format.h"

namespace dray::api {

std::string ShownName(const KindInfo& kind, std::string_view namespace_, std::string_view name) {
  if (!kind.namespaced) return fmt::format("{} \"{}\"", kind.kind, name);
  return fmt::format("{} \"{}/{}\"", kind.kind, namespace_, name);
}

std::string ShownName(const Object& object) {
  return ShownName(object.kind(), object.metadata().namespace_, object.metadata().name);
}

}  // namespace dray::api
