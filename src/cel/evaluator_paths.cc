// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "cel/internal/evaluation.h"
#include "fmt/format.h"

namespace dray::cel {

// What the steps of the path would have paid, at once.
Value Evaluation::EvalRead(const Node& node) {
  if (view_ == nullptr) return EvalChain(program_.chains_[node.a]);
  const Value value = view_->Read(node.b, arena_);
  const bool found = !value.is(Kind::kNull);
  switch (static_cast<Program::ReadMode>(node.flag)) {
    case Program::ReadMode::kValue:
      ChargeSteps(node.target);
      return found ? value : StaticError(program_.missing_[node.b]);
    case Program::ReadMode::kPresence:
      ChargeSteps(node.target);
      return value.is_error() ? value : Value::Bool(found);
    case Program::ReadMode::kOptional:
      // The last step is paid for only when there is something.
      ChargeSteps(found && !value.is_error() ? node.target : node.target - 1);
      if (value.is_error()) return value;
      return found ? MakeOptional(arena_, value) : NoneValue();
  }
  return NoSuchOverload();
}

// The beginning of a longer path.
Value Evaluation::ReadDevice(std::uint32_t read) {
  const Value value = view_->Read(read, arena_);
  return value.is(Kind::kNull) ? StaticError(program_.missing_[read]) : value;
}

Value Evaluation::Device() {
  if (device_.is(Kind::kNull)) device_ = MakeDeviceObject(*view_, arena_);
  return device_;
}

Value Evaluation::EvalChain(const Chain& chain) {
  const Value value = EvalPath(chain);
  // -1 for has() of a conditional: what the last step paid is given back.
  if (chain.start_cost < 0) {
    --cost_;
  } else {
    Charge(static_cast<std::uint64_t>(chain.start_cost));
  }
  return value;
}

Value Evaluation::EvalPath(const Chain& chain) {
  Value value;
  std::uint32_t skipped = 0;  // qualifiers that the read stands for
  switch (chain.base) {
    case Chain::Base::kVariable:
      if (view_ == nullptr) {
        value = variables_[chain.start];
      } else if (chain.read == Program::kNone) {
        value = Device();
      } else {
        value = ReadDevice(chain.read);
        ChargeSteps(chain.read_steps);
        skipped = chain.read_steps;
      }
      break;
    case Chain::Base::kLocal:
      value = ReadLocal(chain.start);
      break;
    case Chain::Base::kNode:
      value = Eval(chain.start);
      break;
    case Chain::Base::kConditional: {
      const Value condition = Eval(chain.start);
      if (!condition.is(Kind::kBool)) {
        value = condition.is_error() ? condition : NoSuchOverload();
      } else {
        value = Eval(condition.as_bool() ? chain.yes : chain.no);
      }
      break;
    }
  }
  if (value.is_error() || chain.count == skipped) return value;
  return Qualify(
      value, std::span(program_.qualifiers_).subspan(chain.first + skipped, chain.count - skipped));
}

Value Evaluation::ReadLocal(std::uint32_t slot) {
  Local& local = locals_[slot];
  if (local.pending != nullptr) {
    const Program::Loop& loop = *local.pending;
    local.pending = nullptr;
    if (loop.grows_list) {
      local.value =
          Value::Pointer(Kind::kList, static_cast<const List*>(arena_.New<GrowingList>()));
    } else if (loop.grows_map) {
      local.value = Value::Pointer(Kind::kMap, static_cast<const Map*>(arena_.New<GrowingMap>()));
    } else {
      local.value = Eval(loop.init);
    }
  }
  return local.value;
}

Value Evaluation::Qualify(Value value, std::span<const Qualifier> qualifiers) {
  bool optional = false;
  const Value missing = qualifiers.back().test_only ? Value::Bool(false) : NoneValue();
  for (const Qualifier& qualifier : qualifiers) {
    if (value.is(Kind::kOptional)) {
      if (!value.as<Optional>().present) {
        if (qualifier.test_only && &qualifier != &qualifiers.front()) Charge(1);
        return missing;
      }
      optional = true;
      value = value.as<Optional>().value;
    }
    optional = optional || qualifier.optional;
    Value key = qualifier.key;
    if (qualifier.node != Program::kNone) {
      key = Eval(qualifier.node);
      if (key.is_error()) {
        if (!optional) Charge(1);
        return key;
      }
    }
    const bool presence = optional || qualifier.test_only;
    Value next;
    const bool found = Step(value, key, presence, &next);
    if (next.is_error()) {
      if (!optional) Charge(1);
      return next;
    }
    if (qualifier.test_only) {
      if (!optional || found) Charge(1);
      return Value::Bool(found);
    }
    if (!found) return missing;
    Charge(1);
    value = next;
  }
  return optional ? MakeOptional(arena_, value) : value;
}

// One selection or index. False: not there, which without `presence` is an error in `next`.
bool Evaluation::Step(const Value& value, const Value& key, bool presence, Value* next) {
  switch (value.kind()) {
    case Kind::kMap:
      SpendOn(key);
      if (value.as<Map>().FindOrDefault(key, next)) return true;
      if (!presence) *next = Fail(fmt::format("no such key: {}", Printed(key)));
      return false;
    case Kind::kList: {
      const List& list = value.as<List>();
      const auto index = key.is(Kind::kInt) ? key.as_int() : IndexOf(key, next);
      if (!index) return false;
      if (*index >= 0 && *index < static_cast<std::int64_t>(list.size())) {
        *next = list.At(static_cast<std::size_t>(*index));
        return true;
      }
      if (!presence) *next = Fail(fmt::format("index out of bounds: {}", Printed(key)));
      return false;
    }
    case Kind::kHost:
      if (key.is(Kind::kString) && value.as<Host>().Select(key.as_text(), next)) return true;
      break;
    default:
      break;
  }
  if (!presence || program_.dialect_ == Dialect::kLanguage) {
    *next = Fail(fmt::format("no such key: {}", Printed(key)));
  }
  return false;
}

std::optional<std::int64_t> Evaluation::IndexOf(const Value& key, Value* error) {
  switch (key.kind()) {
    case Kind::kInt:
      return key.as_int();
    case Kind::kUint:
      if (key.as_int() >= 0) return key.as_int();
      break;
    case Kind::kDouble:
      if (const double d = key.as_double(); std::fabs(d) < 9e15 && d == std::trunc(d)) {
        return static_cast<std::int64_t>(d);
      }
      break;
    default:
      *error = Fail(fmt::format("unsupported index type '{}' in list", TypeName(key)));
      return std::nullopt;
  }
  *error = Fail(fmt::format("unsupported index value {} in list", Printed(key)));
  return std::nullopt;
}

}  // namespace dray::cel
