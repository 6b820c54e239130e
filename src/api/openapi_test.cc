// SPDX-License-Identifier: Apache-2.0
//
// The field tables against the OpenAPI schemas of a real API server, and the codec on objects in
// which every field is filled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/kinds.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

using ::testing::IsEmpty;

// Fields that dray has and Kubernetes has not. "struct.field" and who asks for it.
const std::map<std::string, std::string_view>& OwnFields() {
  static const std::map<std::string, std::string_view> fields = {
      {"DeviceAttribute.list",
       "KEP-5491 as proposed; Kubernetes has bools, ints, strings, versions"},
      {"DeviceRequestAllocationResult.compatibilityGroups", "KEP-5963: the snapshot in the claim"},
  };
  return fields;
}

// Schemas

std::string_view TextAt(const DocumentNode& node, std::string_view key) {
  const Member* member = node.Find(key);
  return member == nullptr ? std::string_view() : std::string_view(member->value.text);
}

// One OpenAPI v3 document.
class Schemas {
 public:
  // Nothing when the recorded schemas have no such file: a checkout without shared/, or a group
  // that was not recorded.
  static std::optional<Schemas> Load(const KindInfo& kind) {
    const std::string file =
        kind.group.empty() ? fmt::format("api__{}_openapi.json", kind.version)
                           : fmt::format("apis__{}__{}_openapi.json", kind.group, kind.version);
    const char* shared = std::getenv("DRAY_SHARED");
    std::ifstream in(std::string(shared != nullptr ? shared : "") + "/openapi/" + file);
    if (!in) return std::nullopt;
    std::stringstream text;
    text << in.rdbuf();
    std::vector<Diagnostic> diagnostics;
    Schemas schemas{ParseJson(text.str(), diagnostics)};
    EXPECT_THAT(diagnostics, IsEmpty()) << file;
    return schemas;
  }

  // Null when there is none.
  const DocumentNode* OfKind(const KindInfo& kind) const {
    for (const Member& schema : All().members) {
      const Member* kinds = schema.value.Find("x-kubernetes-group-version-kind");
      if (kinds == nullptr) continue;
      for (const DocumentNode& row : kinds->value.items) {
        if (TextAt(row, "kind") == kind.kind && TextAt(row, "group") == kind.group &&
            TextAt(row, "version") == kind.version) {
          return &schema.value;
        }
      }
    }
    return nullptr;
  }

  // The schema that a property speaks of, through $ref and a single allOf, and its last name
  // ("Quantity"), empty when it is written in place.
  std::pair<const DocumentNode*, std::string> Resolve(const DocumentNode& schema) const {
    const Member* all_of = schema.Find("allOf");
    const DocumentNode& inner = all_of == nullptr ? schema : all_of->value.items.at(0);
    const std::string_view ref = TextAt(inner, "$ref");
    if (ref.empty()) return {&inner, ""};
    const std::string name(ref.substr(ref.rfind('/') + 1));
    return {&All().Find(name)->value, name.substr(name.rfind('.') + 1)};
  }

 private:
  explicit Schemas(DocumentNode root) : root_(std::move(root)) {}
  const DocumentNode& All() const { return root_.Find("components")->value.Find("schemas")->value; }

  DocumentNode root_;
};

// Tables against schemas

std::string_view WireType(Shape shape) {
  switch (shape) {
    case Shape::kBool:
      return "boolean";
    case Shape::kInt32:
      return "integer int32";
    case Shape::kInt64:
      return "integer int64";
    case Shape::kDouble:
      return "number double";
    case Shape::kString:
    case Shape::kText:
      return "string";
    case Shape::kQuantity:
      return "Quantity";
    case Shape::kTime:
      return "Time";
    case Shape::kMicroTime:
      return "MicroTime";
    case Shape::kIntOrString:
      return "IntOrString";
    case Shape::kRaw:
      return "anything";
    case Shape::kBytes:
      return "string byte";
    case Shape::kStruct:
      return "object";
    case Shape::kList:
      return "array";
    case Shape::kMap:
      return "map";
    case Shape::kOptional:
      return "optional";
  }
  return "";
}

