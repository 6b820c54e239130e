// SPDX-License-Identifier: Apache-2.0
#include "cel/device_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/semver.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

std::string_view DomainOf(std::string_view name, std::string_view driver) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? driver : name.substr(0, slash);
}
std::string_view IdOf(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

// The common form, three numbers and nothing else, without a Status.
bool ReadPlainVersion(std::string_view text, std::array<std::uint64_t, 3>& numbers) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i > 0 && (at >= text.size() || text[at++] != '.')) return false;
    const std::size_t first = at;
    std::uint64_t number = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
      number = number * 10 + static_cast<std::uint64_t>(text[at] - '0');
    }
    const std::size_t digits = at - first;
    if (digits == 0 || digits > 18 || (digits > 1 && text[first] == '0')) return false;
    numbers[i] = number;
  }
  return at == text.size();
}

Value MakeVersion(Arena& arena, std::string_view name, std::string_view text) {
  if (std::array<std::uint64_t, 3> numbers{}; ReadPlainVersion(text, numbers)) {
    return Value::Pointer(Kind::kSemver,
                          arena.New<base::SemVer>(numbers[0], numbers[1], numbers[2]));
  }
  auto version = base::SemVer::Parse(text);
  if (!version.ok()) {
    return MakeError(arena, fmt::format("attribute {}: parse semantic version: {}", name,
                                        base::Message(version.status())));
  }
  return Value::Pointer(Kind::kSemver, arena.New<base::SemVer>(*std::move(version)));
}

template <typename Items, typename Make>
Value ListOf(Arena& arena, const Items& items, Make make) {
  const std::span<Value> values = arena.NewArray<Value>(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    values[i] = make(items[i]);
    if (values[i].is_error()) return values[i];
  }
  return WrapList(arena, values);
}

// Kubernetes' form of lists and the proposal's have the same four members.
template <typename Lists>
bool ReadLists(Arena& arena, std::string_view name, const Lists& ints, const auto& bools,
               const auto& strings, const auto& versions, Value* value) {
  if (ints.has_value()) {
    *value = ListOf(arena, *ints, [](std::int64_t i) { return Value::Int(i); });
  } else if (bools.has_value()) {
    *value = ListOf(arena, *bools, [](const auto& b) { return Value::Bool(b.value); });
  } else if (strings.has_value()) {
    *value = ListOf(arena, *strings, [](const std::string& s) { return Value::String(s); });
  } else if (versions.has_value()) {
    *value =
        ListOf(arena, *versions, [&](const std::string& s) { return MakeVersion(arena, name, s); });
  } else {
    return false;
  }
  return true;
}

Value ValueOf(Arena& arena, std::string_view name, const api::DeviceAttribute& attribute) {
  if (attribute.lists.has_value()) {
    const api::AttributeLists& lists = *attribute.lists;
    Value value;
    if (ReadLists(arena, name, lists.int_values, lists.bool_values, lists.string_values,
                  lists.version_values, &value)) {
      return value;
    }
    if (lists.list_value.has_value() &&
        ReadLists(arena, name, lists.list_value->int_value, lists.list_value->bool_value,
                  lists.list_value->string_value, lists.list_value->version_value, &value)) {
      return value;
    }
  }
  if (attribute.int_value) return Value::Int(*attribute.int_value);
  if (attribute.bool_value) return Value::Bool(*attribute.bool_value);
  if (attribute.string_value) return Value::String(attribute.string_value->view());
  if (attribute.version_value) {
    return MakeVersion(arena, name, attribute.version_value->view());
  }
  return MakeError(arena, fmt::format("attribute {}: unsupported attribute value", name));
}

Value ValueOf(Arena&, std::string_view, const api::DeviceCapacity& capacity) {
  return Value::Pointer(Kind::kQuantity, &capacity.value);
}

}  // namespace

// The names of one domain.
template <typename T>
class DeviceValue::Inner final : public Map {
 public:
  Inner(const DeviceValue& device, const api::Map<T>& entries, std::string_view domain)
      : device_(device), entries_(entries), domain_(domain) {}

  std::size_t size() const override { return Entries().size(); }

  bool Find(const Value& key, Value* value) const override {
    if (!key.is(Kind::kString)) return false;
    const std::string_view id = key.as_text();
    const T* found = nullptr;
    if (domain_ == device_.driver_ && id.find('/') == std::string_view::npos) {
      found = entries_.Find(id);
    }
    if (found == nullptr) found = FindQualified(id);
    if (found == nullptr) return false;
    *value = ValueOf(device_.arena_, id, *found);
    return true;
  }

