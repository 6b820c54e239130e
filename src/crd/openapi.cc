// SPDX-License-Identifier: Apache-2.0
#include "crd/openapi.h"

#include <algorithm>
#include <string_view>

namespace dray::crd {
namespace {

bool FlagIn(const DocumentNode& node, std::string_view key) {
  const DocumentNode* value = rest::FindIn(node, key);
  return value != nullptr && value->kind == DocumentNode::Kind::kBool && value->boolean;
}

void Reduce(DocumentNode& schema) {
  if (!rest::IsMap(schema)) return;
  constexpr std::string_view kUnknown[] = {"anyOf", "oneOf", "allOf", "not", "nullable", "default"};
  const bool nullable = FlagIn(schema, "nullable");
  const bool either = FlagIn(schema, "x-kubernetes-int-or-string");
  const bool preserves = FlagIn(schema, "x-kubernetes-preserve-unknown-fields");
  for (const std::string_view key : kUnknown) rest::EraseIn(schema, key);
  // A reader that takes the type at its word would refuse what the server takes.
  if (either || nullable) rest::EraseIn(schema, "type");
  if (nullable || preserves) {
    rest::EraseIn(schema, "items");
    rest::EraseIn(schema, "properties");
  }
  if (preserves && !nullable) rest::EraseIn(schema, "additionalProperties");
  if (DocumentNode* items = rest::FindIn(schema, "items")) Reduce(*items);
  if (DocumentNode* additional = rest::FindIn(schema, "additionalProperties")) Reduce(*additional);
  if (DocumentNode* properties = rest::FindIn(schema, "properties")) {
    for (api::Member& member : properties->members) Reduce(member.value);
  }
}

}  // namespace

DocumentNode OpenApiSchema(const DocumentNode& schema, bool v2) {
  DocumentNode out = schema;
  if (v2) {
    // The root keeps what it names.
    DocumentNode properties = rest::MapNode();
    if (const DocumentNode* given = rest::FindIn(out, "properties")) properties = *given;
    for (api::Member& member : properties.members) Reduce(member.value);
    Reduce(out);
    rest::SetIn(out, "properties", std::move(properties));
  }
  if (rest::FindIn(out, "type") == nullptr) rest::SetIn(out, "type", rest::StringNode("object"));
  return out;
}

}  // namespace dray::crd
