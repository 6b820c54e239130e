// SPDX-License-Identifier: Apache-2.0
//
// Lists, maps, messages, and the loops that macros become.
#include <algorithm>

#include "cel/internal/program_compiler.h"
#include "cel/macros.h"
#include "cel/operators.h"
#include "fmt/format.h"

namespace dray::cel {

std::uint32_t Compiler::CompileList(ExprId id) {
  const ListExpr list = ast_.list(id);
  std::vector<std::uint32_t> elements;
  std::vector<bool> optional;
  bool constant = true;
  for (std::size_t i = 0; i < list.elements.size(); ++i) {
    elements.push_back(Compile(list.elements[i]));
    optional.push_back(list.IsOptional(i));
    constant = constant && IsConstant(elements.back()) && !optional.back() &&
               !ConstantOf(elements.back()).is_error();
  }
  if (constant) {
    std::vector<Value> values;
    for (const std::uint32_t element : elements) values.push_back(ConstantOf(element));
    return Constant(values.empty() ? EmptyList() : MakeList(arena(), values));
  }
  return Add({.op = Op::kList,
              .a = AddArgs(elements),
              .b = static_cast<std::uint32_t>(elements.size()),
              .target = OptionalFlags(optional)});
}

std::uint32_t Compiler::OptionalFlags(const std::vector<bool>& optional) {
  if (std::ranges::find(optional, true) == optional.end()) return Program::kNone;
  program_->optional_flags_.push_back(optional);
  return static_cast<std::uint32_t>(program_->optional_flags_.size() - 1);
}

std::uint32_t Compiler::CompileMap(ExprId id) {
  std::vector<std::uint32_t> parts;
  std::vector<bool> optional;
  bool constant = true;
  for (const MapEntry& entry : ast_.map(id)) {
    for (const ExprId part : {entry.key, entry.value}) {
      parts.push_back(Compile(part));
      constant = constant && IsConstant(parts.back()) && !ConstantOf(parts.back()).is_error();
    }
    optional.push_back(entry.optional);
    constant = constant && !entry.optional && IsKeyKind(KindIfConstant(parts[parts.size() - 2]));
  }
  if (constant) {
    if (parts.empty()) return Constant(EmptyMap());
    auto* map = arena().New<GrowingMap>();
    bool unique = true;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      unique = map->PutSameKind(arena(), ConstantOf(parts[i]), ConstantOf(parts[i + 1])) && unique;
    }
    if (unique) return Constant(Value::Pointer(Kind::kMap, static_cast<const Map*>(map)));
  }
  return Add({.op = Op::kMap,
              .a = AddArgs(parts),
              .b = static_cast<std::uint32_t>(parts.size()),
              .target = OptionalFlags(optional)});
}

std::uint32_t Compiler::CompileMessage(ExprId id) {
  constexpr std::string_view kPackage = "google.protobuf.";
  const StructExpr literal = ast_.struct_literal(id);
  std::string_view name = ast_.text(literal.name);
  if (name.starts_with('.')) name.remove_prefix(1);
  if (!name.starts_with(kPackage)) return Failing(fmt::format("unknown type: {}", name));
  Program::Message message{.type = std::string(name.substr(kPackage.size()))};
  std::vector<std::uint32_t> args;
  for (const StructField& field : literal.fields) {
    message.fields.emplace_back(ast_.text(field.name));
    args.push_back(Compile(field.value));
  }
  program_->messages_.push_back(std::move(message));
  return Add({.op = Op::kMessage,
              .a = AddArgs(args),
              .b = static_cast<std::uint32_t>(args.size()),
              .target = static_cast<std::uint32_t>(program_->messages_.size() - 1)});
}