std::string WireType(const DocumentNode& schema, const std::string& name) {
  static const std::set<std::string> named = {"Quantity", "Time", "MicroTime", "IntOrString"};
  if (named.contains(name)) return name;
  if (schema.Find("additionalProperties") != nullptr) return "map";
  const std::string_view format = TextAt(schema, "format");
  return std::string(TextAt(schema, "type")) + (format.empty() ? "" : " ") + std::string(format);
}

class Comparison {
 public:
  explicit Comparison(const Schemas& schemas) : schemas_(schemas) {}

  void Type(const DocumentNode& property, const TypeInfo& type, const std::string& path) {
    if (type.shape == Shape::kOptional) return Type(property, *type.element, path);
    if (type.shape == Shape::kRaw) return;
    const auto [schema, name] = schemas_.Resolve(property);
    if (WireType(*schema, name) != WireType(type.shape)) {
      faults_.push_back(fmt::format("{}: {} in the schema, {} in the table", path,
                                    WireType(*schema, name), WireType(type.shape)));
      return;
    }
    if (type.shape == Shape::kList) {
      Type(schema->Find("items")->value, *type.element, path + "[]");
    } else if (type.shape == Shape::kMap) {
      Type(schema->Find("additionalProperties")->value, *type.element, path + "{}");
    } else if (type.shape == Shape::kStruct) {
      Struct(*schema, type.fields(), path);
    }
  }

  void Struct(const DocumentNode& schema, const StructInfo& info, const std::string& path) {
    static const DocumentNode nothing;
    if ((TextAt(schema, "x-kubernetes-map-type") == "atomic") != info.atomic) {
      faults_.push_back(
          fmt::format("{}: {} is atomic in one of schema and table only", path, info.name));
    }
    const Member* member = schema.Find("properties");
    const DocumentNode& properties = member == nullptr ? nothing : member->value;
    for (const Member& property : properties.members) {
      const std::string here = path + "." + property.key;
      const int index = info.Find(property.key);
      const bool type_meta = property.key == "apiVersion" || property.key == "kind";
      if (index < 0 || info.fields[static_cast<std::size_t>(index)].name != property.key) {
        const bool top = path.find('.') == std::string::npos;
        if (!(top && type_meta)) faults_.push_back(here + " is not in the table");
        continue;
      }
      const FieldInfo& field = info.fields[static_cast<std::size_t>(index)];
      Items(property.value, field, here);
      Patch(property.value, field, here);
      if ((TextAt(property.value, "x-kubernetes-map-type") == "atomic") != field.options.atomic) {
        faults_.push_back(here + ": atomic in one of schema and table only");
      }
      Type(property.value, *field.type, here);
    }
    for (const FieldInfo& field : info.fields) {
      if (properties.Find(field.name) != nullptr) continue;
      const std::string name = fmt::format("{}.{}", info.name, field.name);
      if (!OwnFields().contains(name)) {
        faults_.push_back(fmt::format("{}: the schema has no field {}", path, name));
      }
    }
  }

  const std::vector<std::string>& faults() const { return faults_; }

 private:
  // What the items of a list are to each other, where the schema says so.
  void Items(const DocumentNode& property, const FieldInfo& field, const std::string& path) {
    const std::string_view kind = TextAt(property, "x-kubernetes-list-type");
    if (kind.empty()) return;
    std::string keys;
    if (const Member* list = property.Find("x-kubernetes-list-map-keys")) {
      for (const DocumentNode& key : list->value.items)
        keys += (keys.empty() ? "" : ",") + key.text;
    }
    constexpr std::string_view kKinds[] = {"atomic", "set", "map"};
    const std::string_view ours = kKinds[static_cast<std::size_t>(field.options.list)];
    if (kind != ours || keys != field.options.keys) {
      faults_.push_back(
          fmt::format("{}: a list of kind {} ({}) in the schema, {} ({}) in the table", path, kind,
                      keys, ours, field.options.keys));
    }
  }

