// SPDX-License-Identifier: Apache-2.0
#include "rest/descriptions.h"

#include "base/string_map.h"
#include "fmt/format.h"
#include "rest/internal/description.h"

namespace dray::rest {

std::string_view DescriptionOf(std::string_view name) {
  static const base::StringMap<std::string_view> texts = [] {
    base::StringMap<std::string_view> all;
    for (const auto table : {internal::MetaDescriptions(), internal::CoreDescriptions(),
                             internal::WorkloadsDescriptions(), internal::PodsDescriptions(),
                             internal::ContainersDescriptions(), internal::VolumesDescriptions(),
                             internal::ClaimsDescriptions(), internal::SlicesDescriptions(),
                             internal::RbacDescriptions()}) {
      for (const internal::Description& row : table) all.emplace(row.name, row.text);
    }
    return all;
  }();
  const auto it = texts.find(name);
  return it == texts.end() ? std::string_view() : it->second;
}

std::string_view DescriptionOf(const api::StructInfo& info) {
  return info.doc.empty() ? DescriptionOf(info.name) : info.doc;
}

std::string_view DescriptionOf(const api::StructInfo& info, const api::FieldInfo& field) {
  if (!field.options.doc.empty()) return field.options.doc;
  return DescriptionOf(fmt::format("{}.{}", info.name, field.name));
}

}  // namespace dray::rest
