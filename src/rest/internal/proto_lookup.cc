// SPDX-License-Identifier: Apache-2.0
#include "rest/internal/proto_lookup.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "api/kinds.h"
#include "fmt/format.h"
#include "rest/internal/proto_numbers.h"
#include "rest/internal/raw_messages.h"

namespace dray::rest::internal {
namespace {

ProtoFields Parse(std::string_view text) {
  ProtoFields fields;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view row = text.substr(0, end);
    const std::size_t equals = row.find('=');
    ProtoNumber number{0, 0};
    const char* stop = row.data() + row.size();
    const auto first = std::from_chars(row.data() + equals + 1, stop, number.first);
    if (first.ptr != stop) std::from_chars(first.ptr + 1, stop, number.second);
    fields.names[number] = row.substr(0, equals);
    fields.numbers.emplace(row.substr(0, equals), number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return fields;
}

// Of structs whose tables have the numbers themselves.
using OwnNumbers = absl::flat_hash_map<const api::StructInfo*, ProtoFields>;

void Collect(const api::TypeInfo& type, OwnNumbers& all) {
  if (type.element != nullptr) Collect(*type.element, all);
  if (type.shape != api::Shape::kStruct) return;
  const api::StructInfo& info = type.fields();
  if (all.contains(&info)) return;
  ProtoFields& fields = all[&info];
  for (const api::FieldInfo& field : info.fields) {
    const auto [number, inner] = field.options.proto;
    if (number == 0) continue;
    fields.names[{number, inner}] = field.name;
    fields.numbers.emplace(field.name, ProtoNumber{number, inner});
  }
  for (const api::FieldInfo& field : info.fields) Collect(*field.type, all);
}

const ProtoFields* FindOwn(const api::StructInfo& info) {
  static const OwnNumbers all = [] {
    OwnNumbers found;
    for (const api::KindInfo& kind : api::Kinds()) Collect(*kind.type, found);
    Collect(*RawMessages().type, found);
    absl::erase_if(found, [](const auto& row) { return row.second.numbers.empty(); });
    return found;
  }();
  const auto it = all.find(&info);
  return it == all.end() ? nullptr : &it->second;
}

const ProtoFields* Find(std::string_view name) {
  static const base::StringMap<ProtoFields> all = [] {
    base::StringMap<ProtoFields> rows;
    for (const ProtoNumbers& row : AllProtoNumbers()) rows.emplace(row.name, Parse(row.fields));
    return rows;
  }();
  const auto it = all.find(name);
  return it == all.end() ? nullptr : &it->second;
}

}  // namespace

const ProtoFields* FindProtoFields(const api::StructInfo& info, std::string_view group,
                                   std::string_view version) {
  if (const ProtoFields* fields = FindOwn(info)) return fields;
  for (const std::string& name :
       {fmt::format("{}/{}", version, info.name), fmt::format("{}/{}", group, info.name)}) {
    if (const ProtoFields* fields = Find(name)) return fields;
  }
  // A container's choice of a claim has the name of the claim itself.
  if (info.name == "ResourceClaim" && info.Find("request") >= 0) return Find("core/ResourceClaim");
  return Find(info.name);
}

}  // namespace dray::rest::internal
