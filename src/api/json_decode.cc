// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "api/internal/json_cursor.h"
#include "api/internal/json_text.h"
#include "api/internal/reading.h"
#include "api/json.h"
#include "base/check.h"
#include "fmt/format.h"
#include "simdjson.h"

namespace dray::api {
namespace {

namespace dom = simdjson::dom;

// Long texts that were read lately. Devices of a slice, and slices of a driver, say the same long
// things again and again; they then share one copy.
class TextCache {
 public:
  base::Text Get(std::string_view text) {
    if (text.size() <= base::Text::kInlineSize) return text;
    base::Text& slot = slots_[Hash(text) % slots_.size()];
    if (slot != text) slot = base::Text(text);
    return slot;
  }

 private:
  static std::size_t Hash(std::string_view text) {
    std::uint64_t head = 0;
    std::uint64_t tail = 0;
    std::memcpy(&head, text.data(), sizeof(head));
    std::memcpy(&tail, text.data() + text.size() - sizeof(tail), sizeof(tail));
    return static_cast<std::size_t>(
        ((head ^ (tail * 0x9e3779b97f4a7c15ULL)) * 0x9e3779b97f4a7c15ULL) >> 40);
  }
  std::array<base::Text, 256> slots_;
};

// Reads simdjson's tape into structs. Any doubt (a wrong type, a number out of range) answers
// false; the caller then has the document explained the slow way.
class FastDecoder {
 public:
  FastDecoder(std::string_view json, bool strict, TextCache& texts)
      : json_(json), strict_(strict), texts_(texts) {}

  bool Struct(const StructInfo& info, void* object, dom::object fields, bool top) {
    std::uint64_t seen = 0;
    std::size_t next = 0;
    bool has_unknown = false;
    bool seen_version = false;
    bool seen_kind = false;
    Place place(*this);
    for (const dom::key_value_pair field : fields) {
      place.Next();
      const int index = info.Find(field.key, next);
      if (index < 0) {
        if (top && (field.key == "apiVersion" || field.key == "kind")) {
          bool& seen_before = field.key == "kind" ? seen_kind : seen_version;
          if (seen_before && strict_) return false;
          seen_before = true;
          continue;
        }
        if (!Unknown(info, object, field)) return false;
        has_unknown = true;
        continue;
      }
      const std::uint64_t bit = std::uint64_t{1} << index;
      const FieldInfo& entry = info.fields[static_cast<std::size_t>(index)];
      if ((seen & bit) != 0) {
        if (strict_) return false;
        entry.type->reset(entry.At(object));
      }
      seen |= bit;
      next = static_cast<std::size_t>(index) + 1;
      if (!field.value.is_null() && !Value(*entry.type, entry.At(object), field.value))
        return false;
    }
    if (has_unknown && info.mutable_unknown != nullptr)
      internal::SealUnknown(*info.mutable_unknown(object));
    if (info.after_decode != nullptr) info.after_decode(object);
    return true;
  }

 private:
  // Says in which value of a list or map the decoder is, as long as it is in there.
  class Place {
   public:
    explicit Place(FastDecoder& decoder) : decoder_(decoder) {
      decoder_.path_[decoder_.depth_++] = std::numeric_limits<std::uint32_t>::max();
    }
    ~Place() { --decoder_.depth_; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    void Next() { ++decoder_.path_[decoder_.depth_ - 1]; }

   private:
    FastDecoder& decoder_;
  };

  static bool String(std::string* out, dom::element value) {
    std::string_view text;
    if (value.get_string().get(text)) return false;
    out->assign(text);
    return true;
  }

