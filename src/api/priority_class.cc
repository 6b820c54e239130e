// SPDX-License-Identifier: Apache-2.0
#include "api/priority_class.h"

namespace dray::api {

const StructInfo& InfoOf(const PriorityClass*) {
  using T = PriorityClass;
  static const StructInfo info =
      Struct<T>("PriorityClass", {
                                     Field<&T::metadata>("metadata"),
                                     Field<&T::value>("value", {.presence = Presence::kAlways}),
                                     Field<&T::global_default>("globalDefault"),
                                     Field<&T::description>("description"),
                                     Field<&T::preemption_policy>("preemptionPolicy"),
                                 });
  return info;
}

}  // namespace dray::api
