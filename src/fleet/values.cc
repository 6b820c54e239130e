// SPDX-License-Identifier: Apache-2.0
#include "fleet/internal/values.h"

#include <vector>

#include "base/quantity.h"
#include "fleet/json.h"
#include "fmt/format.h"

namespace dray::fleet::internal {
namespace {

// What an attribute is, whichever of the two forms of lists it came in.
template <typename Each>
void Visit(const api::DeviceAttribute& attribute, const Each& each) {
  if (attribute.int_value) return each("int", *attribute.int_value);
  if (attribute.string_value) return each("string", attribute.string_value->view());
  if (attribute.version_value) return each("version", attribute.version_value->view());
  if (attribute.bool_value) return each("bool", *attribute.bool_value);
  const api::AttributeLists& lists = attribute.Lists();
  const auto list = [&](std::string_view type, const auto& published, const auto* proposed) {
    if (published.has_value()) {
      each(type, *published);
      return true;
    }
    if (proposed != nullptr && proposed->has_value()) {
      each(type, **proposed);
      return true;
    }
    return false;
  };
  const api::ListAttribute* other = lists.list_value.has_value() ? &*lists.list_value : nullptr;
  if (list("ints", lists.int_values, other == nullptr ? nullptr : &other->int_value)) return;
  if (list("strings", lists.string_values, other == nullptr ? nullptr : &other->string_value)) {
    return;
  }
  if (list("versions", lists.version_values, other == nullptr ? nullptr : &other->version_value)) {
    return;
  }
  list("bools", lists.bool_values, other == nullptr ? nullptr : &other->bool_value);
}

struct ToJson {
  JsonOut& out;
  void operator()(std::string_view type, std::int64_t value) const {
    out.String(type).Number(value);
  }
  void operator()(std::string_view type, bool value) const { out.String(type).Bool(value); }
  void operator()(std::string_view type, std::string_view value) const {
    out.String(type).String(value);
  }
  template <typename T>
  void operator()(std::string_view type, const std::vector<T>& values) const {
    out.String(type).BeginList();
    for (const T& value : values) One(value);
    out.EndList();
  }
  void One(std::int64_t value) const { out.Number(value); }
  void One(const std::string& value) const { out.String(value); }
  void One(const api::BoolItem& value) const { out.Bool(value.value); }
};

struct ToText {
  std::string& out;
  void operator()(std::string_view, std::int64_t value) const { out = std::to_string(value); }
  void operator()(std::string_view, bool value) const { out = value ? "true" : "false"; }
  void operator()(std::string_view, std::string_view value) const { out = value; }
  template <typename T>
  void operator()(std::string_view, const std::vector<T>& values) const {
    out = "[";
    for (const T& value : values) {
      if (out.size() > 1) out += ", ";
      One(value);
    }
    out += "]";
  }
  void One(std::int64_t value) const { out += std::to_string(value); }
  void One(const std::string& value) const { out += value; }
  void One(const api::BoolItem& value) const { out += value.value ? "true" : "false"; }
};

std::string Names(std::span<const inventory::NameId> names,
                  const inventory::Dictionary& dictionary) {
  std::vector<std::string_view> texts;
  for (const inventory::NameId name : names) texts.push_back(dictionary.View(name));
  return fmt::format("{}", fmt::join(texts, " or "));
}

}  // namespace

std::string Qualified(std::string_view driver, std::string_view name) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  return fmt::format("{}/{}", driver, name);
}

std::string AttributeJson(const api::DeviceAttribute& attribute) {
  JsonOut out;
  Visit(attribute, ToJson{out});
  std::string text = out.Take();
  return text.empty() ? "\"none\",null" : text;
}

std::string AttributeText(const api::DeviceAttribute& attribute) {
  std::string text;
  Visit(attribute, ToText{text});
  return text;
}

std::string AmountText(inventory::Amount amount) {
  constexpr std::int64_t kUnit = 1'000'000'000;
  const bool negative = amount < 0;
  inventory::Amount rest = negative ? -amount : amount;
  const inventory::Amount whole = rest / kUnit;
  const auto parts = static_cast<std::int64_t>(rest % kUnit);
  constexpr inventory::Amount kMost = std::numeric_limits<std::int64_t>::max();
  if (whole > kMost) return negative ? "-very much" : "very much";
  base::Quantity quantity = base::Quantity::FromInt(static_cast<std::int64_t>(whole));
  if (whole >= 1024 && whole % 1024 == 0) quantity.set_format(base::Quantity::Format::kBinarySI);
  if (parts != 0) quantity = quantity + base::Quantity::FromScaled(parts, base::Quantity::kNano);
  return (negative ? "-" : "") + quantity.ToString();
}

std::string GroupsText(const ledger::GroupState& state, std::span<const inventory::NameId> groups,
                       std::string_view set, const inventory::Dictionary& dictionary) {
  using Kind = ledger::GroupState::Kind;
  const std::string own =
      groups.empty() ? "this device is of none"
                     : fmt::format("this device is of group {}", Names(groups, dictionary));
  switch (state.kind) {
    case Kind::kNoGroups:
      return fmt::format("blocked: devices without a compatibility group are in use on {}, and {}",
                         set, own);
    case Kind::kGroups:
      if (state.groups.empty()) {
        return fmt::format(
            "blocked: the devices in use on {} have no compatibility group in common that another "
            "device could have",
            set);
      }
      return fmt::format("blocked: {} is in use as {}, and {}", set,
                         Names(state.groups, dictionary), own);
    case Kind::kMixed:
      return fmt::format(
          "blocked: devices with and without compatibility groups are in use on {}; nothing may "
          "join them",
          set);
    case Kind::kClosed:
      return fmt::format(
          "blocked: devices with compatibility groups are in use on {}, and that feature is off",
          set);
    case Kind::kNothing:
      break;
  }
  return "";
}

}  // namespace dray::fleet::internal
