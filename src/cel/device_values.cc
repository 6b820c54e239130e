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

// Entries of a device are few: comparing names of 16 bytes one after the other is faster than a
// search, up to about here.
constexpr std::size_t kScanLimit = 16;

template <typename T>
const T* FindNamed(const api::Map<T>& entries, const base::Text& name) {
  if (entries.size() > kScanLimit) return entries.Find(name.view());
  for (const auto& [key, value] : entries) {
    if (key == name) return &value;
  }
  return nullptr;
}

// A name without domain is in the driver's.
template <typename T>
Value ReadNamed(Arena& arena, const api::Map<T>& entries, std::string_view driver,
                const DeviceRead& read) {
  const T* found = nullptr;
  if (read.domain == driver) found = FindNamed(entries, read.id);
  if (found == nullptr) found = FindNamed(entries, read.qualified);
  return found == nullptr ? Value() : ValueOf(arena, read.id, *found);
}

template <typename T>
const T* FindQualified(const api::Map<T>& entries, const DeviceView::Name& name) {
  std::array<char, 128> buffer;
  const std::size_t size = name.domain.size() + 1 + name.id.size();
  if (size > buffer.size()) return entries.Find(fmt::format("{}/{}", name.domain, name.id));
  char* at = std::copy(name.domain.begin(), name.domain.end(), buffer.data());
  *at++ = '/';
  std::copy(name.id.begin(), name.id.end(), at);
  return entries.Find(std::string_view(buffer.data(), size));
}

// The same for a name that was computed, and so can be any text.
template <typename T>
Value FindAnyName(Arena& arena, const api::Map<T>& entries, std::string_view driver,
                  const DeviceView::Name& name) {
  const T* found = nullptr;
  if (name.domain == driver && name.id.find('/') == std::string_view::npos) {
    found = entries.Find(name.id);
  }
  // Up to the first slash is the domain, so none has one.
  if (found == nullptr && name.domain.find('/') == std::string_view::npos) {
    found = FindQualified(entries, name);
  }
  return found == nullptr ? Value() : ValueOf(arena, name.id, *found);
}

template <typename T>
DeviceView::Name NameOf(const api::Map<T>& entries, std::size_t i, std::string_view driver) {
  const std::string_view name = entries.entry(i).first.view();
  return {DomainOf(name, driver), IdOf(name)};
}

template <typename T>
Value ValueOf(Arena& arena, const api::Map<T>& entries, std::size_t i) {
  const auto& [name, value] = entries.entry(i);
  return ValueOf(arena, IdOf(name), value);
}

}  // namespace

Value ApiDeviceView::Read(std::uint32_t read, Arena& arena) const {
  const DeviceRead& what = reads_[read];
  switch (what.field) {
    case DeviceRead::Field::kAttribute:
      return ReadNamed(arena, device_.attributes, driver_, what);
    case DeviceRead::Field::kCapacity:
      return ReadNamed(arena, device_.capacity, driver_, what);
    case DeviceRead::Field::kDriver:
      return Value::String(driver_);
    case DeviceRead::Field::kName:
      return Value::String(device_.name);
    case DeviceRead::Field::kAllowMultipleAllocations:
      return Value::Bool(allow_multiple_allocations());
  }
  return Value();
}

std::string_view ApiDeviceView::name() const { return device_.name; }
bool ApiDeviceView::allow_multiple_allocations() const {
  return device_.allow_multiple_allocations.value_or(false);
}

std::size_t ApiDeviceView::Count(Part part) const {
  return part == Part::kAttributes ? device_.attributes.size() : device_.capacity.size();
}
DeviceView::Name ApiDeviceView::NameAt(Part part, std::size_t i) const {
  return part == Part::kAttributes ? NameOf(device_.attributes, i, driver_)
                                   : NameOf(device_.capacity, i, driver_);
}
Value ApiDeviceView::ValueAt(Part part, std::size_t i, Arena& arena) const {
  return part == Part::kAttributes ? ValueOf(arena, device_.attributes, i)
                                   : ValueOf(arena, device_.capacity, i);
}
Value ApiDeviceView::Find(Part part, const Name& name, Arena& arena) const {
  return part == Part::kAttributes ? FindAnyName(arena, device_.attributes, driver_, name)
                                   : FindAnyName(arena, device_.capacity, driver_, name);
}

}  // namespace dray::cel
