// SPDX-License-Identifier: Apache-2.0
//
// Kubernetes quantities. Their comparisons are with those of versions.
#include <array>
#include <optional>

#include "base/quantity.h"
#include "base/status.h"
#include "cel/functions.h"
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

std::span<const Builtin> QuantityFunctions() {
  static constexpr std::array<Builtin, 8> kFunctions = {{
      {"quantity", 1, 1, Parse},
      {"isQuantity", 1, 1, IsQuantity},
      {"add", 2, 2, AddQuantity},
      {"sub", 2, 2, Sub},
      {"sign", 1, 1, Sign},
      {"isInteger", 1, 1, IsInteger},
      {"asInteger", 1, 1, AsInteger},
      {"asApproximateFloat", 1, 1, AsFloat},
  }};
  return kFunctions;
}

}  // namespace dray::cel
