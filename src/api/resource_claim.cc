// SPDX-License-Identifier: Apache-2.0
#include "api/resource_claim.h"

namespace dray::api {

const StructInfo& InfoOf(const CELDeviceSelector*) {
  using T = CELDeviceSelector;
  static const StructInfo info = Struct<T>(
      "CELDeviceSelector", {
                               Field<&T::expression>("expression", {.presence = Presence::kAlways}),
                           });
  return info;
}

const StructInfo& InfoOf(const DeviceSelector*) {
  using T = DeviceSelector;
  static const StructInfo info = Struct<T>("DeviceSelector", {
                                                                 Field<&T::cel>("cel"),
                                                             });
  return info;
}

const StructInfo& InfoOf(const DeviceToleration*) {
  using T = DeviceToleration;
  static const StructInfo info =
      Struct<T>("DeviceToleration", {
                                        Field<&T::key>("key"),
                                        Field<&T::operator_>("operator"),
                                        Field<&T::value>("value"),
                                        Field<&T::effect>("effect"),
                                        Field<&T::toleration_seconds>("tolerationSeconds"),
                                    });
  return info;
}

const StructInfo& InfoOf(const CapacityRequirements*) {
  using T = CapacityRequirements;
  static const StructInfo info =
      Struct<T>("CapacityRequirements", {
                                            Field<&T::requests>("requests"),
                                        });
  return info;
}

const StructInfo& InfoOf(const DeviceDerivedAttribute*) {
  using T = DeviceDerivedAttribute;
  static const StructInfo info =
      Struct<T>("DeviceDerivedAttribute",
                {
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::expression>("expression", {.presence = Presence::kAlways}),
                });
  return info;
}

const StructInfo& InfoOf(const ExactDeviceRequest*) {
  using T = ExactDeviceRequest;
  static const StructInfo info = Struct<T>(
      "ExactDeviceRequest",
      {
          Field<&T::device_class_name>("deviceClassName", {.presence = Presence::kAlways}),
          Field<&T::selectors>("selectors"),
          Field<&T::allocation_mode>("allocationMode"),
          Field<&T::count>("count"),
          Field<&T::admin_access>("adminAccess", {.gate = Gate::kDRAAdminAccess}),
          Field<&T::tolerations>("tolerations", {.gate = Gate::kDRADeviceTaints}),
          Field<&T::capacity>("capacity", {.gate = Gate::kDRAConsumableCapacity}),
          Field<&T::derived_attributes>("derivedAttributes", {.gate = Gate::kDRADerivedAttributes}),
      });
  return info;
}

const StructInfo& InfoOf(const DeviceSubRequest*) {
  using T = DeviceSubRequest;
  static const StructInfo info = Struct<T>(
      "DeviceSubRequest",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways}),
          Field<&T::device_class_name>("deviceClassName", {.presence = Presence::kAlways}),
          Field<&T::selectors>("selectors"),
          Field<&T::allocation_mode>("allocationMode"),
          Field<&T::count>("count"),
          Field<&T::tolerations>("tolerations", {.gate = Gate::kDRADeviceTaints}),
          Field<&T::capacity>("capacity", {.gate = Gate::kDRAConsumableCapacity}),
          Field<&T::derived_attributes>("derivedAttributes", {.gate = Gate::kDRADerivedAttributes}),
      });
  return info;
}

const StructInfo& InfoOf(const DeviceRequest*) {
  using T = DeviceRequest;
  static const StructInfo info = Struct<T>(
      "DeviceRequest",
      {
          Field<&T::name>("name", {.presence = Presence::kAlways}),
          Field<&T::exactly>("exactly"),
          Field<&T::first_available>("firstAvailable", {.gate = Gate::kDRAPrioritizedList}),
      });
  return info;
}

const StructInfo& InfoOf(const DeviceConstraint*) {
  using T = DeviceConstraint;
  static const StructInfo info = Struct<T>(
      "DeviceConstraint", {
                              Field<&T::requests>("requests"),
                              Field<&T::match_attribute>("matchAttribute"),
                              Field<&T::distinct_attribute>("distinctAttribute",
                                                            {.gate = Gate::kDRAConsumableCapacity}),
                          });
  return info;
}

