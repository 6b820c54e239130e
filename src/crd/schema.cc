// SPDX-License-Identifier: Apache-2.0
#include "crd/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "fmt/format.h"

namespace dray::crd {
namespace {

using Kind = DocumentNode::Kind;

// Words of a schema that are known and never allowed.
constexpr std::string_view kUnsupported[] = {
    "id", "$schema", "$ref", "additionalItems", "definitions", "patternProperties", "dependencies",
};

class Reader {
 public:
  explicit Reader(ReadSchema& out) : out_(out) {}

  void Read(const DocumentNode& tree, const FieldPath& at, int depth, Schema& schema) {
    if (!out_.exceeds.empty()) return;
    if (depth > kMaxSchemaDepth) {
      out_.exceeds = fmt::format("schemas may be nested {} levels deep at most", kMaxSchemaDepth);
      return;
    }
    if (++nodes_ > kMaxSchemaNodes) {
      out_.exceeds = fmt::format("a schema may describe {} values at most", kMaxSchemaNodes);
      return;
    }
    if (tree.kind == Kind::kNull) return;
    if (tree.kind != Kind::kMap) return Fault(at, "must be an object");
    for (const api::Member& member : tree.members) {
      if (!Value(member.key, member.value, at / member.key, schema) &&
          !Parts(member.key, member.value, at / member.key, depth, schema)) {
        Unknown(at / member.key, member);
      }
    }
  }

 private:
  void Unknown(const FieldPath& at, const api::Member& member) {
    out_.unknown.push_back(at);
    out_.unknown_members.push_back(&member);
  }
  void Fault(const FieldPath& at, std::string_view what) {
    out_.faults.emplace_back(at, std::string(what));
  }

  bool Text(const DocumentNode& node, const FieldPath& at, std::string& out) {
    if (node.kind == Kind::kString) {
      out = node.text;
    } else if (node.kind != Kind::kNull) {
      Fault(at, "must be a string");
    }
    return true;
  }
  bool Text(const DocumentNode& node, const FieldPath& at, std::optional<std::string>& out) {
    if (node.kind == Kind::kNull) return true;
    return Text(node, at, out.emplace());
  }
  bool Flag(const DocumentNode& node, const FieldPath& at, bool& out) {
    if (node.kind == Kind::kBool) {
      out = node.boolean;
    } else if (node.kind != Kind::kNull) {
      Fault(at, "must be a boolean");
    }
    return true;
  }
  bool Flag(const DocumentNode& node, const FieldPath& at, std::optional<bool>& out) {
    if (node.kind == Kind::kNull) return true;
    return Flag(node, at, out.emplace());
  }
  bool Number(const DocumentNode& node, const FieldPath& at, std::optional<double>& out) {
    if (node.kind == Kind::kNull) return true;
    out = NumberOf(node);
    if (!out) Fault(at, "must be a number");
    return true;
  }
  bool Integer(const DocumentNode& node, const FieldPath& at, std::optional<std::int64_t>& out) {
    if (node.kind == Kind::kNull) return true;
    out = IntegerOf(node);
    if (!out) Fault(at, "must be an integer");
    return true;
  }
  bool Texts(const DocumentNode& node, const FieldPath& at, std::vector<std::string>& out) {
    if (node.kind == Kind::kNull) return true;
    if (node.kind != Kind::kList) {
      Fault(at, "must be a list");
      return true;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      Text(node.items[i], at.Index(i), out.emplace_back());
    }
    return true;
  }

