// SPDX-License-Identifier: Apache-2.0
#include "api/internal/field_hints.h"

#include <array>
#include <vector>

#include "base/edit_distance.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

struct Slip {
  std::string_view owner;
  std::string_view field;
  std::string_view hint;
};

// Differences between versions, between the proposals' examples and the API, and between what reads
// well and what is.
constexpr std::array kSlips = {
    Slip{"Device", "basic",
         "`basic` is v1beta1's; in this version its fields stand directly in the device"},
    Slip{
        "Device", "compatibilityGroups",
        "did you mean consumesCounters[].compatibilityGroups? A device has groups for each counter "
        "set that it draws on"},
    Slip{"CounterSet", "compatibilityGroups",
         "groups are the devices', in consumesCounters[].compatibilityGroups"},
    Slip{"ResourceSliceSpec", "compatibilityGroups",
         "groups are the devices', in devices[].consumesCounters[].compatibilityGroups"},
    Slip{"DeviceRequest", "derivedAttributes", "did you mean exactly.derivedAttributes?"},
    Slip{"DeviceSubRequest", "adminAccess", "admin access works with `exactly` only"},
    Slip{"DeviceSubRequest", "exactly",
         "an entry of firstAvailable has its fields directly, without `exactly`"},
    Slip{"DeviceSubRequest", "firstAvailable", "prioritized lists do not nest"},
    Slip{"DeviceConstraint", "matchAttributes",
         "did you mean matchAttribute? A constraint has one attribute"},
    Slip{"DeviceAttribute", "value",
         "a value is written by type: string, int, bool, version, or a list of these"},
    Slip{"DeviceCapacity", "quantity", "did you mean value?"},
    Slip{"DeviceCapacity", "sharingPolicy", "did you mean requestPolicy?"},
    Slip{"DeviceSelector", "expression", "did you mean cel.expression?"},
    Slip{"ResourceSliceSpec", "poolName", "did you mean pool.name?"},
};

const StructInfo* ContentOf(const TypeInfo* type) {
  while (type->element != nullptr && type->shape == Shape::kOptional) type = type->element;
  return type->shape == Shape::kStruct ? &type->fields() : nullptr;
}

}  // namespace

std::string HintForUnknownField(std::span<const StructInfo* const> parents, std::string_view name) {
  const StructInfo& owner = *parents.back();
  for (const Slip& slip : kSlips) {
    if (slip.owner == owner.name && slip.field == name) return std::string(slip.hint);
  }
  for (const FieldInfo& field : owner.fields) {  // one level too high
    const StructInfo* inner = ContentOf(field.type);
    if (inner != nullptr && inner != &owner && inner->Find(name) >= 0) {
      return fmt::format("did you mean {}.{}?", field.name, name);
    }
  }
  std::vector<std::string_view> names;
  for (const FieldInfo& field : owner.fields) names.push_back(field.name);
  if (const auto closest = base::ClosestMatch(name, names))
    return fmt::format("did you mean {}?", *closest);
  for (std::size_t up = parents.size() - 1; up-- > 0;) {  // too deep
    if (parents[up]->Find(name) >= 0) {
      return fmt::format("a field of {}, which stands further out", parents[up]->name);
    }
  }
  return "";
}

}  // namespace dray::api::internal