const StructInfo& InfoOf(const OpaqueDeviceConfiguration*) {
  using T = OpaqueDeviceConfiguration;
  static const StructInfo info =
      Struct<T>("OpaqueDeviceConfiguration",
                {
                    Field<&T::driver>("driver", {.presence = Presence::kAlways}),
                    Field<&T::parameters>("parameters", {.presence = Presence::kAlways}),
                });
  return info;
}

const StructInfo& InfoOf(const DeviceClaimConfiguration*) {
  using T = DeviceClaimConfiguration;
  static const StructInfo info =
      Struct<T>("DeviceClaimConfiguration", {
                                                Field<&T::requests>("requests"),
                                                Field<&T::opaque>("opaque"),
                                            });
  return info;
}

const StructInfo& InfoOf(const DeviceClaim*) {
  using T = DeviceClaim;
  static const StructInfo info =
      Struct<T>("DeviceClaim", {
                                   Field<&T::requests>("requests", {.presence = Presence::kAlways}),
                                   Field<&T::constraints>("constraints"),
                                   Field<&T::config>("config"),
                               });
  return info;
}

const StructInfo& InfoOf(const ResourceClaimSpec*) {
  using T = ResourceClaimSpec;
  static const StructInfo info = Struct<T>(
      "ResourceClaimSpec", {
                               Field<&T::devices>("devices", {.presence = Presence::kAlways}),
                           });
  return info;
}

const StructInfo& InfoOf(const DeviceRequestAllocationResult*) {
  using T = DeviceRequestAllocationResult;
  static const StructInfo info = Struct<T>(
      "DeviceRequestAllocationResult",
      {
          Field<&T::request>("request", {.presence = Presence::kAlways}),
          Field<&T::driver>("driver", {.presence = Presence::kAlways}),
          Field<&T::pool>("pool", {.presence = Presence::kAlways}),
          Field<&T::device>("device", {.presence = Presence::kAlways}),
          Field<&T::admin_access>("adminAccess", {.gate = Gate::kDRAAdminAccess}),
          Field<&T::tolerations>("tolerations", {.gate = Gate::kDRADeviceTaints}),
          Field<&T::binding_conditions>("bindingConditions",
                                        {.gate = Gate::kDRADeviceBindingConditions}),
          Field<&T::binding_failure_conditions>("bindingFailureConditions",
                                                {.gate = Gate::kDRADeviceBindingConditions}),
          Field<&T::share_id>("shareID", {.gate = Gate::kDRAConsumableCapacity}),
          Field<&T::consumed_capacity>("consumedCapacity", {.gate = Gate::kDRAConsumableCapacity}),
          Field<&T::skip_node_operations>("skipNodeOperations",
                                          {.list = ListKind::kSet,
                                           .gate = Gate::kDRAOptionalNodeOperations,
                                           .patch_key = kPatchReplaces}),
          Field<&T::compatibility_groups>("compatibilityGroups",
                                          {.gate = Gate::kDRADeviceCompatibilityGroups}),
      });
  return info;
}

const StructInfo& InfoOf(const DeviceAllocationConfiguration*) {
  using T = DeviceAllocationConfiguration;
  static const StructInfo info =
      Struct<T>("DeviceAllocationConfiguration",
                {
                    Field<&T::source>("source", {.presence = Presence::kAlways}),
                    Field<&T::requests>("requests"),
                    Field<&T::opaque>("opaque"),
                });
  return info;
}

const StructInfo& InfoOf(const DeviceAllocationResult*) {
  using T = DeviceAllocationResult;
  static const StructInfo info =
      Struct<T>("DeviceAllocationResult", {
                                              Field<&T::results>("results"),
                                              Field<&T::config>("config"),
                                          });
  return info;
}

