// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
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

// Text on its way into a string: what is short is gathered first, so that most objects are one piece
// (a pod with four managers has 4.3 kB), and their string is as large as it has to be.
class Sink {
 public:
  explicit Sink(std::string& out) : out_(out) {}
  ~Sink() { Flush(); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void Put(char c) {
    if (size_ == sizeof(gathered_)) Flush();
    gathered_[size_++] = c;
  }
  void Put(std::string_view text) {
    if (text.empty()) return;
    if (text.size() > sizeof(gathered_) - size_) return PutLong(text);
    std::memcpy(gathered_ + size_, text.data(), text.size());
    size_ += text.size();
  }
  // `"name":`
  void PutName(std::string_view name) {
    Put('"');
    Put(name);
    Put("\":");
  }
  template <typename N>
  void PutNumber(N number) {
    char buffer[32];
    const auto result = std::to_chars(buffer, buffer + sizeof(buffer), number);
    Put(std::string_view(buffer, static_cast<std::size_t>(result.ptr - buffer)));
  }
  void PutQuoted(std::string_view plain) {
    Put('"');
    Put(plain);
    Put('"');
  }
  // As AppendJsonString.
  void PutString(std::string_view text) {
    if (IsPlain(text)) return PutQuoted(text);
    Flush();
    internal::AppendJsonString(text, out_);
  }

 private:
  // Whether nothing of it needs an escape: eight bytes at a time.
  static bool IsPlain(std::string_view text) {
    constexpr std::uint64_t kOnes = 0x0101010101010101;
    constexpr std::uint64_t kHighs = 0x8080808080808080;
    // The high bit of each byte that is zero, and maybe of one above such a byte.
    const auto zeros = [](std::uint64_t x) { return (x - kOnes) & ~x & kHighs; };
    const auto special = [&](std::uint64_t x) {
      const std::uint64_t controls = (x - kOnes * 0x20) & ~x & kHighs;
      return (controls | zeros(x ^ (kOnes * '"')) | zeros(x ^ (kOnes * '\\'))) != 0;
    };
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t word = 0;
    for (; left >= sizeof(word); at += sizeof(word), left -= sizeof(word)) {
      std::memcpy(&word, at, sizeof(word));
      if (special(word)) return false;
    }
    if (left == 0) return true;
    word = kOnes * ' ';
    std::memcpy(&word, at, left);
    return !special(word);
  }
  void PutLong(std::string_view text) {
    Flush();
    out_ += text;
  }
  void Flush() {
    out_.append(gathered_, size_);
    size_ = 0;
  }

  std::string& out_;
  std::size_t size_ = 0;
  char gathered_[16384];
};

// The same as IsEmptyValue, which walks into structs; most fields are none.
bool IsEmpty(const TypeInfo& type, const void* value) {
  switch (type.shape) {
    case Shape::kString:
      return As<std::string>(value).empty();
    case Shape::kOptional:
      return type.get(value) == nullptr;
    case Shape::kList:
    case Shape::kMap:
      return type.size(value) == 0;
    default:
      return IsEmptyValue(type, value);
  }
}

class Encoder {
 public:
  explicit Encoder(std::string& out) : out_(out) {}

  void Value(const TypeInfo& type, const void* value, std::string_view head = {}) {
    switch (type.shape) {
      case Shape::kBool:
        out_.Put(As<bool>(value) ? std::string_view("true") : std::string_view("false"));
        return;
      case Shape::kInt32:
        out_.PutNumber(As<std::int32_t>(value));
        return;
      case Shape::kInt64:
        out_.PutNumber(As<std::int64_t>(value));
        return;
      case Shape::kDouble:
        out_.PutNumber(As<double>(value));
        return;
      case Shape::kString:
        out_.PutString(As<std::string>(value));
        return;
      case Shape::kText:
        out_.PutString(As<base::Text>(value));
        return;
      case Shape::kQuantity:
        out_.PutQuoted(As<base::Quantity>(value).ToString());
        return;
      case Shape::kTime:
        out_.PutQuoted(As<base::Time>(value).ToRfc3339());
        return;
      case Shape::kMicroTime:
        out_.PutQuoted(As<MicroTime>(value).time.ToRfc3339Micro());
        return;
      case Shape::kIntOrString: {
        const auto& either = As<IntOrString>(value).value;
        if (const auto* number = std::get_if<std::int32_t>(&either)) {
          out_.PutNumber(*number);
        } else {
          out_.PutString(std::get<std::string>(either));
        }
        return;
      }
      case Shape::kRaw: {
        const std::string& text = As<RawJson>(value).text;
        out_.Put(text.empty() ? std::string_view("null") : std::string_view(text));
        return;
      }
      case Shape::kBytes:
        out_.PutQuoted(Base64Of(As<Bytes>(value)));
        return;
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
          out_.Put("null");
        }
        return;
    }
  }

 private:
  void Struct(const StructInfo& info, const void* object, std::string_view head) {
    out_.Put('{');
    out_.Put(head);
    bool first = head.empty();
    for (const FieldInfo& field : info.fields) {
      const void* value = field.Get(object);
      if (value == nullptr) continue;
      const bool always = field.options.presence == Presence::kAlways;
      if (!always && IsEmpty(*field.type, value)) continue;
      if (!first) out_.Put(',');
      first = false;
      out_.PutName(field.name);
      const bool items = field.type->shape == Shape::kList || field.type->shape == Shape::kMap;
      if (items && field.type->size(value) == 0) {
        out_.Put("null");
      } else {
        Value(*field.type, value);
      }
    }
    if (info.unknown != nullptr && info.unknown(object)->has_value()) {
      for (const UnknownField& unknown : **info.unknown(object)) {
        if (!first) out_.Put(',');
        first = false;
        out_.PutString(unknown.name);
        out_.Put(':');
        out_.Put(unknown.json);
      }
    }
    out_.Put('}');
  }

  void List(const TypeInfo& type, const void* list) {
    out_.Put('[');
    const std::size_t n = type.size(list);
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) out_.Put(',');
      Value(*type.element, type.at(list, i));
    }
    out_.Put(']');
  }

  void Map(const TypeInfo& type, const void* map) {
    out_.Put('{');
    const std::size_t n = type.size(map);
    for (std::size_t i = 0; i < n; ++i) {
      if (i > 0) out_.Put(',');
      out_.PutString(type.key_at(map, i));
      out_.Put(':');
      Value(*type.element, type.at(map, i));
    }
    out_.Put('}');
  }

  Sink out_;
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