  Value KeyAt(std::size_t i) const override {
    return Value::String(IdOf(entries_.entry(Entries()[i]).first));
  }
  Value ValueAt(std::size_t i) const override {
    const auto& [name, entry] = entries_.entry(Entries()[i]);
    return ValueOf(device_.arena_, IdOf(name), entry);
  }

 private:
  const T* FindQualified(std::string_view id) const {
    std::array<char, 128> buffer;
    const std::size_t size = domain_.size() + 1 + id.size();
    if (size > buffer.size()) return entries_.Find(fmt::format("{}/{}", domain_, id));
    char* at = std::copy(domain_.begin(), domain_.end(), buffer.data());
    *at++ = '/';
    std::copy(id.begin(), id.end(), at);
    return entries_.Find(std::string_view(buffer.data(), size));
  }

  std::span<const std::uint32_t> Entries() const {
    if (!listed_) {
      const std::span<std::uint32_t> all =
          device_.arena_.template NewArray<std::uint32_t>(entries_.size());
      std::size_t n = 0;
      for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (DomainOf(entries_.entry(i).first, device_.driver_) == domain_) {
          all[n++] = static_cast<std::uint32_t>(i);
        }
      }
      listed_ = true;
      indices_ = all.first(n);
    }
    return indices_;
  }

  const DeviceValue& device_;
  const api::Map<T>& entries_;
  const std::string_view domain_;
  mutable std::span<const std::uint32_t> indices_;
  mutable bool listed_ = false;
};

template <typename T>
Value DeviceValue::Outer<T>::Inner(std::string_view domain) const {
  return Value::Pointer(Kind::kMap,
                        static_cast<const Map*>(device_.arena_.template New<DeviceValue::Inner<T>>(
                            device_, entries_, domain)));
}

template <typename T>
std::span<const std::string_view> DeviceValue::Outer<T>::Domains() const {
  if (split_) return domains_;
  const std::span<std::string_view> all =
      device_.arena_.template NewArray<std::string_view>(entries_.size());
  std::size_t n = 0;
  for (const auto& [name, entry] : entries_) {
    const std::string_view domain = DomainOf(name, device_.driver_);
    if (std::find(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), domain) ==
        all.begin() + static_cast<std::ptrdiff_t>(n)) {
      all[n++] = domain;
    }
  }
  split_ = true;
  domains_ = all.first(n);
  return domains_;
}

template <typename T>
std::size_t DeviceValue::Outer<T>::size() const {
  return Domains().size();
}
template <typename T>
bool DeviceValue::Outer<T>::Find(const Value& key, Value* value) const {
  if (!key.is(Kind::kString)) return false;
  if (std::ranges::find(Domains(), key.as_text()) == Domains().end()) return false;
  *value = Inner(key.as_text());
  return true;
}
// An unknown domain is an empty map.
template <typename T>
bool DeviceValue::Outer<T>::FindOrDefault(const Value& key, Value* value) const {
  if (!key.is(Kind::kString)) return false;
  *value = Inner(key.as_text());
  return true;
}
template <typename T>
Value DeviceValue::Outer<T>::KeyAt(std::size_t i) const {
  return Value::String(Domains()[i]);
}
template <typename T>
Value DeviceValue::Outer<T>::ValueAt(std::size_t i) const {
  return Inner(Domains()[i]);
}

DeviceValue::DeviceValue(std::string_view driver, const api::Device& device, Arena& arena)
    : driver_(driver),
      device_(device),
      arena_(arena),
      attributes_(*this, device.attributes),
      capacity_(*this, device.capacity) {}

bool DeviceValue::Select(std::string_view field, Value* value) const {
  if (field == "attributes") {
    *value = Value::Pointer(Kind::kMap, static_cast<const Map*>(&attributes_));
  } else if (field == "driver") {
    *value = Value::String(driver_);
  } else if (field == "capacity") {
    *value = Value::Pointer(Kind::kMap, static_cast<const Map*>(&capacity_));
  } else if (field == "allowMultipleAllocations") {
    *value = Value::Bool(device_.allow_multiple_allocations.value_or(false));
  } else if (field == "name") {
    *value = Value::String(device_.name);
  } else {
    return false;
  }
  return true;
}

StatusOr<bool> ToMatch(const Value& value) {
  if (value.is(Kind::kBool)) return value.as_bool();
  if (value.is_error()) return base::InvalidArgument(ErrorMessage(value));
  std::string reason;
  switch (value.kind()) {
    case Kind::kString:
      reason = "unsupported native conversion from string to 'bool'";
      break;
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kDouble:
      reason = fmt::format("unsupported type conversion from '{}' to bool", TypeName(value));
      break;
    case Kind::kList:
    case Kind::kMap:
      reason = fmt::format("type conversion error from {} to 'bool'", TypeName(value));
      break;
    default: {
      std::string_view name = TypeName(value);
      name = name.substr(name.rfind('.') + 1);
      reason = fmt::format("type conversion error from '{}' to 'bool'", name);
    }
  }
  return base::InvalidArgument(fmt::format(
      "CEL result of type {} could not be converted to bool: {}", TypeName(value), reason));
}

