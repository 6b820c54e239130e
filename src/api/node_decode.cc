// SPDX-License-Identifier: Apache-2.0
//
// Trees into structs: the reader that explains.
#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "api/document.h"
#include "api/internal/field_hints.h"
#include "api/internal/reading.h"
#include "base/check.h"
#include "base/string_map.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

std::string Shown(const DocumentNode& node) {
  switch (node.kind) {
    case DocumentNode::Kind::kNull:
      return "null";
    case DocumentNode::Kind::kBool:
      return node.boolean ? "the boolean true" : "the boolean false";
    case DocumentNode::Kind::kNumber:
      return fmt::format("the number {}", node.text);
    case DocumentNode::Kind::kString: {
      const std::string_view text(node.text);
      return text.size() > 60 ? fmt::format("the string \"{}...\"", text.substr(0, 60))
                              : fmt::format("the string \"{}\"", text);
    }
    case DocumentNode::Kind::kList:
      return "a list";
    case DocumentNode::Kind::kMap:
      return "an object";
  }
  return "";
}

// JSON number text as an integer; like Kubernetes, "3.0" and "1e3" are none.
std::optional<std::int64_t> WholeNumber(const std::string& text) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec == std::errc() && result.ptr == end) return number;
  return std::nullopt;
}

// Of one severity. Whoever sends a hundred thousand slips is not told of each of them.
constexpr std::size_t kMaxReports = 1000;

class Reader {
 public:
  Reader(Severity unknown_severity, std::vector<Diagnostic>& diagnostics)
      : unknown_severity_(unknown_severity), diagnostics_(diagnostics) {}

  void Value(const TypeInfo& type, void* out, const DocumentNode& node,
             const base::FieldPath& path) {
    if (node.kind == DocumentNode::Kind::kNull) return;
    switch (type.shape) {
      case Shape::kBool:
        if (!Want(node, DocumentNode::Kind::kBool, "true or false", path)) return;
        *static_cast<bool*>(out) = node.boolean;
        return;
      case Shape::kInt32:
        if (const auto number = Integer(node, path, std::numeric_limits<std::int32_t>::min(),
                                        std::numeric_limits<std::int32_t>::max())) {
          *static_cast<std::int32_t*>(out) = static_cast<std::int32_t>(*number);
        }
        return;
      case Shape::kInt64:
        if (const auto number = Integer(node, path, std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max())) {
          *static_cast<std::int64_t*>(out) = *number;
        }
        return;
      case Shape::kDouble:
        if (!Want(node, DocumentNode::Kind::kNumber, "a number", path)) return;
        std::from_chars(node.text.data(), node.text.data() + node.text.size(),
                        *static_cast<double*>(out));
        return;
      case Shape::kString:
        if (!Want(node, DocumentNode::Kind::kString, "a string", path)) return;
        *static_cast<std::string*>(out) = node.text;
        return;
      case Shape::kText:
        if (Want(node, DocumentNode::Kind::kString, "a string", path))
          *static_cast<base::Text*>(out) = base::Text(node.text);
        return;
      case Shape::kQuantity:
        Quantity(static_cast<base::Quantity*>(out), node, path);
        return;
      case Shape::kTime:
        Time(static_cast<base::Time*>(out), node, path);
        *static_cast<base::Time*>(out) = static_cast<base::Time*>(out)->TruncateToSeconds();
        return;
      case Shape::kMicroTime:
        Time(&static_cast<MicroTime*>(out)->time, node, path);
        static_cast<MicroTime*>(out)->time =
            internal::TruncateToMicros(static_cast<MicroTime*>(out)->time);
        return;
      case Shape::kIntOrString:
        if (node.kind == DocumentNode::Kind::kString) {
          static_cast<IntOrString*>(out)->value = node.text;
        } else if (const auto number = Integer(node, path, std::numeric_limits<std::int32_t>::min(),
                                               std::numeric_limits<std::int32_t>::max())) {
          static_cast<IntOrString*>(out)->value = static_cast<std::int32_t>(*number);
        }
        return;
      case Shape::kRaw:
        static_cast<RawJson*>(out)->text = ToJson(node);
        return;
      case Shape::kBytes:
        if (!Want(node, DocumentNode::Kind::kString, "a string of base64", path)) return;
        if (!ReadBase64(node.text, *static_cast<Bytes*>(out))) {
          Report(Severity::kError, "InvalidValue", path, node.position,
                 "expected base64: letters, digits, + and /, in groups of four that = fills up",
                 "what is plain text goes into stringData of a Secret or data of a ConfigMap");
        }
        return;
      case Shape::kStruct:
        if (Want(node, DocumentNode::Kind::kMap, "an object", path))
          Struct(type.fields(), out, node, path);
        return;
      case Shape::kList:
        List(type, out, node, path);
        return;
      case Shape::kMap:
        Map(type, out, node, path);
        return;
      case Shape::kOptional:
        Value(*type.element, type.emplace(out), node, path);
        return;
    }
  }