  bool Value(std::string_view key, const DocumentNode& node, const FieldPath& at, Schema& schema) {
    if (key == "type") return Text(node, at, schema.type);
    if (key == "format") return Text(node, at, schema.format);
    if (key == "title") return Text(node, at, schema.title);
    if (key == "description") return Text(node, at, schema.description);
    if (key == "pattern") return Text(node, at, schema.pattern);
    if (key == "nullable") return Flag(node, at, schema.nullable);
    if (key == "uniqueItems") return Flag(node, at, schema.unique_items);
    if (key == "exclusiveMaximum") return Flag(node, at, schema.exclusive_maximum);
    if (key == "exclusiveMinimum") return Flag(node, at, schema.exclusive_minimum);
    if (key == "maximum") return Number(node, at, schema.maximum);
    if (key == "minimum") return Number(node, at, schema.minimum);
    if (key == "multipleOf") return Number(node, at, schema.multiple_of);
    if (key == "maxLength") return Integer(node, at, schema.max_length);
    if (key == "minLength") return Integer(node, at, schema.min_length);
    if (key == "maxItems") return Integer(node, at, schema.max_items);
    if (key == "minItems") return Integer(node, at, schema.min_items);
    if (key == "maxProperties") return Integer(node, at, schema.max_properties);
    if (key == "minProperties") return Integer(node, at, schema.min_properties);
    if (key == "required") return Texts(node, at, schema.required);
    if (key == "x-kubernetes-preserve-unknown-fields") {
      return Flag(node, at, schema.preserve_unknown);
    }
    if (key == "x-kubernetes-embedded-resource") return Flag(node, at, schema.embedded_resource);
    if (key == "x-kubernetes-int-or-string") return Flag(node, at, schema.int_or_string);
    if (key == "x-kubernetes-list-map-keys") return Texts(node, at, schema.list_map_keys);
    if (key == "x-kubernetes-list-type") return Text(node, at, schema.list_type);
    if (key == "x-kubernetes-map-type") return Text(node, at, schema.map_type);
    if (key == "x-kubernetes-validations") return Rules(node, at, schema.rules);
    if (key == "default" && node.kind != Kind::kNull) schema.default_value = node;
    if (key == "example" && node.kind != Kind::kNull) schema.example = node;
    if (key == "externalDocs" && node.kind != Kind::kNull) schema.external_docs = node;
    if (key == "enum") return Enum(node, at, schema);
    if (std::ranges::find(kUnsupported, key) != std::end(kUnsupported)) {
      const bool empty = node.kind == Kind::kNull ||
                         (node.kind == Kind::kString && node.text.empty()) ||
                         (node.kind == Kind::kMap && node.members.empty());
      if (!empty) schema.unsupported.emplace_back(key);
      return true;
    }
    return key == "default" || key == "example" || key == "externalDocs";
  }

  bool Enum(const DocumentNode& node, const FieldPath& at, Schema& schema) {
    if (node.kind == Kind::kList) {
      schema.one_of_values = node.items;
    } else if (node.kind != Kind::kNull) {
      Fault(at, "must be a list");
    }
    return true;
  }

  // Those that are schemas themselves.
  bool Parts(std::string_view key, const DocumentNode& node, const FieldPath& at, int depth,
             Schema& schema) {
    if (key == "properties") return Properties(node, at, depth, schema);
    if (key == "allOf") return Many(node, at, depth, schema.all_of);
    if (key == "anyOf") return Many(node, at, depth, schema.any_of);
    if (key == "oneOf") return Many(node, at, depth, schema.one_of);
    if (key == "not") return One(node, at, depth, schema.not_);
    if (key == "items") {
      if (node.kind != Kind::kList) return One(node, at, depth, schema.items);
      schema.items_are_many = true;
      return true;
    }
    if (key != "additionalProperties") return false;
    if (node.kind == Kind::kNull) return true;
    schema.has_additional = true;
    if (node.kind == Kind::kBool) {
      schema.allows_additional = node.boolean;
      return true;
    }
    schema.allows_additional = true;
    return One(node, at, depth, schema.additional);
  }

