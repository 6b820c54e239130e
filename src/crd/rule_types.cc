// SPDX-License-Identifier: Apache-2.0
#include "crd/rule_types.h"

#include <algorithm>
#include <utility>

#include "cel/kubernetes_env.h"
#include "fmt/format.h"

namespace dray::crd {
namespace {

using Kind = RuleType::Kind;

constexpr std::int64_t kMinString = 2;
constexpr std::int64_t kMaxName = 253;

std::int64_t NotNegative(std::int64_t n) { return std::max<std::int64_t>(n, 0); }
// Characters may take four bytes.
std::int64_t FromMaxLength(std::int64_t max_length) {
  return std::min(NotNegative(max_length), kMaxRequestBytes) * 4;
}

RuleTypePtr Simple(Kind kind, std::int64_t max_elements, std::int64_t min_size,
                   const Schema* schema = nullptr) {
  RuleType type{.kind = kind, .max_elements = max_elements, .min_size = min_size};
  if (schema != nullptr) {
    type.nullable = schema->nullable;
    type.int_or_string = schema->int_or_string;
  }
  return std::make_shared<const RuleType>(std::move(type));
}

RuleTypePtr TextType(const Schema& schema) {
  if (schema.format == "byte") {
    const std::int64_t most =
        schema.max_length ? NotNegative(*schema.max_length) : kMaxRequestBytes - 2;
    return Simple(Kind::kBytes, most, kMinString, &schema);
  }
  if (schema.format == "duration") return Simple(Kind::kDuration, 32, 3, &schema);
  if (schema.format == "date") return Simple(Kind::kTimestamp, 12, 12, &schema);
  if (schema.format == "date-time") return Simple(Kind::kTimestamp, 32, 21, &schema);
  std::int64_t most = kMaxRequestBytes - 2;
  if (schema.max_length) {
    most = FromMaxLength(*schema.max_length);
  } else if (!schema.one_of_values.empty()) {
    most = 0;
    for (const DocumentNode& value : schema.one_of_values) {
      if (rest::IsString(value)) {
        most = std::max(most, static_cast<std::int64_t>(value.text.size()));
      }
    }
  }
  return Simple(Kind::kString, most, kMinString, &schema);
}

RuleTypePtr ObjectMetaType(const Schema* metadata) {
  const auto capped = [&](std::string_view name, std::int64_t most) {
    const Schema* given = metadata == nullptr ? nullptr : metadata->FindProperty(name);
    if (given != nullptr && given->max_length) most = std::min(most, *given->max_length);
    return Simple(Kind::kString, FromMaxLength(most), kMinString);
  };
  RuleType type{.kind = Kind::kObject, .min_size = 2};
  type.fields.push_back({"generateName", "generateName", capped("generateName", kMaxName - 1)});
  type.fields.push_back({"name", "name", capped("name", kMaxName)});
  return std::make_shared<const RuleType>(std::move(type));
}

RuleTypePtr ObjectTypeOf(const Schema& schema, bool root) {
  RuleType type{.kind = Kind::kObject, .min_size = 2, .nullable = schema.nullable};
  for (const Property& property : schema.properties) {
    const bool meta =
        property.name == "kind" || property.name == "apiVersion" || property.name == "metadata";
    if (root && meta) continue;
    RuleTypePtr of = RuleTypeOf(*property.schema, property.schema->embedded_resource);
    if (of == nullptr) continue;
    const bool required =
        std::ranges::find(schema.required, property.name) != schema.required.end();
    if (required && !property.schema->default_value) {
      type.min_size += static_cast<std::int64_t>(property.name.size()) + of->min_size + 4;
    }
    if (auto name = Escaped(property.name)) {
      type.fields.push_back({*std::move(name), property.name, std::move(of)});
    }
  }
  if (root) {
    const auto text = Simple(Kind::kString, kMaxRequestBytes - 2, kMinString);
    type.fields.push_back({"apiVersion", "apiVersion", text});
    type.fields.push_back({"kind", "kind", text});
    type.fields.push_back(
        {"metadata", "metadata", ObjectMetaType(schema.FindProperty("metadata"))});
  }
  std::ranges::sort(type.fields, {}, &RuleType::Field::name);
  return std::make_shared<const RuleType>(std::move(type));
}

// The largest size of what lies at a path below `self` or `oldSelf`.
std::optional<std::uint64_t> SizeAt(const RuleType& root, cel::PathView path) {
  const RuleType* at = &root;
  for (const std::string_view name : path.subspan(1)) {
    if (name == "@items" || name == "@values") {
      if (at->element == nullptr) return std::nullopt;
      at = at->element.get();
    } else if (name == "@keys") {
      // Keys are texts of which nothing is known, which upstream counts as nothing.
      return at->kind == Kind::kMap ? std::optional<std::uint64_t>(0) : std::nullopt;
    } else {
      const RuleType::Field* field = at->FindField(name);
      if (field == nullptr) return std::nullopt;
      at = field->type.get();
    }
  }
  return static_cast<std::uint64_t>(at->max_elements);
}

// Types of objects get names by their place, which nobody is meant to write.
class Declarer {
 public:
  explicit Declarer(cel::EnvironmentBuilder& builder) : builder_(builder) {}

