// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <utility>

#include "api/json.h"
#include "fmt/format.h"
#include "simdjson.h"

namespace dray::api {
namespace {

namespace od = simdjson::ondemand;

// Reads On-Demand values into structs. Any doubt (a wrong type, a number out of range, broken text)
// answers false; the caller then has the document explained the slow way.
class FastDecoder {
 public:
  FastDecoder(simdjson::dom::parser& raw_parser, bool strict)
      : raw_parser_(raw_parser), strict_(strict) {}

  bool Struct(const StructInfo& info, void* object, od::object fields, bool top) {
    std::uint64_t seen = 0;
    std::size_t next = 0;
    for (auto field_or : fields) {
      od::field field;
      std::string_view key;
      if (field_or.get(field) || field.unescaped_key().get(key)) return false;
      const int index = info.Find(key, next);
      if (index < 0) {
        if (top && (key == "apiVersion" || key == "kind")) continue;
        if (!Unknown(info, object, key, field.value())) return false;
        continue;
      }
      const std::uint64_t bit = std::uint64_t{1} << index;
      const FieldInfo& entry = info.fields[static_cast<std::size_t>(index)];
      if ((seen & bit) != 0) {
        if (strict_) return false;
        entry.type->reset(entry.mut(object));
      }
      seen |= bit;
      next = static_cast<std::size_t>(index) + 1;
      if (!Field(entry, object, field.value())) return false;
    }
    if (info.after_decode != nullptr) info.after_decode(object);
    return true;
  }

 private:
  bool Field(const FieldInfo& entry, void* object, od::value value) {
    bool null = false;
    if (value.is_null().get(null)) return false;
    return null || Value(*entry.type, entry.mut(object), value);
  }

  bool Value(const TypeInfo& type, void* out, od::value value) {
    switch (type.shape) {
      case Shape::kBool:
        return value.get_bool().get(*static_cast<bool*>(out)) == simdjson::SUCCESS;
      case Shape::kInt32: {
        std::int64_t number = 0;
        if (value.get_int64().get(number)) return false;
        if (number < std::numeric_limits<std::int32_t>::min() ||
            number > std::numeric_limits<std::int32_t>::max()) {
          return false;
        }
        *static_cast<std::int32_t*>(out) = static_cast<std::int32_t>(number);
        return true;
      }
      case Shape::kInt64:
        return value.get_int64().get(*static_cast<std::int64_t*>(out)) == simdjson::SUCCESS;
      case Shape::kDouble:
        return value.get_double().get(*static_cast<double*>(out)) == simdjson::SUCCESS;
      case Shape::kString: {
        std::string_view text;
        if (value.get_string().get(text)) return false;
        static_cast<std::string*>(out)->assign(text);
        return true;
      }
      case Shape::kQuantity:
        return Quantity(static_cast<base::Quantity*>(out), value);
      case Shape::kTime:
        if (!Time(static_cast<base::Time*>(out), value)) return false;
        // What is written has whole seconds, so what is read has, too: a round trip changes
        // nothing.
        *static_cast<base::Time*>(out) = static_cast<base::Time*>(out)->TruncateToSeconds();
        return true;
      case Shape::kMicroTime:
        return Time(&static_cast<MicroTime*>(out)->time, value);
      case Shape::kIntOrString:
        return Either(static_cast<IntOrString*>(out), value);
      case Shape::kRaw:
        return Raw(value, static_cast<RawJson*>(out)->text);
      case Shape::kStruct: {
        od::object object;
        return value.get_object().get(object) == simdjson::SUCCESS &&
               Struct(type.fields(), out, object, false);
      }
      case Shape::kList:
        return List(type, out, value);
      case Shape::kMap:
        return Map(type, out, value);
      case Shape::kOptional:
        return Value(*type.element, type.emplace(out), value);
    }
    return false;
  }

  bool List(const TypeInfo& type, void* list, od::value value) {
    od::array items;
    if (value.get_array().get(items)) return false;
    for (auto item_or : items) {
      od::value item;
      bool null = false;
      if (item_or.get(item) || item.is_null().get(null)) return false;
      void* slot = type.append(list);
      if (!null && !Value(*type.element, slot, item)) return false;
    }
    return true;
  }

  bool Map(const TypeInfo& type, void* map, od::value value) {
    od::object entries;
    if (value.get_object().get(entries)) return false;
    for (auto field_or : entries) {
      od::field field;
      std::string_view key;
      bool null = false;
      if (field_or.get(field) || field.unescaped_key().get(key)) return false;
      if (field.value().is_null().get(null)) return false;
      void* slot = type.append_key(map, key);
      if (!null && !Value(*type.element, slot, field.value())) return false;
    }
    return type.seal(map) || !strict_;
  }

  static bool Quantity(base::Quantity* out, od::value value) {
    od::json_type kind;
    if (value.type().get(kind)) return false;
    std::string_view text;
    if (kind == od::json_type::string) {
      if (value.get_string().get(text)) return false;
      return base::Quantity::TryParse(text, out);
    }
    if (kind != od::json_type::number) return false;
    text = value.raw_json_token();
    while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
    double checked = 0;  // the raw token is only a number if simdjson can read it as one
    if (value.get_double().get(checked)) return false;
    return base::Quantity::TryParse(text, out);
  }

  static bool Time(base::Time* out, od::value value) {
    std::string_view text;
    if (value.get_string().get(text)) return false;
    auto time = base::Time::ParseRfc3339(text);
    if (!time.ok()) return false;
    *out = *time;
    return true;
  }

