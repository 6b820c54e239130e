// SPDX-License-Identifier: Apache-2.0
#include "rest/options.h"

namespace dray::rest {

using api::Field;
using api::Struct;
using api::StructInfo;

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

const StructInfo& InfoOf(const ScaleSpecBody*) {
  using T = ScaleSpecBody;
  static const StructInfo info = Struct<T>("ScaleSpec", {Field<&T::replicas>("replicas")});
  return info;
}

const StructInfo& InfoOf(const ScaleBody*) {
  using T = ScaleBody;
  static const StructInfo info =
      Struct<T>("Scale", {Field<&T::metadata>("metadata"), Field<&T::spec>("spec")});
  return info;
}

const StructInfo& InfoOf(const SelfReviewBody*) {
  using T = SelfReviewBody;
  static const StructInfo info = Struct<T>("SelfSubjectReview", {Field<&T::metadata>("metadata")});
  return info;
}

const StructInfo& InfoOf(const ResourceAttributes*) {
  using T = ResourceAttributes;
  static const StructInfo info = Struct<T>(
      "ResourceAttributes",
      {Field<&T::namespace_>("namespace"), Field<&T::verb>("verb"), Field<&T::group>("group"),
       Field<&T::version>("version"), Field<&T::resource>("resource"),
       Field<&T::subresource>("subresource"), Field<&T::name>("name")});
  return info;
}

const StructInfo& InfoOf(const NonResourceAttributes*) {
  using T = NonResourceAttributes;
  static const StructInfo info =
      Struct<T>("NonResourceAttributes", {Field<&T::path>("path"), Field<&T::verb>("verb")});
  return info;
}

const StructInfo& InfoOf(const AccessReviewSpec*) {
  using T = AccessReviewSpec;
  static const StructInfo info = Struct<T>(
      "SelfSubjectAccessReviewSpec", {Field<&T::resource_attributes>("resourceAttributes"),
                                      Field<&T::non_resource_attributes>("nonResourceAttributes")});
  return info;
}

const StructInfo& InfoOf(const AccessReviewBody*) {
  using T = AccessReviewBody;
  static const StructInfo info = Struct<T>(
      "SelfSubjectAccessReview", {Field<&T::metadata>("metadata"), Field<&T::spec>("spec")});
  return info;
}

const StructInfo& InfoOf(const RulesReviewSpec*) {
  using T = RulesReviewSpec;
  static const StructInfo info =
      Struct<T>("SelfSubjectRulesReviewSpec", {Field<&T::namespace_>("namespace")});
  return info;
}

const StructInfo& InfoOf(const RulesReviewBody*) {
  using T = RulesReviewBody;
  static const StructInfo info = Struct<T>(
      "SelfSubjectRulesReview", {Field<&T::metadata>("metadata"), Field<&T::spec>("spec")});
  return info;
}

}  // namespace dray::rest