  bool Value(const TypeInfo& type, void* out, dom::element value) {
    switch (type.shape) {
      case Shape::kBool:
        return value.get_bool().get(*static_cast<bool*>(out)) == simdjson::SUCCESS;
      case Shape::kInt32: {
        std::int64_t number = 0;
        if (!Integer(value, number) || number < std::numeric_limits<std::int32_t>::min() ||
            number > std::numeric_limits<std::int32_t>::max()) {
          return false;
        }
        *static_cast<std::int32_t*>(out) = static_cast<std::int32_t>(number);
        return true;
      }
      case Shape::kInt64:
        return Integer(value, *static_cast<std::int64_t*>(out));
      case Shape::kDouble:
        return value.get_double().get(*static_cast<double*>(out)) == simdjson::SUCCESS;
      case Shape::kString:
        return String(static_cast<std::string*>(out), value);
      case Shape::kText: {
        std::string_view text;
        if (value.get_string().get(text)) return false;
        *static_cast<base::Text*>(out) = texts_.Get(text);
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
        if (!Time(&static_cast<MicroTime*>(out)->time, value)) return false;
        static_cast<MicroTime*>(out)->time =
            internal::TruncateToMicros(static_cast<MicroTime*>(out)->time);
        return true;
      case Shape::kIntOrString:
        return Either(static_cast<IntOrString*>(out), value);
      case Shape::kRaw:
        return Raw(value, static_cast<RawJson*>(out)->text);
      case Shape::kBytes: {
        std::string_view text;
        return !value.get_string().get(text) && ReadBase64(text, *static_cast<Bytes*>(out));
      }
      case Shape::kStruct: {
        dom::object object;
        return value.get_object().get(object) == simdjson::SUCCESS &&
               Struct(type.fields(), out, object, false);
      }
      case Shape::kList:
        return List(type, out, value);
      case Shape::kMap:
        return Map(type, out, value);
      case Shape::kOptional:
        return Optional(type, out, value);
    }
    return false;
  }

  bool Optional(const TypeInfo& type, void* out, dom::element value) {
    switch (type.optional_of) {
      case OptionalOf::kStdString: {
        std::string_view text;
        if (value.get_string().get(text)) return false;
        static_cast<std::optional<std::string>*>(out)->emplace(text);
        return true;
      }
      case OptionalOf::kText: {
        std::string_view text;
        if (value.get_string().get(text)) return false;
        if (text.size() <= base::Text::kInlineSize) {
          static_cast<base::OptionalText*>(out)->emplace(text);
        } else {
          static_cast<base::OptionalText*>(out)->emplace(texts_.Get(text));
        }
        return true;
      }
      case OptionalOf::kStdInt64:
        return Integer(value, static_cast<std::optional<std::int64_t>*>(out)->emplace());
      case OptionalOf::kStdBool:
        return value.get_bool().get(static_cast<std::optional<bool>*>(out)->emplace()) ==
               simdjson::SUCCESS;
      case OptionalOf::kOther:
        return Value(*type.element, type.emplace(out), value);
    }
    return false;
  }

  // Only what is written as an integer: simdjson alone would also take 1.0.
  static bool Integer(dom::element value, std::int64_t& out) {
    return value.is_int64() && value.get_int64().get(out) == simdjson::SUCCESS;
  }

  bool StructOrNull(const StructInfo& info, void* out, dom::element value) {
    dom::object object;
    if (value.get_object().get(object) == simdjson::SUCCESS)
      return Struct(info, out, object, false);
    return value.is_null();
  }

  bool List(const TypeInfo& type, void* list, dom::element value) {
    dom::array items;
    if (value.get_array().get(items)) return false;
    type.reserve(list, items.size());
    Place place(*this);
    if (type.element->shape == Shape::kStruct) {
      const StructInfo& info = type.element->fields();
      for (const dom::element item : items) {
        place.Next();
        void* slot = type.append(list);
        if (!StructOrNull(info, slot, item)) return false;
      }
      return true;
    }
    for (const dom::element item : items) {
      place.Next();
      void* slot = type.append(list);
      if (!item.is_null() && !Value(*type.element, slot, item)) return false;
    }
    return true;
  }

  bool Map(const TypeInfo& type, void* map, dom::element value) {
    dom::object entries;
    if (value.get_object().get(entries)) return false;
    type.reserve(map, entries.size());
    Place place(*this);
    if (type.element->shape == Shape::kStruct) {
      const StructInfo& info = type.element->fields();
      for (const dom::key_value_pair entry : entries) {
        place.Next();
        void* slot = type.append_key(map, texts_.Get(entry.key));
        if (!StructOrNull(info, slot, entry.value)) return false;
      }
      return type.seal(map) || !strict_;
    }
    for (const dom::key_value_pair entry : entries) {
      place.Next();
      void* slot = type.append_key(map, texts_.Get(entry.key));
      if (!entry.value.is_null() && !Value(*type.element, slot, entry.value)) return false;
    }
    return type.seal(map) || !strict_;
  }

  static bool Quantity(base::Quantity* out, dom::element value) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS)
      return base::Quantity::TryParse(internal::WithoutBlanks(text), out);
    // The digits of a fraction are gone from the tape; the slow way still has them.
    std::int64_t number = 0;
    if (!Integer(value, number)) return false;
    *out = base::Quantity::FromInt(number);
    return true;
  }

