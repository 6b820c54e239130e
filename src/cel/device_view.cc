// SPDX-License-Identifier: Apache-2.0
#include "cel/device_view.h"

#include <algorithm>

#include "cel/values.h"

namespace dray::cel {
namespace {

using Part = DeviceView::Part;

// The names of one domain.
class Inner final : public Map {
 public:
  Inner(const DeviceView& view, Arena& arena, Part part, std::string_view domain)
      : view_(view), arena_(arena), part_(part), domain_(domain) {}

  std::size_t size() const override { return Entries().size(); }
  bool Find(const Value& key, Value* value) const override {
    if (!key.is(Kind::kString)) return false;
    const Value found = view_.Find(part_, {domain_, key.as_text()}, arena_);
    if (found.is(Kind::kNull)) return false;
    *value = found;
    return true;
  }
  Value KeyAt(std::size_t i) const override {
    return Value::String(view_.NameAt(part_, Entries()[i]).id);
  }
  Value ValueAt(std::size_t i) const override { return view_.ValueAt(part_, Entries()[i], arena_); }

 private:
  std::span<const std::uint32_t> Entries() const {
    if (listed_) return entries_;
    const std::span<std::uint32_t> all = arena_.NewArray<std::uint32_t>(view_.Count(part_));
    std::size_t n = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (view_.NameAt(part_, i).domain == domain_) all[n++] = static_cast<std::uint32_t>(i);
    }
    listed_ = true;
    entries_ = all.first(n);
    return entries_;
  }

  const DeviceView& view_;
  Arena& arena_;
  const Part part_;
  const std::string_view domain_;
  mutable std::span<const std::uint32_t> entries_;
  mutable bool listed_ = false;
};

// device.attributes or device.capacity: maps by domain.
class Outer final : public Map {
 public:
  Outer(const DeviceView& view, Arena& arena, Part part)
      : view_(view), arena_(arena), part_(part) {}

  std::size_t size() const override { return Domains().size(); }
  bool Find(const Value& key, Value* value) const override {
    if (!key.is(Kind::kString)) return false;
    if (std::ranges::find(Domains(), key.as_text()) == Domains().end()) return false;
    *value = InDomain(key.as_text());
    return true;
  }
  // An unknown domain is an empty map.
  bool FindOrDefault(const Value& key, Value* value) const override {
    if (!key.is(Kind::kString)) return false;
    *value = InDomain(key.as_text());
    return true;
  }
  Value KeyAt(std::size_t i) const override { return Value::String(Domains()[i]); }
  Value ValueAt(std::size_t i) const override { return InDomain(Domains()[i]); }

 private:
  Value InDomain(std::string_view domain) const {
    return Value::Pointer(Kind::kMap,
                          static_cast<const Map*>(arena_.New<Inner>(view_, arena_, part_, domain)));
  }
  std::span<const std::string_view> Domains() const {
    if (listed_) return domains_;
    const std::span<std::string_view> all = arena_.NewArray<std::string_view>(view_.Count(part_));
    auto end = all.begin();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string_view domain = view_.NameAt(part_, i).domain;
      if (std::find(all.begin(), end, domain) == end) *end++ = domain;
    }
    listed_ = true;
    domains_ = all.first(static_cast<std::size_t>(end - all.begin()));
    return domains_;
  }

  const DeviceView& view_;
  Arena& arena_;
  const Part part_;
  mutable std::span<const std::string_view> domains_;
  mutable bool listed_ = false;
};

class DeviceObject final : public Host {
 public:
  DeviceObject(const DeviceView& view, Arena& arena)
      : view_(view),
        attributes_(view, arena, Part::kAttributes),
        capacity_(view, arena, Part::kCapacity) {}

  std::string_view type_name() const override { return "kubernetes.DRADevice"; }
  bool Select(std::string_view field, Value* value) const override {
    if (field == "attributes") {
      *value = Value::Pointer(Kind::kMap, static_cast<const Map*>(&attributes_));
    } else if (field == "driver") {
      *value = Value::String(view_.driver());
    } else if (field == "capacity") {
      *value = Value::Pointer(Kind::kMap, static_cast<const Map*>(&capacity_));
    } else if (field == "allowMultipleAllocations") {
      *value = Value::Bool(view_.allow_multiple_allocations());
    } else if (field == "name") {
      *value = Value::String(view_.name());
    } else {
      return false;
    }
    return true;
  }

 private:
  const DeviceView& view_;
  Outer attributes_;
  Outer capacity_;
};

}  // namespace

bool DeviceView::Project(std::span<std::uint32_t>) const { return false; }

Value MakeDeviceObject(const DeviceView& view, Arena& arena) {
  return Value::Pointer(Kind::kHost,
                        static_cast<const Host*>(arena.New<DeviceObject>(view, arena)));
}

}  // namespace dray::cel
