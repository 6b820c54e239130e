// SPDX-License-Identifier: Apache-2.0
#include "rest/options.h"

namespace dray::rest {

using api::Field;
using api::Struct;
using api::StructInfo;

const StructInfo& InfoOf(const Preconditions*) {
  using T = Preconditions;
  static const StructInfo info = Struct<T>(
      "Preconditions", {Field<&T::uid>("uid"), Field<&T::resource_version>("resourceVersion")});
  return info;
}

const StructInfo& InfoOf(const DeleteOptionsBody*) {
  using T = DeleteOptionsBody;
  static const StructInfo info = Struct<T>(
      "DeleteOptions",
      {Field<&T::grace_period_seconds>("gracePeriodSeconds"),
       Field<&T::preconditions>("preconditions"), Field<&T::orphan_dependents>("orphanDependents"),
       Field<&T::propagation_policy>("propagationPolicy"), Field<&T::dry_run>("dryRun")});
  return info;
}

const StructInfo& InfoOf(const EvictionBody*) {
  using T = EvictionBody;
  static const StructInfo info = Struct<T>(
      "Eviction", {Field<&T::metadata>("metadata"), Field<&T::delete_options>("deleteOptions")});
  return info;
}

const StructInfo& InfoOf(const BindingBody*) {
  using T = BindingBody;
  static const StructInfo info =
      Struct<T>("Binding", {Field<&T::metadata>("metadata"), Field<&T::target>("target")});
  return info;
}

}  // namespace dray::rest