  // How a strategic merge patch treats a list.
  void Patch(const DocumentNode& property, const FieldInfo& field, const std::string& path) {
    if (TextAt(property, "type") != "array") return;
    const std::string_view key = TextAt(property, "x-kubernetes-patch-merge-key");
    const std::string_view strategy = TextAt(property, "x-kubernetes-patch-strategy");
    if (key != PatchKey(field) || strategy.starts_with("merge") != PatchMerges(field) ||
        strategy.ends_with("retainKeys") != field.options.retain_keys) {
      faults_.push_back(fmt::format("{}: patched by ({}, {}) in the schema, ({}, {}) in the table",
                                    path, key, strategy, PatchKey(field), PatchMerges(field)));
    }
  }

  const Schemas& schemas_;
  std::vector<std::string> faults_;
};

// Objects with every field filled, two items in each list and map, no value twice

class Filler {
 public:
  std::string FromSchema(const Schemas& schemas, const DocumentNode& property) {
    const auto [schema, name] = schemas.Resolve(property);
    const std::string type = WireType(*schema, name);
    if (type == "array") {
      const DocumentNode& items = schema->Find("items")->value;
      return fmt::format("[{},{}]", FromSchema(schemas, items), FromSchema(schemas, items));
    }
    if (type == "map") {
      const DocumentNode& values = schema->Find("additionalProperties")->value;
      return fmt::format(R"({{"a":{},"b":{}}})", FromSchema(schemas, values),
                         FromSchema(schemas, values));
    }
    if (type != "object") return Scalar(type);
    const Member* properties = schema->Find("properties");
    if (properties == nullptr) return Scalar("anything");
    std::string out;
    for (const Member& member : properties->value.members) {
      Append(member.key, FromSchema(schemas, member.value), out);
    }
    return out + "}";
  }

  std::string FromTable(const TypeInfo& type) {
    switch (type.shape) {
      case Shape::kOptional:
        return FromTable(*type.element);
      case Shape::kList:
        return fmt::format("[{},{}]", FromTable(*type.element), FromTable(*type.element));
      case Shape::kMap:
        return fmt::format(R"({{"a":{},"b":{}}})", FromTable(*type.element),
                           FromTable(*type.element));
      case Shape::kStruct: {
        std::string out;
        for (const FieldInfo& field : type.fields().fields) {
          Append(field.name, FromTable(*field.type), out);
        }
        // A struct may have no fields, and say something by being there.
        return (out.empty() ? "{" : out) + "}";
      }
      default:
        return Scalar(WireType(type.shape));
    }
  }

 private:
  static void Append(std::string_view key, const std::string& value, std::string& out) {
    out += fmt::format("{}\"{}\":{}", out.empty() ? "{" : ",", key, value);
  }

  std::string Scalar(std::string_view type) {
    ++next_;
    if (type == "boolean") return "true";
    if (type.starts_with("integer") || type.starts_with("number")) return std::to_string(next_);
    if (type == "Quantity") return fmt::format("\"{}Mi\"", next_ * 2 + 1);
    if (type == "Time") return fmt::format("\"{}-02-28T03:04:05Z\"", 1970 + next_ % 8000);
    if (type == "MicroTime") {
      return fmt::format("\"2026-02-28T03:04:05.{:06}Z\"", next_ % 1'000'000);
    }
    if (type == "IntOrString") return next_ % 2 == 0 ? std::to_string(next_) : Text();
    if (type == "string byte") return fmt::format("\"{}\"", Base64Of({std::to_string(next_)}));
    if (type == "anything") return fmt::format(R"({{"x":[{},{},null,true]}})", next_, Text());
    return Text();
  }

  // With something to escape in it.
  std::string Text() const { return fmt::format("\"\\\"{}\\n\u00e4\"", next_); }

  int next_ = 0;
};

// "path = value" of every leaf.
void Leaves(const DocumentNode& node, const std::string& path, std::vector<std::string>& out) {
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    Leaves(node.items[i], fmt::format("{}[{}]", path, i), out);
  }
  for (const Member& member : node.members) Leaves(member.value, path + "." + member.key, out);
  if (node.items.empty() && node.members.empty()) out.push_back(path + " = " + ToJson(node));
}

std::vector<std::string> Leaves(const std::string& json) {
  std::vector<Diagnostic> diagnostics;
  std::vector<std::string> leaves;
  Leaves(ParseJson(json, diagnostics), "", leaves);
  EXPECT_THAT(diagnostics, IsEmpty());
  std::ranges::sort(leaves);
  return leaves;
}