  static bool Either(IntOrString* out, od::value value) {
    od::json_type kind;
    if (value.type().get(kind)) return false;
    if (kind == od::json_type::string) {
      std::string_view text;
      if (value.get_string().get(text)) return false;
      out->value = std::string(text);
      return true;
    }
    std::int64_t number = 0;
    if (kind != od::json_type::number || value.get_int64().get(number)) return false;
    if (number < std::numeric_limits<std::int32_t>::min() ||
        number > std::numeric_limits<std::int32_t>::max()) {
      return false;
    }
    out->value = static_cast<std::int32_t>(number);
    return true;
  }

  // The value's text, compacted. On-Demand does not look inside what it skips, so the text is
  // parsed once for its own sake: nothing that is not JSON is kept.
  bool Raw(od::value value, std::string& out) {
    std::string_view text;
    if (simdjson::to_json_string(value).get(text)) return false;
    simdjson::dom::element parsed;
    if (raw_parser_.parse(text.data(), text.size()).get(parsed)) return false;
    std::string compact(text.size() + simdjson::SIMDJSON_PADDING, '\0');
    std::size_t length = 0;
    if (simdjson::minify(text.data(), text.size(), compact.data(), length)) return false;
    out.assign(compact, 0, length);
    return true;
  }

  bool Unknown(const StructInfo& info, void* object, std::string_view key, od::value value) {
    if (strict_) return false;
    std::string name(key);  // the view is into a buffer that reading the value reuses
    std::string json;
    if (!Raw(value, json)) return false;
    if (info.mutable_unknown == nullptr) return true;
    UnknownFields& unknown = *info.mutable_unknown(object);
    if (!unknown.has_value()) unknown.emplace();
    for (UnknownField& earlier : *unknown) {
      if (earlier.name == name) {
        earlier.json = std::move(json);
        return true;
      }
    }
    unknown->push_back({std::move(name), std::move(json)});
    return true;
  }

  simdjson::dom::parser& raw_parser_;
  bool strict_;
};

Status Explain(std::string_view json, const TypeInfo& type, void* value, bool strict) {
  std::vector<Diagnostic> diagnostics;
  const Node root = ParseJson(json, diagnostics);
  if (diagnostics.empty()) {
    type.reset(value);
    DecodeNode(root, type, value, strict ? Severity::kError : Severity::kWarning, diagnostics);
  }
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.severity != Severity::kError) continue;
    if (!text.empty()) text += "; ";
    text += ToString(diagnostic);
  }
  return text.empty() ? absl::OkStatus() : base::InvalidArgument(text);
}

}  // namespace

struct JsonDecoder::State {
  od::parser parser;
  simdjson::dom::parser raw_parser;
  std::string padded;

  simdjson::padded_string_view Pad(std::string_view json) {
    padded.reserve(json.size() + simdjson::SIMDJSON_PADDING);
    padded.assign(json);
    return {padded.data(), json.size(), json.size() + simdjson::SIMDJSON_PADDING};
  }
};

JsonDecoder::JsonDecoder() : state_(std::make_unique<State>()) {}
JsonDecoder::~JsonDecoder() = default;
JsonDecoder::JsonDecoder(JsonDecoder&&) noexcept = default;
JsonDecoder& JsonDecoder::operator=(JsonDecoder&&) noexcept = default;

Status JsonDecoder::Decode(std::string_view json, const TypeInfo& type, void* value,
                           DecodeOptions options) {
  od::document document;
  od::object object;
  const bool fast =
      type.shape == Shape::kStruct &&
      state_->parser.iterate(state_->Pad(json)).get(document) == simdjson::SUCCESS &&
      document.get_object().get(object) == simdjson::SUCCESS &&
      FastDecoder(state_->raw_parser, options.strict).Struct(type.fields(), value, object, true) &&
      document.at_end();
  if (fast) return absl::OkStatus();
  return Explain(json, type, value, options.strict);
}

StatusOr<JsonDecoder::TypeMeta> JsonDecoder::PeekType(std::string_view json) {
  TypeMeta meta;
  od::document document;
  od::object object;
  if (state_->parser.iterate(state_->Pad(json)).get(document) == simdjson::SUCCESS &&
      document.get_object().get(object) == simdjson::SUCCESS) {
    const auto read = [&](const char* key, std::string& out) {
      std::string_view text;
      if (object.find_field_unordered(key).get_string().get(text) == simdjson::SUCCESS)
        out.assign(text);
    };
    read("apiVersion", meta.api_version);
    read("kind", meta.kind);
    return meta;
  }
  std::vector<Diagnostic> diagnostics;
  const Node root = ParseJson(json, diagnostics);
  if (!diagnostics.empty()) return base::InvalidArgument(ToString(diagnostics.front()));
  if (root.kind != Node::Kind::kMap) {
    return base::InvalidArgument(
        fmt::format("{}:{}: expected an object", root.position.line, root.position.column));
  }
  return base::Internal("the JSON reader rejected a document that is well formed");
}

std::string ToString(const Diagnostic& diagnostic) {
  std::string text;
  if (diagnostic.position.line > 0) {
    text = fmt::format("{}:{}: ", diagnostic.position.line, diagnostic.position.column);
  }
  if (!diagnostic.path.empty()) text.append(diagnostic.path.ToString()).append(": ");
  text += diagnostic.message;
  if (!diagnostic.hint.empty()) text.append(" (").append(diagnostic.hint).append(")");
  return text;
}

}  // namespace dray::api