const StructInfo& InfoOf(const AllocationResult*) {
  using T = AllocationResult;
  static const StructInfo info =
      Struct<T>("AllocationResult",
                {
                    Field<&T::devices>("devices"),
                    Field<&T::node_selector>("nodeSelector"),
                    Field<&T::allocation_timestamp>("allocationTimestamp",
                                                    {.gate = Gate::kDRADeviceBindingConditions}),
                });
  return info;
}

const StructInfo& InfoOf(const ResourceClaimConsumerReference*) {
  using T = ResourceClaimConsumerReference;
  static const StructInfo info =
      Struct<T>("ResourceClaimConsumerReference",
                {
                    Field<&T::api_group>("apiGroup"),
                    Field<&T::resource>("resource", {.presence = Presence::kAlways}),
                    Field<&T::name>("name", {.presence = Presence::kAlways}),
                    Field<&T::uid>("uid", {.presence = Presence::kAlways}),
                });
  return info;
}

const StructInfo& InfoOf(const NetworkDeviceData*) {
  using T = NetworkDeviceData;
  static const StructInfo info =
      Struct<T>("NetworkDeviceData", {
                                         Field<&T::interface_name>("interfaceName"),
                                         Field<&T::ips>("ips"),
                                         Field<&T::hardware_address>("hardwareAddress"),
                                     });
  return info;
}

const StructInfo& InfoOf(const AllocatedDeviceStatus*) {
  using T = AllocatedDeviceStatus;
  static const StructInfo info =
      Struct<T>("AllocatedDeviceStatus",
                {
                    Field<&T::driver>("driver", {.presence = Presence::kAlways}),
                    Field<&T::pool>("pool", {.presence = Presence::kAlways}),
                    Field<&T::device>("device", {.presence = Presence::kAlways}),
                    Field<&T::share_id>("shareID", {.gate = Gate::kDRAConsumableCapacity}),
                    Field<&T::conditions>("conditions", {.presence = Presence::kAlways,
                                                         .list = ListKind::kMap,
                                                         .keys = "type",
                                                         .patch_key = kPatchReplaces}),
                    Field<&T::data>("data"),
                    Field<&T::network_data>("networkData"),
                });
  return info;
}

const StructInfo& InfoOf(const ResourceClaimStatus*) {
  using T = ResourceClaimStatus;
  static const StructInfo info =
      Struct<T>("ResourceClaimStatus",
                {
                    Field<&T::allocation>("allocation"),
                    Field<&T::reserved_for>("reservedFor", {.list = ListKind::kMap, .keys = "uid"}),
                    Field<&T::devices>("devices", {.list = ListKind::kMap,
                                                   .keys = "driver,device,pool,shareID",
                                                   .gate = Gate::kDRAResourceClaimDeviceStatus,
                                                   .patch_key = kPatchReplaces}),
                });
  return info;
}

const StructInfo& InfoOf(const ResourceClaim*) {
  using T = ResourceClaim;
  static const StructInfo info =
      Struct<T>("ResourceClaim", {
                                     Field<&T::metadata>("metadata"),
                                     Field<&T::spec>("spec", {.presence = Presence::kAlways}),
                                     Field<&T::status>("status", {.presence = Presence::kAlways}),
                                 });
  return info;
}

const StructInfo& InfoOf(const ResourceClaimTemplateSpec*) {
  using T = ResourceClaimTemplateSpec;
  static const StructInfo info = Struct<T>(
      "ResourceClaimTemplateSpec", {
                                       Field<&T::metadata>("metadata"),
                                       Field<&T::spec>("spec", {.presence = Presence::kAlways}),
                                   });
  return info;
}

const StructInfo& InfoOf(const ResourceClaimTemplate*) {
  using T = ResourceClaimTemplate;
  static const StructInfo info = Struct<T>(
      "ResourceClaimTemplate", {
                                   Field<&T::metadata>("metadata"),
                                   Field<&T::spec>("spec", {.presence = Presence::kAlways}),
                               });
  return info;
}

}  // namespace dray::api
