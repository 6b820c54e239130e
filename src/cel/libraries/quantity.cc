// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes quantities. Their comparisons are with those of versions.
#include <array>
#include <optional>

#include "base/quantity.h"
#include "base/status.h"
#include "cel/functions.h"
#include "cel/library.h"
#include "cel/values.h"

namespace dray::cel {
namespace {

using Args = std::span<const Value>;

constexpr Error kNotInteger{"cannot convert value to integer"};

const base::Quantity& QuantityOf(const Value& value) { return value.as<base::Quantity>(); }

Value Parse(Arena& arena, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  auto quantity = base::Quantity::Parse(args[0].as_text());
  if (!quantity.ok()) return MakeError(arena, base::Message(quantity.status()));
  return Value::Pointer(Kind::kQuantity, arena.New<base::Quantity>(*std::move(quantity)));
}

Value IsQuantity(Arena&, Args args) {
  if (!args[0].is(Kind::kString)) return UnmatchedCall();
  base::Quantity ignored;
  return Value::Bool(base::Quantity::TryParse(args[0].as_text(), &ignored));
}

Value Combine(Arena& arena, Args args, bool subtract) {
  if (!args[0].is(Kind::kQuantity)) return UnmatchedCall();
  base::Quantity operand;
  if (args[1].is(Kind::kQuantity)) {
    operand = QuantityOf(args[1]);
  } else if (args[1].is(Kind::kInt)) {
    operand = base::Quantity::FromInt(args[1].as_int());
  } else {
    return UnmatchedCall();
  }
  auto* sum = arena.New<base::Quantity>(QuantityOf(args[0]));
  if (subtract) {
    sum->Sub(operand);
  } else {
    sum->Add(operand);
  }
  return Value::Pointer(Kind::kQuantity, sum, 1);
}
Value AddQuantity(Arena& arena, Args args) { return Combine(arena, args, false); }
Value Sub(Arena& arena, Args args) { return Combine(arena, args, true); }

Value Sign(Arena&, Args args) {
  if (!args[0].is(Kind::kQuantity)) return UnmatchedCall();
  return Value::Int(QuantityOf(args[0]).Sign());
}
Value IsInteger(Arena&, Args args) {
  if (!args[0].is(Kind::kQuantity)) return UnmatchedCall();
  return Value::Bool(QuantityOf(args[0]).AsInt64().has_value());
}
Value AsInteger(Arena&, Args args) {
  if (!args[0].is(Kind::kQuantity)) return UnmatchedCall();
  const auto value = QuantityOf(args[0]).AsInt64();
  return value ? Value::Int(*value) : StaticError(kNotInteger);
}
Value AsFloat(Arena&, Args args) {
  if (!args[0].is(Kind::kQuantity)) return UnmatchedCall();
  return Value::Double(QuantityOf(args[0]).AsApproximateDouble());
}

}  // namespace

Library library::Quantity() {
  using enum CostRule;
  using enum OfConstants;
  static constexpr auto kRows = std::to_array<FunctionRow>({
      {"quantity", "string_to_quantity (string) -> kubernetes.Quantity", Parse, kTenth,
       estimate::ReadArgument, kMakeOnce},
      {"isQuantity", "is_quantity_string (string) -> bool", IsQuantity, kTenth,
       estimate::ReadArgument},
      {"sign", "quantity_sign (kubernetes.Quantity) -> int", Sign, kOne, estimate::Unit},
      {"asInteger", "quantity_get_int kubernetes.Quantity.() -> int", AsInteger, kOne,
       estimate::Unit},
      {"isInteger", "quantity_is_integer kubernetes.Quantity.() -> bool", IsInteger, kOne,
       estimate::Unit},
      {"asApproximateFloat", "quantity_get_float kubernetes.Quantity.() -> double", AsFloat, kOne,
       estimate::Unit},
      {"add", "quantity_add kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
       AddQuantity, kOne, estimate::Unit},
      {"add", "quantity_add_int kubernetes.Quantity.(int) -> kubernetes.Quantity", AddQuantity,
       kOne, estimate::Unit},
      {"sub", "quantity_sub kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity", Sub,
       kOne, estimate::Unit},
      {"sub", "quantity_sub_int kubernetes.Quantity.(int) -> kubernetes.Quantity", Sub, kOne,
       estimate::Unit},
      {"isGreaterThan",
       "quantity_is_greater_than kubernetes.Quantity.(kubernetes.Quantity) -> bool", IsGreaterThan,
       kOne, estimate::Unit},
      {"isLessThan", "quantity_is_less_than kubernetes.Quantity.(kubernetes.Quantity) -> bool",
       IsLessThan, kOne, estimate::Unit},
      {"compareTo", "quantity_compare_to kubernetes.Quantity.(kubernetes.Quantity) -> int",
       CompareTo, kOne, estimate::Unit},
  });
  return kRows;
}

}  // namespace dray::cel
