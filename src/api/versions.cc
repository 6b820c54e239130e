// SPDX-License-Identifier: Apache-2.0
#include "api/versions.h"

#include <algorithm>

#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "base/check.h"

namespace dray::api {
namespace {

// The hub's type with another table for the struct inside (through lists and optionals).
TypeInfo StructType(const TypeInfo& hub, const StructInfo& (*fields)()) {
  TypeInfo type = hub;
  type.fields_of = fields;
  return type;
}
TypeInfo Around(const TypeInfo& hub, const TypeInfo& element) {
  TypeInfo type = hub;
  type.element = &element;
  return type;
}

// The hub's table with another type for one field.
StructInfo With(const StructInfo& hub, std::string_view name, const TypeInfo& type) {
  StructInfo info = hub;
  const int index = info.Find(name);
  DRAY_CHECK(index >= 0, name);
  info.fields[static_cast<std::size_t>(index)].type = &type;
  return info;
}

// A field of `exactly` that v1beta1 has in the request itself. Reading it makes `exactly`.
template <auto Member>
FieldInfo Flattened(std::string_view name) {
  const StructInfo& exact = InfoOf(static_cast<const ExactDeviceRequest*>(nullptr));
  FieldInfo field = exact.fields[static_cast<std::size_t>(exact.Find(name))];
  field.options.presence = Presence::kOmitEmpty;  // a request with firstAvailable has none of them
  field.plain_member = false;
  field.offset = -1;
  field.get = [](const void* object) -> const void* {
    const auto& request = *static_cast<const DeviceRequest*>(object);
    return request.exactly.has_value() ? static_cast<const void*>(&((*request.exactly).*Member))
                                       : nullptr;
  };
  field.mut = [](void* object) -> void* {
    auto& request = *static_cast<DeviceRequest*>(object);
    if (!request.exactly.has_value()) request.exactly.emplace();
    return &((*request.exactly).*Member);
  };
  return field;
}

// A plain value in v1beta1, written even where the request has alternatives instead.
FieldInfo FlattenedClassName() {
  using E = ExactDeviceRequest;
  FieldInfo field = Flattened<&E::device_class_name>("deviceClassName");
  field.options.presence = Presence::kAlways;
  field.get = [](const void* object) -> const void* {
    static const decltype(E::device_class_name) kNone;
    const auto& request = *static_cast<const DeviceRequest*>(object);
    return request.exactly.has_value() ? &request.exactly->device_class_name : &kNone;
  };
  return field;
}

const StructInfo& DeviceRequestFields() {
  using E = ExactDeviceRequest;
  static const StructInfo info = [] {
    StructInfo table = Struct<DeviceRequest>(
        "DeviceRequest", {
                             Field<&DeviceRequest::name>("name", {.presence = Presence::kAlways}),
                             FlattenedClassName(),
                             Flattened<&E::selectors>("selectors"),
                             Flattened<&E::allocation_mode>("allocationMode"),
                             Flattened<&E::count>("count"),
                             Flattened<&E::admin_access>("adminAccess"),
                             Field<&DeviceRequest::first_available>(
                                 "firstAvailable", {.gate = Gate::kDRAPrioritizedList}),
                             Flattened<&E::tolerations>("tolerations"),
                             Flattened<&E::capacity>("capacity"),
                             Flattened<&E::derived_attributes>("derivedAttributes"),
                         });
    // Fields that are there but empty ask for nothing: such a request is not an exact one.
    table.after_decode = [](void* object) {
      auto& request = *static_cast<DeviceRequest*>(object);
      if (request.exactly.has_value() && IsEmptyValue(TypeInfoOf<E>(), &*request.exactly))
        request.exactly.reset();
    };
    return table;
  }();
  return info;
}

const StructInfo& DeviceClaimFields() {
  static const TypeInfo request = StructType(TypeInfoOf<DeviceRequest>(), &DeviceRequestFields);
  static const TypeInfo requests = Around(TypeInfoOf<std::vector<DeviceRequest>>(), request);
  static const StructInfo info =
      With(InfoOf(static_cast<const DeviceClaim*>(nullptr)), "requests", requests);
  return info;
}

const StructInfo& ClaimSpecFields() {
  static const TypeInfo devices = StructType(TypeInfoOf<DeviceClaim>(), &DeviceClaimFields);
  static const StructInfo info =
      With(InfoOf(static_cast<const ResourceClaimSpec*>(nullptr)), "devices", devices);
  return info;
}

const TypeInfo& ClaimSpecType() {
  static const TypeInfo type = StructType(TypeInfoOf<ResourceClaimSpec>(), &ClaimSpecFields);
  return type;
}

const StructInfo& ClaimFields() {
  static const StructInfo info =
      With(InfoOf(static_cast<const ResourceClaim*>(nullptr)), "spec", ClaimSpecType());
  return info;
}

const StructInfo& TemplateSpecFields() {
  static const StructInfo info =
      With(InfoOf(static_cast<const ResourceClaimTemplateSpec*>(nullptr)), "spec", ClaimSpecType());
  return info;
}

const StructInfo& TemplateFields() {
  static const TypeInfo spec =
      StructType(TypeInfoOf<ResourceClaimTemplateSpec>(), &TemplateSpecFields);
  static const StructInfo info =
      With(InfoOf(static_cast<const ResourceClaimTemplate*>(nullptr)), "spec", spec);
  return info;
}

// `basic` is not a place of its own: it is the device again, without its name.
const StructInfo& BasicDeviceFields() {
  static const StructInfo info = [] {
    const StructInfo& device = InfoOf(static_cast<const Device*>(nullptr));
    std::vector<FieldInfo> fields;
    std::ranges::copy_if(device.fields, std::back_inserter(fields),
                         [](const FieldInfo& f) { return f.name != "name"; });
    return Struct<Device>("BasicDevice", std::move(fields));
  }();
  return info;
}

const TypeInfo& BasicDeviceType() {
  static const TypeInfo type = [] {
    TypeInfo basic = StructType(TypeInfoOf<Device>(), &BasicDeviceFields);
    basic.reset = [](void*) {
    };  // a repeated `basic` is read over the first; the name is not its to reset
    return basic;
  }();
  return type;
}

const StructInfo& DeviceFields() {
  static const StructInfo info = [] {
    FieldInfo basic{.name = "basic",
                    .type = &BasicDeviceType(),
                    .options = {.presence = Presence::kAlways},
                    .get = [](const void* device) { return device; },
                    .mut = [](void* device) { return device; }};
    StructInfo table = Struct<Device>(
        "Device", {Field<&Device::name>("name", {.presence = Presence::kAlways}), basic});
    table.unknown = nullptr;  // written once, inside `basic`
    return table;
  }();
  return info;
}

const StructInfo& SliceSpecFields() {
  static const TypeInfo device = StructType(TypeInfoOf<Device>(), &DeviceFields);
  static const TypeInfo list = Around(TypeInfoOf<std::vector<Device>>(), device);
  static const TypeInfo devices = Around(TypeInfoOf<std::optional<std::vector<Device>>>(), list);
  static const StructInfo info = [] {
    StructInfo table =
        With(InfoOf(static_cast<const ResourceSliceSpec*>(nullptr)), "devices", devices);
    // Plain values in v1beta1: "" and false are how it says that there is none, and are not written.
    const auto plain = [&table](std::string_view name, const void* (*get)(const void*)) {
      FieldInfo& field = table.fields[static_cast<std::size_t>(table.Find(name))];
      field.get = get;
      field.offset = -1;
      field.plain_member = false;
    };
    plain("nodeName", [](const void* object) -> const void* {
      const auto& name = static_cast<const ResourceSliceSpec*>(object)->node_name;
      return name && !name->empty() ? &name : nullptr;
    });
    plain("allNodes", [](const void* object) -> const void* {
      const auto& all = static_cast<const ResourceSliceSpec*>(object)->all_nodes;
      return all == true ? &all : nullptr;
    });
    table.after_decode = [](void* object) {
      auto& spec = *static_cast<ResourceSliceSpec*>(object);
      if (spec.node_name && spec.node_name->empty()) spec.node_name.reset();
      if (spec.all_nodes == false) spec.all_nodes.reset();
    };
    return table;
  }();
  return info;
}

const StructInfo& SliceFields() {
  static const TypeInfo spec = StructType(TypeInfoOf<ResourceSliceSpec>(), &SliceSpecFields);
  static const StructInfo info =
      With(InfoOf(static_cast<const ResourceSlice*>(nullptr)), "spec", spec);
  return info;
}

}  // namespace

const TypeInfo& ResourceSliceV1beta1() {
  static const TypeInfo type = StructType(TypeInfoOf<ResourceSlice>(), &SliceFields);
  return type;
}
const TypeInfo& ResourceClaimV1beta1() {
  static const TypeInfo type = StructType(TypeInfoOf<ResourceClaim>(), &ClaimFields);
  return type;
}
const TypeInfo& ResourceClaimTemplateV1beta1() {
  static const TypeInfo type = StructType(TypeInfoOf<ResourceClaimTemplate>(), &TemplateFields);
  return type;
}

}  // namespace dray::api