StatusOr<MatchResult> Match(const Program& program, std::string_view driver,
                            const api::Device& device, const EvaluationLimits& limits) {
  Arena arena;
  const DeviceValue host(driver, device, arena);
  const Value variable = host.value();
  const EvaluationResult result = Evaluate(program, std::span(&variable, 1), arena, limits);
  DRAY_ASSIGN_OR_RETURN(const bool match, ToMatch(result.value));
  return MatchResult{match, result.cost};
}

namespace {

// As Go prints the types of what values hold.
std::string_view GoType(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "structpb.NullValue";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int64";
    case Kind::kUint:
      return "uint64";
    case Kind::kDouble:
      return "float64";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "[]uint8";
    case Kind::kList:
      return "[]ref.Val";
    case Kind::kMap:
      return "map[ref.Val]ref.Val";
    case Kind::kDuration:
      return "time.Duration";
    case Kind::kTimestamp:
      return "time.Time";
    case Kind::kQuantity:
      return "*resource.Quantity";
    case Kind::kSemver:
      return "semver.Version";
    case Kind::kIp:
      return "netip.Addr";
    case Kind::kCidr:
      return "netip.Prefix";
    case Kind::kUrl:
      return "*url.URL";
    case Kind::kFormat:
      return "cel.Format";
    default:
      return TypeName(value);
  }
}

template <typename Take>
Status TakeAll(const List& list, Kind kind, std::string_view word, Take take) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Value element = list.At(i);
    if (!element.is(kind)) {
      return base::InvalidArgument(fmt::format("expected list element at index {} to be {}, got {}",
                                               i, word, GoType(element)));
    }
    take(element);
  }
  return absl::OkStatus();
}

StatusOr<api::DeviceAttribute> ListToAttribute(const List& list) {
  api::DeviceAttribute out;
  api::AttributeLists& lists = out.MutableLists();
  const Kind kind = list.size() == 0 ? Kind::kString : list.At(0).kind();
  switch (kind) {
    case Kind::kBool:
      lists.bool_values.emplace();
      DRAY_RETURN_IF_ERROR(TakeAll(list, kind, "bool", [&](const Value& v) {
        lists.bool_values->push_back({v.as_bool()});
      }));
      break;
    case Kind::kInt:
      lists.int_values.emplace();
      DRAY_RETURN_IF_ERROR(TakeAll(
          list, kind, "int", [&](const Value& v) { lists.int_values->push_back(v.as_int()); }));
      break;
    case Kind::kString:
      lists.string_values.emplace();
      DRAY_RETURN_IF_ERROR(TakeAll(list, kind, "string", [&](const Value& v) {
        lists.string_values->emplace_back(v.as_text());
      }));
      break;
    case Kind::kSemver:
      lists.version_values.emplace();
      DRAY_RETURN_IF_ERROR(TakeAll(list, kind, "semver", [&](const Value& v) {
        lists.version_values->push_back(v.as<base::SemVer>().ToString());
      }));
      break;
    default:
      return base::InvalidArgument(
          fmt::format("unsupported list element type: {}", GoType(list.At(0))));
  }
  return out;
}

}  // namespace

StatusOr<api::DeviceAttribute> ToAttribute(const Value& value) {
  api::DeviceAttribute out;
  switch (value.kind()) {
    case Kind::kError:
      return base::InvalidArgument(ErrorMessage(value));
    case Kind::kBool:
      out.bool_value = value.as_bool();
      return out;
    case Kind::kInt:
      out.int_value = value.as_int();
      return out;
    case Kind::kString:
      out.string_value = base::OptionalText(value.as_text());
      return out;
    case Kind::kSemver:
      out.version_value = base::OptionalText(value.as<base::SemVer>().ToString());
      return out;
    case Kind::kList:
      return ListToAttribute(value.as<List>());
    default:
      return base::InvalidArgument(fmt::format("unsupported CEL return type: {}", GoType(value)));
  }
}

StatusOr<api::DeviceAttribute> Derive(const Program& program, std::string_view driver,
                                      const api::Device& device, const EvaluationLimits& limits) {
  Arena arena;
  const DeviceValue host(driver, device, arena);
  const Value variable = host.value();
  return ToAttribute(Evaluate(program, std::span(&variable, 1), arena, limits).value);
}

}  // namespace dray::cel
