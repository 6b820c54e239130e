// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdint>
#include <span>
#include <string>

#include "api/values.h"
#include "cel/values.h"
#include "crd/internal/rule_values.h"
#include "fmt/format.h"

namespace dray::crd::internal {
namespace {

using cel::Arena;
using cel::Value;
using TreeKind = DocumentNode::Kind;
using Kind = RuleType::Kind;

Value Wrong(Arena& arena, std::string_view what) {
  return cel::MakeError(arena, fmt::format("invalid data, {}", what));
}

class TreeList final : public cel::List {
 public:
  TreeList(Arena& arena, const RuleType& item, const DocumentNode& node)
      : arena_(arena), item_(item), node_(node) {}
  std::size_t size() const override { return node_.items.size(); }
  Value At(std::size_t i) const override { return RuleValue(arena_, item_, node_.items[i]); }

 private:
  Arena& arena_;
  const RuleType& item_;
  const DocumentNode& node_;
};

class TreeMap final : public cel::Map {
 public:
  TreeMap(Arena& arena, const RuleType& value, const DocumentNode& node)
      : arena_(arena), value_(value), node_(node) {}
  std::size_t size() const override { return node_.members.size(); }
  bool Find(const Value& key, Value* value) const override {
    if (!key.is(cel::Kind::kString)) return false;
    const DocumentNode* found = rest::FindIn(node_, key.as_text());
    if (found == nullptr) return false;
    *value = RuleValue(arena_, value_, *found);
    return true;
  }
  Value KeyAt(std::size_t i) const override { return Value::String(node_.members[i].key); }
  Value ValueAt(std::size_t i) const override {
    return RuleValue(arena_, value_, node_.members[i].value);
  }

 private:
  Arena& arena_;
  const RuleType& value_;
  const DocumentNode& node_;
};

// The fields that are there, of those that expressions see.
class TreeObject final : public cel::Map {
 public:
  struct Present {
    const RuleType::Field* field = nullptr;
    const DocumentNode* node = nullptr;
  };

  TreeObject(Arena& arena, const RuleType& type, const DocumentNode& node)
      : arena_(arena), type_(type), node_(node) {
    const std::span<Present> all = arena.NewArray<Present>(type.fields.size());
    std::size_t n = 0;
    for (const RuleType::Field& field : type.fields) {
      const DocumentNode* found = rest::FindIn(node, field.member);
      if (found != nullptr) all[n++] = {&field, found};
    }
    present_ = all.subspan(0, n);
  }
  std::size_t size() const override { return present_.size(); }
  bool Find(const Value& key, Value* value) const override {
    if (!key.is(cel::Kind::kString)) return false;
    const RuleType::Field* field = type_.FindField(key.as_text());
    if (field == nullptr) return false;
    const DocumentNode* found = rest::FindIn(node_, field->member);
    if (found == nullptr) return false;
    *value = RuleValue(arena_, *field->type, *found);
    return true;
  }
  Value KeyAt(std::size_t i) const override { return Value::String(present_[i].field->name); }
  Value ValueAt(std::size_t i) const override {
    return RuleValue(arena_, *present_[i].field->type, *present_[i].node);
  }

 private:
  Arena& arena_;
  const RuleType& type_;
  const DocumentNode& node_;
  std::span<const Present> present_;
};

Value TextValue(Arena& arena, const RuleType& type, const std::string& text) {
  switch (type.kind) {
    case Kind::kBytes: {
      api::Bytes bytes;
      if (!api::ReadBase64(text, bytes)) {
        return cel::MakeError(arena, fmt::format("Invalid byte formatted string {}", text));
      }
      return cel::MakeBytes(arena, bytes.data);
    }
    case Kind::kDuration: {
      const auto duration = cel::ParseDuration(text);
      return duration ? Value::Duration(*duration)
                      : cel::MakeError(arena, fmt::format("Invalid duration {}", text));
    }
    case Kind::kTimestamp: {
      const bool date = text.find_first_of("tT") == text.npos;
      const auto instant = cel::ParseInstant(date ? text + "T00:00:00Z" : text);
      return instant ? cel::MakeInstant(arena, *instant)
                     : cel::MakeError(arena,
                                      fmt::format("Invalid date-time formatted string {}", text));
    }
    default:
      return Value::String(text);
  }
}

}  // namespace

Value RuleValue(Arena& arena, const RuleType& type, const DocumentNode& node) {
  if (node.kind == TreeKind::kNull) {
    return type.nullable ? Value::Null() : Wrong(arena, "got null for schema with nullable=false");
  }
  switch (type.kind) {
    case Kind::kDyn:
      if (node.kind == TreeKind::kString) return Value::String(node.text);
      if (const auto integer = IntegerOf(node)) return Value::Int(*integer);
      return Wrong(arena, "expected XIntOrString value to be either a string or integer");
    case Kind::kBool:
      return node.kind == TreeKind::kBool ? Value::Bool(node.boolean)
                                          : Wrong(arena, "expected bool");
    case Kind::kInt:
      if (const auto integer = IntegerOf(node)) return Value::Int(*integer);
      return Wrong(arena, "expected int");
    case Kind::kDouble:
      if (const auto number = NumberOf(node)) return Value::Double(*number);
      return Wrong(arena, "expected float");
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return node.kind == TreeKind::kString ? TextValue(arena, type, node.text)
                                            : Wrong(arena, "expected string");
    case Kind::kList:
      if (node.kind != TreeKind::kList) {
        return Wrong(arena, "expected an array for the provided schema with type=array");
      }
      return Value::Pointer(cel::Kind::kList, static_cast<const cel::List*>(
                                                  arena.New<TreeList>(arena, *type.element, node)));
    case Kind::kMap:
    case Kind::kObject:
      break;
  }
  if (node.kind != TreeKind::kMap) {
    return Wrong(arena, "expected a map for the provided schema with type=object");
  }
  const cel::Map* map =
      type.kind == Kind::kMap
          ? static_cast<const cel::Map*>(arena.New<TreeMap>(arena, *type.element, node))
          : arena.New<TreeObject>(arena, type, node);
  return Value::Pointer(cel::Kind::kMap, map);
}

}  // namespace dray::crd::internal