void ExpectRoundTrip(const KindInfo& kind, std::string json) {
  json.replace(0, 1,
               fmt::format(R"({{"apiVersion":"{}","kind":"{}",)", kind.ApiVersion(), kind.kind));
  JsonDecoder decoder;
  const auto first = DecodeObject(decoder, json, {.strict = true});
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string encoded = first->ToJson();
  EXPECT_EQ(Leaves(encoded), Leaves(json));

  const auto second = DecodeObject(decoder, encoded, {.strict = true});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(SemanticEqual(*first, *second));
  EXPECT_TRUE(kind.equal(first->data(), second->data()));
  EXPECT_EQ(second->ToJson(), encoded);
}

// The same without apiVersion and kind, which FromSchema also fills.
std::string WithoutTypeMeta(const Schemas& schemas, const DocumentNode& schema) {
  std::string json = Filler().FromSchema(schemas, schema);
  std::vector<Diagnostic> diagnostics;
  DocumentNode root = ParseJson(json, diagnostics);
  std::erase_if(root.members,
                [](const Member& m) { return m.key == "apiVersion" || m.key == "kind"; });
  return ToJson(root);
}

class EveryKind : public ::testing::TestWithParam<const KindInfo*> {};

TEST_P(EveryKind, TableHasTheFieldsOfTheSchema) {
  const auto schemas = Schemas::Load(*GetParam());
  if (!schemas) GTEST_SKIP() << "shared/openapi is not there, or not for this version";
  const DocumentNode* schema = schemas->OfKind(*GetParam());
  ASSERT_NE(schema, nullptr);
  Comparison comparison(*schemas);
  comparison.Struct(*schema, GetParam()->type->fields(), std::string(GetParam()->kind));
  EXPECT_THAT(comparison.faults(), IsEmpty());
}

TEST_P(EveryKind, ObjectFilledFromTheSchemaComesBackWhole) {
  const auto schemas = Schemas::Load(*GetParam());
  if (!schemas) GTEST_SKIP() << "shared/openapi is not there, or not for this version";
  const DocumentNode* schema = schemas->OfKind(*GetParam());
  ASSERT_NE(schema, nullptr);
  ExpectRoundTrip(*GetParam(), WithoutTypeMeta(*schemas, *schema));
}

TEST_P(EveryKind, ObjectFilledFromTheTableComesBackWhole) {
  std::string json = Filler().FromTable(*GetParam()->type);
  if (GetParam()->ApiVersion() == "autoscaling/v1") {
    // The percentage is one of the metrics, which are shown, too: what has come in as a number goes
    // out as both.
    JsonDecoder decoder;
    Object object = Object::New(*GetParam());
    ASSERT_TRUE(decoder.Decode(json, *GetParam()->type, object.MutableData()).ok());
    json.clear();
    EncodeJson(*GetParam()->type, object.data(), json);
  }
  ExpectRoundTrip(*GetParam(), json);
}

// What a server does with an object that came in one version and is stored in another.
TEST_P(EveryKind, NothingIsLostByWayOfTheHubVersion) {
  const KindInfo& hub = HubKind(*GetParam()->hub);
  JsonDecoder decoder;
  Object object = Object::New(*GetParam());
  const std::string json = Filler().FromTable(*GetParam()->type);
  ASSERT_TRUE(decoder.Decode(json, *GetParam()->type, object.MutableData()).ok());
  const auto stored = DecodeObject(decoder, object.ToJson(hub), {.strict = true});
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_TRUE(SemanticEqual(object, *stored));
  EXPECT_EQ(stored->ToJson(*GetParam()), object.ToJson());
}

std::vector<const KindInfo*> AllKinds() {
  std::vector<const KindInfo*> kinds;
  for (const KindInfo& kind : Kinds()) kinds.push_back(&kind);
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(OpenApi, EveryKind, ::testing::ValuesIn(AllKinds()), [](const auto& info) {
  std::string name = fmt::format("{}_{}", info.param->ApiVersion(), info.param->kind);
  std::ranges::replace_if(
      name, [](char c) { return c == '.' || c == '/'; }, '_');
  return name;
});

}  // namespace
}  // namespace dray::api
