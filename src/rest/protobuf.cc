// SPDX-License-Identifier: Apache-2.0
#include "rest/protobuf.h"

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/valid_utf8.h"
#include "fmt/format.h"
#include "rest/internal/body_size.h"
#include "rest/internal/proto_lookup.h"
#include "rest/internal/raw_messages.h"

namespace dray::rest {
namespace {

using api::Shape;

Status CutOff() { return base::InvalidArgument("protobuf: the message is cut off"); }

// Strings of protobuf are text, and only text can be JSON.
Status CheckText(std::string_view bytes) {
  return base::IsUtf8(bytes) ? Status() : base::InvalidArgument("protobuf: a text is not UTF-8");
}

// From so many entries on, a map is not looked through for each of them: equal keys are found at the
// end.
constexpr std::size_t kWideMap = 64;

struct WireField {
  std::uint32_t number = 0;
  std::uint64_t scalar = 0;  // varint and fixed
  std::string_view bytes;    // length-delimited
  bool delimited = false;
};

// The fields of one message, one after the other.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }

  StatusOr<WireField> Next() {
    DRAY_ASSIGN_OR_RETURN(const std::uint64_t tag, Varint());
    WireField field{.number = static_cast<std::uint32_t>(tag >> 3)};
    if (field.number == 0) return base::InvalidArgument("protobuf: a field without a number");
    switch (tag & 7) {
      case 0: {
        DRAY_ASSIGN_OR_RETURN(field.scalar, Varint());
        return field;
      }
      case 1:
        return Fixed(8, field);
      case 5:
        return Fixed(4, field);
      case 2: {
        DRAY_ASSIGN_OR_RETURN(const std::uint64_t size, Varint());
        if (size > rest_.size()) return CutOff();
        field.bytes = rest_.substr(0, size);
        field.delimited = true;
        rest_.remove_prefix(size);
        return field;
      }
      default:
        return base::InvalidArgument(fmt::format("protobuf: unknown wire type {}", tag & 7));
    }
  }

  StatusOr<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return CutOff();
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    return base::InvalidArgument("protobuf: a number is too long");
  }

 private:
  StatusOr<WireField> Fixed(std::size_t size, WireField field) {
    if (rest_.size() < size) return CutOff();
    std::memcpy(&field.scalar, rest_.data(), size);
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
};

class Reader {
 public:
  Reader(std::string_view group, std::string_view version, RawBytes* raws)
      : group_(group), version_(version), raws_(raws) {}

  Status Message(const api::StructInfo& info, std::string_view bytes, int depth,
                 DocumentNode& node) {
    if (depth > api::kMaxDocumentDepth) return base::InvalidArgument("protobuf: nested too deep");
    node.kind = DocumentNode::Kind::kMap;
    const internal::ProtoFields* fields = internal::FindProtoFields(info, group_, version_);
    if (fields == nullptr) {
      return base::InvalidArgument(fmt::format("protobuf: {} can only be sent as JSON", info.name));
    }
    return Fields(info, fields->names, {}, bytes, depth, node);
  }
  // Whether KeepLastOfEqualKeys has something to do.
  bool wide() const { return wide_; }

 private:
  using Numbers = std::map<internal::ProtoNumber, std::string_view>;

  // Whether fields of the struct are in a message of this number, which JSON does not show.
  static bool IsAround(const Numbers& numbers, const internal::ProtoNumber& message) {
    const auto [first, second] = message;
    if (second >= api::ProtoNumber::kWithin) return false;
    const auto within =
        numbers.lower_bound({first, second == 0 ? 1 : api::ProtoNumber::Within(second, 1)});
    if (within == numbers.end() || within->first.first != first) return false;
    return second == 0 || within->first.second / api::ProtoNumber::kWithin == second;
  }

  Status Fields(const api::StructInfo& info, const Numbers& numbers,
                const internal::ProtoNumber& outer, std::string_view bytes, int depth,
                DocumentNode& node) {
    Wire wire(bytes);
    while (!wire.done()) {
      DRAY_ASSIGN_OR_RETURN(const WireField field, wire.Next());
      const internal::ProtoNumber number =
          outer == internal::ProtoNumber{} ? internal::ProtoNumber{field.number, 0}
          : outer.second == 0              ? internal::ProtoNumber{outer.first, field.number}
                              : internal::ProtoNumber{outer.first, api::ProtoNumber::Within(
                                                                       outer.second, field.number)};
      const auto it = numbers.find(number);
      if (it == numbers.end()) {
        if (field.delimited && IsAround(numbers, number)) {
          DRAY_RETURN_IF_ERROR(Fields(info, numbers, number, field.bytes, depth, node));
        }
        continue;  // newer than this server
      }
      const int index = info.Find(it->second);
      if (index < 0) continue;
      const api::FieldInfo& known = info.fields[static_cast<std::size_t>(index)];
      if (in_raw_ && IsZero(*known.type, field)) continue;
      const std::size_t before = path_.size();
      if (before > 0) path_ += '.';
      path_ += known.name;
      Status read = Known(info, known, field, depth + 1, Slot(node, known.name));
      if (!read.ok()) return base::Annotate(read, known.name);
      path_.resize(before);
    }
    return {};
  }