  static bool Time(base::Time* out, dom::element value) {
    std::string_view text;
    if (value.get_string().get(text)) return false;
    auto time = internal::ReadTime(text);
    if (!time.ok()) return false;
    *out = *time;
    return true;
  }

  static bool Either(IntOrString* out, dom::element value) {
    std::string_view text;
    if (value.get_string().get(text) == simdjson::SUCCESS) {
      out->value = std::string(text);
      return true;
    }
    std::int64_t number = 0;
    if (!Integer(value, number) || number < std::numeric_limits<std::int32_t>::min() ||
        number > std::numeric_limits<std::int32_t>::max()) {
      return false;
    }
    out->value = static_cast<std::int32_t>(number);
    return true;
  }

  // A value that is carried, not read, as it is written. The tape mostly says enough for that; else
  // the text is looked at again.
  bool Raw(dom::element value, std::string& out) {
    if (!has_escapes_) has_escapes_ = json_.find('\\') != std::string_view::npos;
    const std::size_t before = out.size();
    if (AppendRaw(value, *has_escapes_, out)) return true;
    out.resize(before);
    if (!cursor_) cursor_.emplace(json_);
    const std::string_view text = cursor_->Find({path_.data(), depth_});
    if (text.empty()) return false;
    internal::AppendCompact(text, out);
    return true;
  }

  // False when the tape does not say how it is written: digits of fractions, the sign of zero, and
  // strings of a text with escapes.
  static bool AppendRaw(dom::element value, bool escapes, std::string& out) {
    switch (value.type()) {
      case dom::element_type::NULL_VALUE:
        out += "null";
        return true;
      case dom::element_type::BOOL:
        out += value.get_bool().value_unsafe() ? "true" : "false";
        return true;
      case dom::element_type::INT64:
        out += std::to_string(value.get_int64().value_unsafe());
        return value.get_int64().value_unsafe() != 0;
      case dom::element_type::UINT64:
        out += std::to_string(value.get_uint64().value_unsafe());
        return true;
      case dom::element_type::DOUBLE:
        return false;
      case dom::element_type::STRING:
        if (escapes) return false;
        internal::AppendJsonString(value.get_string().value_unsafe(), out);
        return true;
      case dom::element_type::ARRAY: {
        char separator = '[';
        const dom::array items = value.get_array().value_unsafe();
        for (const dom::element item : items) {
          out += separator;
          separator = ',';
          if (!AppendRaw(item, escapes, out)) return false;
        }
        out += separator == '[' ? "[]" : "]";
        return true;
      }
      case dom::element_type::OBJECT: {
        char separator = '{';
        const dom::object fields = value.get_object().value_unsafe();
        for (const dom::key_value_pair field : fields) {
          if (escapes) return false;
          out += separator;
          separator = ',';
          internal::AppendJsonString(field.key, out);
          out += ':';
          if (!AppendRaw(field.value, escapes, out)) return false;
        }
        out += separator == '{' ? "{}" : "}";
        return true;
      }
    }
    return false;
  }

  bool Unknown(const StructInfo& info, void* object, const dom::key_value_pair& field) {
    if (strict_) return false;
    std::string json;
    if (!Raw(field.value, json)) return false;
    if (info.mutable_unknown == nullptr) return true;
    UnknownFields& unknown = *info.mutable_unknown(object);
    if (!unknown.has_value()) unknown.emplace();
    unknown->push_back({std::string(field.key), std::move(json)});
    return true;
  }

