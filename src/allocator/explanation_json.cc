// SPDX-License-Identifier: Apache-2.0
//
// The JSON of an explanation: field tables, as the API's objects have them. Names and codes are
// stable; docs/explanations.md is their description.
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "allocator/explanation.h"
#include "api/field_table.h"
#include "api/json.h"

namespace dray::allocator {

using api::Field;
using api::Presence;
using api::Struct;
using api::StructInfo;

namespace {

// Counts and flags that somebody may want to compare are there even when they are zero.
constexpr api::FieldOptions kAlways{.presence = Presence::kAlways};

// A field for reading only, whose text `Text` finds.
template <const std::string& (*Text)(const void*)>
api::FieldInfo Code(std::string_view name) {
  return {.name = name,
          .type = &api::TypeInfoOf<std::string>(),
          .options = kAlways,
          .get = [](const void* object) -> const void* { return &Text(object); },
          .mut = nullptr};
}

const std::string& ReasonCode(const void* drop) {
  return CodeOf(static_cast<const Drop*>(drop)->reason);
}

const std::string& KindCode(const void* explanation) {
  static const std::array<std::string, 4> codes = {"fits", "refused", "fault", "gave_up"};
  return codes[static_cast<std::size_t>(static_cast<const Explanation*>(explanation)->kind)];
}

const std::string& TypeCode(const void* report) {
  static const std::map<std::string_view, std::string> names = [] {
    std::map<std::string_view, std::string> all;
    for (const ConstraintType* type : ConstraintTypes()) {
      all.emplace(type->field(), std::string(type->field()));
    }
    return all;
  }();
  return names.at(static_cast<const ConstraintReport*>(report)->type->field());
}

// From before constraints had a `type`.
api::FieldInfo Distinct() {
  return {.name = "distinct",
          .type = &api::TypeInfoOf<bool>(),
          .options = kAlways,
          .get = [](const void* report) -> const void* {
            static const bool yes = true;
            static const bool no = false;
            const ConstraintType* type = static_cast<const ConstraintReport*>(report)->type;
            return type->promise() == Promise::kDisjointElements ? &yes : &no;
          },
          .mut = nullptr};
}

}  // namespace

const std::string& CodeOf(Reason reason) {
  static const std::array<std::string, 18> codes = {"binding_conditions_off",
                                                    "selector_false",
                                                    "expression_error",
                                                    "other_node",
                                                    "capacity_missing",
                                                    "capacity_policy",
                                                    "capacity_too_small",
                                                    "groups_off",
                                                    "in_use",
                                                    "in_use_by_shares",
                                                    "capacity_in_use",
                                                    "node_operations",
                                                    "counters_off",
                                                    "groups",
                                                    "counters",
                                                    "counters_overdrawn",
                                                    "taint",
                                                    "attribute_missing"};
  return codes[static_cast<std::size_t>(reason)];
}

static const StructInfo& InfoOf(const DeviceName*) {
  using T = DeviceName;
  static const StructInfo info = Struct<T>(
      "DeviceName",
      {Field<&T::driver>("driver"), Field<&T::pool>("pool"), Field<&T::device>("device")});
  return info;
}

static const StructInfo& InfoOf(const Holding*) {
  using T = Holding;
  static const StructInfo info = Struct<T>(
      "Holding", {Field<&T::claim>("claim"), Field<&T::who>("who"), Field<&T::about>("about"),
                  Field<&T::planned>("planned"), Field<&T::devices>("devices", kAlways),
                  Field<&T::examples>("examples")});
  return info;
}

static const StructInfo& InfoOf(const Drop*) {
  using T = Drop;
  static const StructInfo info =
      Struct<T>("Drop", {Code<&ReasonCode>("reason"), Field<&T::devices>("devices", kAlways),
                         Field<&T::examples>("examples"), Field<&T::selector>("selector"),
                         Field<&T::of_class>("ofClass"), Field<&T::expression>("expression"),
                         Field<&T::message>("message"), Field<&T::subject>("subject"),
                         Field<&T::constraint>("constraint"), Field<&T::pool>("pool"),
                         Field<&T::counter_set>("counterSet"), Field<&T::asked>("asked"),
                         Field<&T::allowed>("allowed"), Field<&T::available>("available"),
                         Field<&T::short_by>("shortBy"), Field<&T::declared>("declaredGroups"),
                         Field<&T::placed>("placedGroups"), Field<&T::holders>("holders")});
  return info;
}

static const StructInfo& InfoOf(const GroupReport*) {
  using T = GroupReport;
  static const StructInfo info = Struct<T>(
      "GroupReport", {Field<&T::groups>("groups"), Field<&T::devices>("devices", kAlways)});
  return info;
}

static const StructInfo& InfoOf(const AlternativeReport*) {
  using T = AlternativeReport;
  static const StructInfo info = Struct<T>(
      "AlternativeReport",
      {Field<&T::name>("name"), Field<&T::device_class>("deviceClass"), Field<&T::error>("error"),
       Field<&T::all>("all"), Field<&T::admin_access>("adminAccess"),
       Field<&T::needed>("needed", kAlways), Field<&T::considered>("considered", kAlways),
       Field<&T::of_class>("ofClass", kAlways), Field<&T::usable>("usable", kAlways),
       Field<&T::drops>("drops"), Field<&T::groups>("groups")});
  return info;
}

static const StructInfo& InfoOf(const RequestReport*) {
  using T = RequestReport;
  static const StructInfo info =
      Struct<T>("RequestReport", {Field<&T::name>("name"), Field<&T::prioritized>("prioritized"),
                                  Field<&T::in_conflict>("inConflict", kAlways),
                                  Field<&T::alternatives>("alternatives")});
  return info;
}

static const StructInfo& InfoOf(const ValueReport*) {
  using T = ValueReport;
  static const StructInfo info = Struct<T>(
      "ValueReport",
      {Field<&T::value>("value", kAlways), Field<&T::type>("type"), Field<&T::devices>("devices")});
  return info;
}

static const StructInfo& InfoOf(const ConstraintReport*) {
  using T = ConstraintReport;
  static const StructInfo info =
      Struct<T>("ConstraintReport",
                {Distinct(), Code<&TypeCode>("type"), Field<&T::attribute>("attribute"),
                 Field<&T::in_conflict>("inConflict", kAlways), Field<&T::covers>("covers"),
                 Field<&T::values>("values"), Field<&T::values_in_all>("valuesInAll", kAlways)});
  return info;
}

static const StructInfo& InfoOf(const ClaimReport*) {
  using T = ClaimReport;
  static const StructInfo info =
      Struct<T>("ClaimReport", {Field<&T::name>("name"), Field<&T::requests>("requests"),
                                Field<&T::constraints>("constraints")});
  return info;
}

static const StructInfo& InfoOf(const PoolReport*) {
  using T = PoolReport;
  static const StructInfo info =
      Struct<T>("PoolReport", {Field<&T::driver>("driver"), Field<&T::pool>("pool"),
                               Field<&T::invalid>("invalid", kAlways), Field<&T::why>("why")});
  return info;
}

static const StructInfo& InfoOf(const ConflictMember*) {
  using T = ConflictMember;
  static const StructInfo info =
      Struct<T>("ConflictMember",
                {Field<&T::claim>("claim", kAlways), Field<&T::constraint>("constraint", kAlways),
                 Field<&T::index>("index", kAlways)});
  return info;
}

static const StructInfo& InfoOf(const Shortage*) {
  using T = Shortage;
  static const StructInfo info =
      Struct<T>("Shortage", {Field<&T::capacity>("capacity", kAlways), Field<&T::pool>("pool"),
                             Field<&T::counter_set>("counterSet"), Field<&T::name>("name"),
                             Field<&T::needed>("needed"), Field<&T::left>("left"),
                             Field<&T::short_by>("shortBy")});
  return info;
}

static const StructInfo& InfoOf(const Explanation*) {
  using T = Explanation;
  static const StructInfo info = Struct<T>(
      "Explanation",
      {Code<&KindCode>("kind"), Field<&T::node>("node"), Field<&T::summary>("summary"),
       Field<&T::fault>("fault"), Field<&T::only_this_node>("onlyThisNode"),
       Field<&T::steps>("steps", kAlways), Field<&T::conflict>("conflict"),
       Field<&T::conflict_exact>("conflictExact", kAlways),
       Field<&T::needed_together>("neededTogether"), Field<&T::room_together>("roomTogether"),
       Field<&T::groups_exclude>("groupsExclude"), Field<&T::counters_drawn>("countersDrawn"),
       Field<&T::at_most>("atMost"), Field<&T::shortages>("shortages"), Field<&T::claims>("claims"),
       Field<&T::pools>("pools")});
  return info;
}

std::string ToJson(const Explanation& explanation) { return api::EncodeJson(explanation); }

}  // namespace dray::allocator
