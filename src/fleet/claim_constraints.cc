// SPDX-License-Identifier: Apache-2.0
//
// The constraints of a claim, held against what it has got.
#include <optional>
#include <set>
#include <string>

#include "api/document.h"
#include "fleet/internal/claim_parts.h"
#include "fleet/internal/values.h"

namespace dray::fleet::internal {
namespace {

// Values as sets: two devices match where they have an element in common.
std::set<std::string> ElementsOf(const api::DeviceAttribute& attribute) {
  std::vector<api::Diagnostic> none;
  const api::DocumentNode node = api::ParseJson("[" + AttributeJson(attribute) + "]", none);
  std::set<std::string> elements;
  if (node.items.size() < 2) return elements;
  const api::DocumentNode& value = node.items[1];
  if (value.kind != api::DocumentNode::Kind::kList) return {api::ToJson(value)};
  for (const api::DocumentNode& item : value.items) elements.insert(api::ToJson(item));
  return elements;
}

}  // namespace

void WriteConstraints(JsonOut& out, const api::ResourceClaim& claim, ClaimValues& values) {
  static const std::string kNothing;
  out.List("constraints");
  for (const api::DeviceConstraint& constraint : claim.spec.devices.constraints) {
    const bool match = constraint.match_attribute.has_value();
    const std::string& attribute = match                           ? *constraint.match_attribute
                                   : constraint.distinct_attribute ? *constraint.distinct_attribute
                                                                   : kNothing;
    out.BeginMap().Text("type", match ? "matchAttribute" : "distinctAttribute");
    out.Text("attribute", attribute).List("requests");
    for (const std::string& request : constraint.requests) out.String(request);
    out.EndList();
    bool holds = true;
    std::optional<std::set<std::string>> common;
    std::set<std::string> seen;
    std::string value;
    JsonOut list;
    list.BeginList();
    for (const auto& result : values.results()) {
      if (!IsAbout(constraint, result.request) || result.admin_access.value_or(false)) continue;
      const auto own = values.ValueOf(attribute, result);
      list.BeginMap();
      if (const auto id = values.IdOf(result)) list.Count("id", *id);
      if (!own) {
        holds = false;
        list.EndMap();
        continue;
      }
      list.Text("value", AttributeText(*own)).EndMap();
      const std::set<std::string> elements = ElementsOf(*own);
      if (match) {
        if (!common) {
          common = elements;
        } else {
          std::erase_if(*common, [&](const std::string& e) { return !elements.contains(e); });
        }
        holds = holds && !common->empty();
      } else {
        for (const std::string& element : elements) holds = seen.insert(element).second && holds;
      }
    }
    list.EndList();
    if (common && !common->empty()) {
      value = *common->begin();
      if (value.size() > 1 && value.front() == '"') value = value.substr(1, value.size() - 2);
    }
    if (values.allocated()) out.Flag("holds", holds);
    out.TextIf("value", value).Key("values").Raw(list.Take()).EndMap();
  }
  out.EndList();
}

}  // namespace dray::fleet::internal