  cel::Type Declare(const RuleType& type, const std::string& name) {
    switch (type.kind) {
      case Kind::kDyn:
        return cel::Type::Dyn();
      case Kind::kBool:
        return cel::Type::Bool();
      case Kind::kInt:
        return cel::Type::Int();
      case Kind::kDouble:
        return cel::Type::Double();
      case Kind::kString:
        return cel::Type::String();
      case Kind::kBytes:
        return cel::Type::Bytes();
      case Kind::kDuration:
        return cel::Type::Duration();
      case Kind::kTimestamp:
        return cel::Type::Timestamp();
      case Kind::kList:
        return builder_.pool().List(Declare(*type.element, name + ".@idx"));
      case Kind::kMap:
        return builder_.pool().Map(cel::Type::String(), Declare(*type.element, name + ".@elem"));
      case Kind::kObject:
        break;
    }
    cel::ObjectType object{.type = builder_.pool().Object(name)};
    for (const RuleType::Field& field : type.fields) {
      object.fields.push_back(
          {field.name, Declare(*field.type, fmt::format("{}.{}", name, field.name))});
    }
    const cel::Type declared = object.type;
    builder_.AddObject(std::move(object));
    return declared;
  }

 private:
  cel::EnvironmentBuilder& builder_;
};

}  // namespace

const RuleType::Field* RuleType::FindField(std::string_view name) const {
  const auto it = std::ranges::lower_bound(
      fields, name, {}, [](const Field& field) { return std::string_view(field.name); });
  return it != fields.end() && it->name == name ? &*it : nullptr;
}

RuleTypePtr RuleTypeOf(const Schema& schema, bool root) {
  if (schema.int_or_string) {
    const std::int64_t most =
        schema.max_length ? FromMaxLength(*schema.max_length) : kMaxRequestBytes - 2;
    return Simple(Kind::kDyn, most, 1, &schema);
  }
  if (schema.type == "array") {
    if (schema.items == nullptr) return nullptr;
    RuleTypePtr items = RuleTypeOf(*schema.items, schema.items->embedded_resource);
    if (items == nullptr) return nullptr;
    const std::int64_t most = schema.max_items ? NotNegative(*schema.max_items)
                                               : (kMaxRequestBytes - 2) / (items->min_size + 1);
    RuleType type{.kind = Kind::kList,
                  .max_elements = most,
                  .min_size = 2,
                  .element = std::move(items),
                  .nullable = schema.nullable,
                  .list_type = schema.list_type.value_or(""),
                  .list_map_keys = schema.list_map_keys};
    return std::make_shared<const RuleType>(std::move(type));
  }
  if (schema.type == "object") {
    if (schema.additional == nullptr) return ObjectTypeOf(schema, root);
    RuleTypePtr values = RuleTypeOf(*schema.additional, schema.additional->embedded_resource);
    if (values == nullptr) return nullptr;
    const std::int64_t most = schema.max_properties
                                  ? NotNegative(*schema.max_properties)
                                  : (kMaxRequestBytes - 2) / (values->min_size + 6);
    RuleType type{.kind = Kind::kMap,
                  .max_elements = most,
                  .min_size = 2,
                  .element = std::move(values),
                  .nullable = schema.nullable};
    return std::make_shared<const RuleType>(std::move(type));
  }
  if (schema.type == "string") return TextType(schema);
  if (schema.type == "boolean") return Simple(Kind::kBool, 0, 4, &schema);
  if (schema.type == "number") return Simple(Kind::kDouble, 0, 1, &schema);
  if (schema.type == "integer") return Simple(Kind::kInt, 0, 1, &schema);
  return nullptr;
}

std::optional<std::string> Escaped(std::string_view name) {
  constexpr std::string_view kReserved[] = {
      "true",     "false",   "null",      "in",       "as",  "break",  "const",
      "continue", "else",    "for",       "function", "if",  "import", "let",
      "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return std::nullopt;
  if (std::ranges::find(kReserved, name) != std::end(kReserved)) return fmt::format("__{}__", name);
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      out += "__underscores__";
      ++i;
    } else if (plain || c == '_') {
      out += c;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::shared_ptr<const cel::Environment> RuleEnvironment(const RuleTypePtr& type,
                                                        bool optional_old_self) {
  auto builder = cel::EnvironmentBuilder::Extending(cel::KubernetesEnvironment());
  const cel::Type self = Declarer(builder).Declare(*type, "selfType");
  builder.AddVariable("self", self);
  builder.AddVariable("oldSelf", optional_old_self ? builder.pool().Optional(self) : self);
  builder.SetSizeLimits([type](cel::PathView path) { return SizeAt(*type, path); });
  return std::move(builder).Build();
}

std::uint64_t MaxCardinality(const RuleType& type) {
  return static_cast<std::uint64_t>(kMaxRequestBytes / (type.min_size + 1));
}

}  // namespace dray::crd
