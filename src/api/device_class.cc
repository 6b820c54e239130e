// SPDX-License-Identifier: Apache-2.0
#include "api/device_class.h"

namespace dray::api {

const StructInfo& InfoOf(const DeviceClassConfiguration*) {
  using T = DeviceClassConfiguration;
  static const StructInfo info =
      Struct<T>("DeviceClassConfiguration", {
                                                Field<&T::opaque>("opaque"),
                                            });
  return info;
}

const StructInfo& InfoOf(const DeviceClassSpec*) {
  using T = DeviceClassSpec;
  static const StructInfo info = Struct<T>(
      "DeviceClassSpec", {
                             Field<&T::selectors>("selectors"),
                             Field<&T::config>("config"),
                             Field<&T::extended_resource_name>(
                                 "extendedResourceName", {.gate = Gate::kDRAExtendedResource}),
                         });
  return info;
}

const StructInfo& InfoOf(const DeviceClass*) {
  using T = DeviceClass;
  static const StructInfo info =
      Struct<T>("DeviceClass", {
                                   Field<&T::metadata>("metadata"),
                                   Field<&T::spec>("spec", {.presence = Presence::kAlways}),
                               });
  return info;
}

const StructInfo& InfoOf(const DeviceTaintSelector*) {
  using T = DeviceTaintSelector;
  static const StructInfo info = Struct<T>("DeviceTaintSelector", {
                                                                      Field<&T::driver>("driver"),
                                                                      Field<&T::pool>("pool"),
                                                                      Field<&T::device>("device"),
                                                                  });
  return info;
}

const StructInfo& InfoOf(const DeviceTaintRuleSpec*) {
  using T = DeviceTaintRuleSpec;
  static const StructInfo info = Struct<T>(
      "DeviceTaintRuleSpec", {
                                 Field<&T::device_selector>("deviceSelector"),
                                 Field<&T::taint>("taint", {.presence = Presence::kAlways}),
                             });
  return info;
}

const StructInfo& InfoOf(const DeviceTaintRuleStatus*) {
  using T = DeviceTaintRuleStatus;
  static const StructInfo info =
      Struct<T>("DeviceTaintRuleStatus",
                {
                    Field<&T::conditions>("conditions", {.list = ListKind::kMap, .keys = "type"}),
                });
  return info;
}

const StructInfo& InfoOf(const DeviceTaintRule*) {
  using T = DeviceTaintRule;
  static const StructInfo info =
      Struct<T>("DeviceTaintRule", {
                                       Field<&T::metadata>("metadata"),
                                       Field<&T::spec>("spec", {.presence = Presence::kAlways}),
                                       Field<&T::status>("status"),
                                   });
  return info;
}

}  // namespace dray::api