std::uint32_t Compiler::CompileLoop(ExprId id) {
  const Comprehension& loop = ast_.comprehension(id);
  Program::Loop out;
  out.range = Compile(loop.range);
  out.init = Compile(loop.init);
  out.accu = NewLocal();
  out.var1 = NewLocal();
  if (loop.iter_var2) out.var2 = NewLocal();
  out.grows_list = IsConstant(out.init) && ConstantOf(out.init).is(Kind::kList) &&
                   ConstantOf(out.init).as<List>().size() == 0;
  out.grows_map = IsConstant(out.init) && ConstantOf(out.init).is(Kind::kMap) &&
                  ConstantOf(out.init).as<Map>().size() == 0;
  locals_.push_back({ast_.text(loop.accu_var), out.accu});
  locals_.push_back({ast_.text(loop.iter_var), out.var1});
  if (loop.iter_var2) locals_.push_back({ast_.text(*loop.iter_var2), out.var2});
  const std::size_t before = program_->nodes_.size();
  out.condition = Compile(loop.condition);
  out.step = CompileStep(loop, out);
  out.weight = static_cast<std::uint32_t>(program_->nodes_.size() - before);
  locals_.pop_back();
  if (loop.iter_var2) locals_.pop_back();
  out.result = Compile(loop.result);
  locals_.pop_back();
  program_->loops_.push_back(out);
  return Add({.op = Op::kLoop, .a = static_cast<std::uint32_t>(program_->loops_.size() - 1)});
}

bool Compiler::IsAccu(ExprId id, const Comprehension& loop) const {
  return ast_.kind(id) == ExprKind::kIdent && ast_.ident(id) == loop.accu_var &&
         ast_.text(loop.accu_var) == kAccumulator;
}

// Appending one element, or inserting one entry, changes the accumulator in place: nobody else
// sees it before the loop is over.
std::uint32_t Compiler::CompileStep(const Comprehension& loop, Program::Loop& out) {
  if (!options_.optimize) out.grows_list = out.grows_map = false;
  if (!out.grows_list && !out.grows_map) return Compile(loop.step);
  if (ast_.kind(loop.step) == ExprKind::kCall) {
    const CallExpr call = ast_.call(loop.step);
    if (ast_.text(call.function) == op::kConditional && IsAccu(call.args[2], loop)) {
      if (const auto grow = CompileGrowth(call.args[1], loop, out)) {
        Path path;
        path.chain.base = Chain::Base::kConditional;
        path.chain.start = Compile(call.args[0]);
        path.chain.yes = *grow;
        path.chain.no = WithoutStart(Compile(call.args[2]));
        return Finish(path);
      }
    } else if (const auto grow = CompileGrowth(loop.step, loop, out)) {
      return *grow;
    }
  }
  out.grows_list = out.grows_map = false;
  return Compile(loop.step);
}

std::optional<std::uint32_t> Compiler::CompileGrowth(ExprId id, const Comprehension& loop,
                                                     const Program::Loop& out) {
  if (ast_.kind(id) != ExprKind::kCall) return std::nullopt;
  const CallExpr call = ast_.call(id);
  const std::string_view function = ast_.text(call.function);
  if (call.args.size() < 2 || !IsAccu(call.args[0], loop)) return std::nullopt;
  if (out.grows_list && function == op::kAdd && ast_.kind(call.args[1]) == ExprKind::kList) {
    const ListExpr list = ast_.list(call.args[1]);
    if (list.elements.size() != 1 || list.IsOptional(0)) return std::nullopt;
    const std::uint32_t element = Compile(list.elements[0]);
    return Add({.op = Op::kAppend,
                .flag = IsConstant(element) ? std::uint8_t{1} : std::uint8_t{0},
                .a = out.accu,
                .b = element});
  }
  if (out.grows_map && function == op::kMapInsert && call.args.size() == 3) {
    const std::uint32_t key = Compile(call.args[1]);
    return Add({.op = Op::kInsert, .a = out.accu, .b = key, .target = Compile(call.args[2])});
  }
  return std::nullopt;
}
}  // namespace dray::cel
