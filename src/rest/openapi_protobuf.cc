// SPDX-License-Identifier: Apache-2.0
//
// The OpenAPI v2 document as protobuf, which kubectl asks for: before it applies a kind that the v3
// documents do not have, and before it applies a List. The messages are those of gnostic's openapi.v2;
// a table says which member of which object is which field.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "rest/openapi.h"
#include "rest/tree.h"

namespace dray::rest {
namespace gnostic {
namespace {

enum class Form : std::uint8_t {
  kText,
  kTexts,  // a list of them
  kBool,
  kMessage,
  kMessages,  // a list of them
  kNamed,     // an object whose values are messages: pairs of name and value
  kOne,       // a message around one message, or around a text: the value is its field 1
};

struct Message;
struct Member {
  std::string_view name;
  std::uint32_t field;
  Form form;
  const Message* message = nullptr;
};
struct Message {
  std::span<const Member> members;
  std::uint32_t extensions = 0;  // the field of members that begin with x-
};

extern const Message kSchema;
constexpr Member kSchemaMembers[] = {
    {"$ref", 1, Form::kText},
    {"format", 2, Form::kText},
    {"description", 4, Form::kText},
    {"required", 19, Form::kTexts},
    {"additionalProperties", 21, Form::kOne, &kSchema},
    {"type", 22, Form::kOne},
    {"items", 23, Form::kOne, &kSchema},
    {"allOf", 24, Form::kMessages, &kSchema},
    {"properties", 25, Form::kNamed, &kSchema},
};
constinit const Message kSchema = {kSchemaMembers, 31};

// Query and path parameters have the same fields under other numbers.
constexpr Member kQueryMembers[] = {{"required", 1, Form::kBool},
                                    {"in", 2, Form::kText},
                                    {"description", 3, Form::kText},
                                    {"name", 4, Form::kText},
                                    {"type", 6, Form::kText}};
constexpr Message kQuery = {kQueryMembers, 23};
constexpr Member kPathParameterMembers[] = {{"required", 1, Form::kBool},
                                            {"in", 2, Form::kText},
                                            {"description", 3, Form::kText},
                                            {"name", 4, Form::kText},
                                            {"type", 5, Form::kText}};
constexpr Message kPathParameter = {kPathParameterMembers, 22};

constexpr Member kResponseMembers[] = {{"description", 1, Form::kText}};
constexpr Message kResponse = {kResponseMembers, 5};

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendField(std::uint32_t field, std::string_view bytes, std::string& out) {
  AppendVarint(field << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes);
}

std::string MessageOf(const Message& message, const DocumentNode& node);

// {name = 1, value = 2}
std::string Pair(std::string_view name, std::string_view value) {
  std::string pair;
  AppendField(1, name, pair);
  AppendField(2, value, pair);
  return pair;
}

void AppendMember(const Member& member, const DocumentNode& value, std::string& out) {
  switch (member.form) {
    case Form::kText:
      return AppendField(member.field, value.text, out);
    case Form::kTexts:
      for (const DocumentNode& item : value.items) AppendField(member.field, item.text, out);
      return;
    case Form::kBool:
      AppendVarint(member.field << 3, out);
      AppendVarint(value.boolean ? 1 : 0, out);
      return;
    case Form::kMessage:
      return AppendField(member.field, MessageOf(*member.message, value), out);
    case Form::kMessages:
      for (const DocumentNode& item : value.items) {
        AppendField(member.field, MessageOf(*member.message, item), out);
      }
      return;
    case Form::kNamed: {
      std::string pairs;
      for (const api::Member& entry : value.members) {
        AppendField(1, Pair(entry.key, MessageOf(*member.message, entry.value)), pairs);
      }
      return AppendField(member.field, pairs, out);
    }
    case Form::kOne: {
      std::string around;
      AppendField(1, member.message == nullptr ? value.text : MessageOf(*member.message, value),
                  around);
      return AppendField(member.field, around, out);
    }
  }
}

// What begins with x- is kept as YAML, which JSON is.
void AppendExtension(std::uint32_t field, const api::Member& member, std::string& out) {
  std::string any;
  AppendField(2, ToJson(member.value), any);
  AppendField(field, Pair(member.key, any), out);
}

std::string MessageOf(const Message& message, const DocumentNode& node) {
  std::string out;
  for (const api::Member& member : node.members) {
    if (member.key.starts_with("x-")) {
      AppendExtension(message.extensions, member, out);
      continue;
    }
    for (const Member& known : message.members) {
      if (known.name == member.key) AppendMember(known, member.value, out);
    }
  }
  return out;
}

// ParametersItem.parameter.non_body_parameter, and in there by where it is.
std::string ParameterOf(const DocumentNode& node) {
  const bool path = TextIn(node, "in") == "path";
  std::string where;
  AppendField(path ? 4 : 3, MessageOf(path ? kPathParameter : kQuery, node), where);
  std::string parameter;
  AppendField(2, where, parameter);
  std::string item;
  AppendField(1, parameter, item);
  return item;
}

void AppendParameters(std::uint32_t field, const DocumentNode& owner, std::string& out) {
  const DocumentNode* list = FindIn(owner, "parameters");
  if (list == nullptr) return;
  for (const DocumentNode& parameter : list->items) AppendField(field, ParameterOf(parameter), out);
}

std::string OperationOf(const DocumentNode& node) {
  std::string out;
  AppendField(5, TextIn(node, "operationId"), out);
  AppendParameters(8, node, out);
  if (const DocumentNode* responses = FindIn(node, "responses")) {
    std::string codes;
    for (const api::Member& response : responses->members) {
      std::string value;
      AppendField(1, MessageOf(kResponse, response.value), value);
      AppendField(1, Pair(response.key, value), codes);
    }
    AppendField(9, codes, out);
  }
  for (const api::Member& member : node.members) {
    if (member.key.starts_with("x-")) AppendExtension(13, member, out);
  }
  return out;
}

std::string PathItemOf(const DocumentNode& node) {
  struct Verb {
    std::string_view name;
    std::uint32_t field;
  };
  constexpr Verb kVerbs[] = {{"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
  std::string out;
  for (const Verb& verb : kVerbs) {
    if (const DocumentNode* operation = FindIn(node, verb.name)) {
      AppendField(verb.field, OperationOf(*operation), out);
    }
  }
  AppendParameters(9, node, out);
  return out;
}

std::string DocumentOf(const DocumentNode& document) {
  std::string out;
  AppendField(1, TextIn(document, "swagger"), out);
  const DocumentNode& info = *FindIn(document, "info");
  std::string about;
  AppendField(1, TextIn(info, "title"), about);
  AppendField(2, TextIn(info, "version"), about);
  AppendField(2, about, out);
  std::string paths;
  for (const api::Member& path : FindIn(document, "paths")->members) {
    AppendField(2, Pair(path.key, PathItemOf(path.value)), paths);
  }
  AppendField(8, paths, out);
  std::string definitions;
  for (const api::Member& schema : FindIn(document, "definitions")->members) {
    AppendField(1, Pair(schema.key, MessageOf(kSchema, schema.value)), definitions);
  }
  AppendField(9, definitions, out);
  return out;
}

}  // namespace
}  // namespace gnostic

bool AsksForOpenApiV2Protobuf(std::string_view accept) {
  constexpr std::string_view kOld = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
  return accept.find(kOld) != std::string_view::npos ||
         accept.find(kOpenApiV2ProtobufType) != std::string_view::npos;
}

std::string OpenApiV2Protobuf(const ServedKinds& kinds) {
  return gnostic::DocumentOf(OpenApiV2Document(kinds));
}

}  // namespace dray::rest