  bool One(const DocumentNode& node, const FieldPath& at, int depth, std::unique_ptr<Schema>& out) {
    if (node.kind == Kind::kNull) return true;
    out = std::make_unique<Schema>();
    Read(node, at, depth + 1, *out);
    return true;
  }
  bool Many(const DocumentNode& node, const FieldPath& at, int depth, std::vector<Schema>& out) {
    if (node.kind == Kind::kNull) return true;
    if (node.kind != Kind::kList) {
      Fault(at, "must be a list");
      return true;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      Read(node.items[i], at.Index(i), depth + 1, out.emplace_back());
    }
    return true;
  }
  bool Properties(const DocumentNode& node, const FieldPath& at, int depth, Schema& schema) {
    if (node.kind == Kind::kNull) return true;
    if (node.kind != Kind::kMap) {
      Fault(at, "must be an object");
      return true;
    }
    for (const api::Member& member : node.members) {
      auto property = std::make_unique<Schema>();
      Read(member.value, at.Key(member.key), depth + 1, *property);
      schema.properties.push_back({member.key, std::move(property)});
    }
    std::ranges::stable_sort(schema.properties, {}, &Property::name);
    // Of a name that comes twice the last counts.
    std::vector<Property> kept;
    for (std::size_t i = 0; i < schema.properties.size(); ++i) {
      const bool repeated = i + 1 < schema.properties.size() &&
                            schema.properties[i].name == schema.properties[i + 1].name;
      if (!repeated) kept.push_back(std::move(schema.properties[i]));
    }
    schema.properties = std::move(kept);
    return true;
  }

  bool Rules(const DocumentNode& node, const FieldPath& at, std::vector<Rule>& out) {
    if (node.kind == Kind::kNull) return true;
    if (node.kind != Kind::kList) {
      Fault(at, "must be a list");
      return true;
    }
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      if (node.items[i].kind != Kind::kMap) {
        Fault(at.Index(i), "must be an object");
        continue;
      }
      Rule& rule = out.emplace_back();
      for (const api::Member& member : node.items[i].members) {
        const FieldPath here = at.Index(i) / member.key;
        if (member.key == "rule") {
          Text(member.value, here, rule.rule);
        } else if (member.key == "message") {
          Text(member.value, here, rule.message);
        } else if (member.key == "messageExpression") {
          Text(member.value, here, rule.message_expression);
        } else if (member.key == "reason") {
          Text(member.value, here, rule.reason);
        } else if (member.key == "fieldPath") {
          Text(member.value, here, rule.field_path);
        } else if (member.key == "optionalOldSelf") {
          Flag(member.value, here, rule.optional_old_self);
        } else {
          Unknown(here, member);
        }
      }
    }
    return true;
  }

  ReadSchema& out_;
  std::size_t nodes_ = 0;
};

}  // namespace

const Schema* Schema::FindProperty(std::string_view name) const {
  const auto it = std::ranges::lower_bound(properties, name, {}, [](const Property& property) {
    return std::string_view(property.name);
  });
  return it != properties.end() && it->name == name ? it->schema.get() : nullptr;
}

ReadSchema ReadSchemaFrom(const DocumentNode& tree, const FieldPath& at) {
  ReadSchema out;
  Reader(out).Read(tree, at, 0, out.schema);
  return out;
}

std::optional<double> NumberOf(const DocumentNode& node) {
  if (node.kind != Kind::kNumber) return std::nullopt;
  double value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto read = std::from_chars(node.text.data(), end, value);
  if (read.ptr != end || read.ec != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> IntegerOf(const DocumentNode& node) {
  if (node.kind != Kind::kNumber) return std::nullopt;
  std::int64_t value = 0;
  const char* end = node.text.data() + node.text.size();
  const auto read = std::from_chars(node.text.data(), end, value);
  if (read.ptr == end && read.ec == std::errc()) return value;
  const auto number = NumberOf(node);
  if (!number || *number != std::trunc(*number)) return std::nullopt;
  if (*number < -9.2e18 || *number > 9.2e18) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

}  // namespace dray::crd
