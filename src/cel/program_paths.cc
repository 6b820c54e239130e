// SPDX-License-Identifier: Apache-2.0
//
// Names, selections, indices, conditionals: everything that walks to a value.
#include <algorithm>
#include <array>

#include "cel/internal/program_compiler.h"
#include "cel/operators.h"
#include "fmt/format.h"

namespace dray::cel {
namespace {

// The names of types that identifiers can stand for, when there is no checker to say.
bool IsTypeName(std::string_view name) {
  for (const std::string_view type :
       {"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint",
        "optional_type", "google.protobuf.Timestamp", "google.protobuf.Duration", "net.IP",
        "net.CIDR"}) {
    if (name == type) return true;
  }
  return false;
}

}  // namespace

std::uint32_t Compiler::CompilePath(ExprId id) {
  Path path;
  if (const auto constant = BuildPath(id, path)) return *constant;
  return Finish(path);
}

std::uint32_t Compiler::Finish(Path& path) {
  NoteReads(path);
  if (path.chain.base == Chain::Base::kNode && path.qualifiers.empty()) return path.chain.start;
  AssignRead(path);
  path.chain.first = static_cast<std::uint32_t>(program_->qualifiers_.size());
  path.chain.count = static_cast<std::uint32_t>(path.qualifiers.size());
  if (path.chain.base == Chain::Base::kConditional) path.chain.start_cost = 0;
  if (!path.qualifiers.empty() && path.qualifiers.back().test_only) --path.chain.start_cost;
  program_->qualifiers_.insert(program_->qualifiers_.end(), path.qualifiers.begin(),
                               path.qualifiers.end());
  program_->chains_.push_back(path.chain);
  Node node{.op = Op::kChain, .a = static_cast<std::uint32_t>(program_->chains_.size() - 1)};
  if (const auto mode = ModeOfRead(path)) {
    node.op = Op::kRead;
    node.flag = static_cast<std::uint8_t>(*mode);
    node.b = path.chain.read;
    node.target = path.chain.read_steps + static_cast<std::uint32_t>(path.chain.start_cost);
  }
  return Add(node);
}

// Fills `path`; or answers with a node when `id` is no path at all but a constant.
std::optional<std::uint32_t> Compiler::BuildPath(ExprId id, Path& path) {
  switch (ast_.kind(id)) {
    case ExprKind::kIdent:
      return BuildName(id, path);
    case ExprKind::kSelect: {
      if (checked_ != nullptr) {
        if (checked_->FindReference(id) != nullptr) return BuildName(id, path);
      } else if (BuildQualifiedName(id, path)) {
        return unchecked_constant_;
      }
      const SelectExpr select = ast_.select(id);
      BuildOperand(select.operand, path);
      path.qualifiers.push_back(
          {.key = MakeString(arena(), ast_.text(select.field)), .test_only = select.test_only});
      return std::nullopt;
    }
    case ExprKind::kCall: {
      const CallExpr call = ast_.call(id);
      const std::string_view function = ast_.text(call.function);
      if (function == op::kConditional) {
        path.chain.base = Chain::Base::kConditional;
        path.chain.start = Compile(call.args[0]);
        path.chain.yes = WithoutStart(Compile(call.args[1]));
        path.chain.no = WithoutStart(Compile(call.args[2]));
        return std::nullopt;
      }
      BuildOperand(call.args[0], path);
      Qualifier qualifier{.optional = function != op::kIndex};
      const std::uint32_t key = WithoutStart(Compile(call.args[1]));
      if (IsConstant(key)) {
        qualifier.key = ConstantOf(key);
        if (dialect_ == Dialect::kKubernetes && !IsKeyKind(qualifier.key.kind()) &&
            !qualifier.key.is(Kind::kDouble) && !qualifier.key.is_error()) {
          Fail(fmt::format("invalid qualifier type: {}", GoTypeName(qualifier.key)));
        }
      } else {
        qualifier.node = key;
      }
      path.qualifiers.push_back(qualifier);
      return std::nullopt;
    }
    default:
      path.chain.start = Compile(id);
      return std::nullopt;
  }
}

// A path that is part of another one does not pay for its start.
std::uint32_t Compiler::WithoutStart(std::uint32_t node) {
  Node& path = program_->nodes_[node];
  if (path.op == Op::kChain || path.op == Op::kRead) {
    Chain& chain = program_->chains_[path.a];
    chain.start_cost = 0;
    if (path.op == Op::kRead) path.target = chain.read_steps;
  }
  return node;
}

bool Compiler::IsPath(ExprId id) const {
  if (ast_.kind(id) == ExprKind::kIdent) return true;
  if (ast_.kind(id) == ExprKind::kSelect) return !ast_.select(id).test_only;
  if (ast_.kind(id) != ExprKind::kCall) return false;
  const std::string_view function = ast_.text(ast_.call(id).function);
  return function == op::kIndex || function == op::kOptionalIndex ||
         function == op::kOptionalSelect || function == op::kConditional;
}

void Compiler::BuildOperand(ExprId id, Path& path) {
  if (!IsPath(id)) {
    path.chain.start = Compile(id);
    return;
  }
  if (const auto constant = BuildPath(id, path)) path.chain.start = *constant;
}

std::uint32_t Compiler::VariableSlot(std::string_view name) {
  auto& variables = program_->variables_;
  const auto it = std::ranges::find(variables, name);
  if (it != variables.end()) return static_cast<std::uint32_t>(it - variables.begin());
  variables.emplace_back(name);
  return static_cast<std::uint32_t>(variables.size() - 1);
}

std::string Compiler::QualifiedText(ExprId id) const {
  if (ast_.kind(id) == ExprKind::kIdent) return std::string(ast_.text(ast_.ident(id)));
  if (ast_.kind(id) != ExprKind::kSelect || ast_.select(id).test_only) return "";
  const std::string operand = QualifiedText(ast_.select(id).operand);
  if (operand.empty()) return "";
  return operand + "." + std::string(ast_.text(ast_.select(id).field));
}

std::optional<std::uint32_t> Compiler::BuildName(ExprId id, Path& path) {
  if (checked_ == nullptr) {
    BuildQualifiedName(id, path);
    return unchecked_constant_;
  }
  const Reference& reference = *checked_->FindReference(id);
  switch (reference.kind) {
    case Reference::Kind::kLocal:
      path.chain.base = Chain::Base::kLocal;
      path.chain.start = FindLocal(ast_.text(ast_.ident(id))).value_or(0);
      return std::nullopt;
    case Reference::Kind::kVariable:
      path.chain.base = Chain::Base::kVariable;
      path.chain.start = VariableSlot(reference.variable->name);
      return std::nullopt;
    case Reference::Kind::kType:
      break;
  }
  std::string name = QualifiedText(id);
  if (name.starts_with('.')) name.erase(0, 1);
  return Constant(Value::Type(arena().Copy(name)));
}

std::optional<std::uint32_t> Compiler::FindLocal(std::string_view name) const {
  for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
    if (it->name == name) return it->slot;
  }
  return std::nullopt;
}

