// SPDX-License-Identifier: Apache-2.0
#include "api/namespace.h"

namespace dray::api {

const StructInfo& InfoOf(const NamespaceSpec*) {
  using T = NamespaceSpec;
  static const StructInfo info = Struct<T>("NamespaceSpec", {
                                                                Field<&T::finalizers>("finalizers"),
                                                            });
  return info;
}

const StructInfo& InfoOf(const NamespaceCondition*) {
  using T = NamespaceCondition;
  static const StructInfo info = Struct<T>(
      "NamespaceCondition", {
                                Field<&T::type>("type", {.presence = Presence::kAlways}),
                                Field<&T::status>("status", {.presence = Presence::kAlways}),
                                Field<&T::last_transition_time>("lastTransitionTime"),
                                Field<&T::reason>("reason"),
                                Field<&T::message>("message"),
                            });
  return info;
}

const StructInfo& InfoOf(const NamespaceStatus*) {
  using T = NamespaceStatus;
  static const StructInfo info =
      Struct<T>("NamespaceStatus",
                {
                    Field<&T::phase>("phase"),
                    Field<&T::conditions>("conditions", {.list = ListKind::kMap, .keys = "type"}),
                });
  return info;
}

const StructInfo& InfoOf(const Namespace*) {
  using T = Namespace;
  static const StructInfo info = Struct<T>("Namespace", {
                                                            Field<&T::metadata>("metadata"),
                                                            Field<&T::spec>("spec"),
                                                            Field<&T::status>("status"),
                                                        });
  return info;
}

}  // namespace dray::api