  // Go writes what is not a pointer even when it is zero, and its JSON leaves that out.
  static bool IsZero(const api::TypeInfo& type, const WireField& field) {
    const bool scalar = type.shape == Shape::kString || type.shape == Shape::kBool ||
                        type.shape == Shape::kInt32 || type.shape == Shape::kInt64;
    return scalar && field.scalar == 0 && field.bytes.empty();
  }

  Status Known(const api::StructInfo& info, const api::FieldInfo& known, const WireField& field,
               int depth, DocumentNode& node) {
    const bool raw = known.type->shape == Shape::kRaw ||
                     (known.type->element != nullptr && known.type->element->shape == Shape::kRaw);
    const api::StructInfo* message =
        raw ? internal::FindRawMessage(info.name, known.name) : nullptr;
    if (message == nullptr) return Value(*known.type, field, depth, node);
    if (!field.delimited) return base::InvalidArgument("protobuf: a message was expected");
    DRAY_RETURN_IF_ERROR(Count());
    in_raw_ = true;
    DRAY_RETURN_IF_ERROR(Message(*message, field.bytes, depth, node));
    in_raw_ = false;
    return {};
  }

  static DocumentNode& Slot(DocumentNode& map, std::string_view name) {
    DocumentNode* present = FindIn(map, name);
    return present != nullptr ? *present : SetIn(map, name, DocumentNode{});
  }

  // As of JSON: two bytes can be a value, which takes a hundred in a tree.
  Status Count() {
    if (++values_ <= internal::kMaxBodyValues) return {};
    return base::MakeStatus(
        StatusCode::kResourceExhausted,
        fmt::format("the body has more than {} values", internal::kMaxBodyValues));
  }

  Status Value(const api::TypeInfo& type, const WireField& field, int depth, DocumentNode& node) {
    switch (type.shape) {
      case Shape::kOptional:
        return Value(*type.element, field, depth, node);
      case Shape::kList:
        return Item(*type.element, field, depth, node);
      case Shape::kMap:
        return Entry(*type.element, field, depth, node);
      default:
        DRAY_RETURN_IF_ERROR(Count());
        return One(type, field, depth, node);
    }
  }

  Status One(const api::TypeInfo& type, const WireField& field, int depth, DocumentNode& node) {
    switch (type.shape) {
      case Shape::kStruct:
        if (!field.delimited) return base::InvalidArgument("protobuf: a message was expected");
        return Message(type.fields(), field.bytes, depth, node);
      case Shape::kQuantity:
      case Shape::kTime:
      case Shape::kMicroTime:
      case Shape::kIntOrString:
      case Shape::kRaw:
        return Special(type.shape, field, node);
      case Shape::kBytes:
        node = StringNode(api::Base64Of({.data = std::string(field.bytes)}));
        return {};
      default:
        DRAY_RETURN_IF_ERROR(CheckText(field.bytes));
        node = Scalar(type.shape, field);
        return {};
    }
  }

  Status Item(const api::TypeInfo& element, const WireField& field, int depth, DocumentNode& list) {
    list.kind = DocumentNode::Kind::kList;
    const bool number = element.shape == Shape::kInt32 || element.shape == Shape::kInt64 ||
                        element.shape == Shape::kBool;
    if (!number || !field.delimited) {
      const std::size_t before = path_.size();
      path_ += fmt::format("[{}]", list.items.size());
      DRAY_RETURN_IF_ERROR(Value(element, field, depth, list.items.emplace_back()));
      path_.resize(before);
      return {};
    }
    for (Wire packed(field.bytes); !packed.done();) {
      DRAY_ASSIGN_OR_RETURN(const std::uint64_t scalar, packed.Varint());
      DRAY_RETURN_IF_ERROR(Count());
      list.items.push_back(Scalar(element.shape, {.scalar = scalar}));
    }
    return {};
  }

  // A list that is the value of a map is a message of its own, such as authentication's ExtraValue.
  Status Items(const api::TypeInfo& element, std::string_view bytes, int depth,
               DocumentNode& list) {
    list.kind = DocumentNode::Kind::kList;
    for (Wire wire(bytes); !wire.done();) {
      DRAY_ASSIGN_OR_RETURN(const WireField item, wire.Next());
      if (item.number != 1) continue;
      DRAY_RETURN_IF_ERROR(Item(element, item, depth + 1, list));
    }
    return {};
  }

