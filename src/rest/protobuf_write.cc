// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>

#include "base/quantity.h"
#include "fmt/format.h"
#include "rest/internal/proto_lookup.h"
#include "rest/protobuf.h"

namespace dray::rest {
namespace {

using api::Shape;

// The fields that are JSON inside of a message of one field; whatever else dray keeps as JSON is a
// message whose fields it does not know.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kRawFields = {
    {{"OpaqueDeviceConfiguration", "parameters"},
     {"AllocatedDeviceStatus", "data"},
     {"ManagedFieldsEntry", "fieldsV1"}}};

template <typename T>
const T& As(const void* p) {
  return *static_cast<const T*>(p);
}

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendNumber(std::uint32_t field, std::uint64_t value, std::string& out) {
  AppendVarint(field << 3, out);
  AppendVarint(value, out);
}

void AppendBytes(std::uint32_t field, std::string_view bytes, std::string& out) {
  AppendVarint(field << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes);
}

// Negative numbers have ten bytes, of whatever width they are.
std::uint64_t Wide(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// As an API server's JSON shows it: without blanks between tokens, and with `<`, `>`, `&` and the
// two odd ends of lines in strings escaped.
std::string AsShown(std::string_view json) {
  std::string shown;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!in_string) {
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
      in_string = c == '"';
      shown += c;
    } else if (c == '\\' && i + 1 < json.size()) {
      shown += c;
      shown += json[++i];
    } else if (c == '<' || c == '>' || c == '&') {
      shown += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else if (json.substr(i, 3) == "\xe2\x80\xa8" || json.substr(i, 3) == "\xe2\x80\xa9") {
      shown += json[i + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      in_string = c != '"';
      shown += c;
    }
  }
  return shown;
}

class Writer {
 public:
  Writer(const api::KindInfo& version, const RawBytes* stored)
      : version_(version), stored_(stored) {}

  Status Message(const api::StructInfo& info, const void* object, std::string& out) {
    if (info.unknown != nullptr && info.unknown(object)->has_value()) {
      return base::InvalidArgument(
          fmt::format("{}fields of a newer version can only be sent as JSON",
                      path_.empty() ? "" : path_ + ": "));
    }
    const internal::ProtoFields* fields =
        internal::FindProtoFields(info, version_.group, version_.version);
    if (fields == nullptr) {
      return base::InvalidArgument(
          fmt::format("{}: {} can only be sent as JSON", path_, info.name));
    }
    // Messages that JSON does not show, by their number.
    std::map<std::uint32_t, std::string> around;
    std::map<internal::ProtoNumber, std::string> within;  // messages in those
    for (const api::FieldInfo& field : info.fields) {
      const auto number = fields->numbers.find(field.name);
      if (number == fields->numbers.end()) continue;  // dray's own: Kubernetes has no such field
      const void* value = field.Get(object);
      if (value == nullptr) continue;
      if (api::IsEmptyValue(*field.type, value)) continue;
      const std::size_t before = path_.size();
      if (before > 0) path_ += '.';
      path_ += field.name;
      const auto [outer, inner] = number->second;
      Status status = field.type->shape == Shape::kRaw || ContentIsRaw(*field.type)
                          ? CheckRaw(info.name, field.name)
                          : Status();
      if (status.ok()) {
        constexpr std::uint32_t kWithin = api::ProtoNumber::kWithin;
        status = inner == 0 ? Value(*field.type, outer, value, out)
                 : inner < kWithin
                     ? Value(*field.type, inner, value, around[outer])
                     : Value(*field.type, inner % kWithin, value, within[{outer, inner / kWithin}]);
      }
      if (!status.ok()) return status;
      path_.resize(before);
    }
    for (const auto& [number, bytes] : within) {
      AppendBytes(number.second, bytes, around[number.first]);
    }
    for (const auto& [number, bytes] : around) AppendBytes(number, bytes, out);
    return {};
  }

  std::size_t replaced() const { return replaced_; }

 private:
  static bool ContentIsRaw(const api::TypeInfo& type) {
    return type.element != nullptr && type.element->shape == Shape::kRaw;
  }

  Status CheckRaw(std::string_view message, std::string_view field) const {
    for (const auto& known : kRawFields) {
      if (known.first == message && known.second == field) return {};
    }
    return base::InvalidArgument(fmt::format("{}: can only be sent as JSON", path_));
  }

  Status Value(const api::TypeInfo& type, std::uint32_t number, const void* value,
               std::string& out) {
    switch (type.shape) {
      case Shape::kBool:
        AppendNumber(number, As<bool>(value) ? 1 : 0, out);
        return {};
      case Shape::kInt32:
        AppendNumber(number, Wide(As<std::int32_t>(value)), out);
        return {};
      case Shape::kInt64:
        AppendNumber(number, Wide(As<std::int64_t>(value)), out);
        return {};
      case Shape::kDouble: {
        const auto bits = std::bit_cast<std::array<char, 8>>(As<double>(value));
        AppendVarint(number << 3 | 1, out);
        out.append(bits.data(), bits.size());
        return {};
      }
      case Shape::kString:
        AppendBytes(number, As<std::string>(value), out);
        return {};
      case Shape::kText:
        AppendBytes(number, As<base::Text>(value), out);
        return {};
      case Shape::kBytes:
        AppendBytes(number, As<api::Bytes>(value).data, out);
        return {};
      case Shape::kOptional: {
        const void* content = type.get(value);
        return content == nullptr ? Status() : Value(*type.element, number, content, out);
      }
      case Shape::kList:
        return List(type, number, value, out);
      case Shape::kMap:
        return Map(type, number, value, out);
      default: {
        std::string message;
        DRAY_RETURN_IF_ERROR(Nested(type, value, message));
        AppendBytes(number, message, out);
        return {};
      }
    }
  }

  // What is a message of its own.
  Status Nested(const api::TypeInfo& type, const void* value, std::string& message) {
    switch (type.shape) {
      case Shape::kQuantity:
        AppendBytes(1, As<base::Quantity>(value).ToString(), message);
        return {};
      case Shape::kTime:
        AppendTime(As<base::Time>(value), message);
        return {};
      case Shape::kMicroTime:
        AppendTime(As<api::MicroTime>(value).time, message);
        return {};
      case Shape::kIntOrString: {
        const auto& either = As<api::IntOrString>(value).value;
        const auto* number = std::get_if<std::int32_t>(&either);
        AppendNumber(1, number != nullptr ? 0 : 1, message);
        AppendNumber(2, number != nullptr ? Wide(*number) : 0, message);
        AppendBytes(3, number != nullptr ? "" : std::get<std::string>(either), message);
        return {};
      }
      case Shape::kRaw:
        AppendBytes(1, Verbatim(As<api::RawJson>(value).text), message);
        return {};
      default:
        return Message(type.fields(), value, message);
    }
  }

  static void AppendTime(base::Time time, std::string& message) {
    AppendNumber(1, Wide(time.seconds()), message);
    AppendNumber(2, Wide(time.nanos()), message);
  }

  // The bytes that are stored there, if they say the same.
  std::string_view Verbatim(const std::string& text) {
    if (stored_ == nullptr) return text;
    const auto found = stored_->find(path_);
    if (found == stored_->end() || found->second == text) return text;
    const bool same = AsShown(found->second) == AsShown(text) || api::SameJson(found->second, text);
    if (!same) return text;
    ++replaced_;
    return found->second;
  }

  Status List(const api::TypeInfo& type, std::uint32_t number, const void* list, std::string& out) {
    const std::size_t before = path_.size();
    for (std::size_t i = 0; i < type.size(list); ++i) {
      path_ += fmt::format("[{}]", i);
      DRAY_RETURN_IF_ERROR(Value(*type.element, number, type.at(list, i), out));
      path_.resize(before);
    }
    return {};
  }

  Status Map(const api::TypeInfo& type, std::uint32_t number, const void* map, std::string& out) {
    for (std::size_t i = 0; i < type.size(map); ++i) {
      std::string entry;
      AppendBytes(1, type.key_at(map, i), entry);
      if (type.element->shape == Shape::kList) {
        // A message of its own, such as authentication's ExtraValue.
        std::string items;
        DRAY_RETURN_IF_ERROR(Value(*type.element, 1, type.at(map, i), items));
        AppendBytes(2, items, entry);
      } else {
        DRAY_RETURN_IF_ERROR(Value(*type.element, 2, type.at(map, i), entry));
      }
      AppendBytes(number, entry, out);
    }
    return {};
  }

  const api::KindInfo& version_;
  const RawBytes* const stored_;
  std::string path_;  // of what is being written
  std::size_t replaced_ = 0;
};

}  // namespace

StatusOr<WrittenProtobuf> WriteProtobuf(const api::KindInfo& version, const api::Object& object,
                                        const RawBytes* stored) {
  Writer writer(version, stored);
  std::string raw;
  DRAY_RETURN_IF_ERROR(writer.Message(version.type->fields(), object.data(), raw));
  std::string type;
  AppendBytes(1, version.ApiVersion(), type);
  AppendBytes(2, version.kind, type);
  WrittenProtobuf written{.body = std::string(internal::kProtobufMagic),
                          .verbatim = writer.replaced()};
  AppendBytes(1, type, written.body);
  AppendBytes(2, raw, written.body);
  return written;
}

}  // namespace dray::rest
