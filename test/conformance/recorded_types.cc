// SPDX-License-Identifier: Apache-2.0
#include "conformance/recorded_types.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "conformance/case_files.h"

namespace dray::conformance {

using api::DocumentNode;
using cel::Type;

Type TypeReader::Read(const DocumentNode& recorded) {
  static const std::map<std::string, Type> kNamed = {
      {"BOOL", Type::Bool()},     {"INT64", Type::Int()},         {"UINT64", Type::Uint()},
      {"DOUBLE", Type::Double()}, {"STRING", Type::String()},     {"BYTES", Type::Bytes()},
      {"ANY", Type::Any()},       {"DURATION", Type::Duration()}, {"TIMESTAMP", Type::Timestamp()}};
  if (recorded.members.size() != 1) throw std::runtime_error("a type has one key");
  const auto& [key, position, node, written] = recorded.members[0];
  if (key == "primitive" || key == "wellKnown") return kNamed.at(node.text);
  if (key == "dyn") return Type::Dyn();
  if (key == "null") return Type::Null();
  if (key == "listType") return pool_.List(ReadOrDyn(node, "elemType"));
  if (key == "mapType") return pool_.Map(ReadOrDyn(node, "keyType"), ReadOrDyn(node, "valueType"));
  if (key == "messageType") return pool_.Object(node.text);
  if (key == "type") return pool_.TypeOf(Read(node));
  if (key == "typeParam") return Parameter(node.text);
  if (key == "abstractType") {
    std::vector<Type> params;
    for (const DocumentNode& param : ItemsOf(node, "parameterTypes")) params.push_back(Read(param));
    return pool_.Opaque(TextOf(node, "name"), params);
  }
  throw std::runtime_error("an unknown type: " + api::ToJson(recorded));
}

Type TypeReader::ReadOrDyn(const DocumentNode& recorded, std::string_view key) {
  const DocumentNode* part = Get(recorded, key);
  return part == nullptr ? Type::Dyn() : Read(*part);
}

Type TypeReader::Parameter(const std::string& name) {
  auto found = std::ranges::find(letters_, name);
  if (found == letters_.end()) found = letters_.insert(letters_.end(), name);
  return pool_.TypeParam(static_cast<std::uint32_t>(found - letters_.begin()));
}

void Declare(const DocumentNode& declaration, cel::EnvironmentBuilder& builder) {
  const std::string name = TextOf(declaration, "name");
  if (const DocumentNode* ident = Get(declaration, "ident")) {
    builder.AddVariable(name, TypeReader(builder.pool()).Read(*Get(*ident, "type")));
  }
  const DocumentNode* function = Get(declaration, "function");
  if (function == nullptr) return;
  for (const DocumentNode& recorded : ItemsOf(*function, "overloads")) {
    TypeReader reader(builder.pool());
    cel::Overload overload{.id = TextOf(recorded, "overloadId"),
                           .member = BoolOf(recorded, "isInstanceFunction")};
    for (const DocumentNode& param : ItemsOf(recorded, "params")) {
      overload.params.push_back(reader.Read(param));
    }
    overload.result = reader.Read(*Get(recorded, "resultType"));
    overload.type_params = reader.type_params();
    builder.AddOverload(name, std::move(overload));
  }
}

}  // namespace dray::conformance
