// SPDX-License-Identifier: Apache-2.0
//
// Device attributes: a union of four scalars and four lists, and of KEP-5491's own form of lists.
#include <algorithm>
#include <string>
#include <string_view>

#include "api/internal/device_validation.h"
#include "api/internal/name_validation.h"
#include "base/semver.h"
#include "fmt/format.h"

namespace dray::api::internal {
namespace {

constexpr std::string_view kOneMember =
    "must have exactly one of int, bool, string, version, ints, bools, strings, versions and list";

void CheckString(Report& report, const Path& at, std::string_view text) {
  CheckLength(report, at, text, kDeviceAttributeMaxValueLength);
}

void CheckVersion(Report& report, const Path& at, std::string_view text) {
  if (!base::IsSemVer(text)) {
    report.Invalid(at, text, "must be a version as semver.org 2.0.0 describes (for example 1.2.3)");
  }
  CheckLength(report, at, text, kDeviceAttributeMaxValueLength);
}

using ItemCheck = void (*)(Report&, const Path&, std::string_view);

// Members of the union that are there, and those of them that have a value. Kubernetes asks for
// exactly one by either count.
struct Members {
  int set = 0;
  int filled = 0;

  void Scalar(bool is_set) {
    set += is_set ? 1 : 0;
    filled += is_set ? 1 : 0;
  }
  template <typename T>
  void List(const Box<std::vector<T>>& list) {
    set += list ? 1 : 0;
    filled += list && !list->empty() ? 1 : 0;
  }
};

template <typename T>
void CheckNotEmpty(Report& report, const Path& at, const Box<std::vector<T>>& list) {
  if (list && list->empty()) report.InvalidAsIs(at, "[]", "must have at least one item");
}

void CheckItems(Report& report, const Path& at, const Box<std::vector<std::string>>& list,
                ItemCheck check) {
  CheckNotEmpty(report, at, list);
  if (!list) return;
  for (std::size_t i = 0; i < list->size(); ++i) check(report, at.Index(i), (*list)[i]);
}

// KEP-5491 limits each list by itself; Kubernetes limits the sum.
template <typename T>
bool CheckOwnSize(Report& report, const Path& at, const Box<std::vector<T>>& list) {
  return !list || CheckSize(report, at, list->size(), kListAttributeMaxItems);
}

void CheckListForm(Report& report, const Path& at, const ListAttribute& list) {
  CheckOwnSize(report, at.Child("int"), list.int_value);
  CheckNotEmpty(report, at.Child("int"), list.int_value);
  CheckOwnSize(report, at.Child("bool"), list.bool_value);
  CheckNotEmpty(report, at.Child("bool"), list.bool_value);
  if (CheckOwnSize(report, at.Child("string"), list.string_value)) {
    CheckItems(report, at.Child("string"), list.string_value, CheckString);
  }
  if (CheckOwnSize(report, at.Child("version"), list.version_value)) {
    CheckItems(report, at.Child("version"), list.version_value, CheckVersion);
  }
  Members members;
  members.List(list.int_value);
  members.List(list.bool_value);
  members.List(list.string_value);
  members.List(list.version_value);
  if (members.set != 1) {
    report.InvalidAsIs(at, "", "must have exactly one of int, bool, string and version");
  }
}

Members MembersOf(const DeviceAttribute& attribute, bool own_rules) {
  Members members;
  members.Scalar(attribute.int_value.has_value());
  members.Scalar(attribute.bool_value.has_value());
  members.Scalar(attribute.string_value.has_value());
  members.Scalar(attribute.version_value.has_value());
  members.List(attribute.Lists().int_values);
  members.List(attribute.Lists().bool_values);
  members.List(attribute.Lists().string_values);
  members.List(attribute.Lists().version_values);
  if (own_rules) members.Scalar(attribute.Lists().list_value.has_value());
  return members;
}

void CheckAttribute(Report& report, const Path& at, const DeviceAttribute& attribute) {
  if (attribute.string_value) CheckString(report, at.Child("string"), *attribute.string_value);
  if (attribute.version_value) CheckVersion(report, at.Child("version"), *attribute.version_value);
  CheckNotEmpty(report, at.Child("ints"), attribute.Lists().int_values);
  CheckNotEmpty(report, at.Child("bools"), attribute.Lists().bool_values);
  CheckItems(report, at.Child("strings"), attribute.Lists().string_values, CheckString);
  CheckItems(report, at.Child("versions"), attribute.Lists().version_values, CheckVersion);
  if (report.OwnRules() && attribute.Lists().list_value) {
    CheckListForm(report, at.Child("list"), *attribute.Lists().list_value);
  }
}

}  // namespace

void ValidateAttributes(Report& report, const Path& at, const Map<DeviceAttribute>& attributes,
                        bool list_changed) {
  for (const auto& [key, attribute] : attributes) {
    CheckQualifiedName(report, at, key);
    std::string buffer;
    const Path here = at.Key(ShownKey(key, buffer));
    CheckAttribute(report, here, attribute);
    const Members members = MembersOf(attribute, report.OwnRules());
    if (members.set != 1 || (list_changed && members.filled != 1)) {
      report.InvalidAsIs(here, "", kOneMember);
    }
  }
}

std::size_t CountAttributeValues(const Map<DeviceAttribute>& attributes) {
  const auto size = [](const auto& list) { return list ? list->size() : 0; };
  std::size_t values = 0;
  for (const auto& [key, attribute] : attributes) {
    const std::size_t items =
        size(attribute.Lists().int_values) + size(attribute.Lists().bool_values) +
        size(attribute.Lists().string_values) + size(attribute.Lists().version_values);
    values += std::max<std::size_t>(items, 1);
  }
  return values;
}

bool HasListAttribute(const Map<DeviceAttribute>& attributes, bool own_rules) {
  return std::ranges::any_of(attributes, [own_rules](const auto& entry) {
    const AttributeLists& lists = entry.second.Lists();
    return lists.int_values || lists.bool_values || lists.string_values || lists.version_values ||
           (own_rules && lists.list_value);
  });
}

}  // namespace dray::api::internal