// Without a checker: the longest dotted name that is a variable or type in the container. False
// when `id` as a whole is no name; an identifier always is, if only one that nobody knows.
bool Compiler::BuildQualifiedName(ExprId id, Path& path) {
  unchecked_constant_.reset();
  std::string name = QualifiedText(id);
  if (name.empty()) return false;
  const bool absolute = name.starts_with('.');
  if (absolute) name.erase(0, 1);
  const std::string first = name.substr(0, name.find('.'));
  if (!absolute) {
    if (const auto local = FindLocal(first)) {
      if (first != name) return false;
      path.chain.base = Chain::Base::kLocal;
      path.chain.start = *local;
      return true;
    }
  }
  std::string container = absolute ? "" : names_->container;
  for (;;) {
    const std::string candidate = container.empty() ? name : container + "." + name;
    if (std::ranges::find(names_->variables, candidate) != names_->variables.end()) {
      path.chain.base = Chain::Base::kVariable;
      path.chain.start = VariableSlot(candidate);
      return true;
    }
    if (IsTypeName(candidate)) {
      unchecked_constant_ = Constant(Value::Type(arena().Copy(candidate)));
      return true;
    }
    if (container.empty()) break;
    const std::size_t dot = container.rfind('.');
    container = dot == std::string::npos ? "" : container.substr(0, dot);
  }
  if (ast_.kind(id) != ExprKind::kIdent) return false;
  unchecked_constant_ = Failing(fmt::format("no such attribute(s): {}", name));
  return true;
}