  Status Entry(const api::TypeInfo& element, const WireField& field, int depth, DocumentNode& map) {
    map.kind = DocumentNode::Kind::kMap;
    std::string_view key;
    DocumentNode value;
    bool set = false;
    for (Wire entry(field.bytes); !entry.done();) {
      DRAY_ASSIGN_OR_RETURN(const WireField part, entry.Next());
      if (part.number == 1) key = part.bytes;
      if (part.number != 2) continue;
      set = true;
      DRAY_RETURN_IF_ERROR(element.shape == Shape::kList
                               ? Items(*element.element, part.bytes, depth, value)
                               : Value(element, part, depth, value));
    }
    if (!set) {
      DRAY_RETURN_IF_ERROR(Count());
      value = element.shape == Shape::kList ? ListNode() : Scalar(element.shape, {});
    }
    DRAY_RETURN_IF_ERROR(CheckText(key));
    if (map.members.size() < kWideMap) {
      SetIn(map, key, std::move(value));
    } else {
      map.members.push_back(
          {.key = std::string(key), .key_position = {}, .value = std::move(value)});
      wide_ = true;
    }
    return {};
  }

  static DocumentNode Scalar(Shape shape, const WireField& field) {
    switch (shape) {
      case Shape::kBool:
        return BoolNode(field.scalar != 0);
      case Shape::kInt32:
      case Shape::kInt64:
        return NumberNode(static_cast<std::int64_t>(field.scalar));
      case Shape::kDouble: {
        DocumentNode node = NumberNode(0);
        node.text = fmt::format("{}", std::bit_cast<double>(field.scalar));
        return node;
      }
      default:
        return StringNode(field.bytes);
    }
  }

  // Messages that are one value in JSON.
  Status Special(Shape shape, const WireField& field, DocumentNode& node) {
    std::array<WireField, 4> parts = {};  // by number, which begins with 1
    bool empty = true;
    for (Wire wire(field.bytes); !wire.done(); empty = false) {
      DRAY_ASSIGN_OR_RETURN(const WireField part, wire.Next());
      if (part.number < parts.size()) parts[part.number] = part;
    }
    // A time that is not set is an empty message; so is JSON that is not there.
    if (empty && shape != Shape::kQuantity && shape != Shape::kIntOrString) {
      node = DocumentNode{};
      return {};
    }
    const auto number = [&](std::uint32_t n) { return static_cast<std::int64_t>(parts[n].scalar); };
    if (shape == Shape::kQuantity) {
      DRAY_RETURN_IF_ERROR(CheckText(parts[1].bytes));
      node = StringNode(parts[1].bytes.empty() ? "0" : parts[1].bytes);
    } else if (shape == Shape::kIntOrString) {
      DRAY_RETURN_IF_ERROR(CheckText(parts[3].bytes));
      node = number(1) == 0 ? NumberNode(number(2)) : StringNode(parts[3].bytes);
    } else if (shape == Shape::kRaw) {
      return Raw(parts[1], node);
    } else {
      const base::Time time = base::Time::FromUnix(number(1), number(2));
      node = StringNode(shape == Shape::kTime ? time.ToRfc3339() : time.ToRfc3339Micro());
    }
    return {};
  }

  // JSON inside of protobuf: a driver's parameters, managed fields. Anything else that dray keeps
  // raw is a message whose fields it does not know.
  Status Raw(const WireField& bytes, DocumentNode& node) {
    auto tree = ReadTree(bytes.bytes);
    if (!tree.ok()) return base::InvalidArgument("can only be sent as JSON");
    node = *std::move(tree);
    if (raws_ != nullptr) raws_->insert_or_assign(path_, bytes.bytes);
    return {};
  }

  const std::string_view group_;
  const std::string_view version_;
  RawBytes* const raws_;
  std::string path_;  // of what is being read
  std::size_t values_ = 0;
  bool wide_ = false;    // whether a map may have equal keys
  bool in_raw_ = false;  // whether what is read becomes JSON that dray keeps as it is
};

}  // namespace

StatusOr<DocumentNode> ReadProtobuf(std::string_view body, const api::TypeInfo& type,
                                    std::string_view group, std::string_view version,
                                    RawBytes* raws) {
  if (!body.starts_with(internal::kProtobufMagic)) {
    return base::InvalidArgument("protobuf: the body does not begin as Kubernetes's does");
  }
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;
  for (Wire envelope(body.substr(internal::kProtobufMagic.size())); !envelope.done();) {
    DRAY_ASSIGN_OR_RETURN(const WireField field, envelope.Next());
    if (field.number == 2) raw = field.bytes;
    if (field.number != 1) continue;
    for (Wire meta(field.bytes); !meta.done();) {
      DRAY_ASSIGN_OR_RETURN(const WireField part, meta.Next());
      if (part.number == 1) api_version = part.bytes;
      if (part.number == 2) kind = part.bytes;
    }
  }
  DRAY_RETURN_IF_ERROR(CheckText(api_version));
  DRAY_RETURN_IF_ERROR(CheckText(kind));
  DocumentNode node = MapNode();
  Reader reader(group, version, raws);
  DRAY_RETURN_IF_ERROR(reader.Message(type.fields(), raw, 0, node));
  if (reader.wide()) KeepLastOfEqualKeys(node);
  if (!api_version.empty()) SetIn(node, "apiVersion", StringNode(api_version));
  if (!kind.empty()) SetIn(node, "kind", StringNode(kind));
  return node;
}

}  // namespace dray::rest