  void Struct(const StructInfo& info, void* object, const DocumentNode& node,
              const base::FieldPath& path) {
    parents_.push_back(&info);
    std::uint64_t seen = 0;
    bool has_unknown = false;
    bool seen_version = false;
    bool seen_kind = false;
    for (const Member& member : node.members) {
      const int index = info.Find(member.key);
      if (index < 0) {
        if (parents_.size() == 1 && (member.key == "apiVersion" || member.key == "kind")) {
          bool& seen_before = member.key == "kind" ? seen_kind : seen_version;
          if (seen_before) Repeated(path.Child(member.key), member);
          seen_before = true;
          continue;
        }
        Unknown(info, object, member, path);
        has_unknown = true;
        continue;
      }
      const FieldInfo& field = info.fields[static_cast<std::size_t>(index)];
      const std::uint64_t bit = std::uint64_t{1} << index;
      if ((seen & bit) != 0) {
        Repeated(path.Child(member.key), member);
        field.type->reset(field.At(object));
      }
      seen |= bit;
      if (member.value.kind == DocumentNode::Kind::kNull) continue;
      Value(*field.type, field.At(object), member.value, path.Child(member.key));
    }
    if (has_unknown && info.mutable_unknown != nullptr)
      internal::SealUnknown(*info.mutable_unknown(object));
    if (info.after_decode != nullptr) info.after_decode(object);
    parents_.pop_back();
  }