void Compiler::NoteReads(const Path& path) {
  if (path.chain.base != Chain::Base::kVariable) return;
  if (program_->variables_[path.chain.start] != "device") return;
  Reads& reads = program_->reads_;
  const auto text = [&](std::size_t i) -> std::optional<std::string> {
    if (i >= path.qualifiers.size()) return std::nullopt;
    const Qualifier& q = path.qualifiers[i];
    if (q.node != Program::kNone || !q.key.is(Kind::kString)) return std::nullopt;
    return std::string(q.key.as_text());
  };
  const auto field = text(0);
  if (!field) {
    reads.whole_device = true;
  } else if (*field == "driver") {
    reads.driver = true;
  } else if (*field == "name") {
    reads.name = true;
  } else if (*field == "allowMultipleAllocations") {
    reads.allow_multiple_allocations = true;
  } else if (*field == "attributes" || *field == "capacity") {
    const bool attributes = *field == "attributes";
    const auto domain = text(1);
    const auto id = text(2);
    if (!domain || !id) {
      (attributes ? reads.all_attributes : reads.all_capacities) = true;
    } else {
      (attributes ? reads.attributes : reads.capacities).push_back({*domain, *id});
    }
  }
}
// Looks whether the path begins with something that a DeviceView knows by number.
void Compiler::AssignRead(Path& path) {
  if (path.chain.base != Chain::Base::kVariable) return;
  if (program_->variables_[path.chain.start] != "device") return;
  // Keys from the front that are constant texts, and neither optional nor has(), except the last.
  std::array<std::string_view, 3> keys;
  std::size_t n = 0;
  for (const Qualifier& q : path.qualifiers) {
    if (n == keys.size() || q.node != Program::kNone || !q.key.is(Kind::kString)) break;
    if ((q.optional || q.test_only) && n != 2) break;
    keys[n++] = q.key.as_text();
  }
  using Field = DeviceRead::Field;
  std::optional<DeviceRead> read;
  if (n == 3 && (keys[0] == "attributes" || keys[0] == "capacity")) {
    const auto has_slash = [](std::string_view text) { return text.find('/') != text.npos; };
    const Qualifier& last = path.qualifiers[2];
    const bool plain = !last.optional && !last.test_only;
    if (!has_slash(keys[1]) && !has_slash(keys[2]) && (plain || path.qualifiers.size() == 3)) {
      read = DeviceRead{.field = keys[0] == "capacity" ? Field::kCapacity : Field::kAttribute,
                        .domain = keys[1],
                        .id = keys[2],
                        .qualified = fmt::format("{}/{}", keys[1], keys[2])};
    }
  } else if (n >= 1) {
    if (keys[0] == "driver") read = DeviceRead{.field = Field::kDriver};
    if (keys[0] == "name") read = DeviceRead{.field = Field::kName};
    if (keys[0] == "allowMultipleAllocations") {
      read = DeviceRead{.field = Field::kAllowMultipleAllocations};
    }
  }
  if (!read || !options_.optimize) {
    program_->only_device_reads_ = false;
    return;
  }
  path.chain.read_steps =
      read->field == Field::kAttribute || read->field == Field::kCapacity ? 3 : 1;
  path.chain.read = ReadNumber(*std::move(read));
}

std::uint32_t Compiler::ReadNumber(DeviceRead read) {
  auto& reads = program_->device_reads_;
  const auto it = std::ranges::find(reads, read);
  if (it != reads.end()) return static_cast<std::uint32_t>(it - reads.begin());
  program_->missing_.push_back({arena().Copy(fmt::format("no such key: {}", read.id.view()))});
  reads.push_back(std::move(read));
  return static_cast<std::uint32_t>(reads.size() - 1);
}

// When the whole path is a read: what is made of it.
std::optional<Program::ReadMode> Compiler::ModeOfRead(const Path& path) const {
  if (path.chain.read == Program::kNone || path.qualifiers.size() != path.chain.read_steps) {
    return std::nullopt;
  }
  if (path.qualifiers.back().test_only) return Program::ReadMode::kPresence;
  if (path.qualifiers.back().optional) return Program::ReadMode::kOptional;
  return Program::ReadMode::kValue;
}

}  // namespace dray::cel
