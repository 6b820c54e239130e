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

const StructInfo& InfoOf(const SelectorRequirement*) {
  using T = SelectorRequirement;
  static const StructInfo info = Struct<T>(
      "SelectorRequirement",
      {Field<&T::key>("key"), Field<&T::operator_>("operator"), Field<&T::values>("values")});
  return info;
}

const StructInfo& InfoOf(const SelectorAttributes*) {
  using T = SelectorAttributes;
  static const StructInfo info =
      Struct<T>("SelectorAttributes",
                {Field<&T::raw_selector>("rawSelector"), Field<&T::requirements>("requirements")});
  return info;
}

const StructInfo& InfoOf(const ResourceAttributes*) {
  using T = ResourceAttributes;
  static const StructInfo info = Struct<T>(
      "ResourceAttributes",
      {Field<&T::namespace_>("namespace"), Field<&T::verb>("verb"), Field<&T::group>("group"),
       Field<&T::version>("version"), Field<&T::resource>("resource"),
       Field<&T::subresource>("subresource"), Field<&T::name>("name"),
       Field<&T::field_selector>("fieldSelector"), Field<&T::label_selector>("labelSelector")});
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

const StructInfo& InfoOf(const SubjectAccessReviewSpec*) {
  using T = SubjectAccessReviewSpec;
  static const StructInfo info = Struct<T>(
      "SubjectAccessReviewSpec",
      {Field<&T::resource_attributes>("resourceAttributes"),
       Field<&T::non_resource_attributes>("nonResourceAttributes"), Field<&T::user>("user"),
       Field<&T::groups>("groups"), Field<&T::extra>("extra"), Field<&T::uid>("uid")});
  return info;
}

const StructInfo& InfoOf(const SubjectAccessReviewBody*) {
  using T = SubjectAccessReviewBody;
  static const StructInfo info =
      Struct<T>("SubjectAccessReview", {Field<&T::metadata>("metadata"), Field<&T::spec>("spec")});
  return info;
}

const StructInfo& InfoOf(const LocalSubjectAccessReviewBody*) {
  using T = LocalSubjectAccessReviewBody;
  static const StructInfo info = Struct<T>(
      "LocalSubjectAccessReview", {Field<&T::metadata>("metadata"), Field<&T::spec>("spec")});
  return info;
}

const StructInfo& InfoOf(const TokenReviewSpec*) {
  using T = TokenReviewSpec;
  static const StructInfo info =
      Struct<T>("TokenReviewSpec", {Field<&T::token>("token"), Field<&T::audiences>("audiences")});
  return info;
}

const StructInfo& InfoOf(const TokenReviewBody*) {
  using T = TokenReviewBody;
  static const StructInfo info =
      Struct<T>("TokenReview", {Field<&T::metadata>("metadata"), Field<&T::spec>("spec")});
  return info;
}

const StructInfo& InfoOf(const BoundObjectReference*) {
  using T = BoundObjectReference;
  static const StructInfo info = Struct<T>(
      "BoundObjectReference", {Field<&T::kind>("kind"), Field<&T::api_version>("apiVersion"),
                               Field<&T::name>("name"), Field<&T::uid>("uid")});
  return info;
}

const StructInfo& InfoOf(const TokenRequestSpec*) {
  using T = TokenRequestSpec;
  static const StructInfo info =
      Struct<T>("TokenRequestSpec", {Field<&T::audiences>("audiences"),
                                     Field<&T::expiration_seconds>("expirationSeconds"),
                                     Field<&T::bound_object_ref>("boundObjectRef")});
  return info;
}

const StructInfo& InfoOf(const TokenRequestBody*) {
  using T = TokenRequestBody;
  static const StructInfo info =
      Struct<T>("TokenRequest", {Field<&T::metadata>("metadata"), Field<&T::spec>("spec")});
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