  const std::string_view json_;
  const bool strict_;
  TextCache& texts_;
  // For values that are looked up in the text.
  std::array<std::uint32_t, kMaxDocumentDepth + 2> path_;
  std::size_t depth_ = 0;
  std::optional<bool> has_escapes_;
  std::optional<internal::JsonCursor> cursor_;
};

Status Explain(std::string_view json, const TypeInfo& type, void* value, bool strict) {
  std::vector<Diagnostic> diagnostics;
  const DocumentNode root = ParseJson(json, diagnostics);
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
  dom::parser parser;
  TextCache texts;
  std::vector<char> padded;  // simdjson reads a little past the end

  State() {
    // The same bound as ParseJson's; simdjson counts the value itself, too.
    DRAY_CHECK(parser.allocate(0, kMaxDocumentDepth + 1) == simdjson::SUCCESS);
  }

  // The root of `json` as an object, or nothing.
  std::optional<dom::object> Parse(std::string_view json, bool is_padded = false) {
    static_assert(kJsonPadding >= simdjson::SIMDJSON_PADDING);
    dom::object object;
    if (is_padded) {
      if (parser.parse(json.data(), json.size(), false).get_object().get(object))
        return std::nullopt;
      return object;
    }
    if (padded.size() < json.size() + simdjson::SIMDJSON_PADDING) {
      padded.resize(json.size() + simdjson::SIMDJSON_PADDING);
    }
    std::memcpy(padded.data(), json.data(), json.size());
    std::memset(padded.data() + json.size(), 0, simdjson::SIMDJSON_PADDING);
    if (parser.parse(padded.data(), json.size(), false).get_object().get(object))
      return std::nullopt;
    return object;
  }
};

JsonDecoder::JsonDecoder() : state_(std::make_unique<State>()) {}
JsonDecoder::~JsonDecoder() = default;
JsonDecoder::JsonDecoder(JsonDecoder&&) noexcept = default;
JsonDecoder& JsonDecoder::operator=(JsonDecoder&&) noexcept = default;

Status JsonDecoder::Decode(std::string_view json, const TypeInfo& type, void* value,
                           DecodeOptions options) {
  const std::optional<dom::object> object = state_->Parse(json, options.padded);
  if (object && type.shape == Shape::kStruct &&
      FastDecoder(json, options.strict, state_->texts)
          .Struct(type.fields(), value, *object, true)) {
    return absl::OkStatus();
  }
  return Explain(json, type, value, options.strict);
}

StatusOr<JsonDecoder::TypeMeta> JsonDecoder::PeekType(std::string_view json) {
  if (const std::optional<dom::object> object = state_->Parse(json)) {
    TypeMeta meta;
    // Of repeated fields the last one counts, as everywhere.
    for (const dom::key_value_pair field : *object) {
      std::string* out = field.key == "apiVersion" ? &meta.api_version
                         : field.key == "kind"     ? &meta.kind
                                                   : nullptr;
      if (out == nullptr) continue;
      std::string_view text;
      out->assign(field.value.get_string().get(text) == simdjson::SUCCESS ? text : "");
    }
    return meta;
  }
  std::vector<Diagnostic> diagnostics;
  const DocumentNode root = ParseJson(json, diagnostics);
  if (!diagnostics.empty()) return base::InvalidArgument(ToString(diagnostics.front()));
  if (root.kind != DocumentNode::Kind::kMap) {
    return base::InvalidArgument(
        fmt::format("{}:{}: expected an object", root.position.line, root.position.column));
  }
  TypeMeta meta;
  const auto read = [&](std::string_view key, std::string& out) {
    const Member* member = root.Find(key);
    if (member != nullptr && member->value.kind == DocumentNode::Kind::kString)
      out = member->value.text;
  };
  read("apiVersion", meta.api_version);
  read("kind", meta.kind);
  return meta;
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