 private:
  void List(const TypeInfo& type, void* list, const DocumentNode& node,
            const base::FieldPath& path) {
    if (!Want(node, DocumentNode::Kind::kList, "a list", path)) return;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      Value(*type.element, type.append(list), node.items[i], path.Index(i));
    }
  }

  void Map(const TypeInfo& type, void* map, const DocumentNode& node, const base::FieldPath& path) {
    if (!Want(node, DocumentNode::Kind::kMap, "an object", path)) return;
    base::StringSet seen;
    for (const Member& member : node.members) {
      if (!seen.insert(member.key).second) {
        Repeated(path.Key(member.key), member);
      }
      Value(*type.element, type.append_key(map, member.key), member.value, path.Key(member.key));
    }
    type.seal(map);
  }

  std::optional<std::int64_t> Integer(const DocumentNode& node, const base::FieldPath& path,
                                      std::int64_t min, std::int64_t max) {
    if (!Want(node, DocumentNode::Kind::kNumber, "an integer", path)) return std::nullopt;
    const auto number = WholeNumber(node.text);
    if (!number) {
      Mismatch(node, "an integer", path);
    } else if (*number < min || *number > max) {
      Report(Severity::kError, "InvalidValue", path, node.position,
             fmt::format("{} is out of range, expected {} to {}", node.text, min, max), "");
      return std::nullopt;
    }
    return number;
  }

  void Quantity(base::Quantity* out, const DocumentNode& node, const base::FieldPath& path) {
    if (node.kind != DocumentNode::Kind::kString && node.kind != DocumentNode::Kind::kNumber) {
      Mismatch(node, "a quantity such as 500m, 2 or 10Gi", path);
      return;
    }
    auto parsed = base::Quantity::Parse(internal::WithoutBlanks(node.text));
    if (!parsed.ok()) {
      Report(Severity::kError, "InvalidValue", path, node.position,
             std::string(base::Message(parsed.status())), "");
      return;
    }
    *out = *std::move(parsed);
  }

  void Time(base::Time* out, const DocumentNode& node, const base::FieldPath& path) {
    if (!Want(node, DocumentNode::Kind::kString, "a time such as 2026-01-31T12:00:00Z", path))
      return;
    auto parsed = internal::ReadTime(node.text);
    if (!parsed.ok()) {
      Report(Severity::kError, "InvalidValue", path, node.position,
             std::string(base::Message(parsed.status())), "");
      return;
    }
    *out = *parsed;
  }

  // A whole object inside another usually is the next document of a file.
  void Repeated(const base::FieldPath& field, const Member& member) {
    Report(unknown_severity_, "DuplicateField", field, member.key_position,
           fmt::format("duplicate field \"{}\"", field.ToString()),
           parents_.size() == 1 ? "the last one counts; is a line --- missing between two objects?"
                                : "the last one counts");
  }

  void Unknown(const StructInfo& info, void* object, const Member& member,
               const base::FieldPath& path) {
    const base::FieldPath field = path.Child(member.key);
    Report(unknown_severity_, "UnknownField", field, member.key_position,
           fmt::format("unknown field \"{}\"", field.ToString()),
           internal::HintForUnknownField(parents_, member.key));
    if (info.mutable_unknown == nullptr) return;
    UnknownFields& unknown = *info.mutable_unknown(object);
    if (!unknown.has_value()) unknown.emplace();
    unknown->push_back({member.key, ToJson(member.value)});
  }

  bool Want(const DocumentNode& node, DocumentNode::Kind kind, std::string_view what,
            const base::FieldPath& path) {
    if (node.kind == kind) return true;
    Mismatch(node, what, path);
    return false;
  }

  void Mismatch(const DocumentNode& node, std::string_view what, const base::FieldPath& path) {
    std::string hint;
    const bool scalar =
        node.kind == DocumentNode::Kind::kBool || node.kind == DocumentNode::Kind::kNumber;
    if (what == "a string" && scalar) hint = "put it in quotes";
    if (what == "an integer" && node.kind == DocumentNode::Kind::kString &&
        WholeNumber(node.text)) {
      hint = "leave the quotes away";
    }
    Report(Severity::kError, "TypeMismatch", path, node.position,
           fmt::format("expected {}, got {}", what, Shown(node)), std::move(hint));
  }

  void Report(Severity severity, std::string_view reason, const base::FieldPath& path,
              Position position, std::string message, std::string hint) {
    std::size_t& reports = severity == Severity::kError ? errors_ : others_;
    if (++reports > kMaxReports + 1) return;
    if (reports > kMaxReports) {
      reason = "TooMany";
      message = "it has more faults, which are not listed";
      hint.clear();
    }
    diagnostics_.push_back({.severity = severity,
                            .reason = std::string(reason),
                            .path = path,
                            .message = std::move(message),
                            .hint = std::move(hint),
                            .position = position});
  }

  Severity unknown_severity_;
  std::vector<Diagnostic>& diagnostics_;
  std::vector<const StructInfo*> parents_;  // the structs around the current place, outermost first
  std::size_t errors_ = 0;
  std::size_t others_ = 0;
};

}  // namespace

void DecodeNode(const DocumentNode& node, const TypeInfo& type, void* value,
                Severity unknown_severity, std::vector<Diagnostic>& diagnostics) {
  if (node.kind == DocumentNode::Kind::kNull && type.shape == Shape::kStruct) {
    diagnostics.push_back({.severity = Severity::kError,
                           .reason = "TypeMismatch",
                           .path = {},
                           .message = "expected an object, got null",
                           .hint = {},
                           .position = node.position});
    return;
  }
  Reader(unknown_severity, diagnostics).Value(type, value, node, base::FieldPath());
}

}  // namespace dray::api
