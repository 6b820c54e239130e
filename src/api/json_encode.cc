// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "api/internal/json_text.h"
#include "api/json.h"

namespace dray::api {
namespace {

template <typename T>
const T& As(const void* p) {
  return *static_cast<const T*>(p);
}

template <typename N>
void AppendNumber(N number, std::string& out) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), number);
  out.append(buffer, result.ptr);
}

void AppendQuoted(std::string_view plain, std::string& out) {
  out += '"';
  out += plain;
  out += '"';
}

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  void Value(const TypeInfo& type, const void* value, std::string_view head = {}) {
    switch (type.shape) {
      case Shape::kBool:
        out_ += As<bool>(value) ? "true" : "false";
        return;
      case Shape::kInt32:
        AppendNumber(As<std::int32_t>(value), out_);
        return;
      case Shape::kInt64:
        AppendNumber(As<std::int64_t>(value), out_);
        return;
      case Shape::kDouble:
        AppendNumber(As<double>(value), out_);
        return;
      case Shape::kString:
        internal::AppendJsonString(As<std::string>(value), out_);
        return;
      case Shape::kText:
        internal::AppendJsonString(As<base::Text>(value), out_);
        return;
      case Shape::kQuantity:
        AppendQuoted(As<base::Quantity>(value).ToString(), out_);
        return;
      case Shape::kTime:
        AppendQuoted(As<base::Time>(value).ToRfc3339(), out_);
        return;
      case Shape::kMicroTime:
        AppendQuoted(As<MicroTime>(value).time.ToRfc3339Micro(), out_);
        return;
      case Shape::kIntOrString: {
        const auto& either = As<IntOrString>(value).value;
        if (const auto* number = std::get_if<std::int32_t>(&either)) {
          AppendNumber(*number, out_);
        } else {
          internal::AppendJsonString(std::get<std::string>(either), out_);
        }
        return;
      }
      case Shape::kRaw: {
        const std::string& text = As<RawJson>(value).text;
        out_ += text.empty() ? "null" : text;
        return;
      }
      case Shape::kStruct:
        Struct(type.fields(), value, head);
        return;
      case Shape::kList:
        List(type, value);
        return;
      case Shape::kMap:
        Map(type, value);
        return;
      case Shape::kOptional:
        if (const void* content = type.get(value)) {
          Value(*type.element, content);
        } else {
          out_ += "null";
        }
        return;
    }
  }

 private:
  void Struct(const StructInfo& info, const void* object, std::string_view head) {
    out_ += '{';
    out_ += head;
    bool first = head.empty();
    const auto name = [&](std::string_view text) {
      if (!first) out_ += ',';
      first = false;
      AppendQuoted(text, out_);
      out_ += ':';
    };
    for (const FieldInfo& field : info.fields) {
      const void* value = field.get(object);
      if (value == nullptr) continue;
      const bool always = field.options.presence == Presence::kAlways;
      if (!always && IsEmptyValue(*field.type, value)) continue;
      name(field.name);
      const bool items = field.type->shape == Shape::kList || field.type->shape == Shape::kMap;
      if (items && field.type->size(value) == 0) {
        out_ += "null";
      } else {
        Value(*field.type, value);
      }
    }
    if (info.unknown != nullptr && info.unknown(object)->has_value()) {
      for (const UnknownField& unknown : **info.unknown(object)) {
        if (!first) out_ += ',';
        first = false;
        internal::AppendJsonString(unknown.name, out_);
        out_ += ':';
        out_ += unknown.json;
      }
    }
    out_ += '}';
  }

  void List(const TypeInfo& type, const void* list) {
    out_ += '[';
    const std::size_t n = type.size(list);
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) out_ += ',';
      Value(*type.element, type.at(list, i));
    }
    out_ += ']';
  }

  void Map(const TypeInfo& type, const void* map) {
    out_ += '{';
    const std::size_t n = type.size(map);
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) out_ += ',';
      internal::AppendJsonString(type.key_at(map, i), out_);
      out_ += ':';
      Value(*type.element, type.at(map, i));
    }
    out_ += '}';
  }

  std::string& out_;
};

}  // namespace

void EncodeJson(const TypeInfo& type, const void* value, std::string& out, std::string_view head) {
  Encoder(out).Value(type, value, head);
}

std::string IndentJson(std::string_view compact, int spaces) {
  std::string out;
  int depth = 0;
  bool in_string = false;
  const auto line = [&] {
    out += '\n';
    out.append(static_cast<std::size_t>(depth * spaces), ' ');
  };
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < compact.size()) out += compact[++i];
      if (c == '"') in_string = false;
      continue;
    }
    switch (c) {
      case '"':
        in_string = true;
        out += c;
        break;
      case '{':
      case '[':
        out += c;
        if (i + 1 < compact.size() && (compact[i + 1] == '}' || compact[i + 1] == ']')) {
          out += compact[++i];
        } else {
          ++depth;
          line();
        }
        break;
      case '}':
      case ']':
        --depth;
        line();
        out += c;
        break;
      case ',':
        out += c;
        line();
        break;
      case ':':
        out += ": ";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace dray::api
