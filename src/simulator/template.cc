// SPDX-License-Identifier: Apache-2.0
#include "simulator/template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "cel/arena.h"
#include "cel/compile.h"
#include "cel/environment.h"
#include "cel/evaluator.h"
#include "cel/program.h"
#include "cel/type.h"
#include "cel/values.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::simulator {
namespace {

using api::DocumentNode;

constexpr std::string_view kIndex = "index";
constexpr std::string_view kNode = "node";
// A list that a placeholder makes, lists inside of it included.
constexpr std::size_t kMaxItems = 100'000;

const std::shared_ptr<const cel::Environment>& Environment() {
  static const auto* environment = new std::shared_ptr<const cel::Environment>([] {
    cel::EnvironmentBuilder builder = cel::StandardEnvironment();
    builder.AddVariable(kIndex, cel::Type::Int()).AddVariable(kNode, cel::Type::Int());
    return std::move(builder).Build();
  }());
  return *environment;
}

// Where the placeholder that begins at `open` ("${") ends: just behind its brace. Braces inside of
// it are counted, those in quotes are not.
std::optional<std::size_t> EndOf(std::string_view text, std::size_t open) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::nullopt;
}

DocumentNode Scalar(DocumentNode::Kind kind, std::string text) {
  DocumentNode node;
  node.kind = kind;
  node.text = std::move(text);
  return node;
}

// Nothing when a scenario has no such thing.
std::optional<DocumentNode> ToNode(const cel::Value& value, std::size_t& budget) {
  if (budget == 0) return std::nullopt;
  --budget;
  switch (value.kind()) {
    case cel::Kind::kNull:
      return DocumentNode{};
    case cel::Kind::kBool: {
      DocumentNode node;
      node.kind = DocumentNode::Kind::kBool;
      node.boolean = value.as_bool();
      return node;
    }
    case cel::Kind::kInt:
      return Scalar(DocumentNode::Kind::kNumber, std::to_string(value.as_int()));
    case cel::Kind::kUint:
      return Scalar(DocumentNode::Kind::kNumber, std::to_string(value.as_uint()));
    case cel::Kind::kDouble:
      return Scalar(DocumentNode::Kind::kNumber, cel::DoubleToString(value.as_double()));
    case cel::Kind::kString:
      return Scalar(DocumentNode::Kind::kString, std::string(value.as_text()));
    case cel::Kind::kList: {
      DocumentNode node;
      node.kind = DocumentNode::Kind::kList;
      const auto& list = value.as<cel::List>();
      for (std::size_t i = 0; i < list.size(); ++i) {
        std::optional<DocumentNode> item = ToNode(list.At(i), budget);
        if (!item) return std::nullopt;
        node.items.push_back(std::move(*item));
      }
      return node;
    }
    default:
      return std::nullopt;
  }
}

void SetPosition(DocumentNode& node, api::Position position) {
  node.position = position;
  for (DocumentNode& item : node.items) SetPosition(item, position);
}

}  // namespace

Template Template::Create(api::DocumentNode node, std::span<const std::string_view> known,
                          const base::FieldPath& field, std::vector<Fault>& faults) {
  Template made;
  made.node_ = std::move(node);
  made.field_ = field;
  made.CompileTree(made.node_, known, faults);
  return made;
}

bool Template::Uses(std::string_view variable) const {
  return std::ranges::find(used_, variable) != used_.end();
}

void Template::CompileTree(const DocumentNode& node, std::span<const std::string_view> known,
                           std::vector<Fault>& faults) {
  if (node.kind == DocumentNode::Kind::kString) Compile(node.text, node.position, known, faults);
  for (const DocumentNode& item : node.items) CompileTree(item, known, faults);
  for (const api::Member& member : node.members) {
    Compile(member.key, member.key_position, known, faults);
    CompileTree(member.value, known, faults);
  }
}

void Template::Compile(const std::string& text, api::Position position,
                       std::span<const std::string_view> known, std::vector<Fault>& faults) {
  if (text.find("${") == std::string::npos || texts_.contains(text)) return;
  const auto fault = [&](std::string message) {
    faults.push_back({position, field_.ToString(), std::move(message), ""});
  };
  Pieces pieces;
  std::size_t at = 0;
  for (std::size_t open; (open = text.find("${", at)) != std::string::npos;) {
    const std::optional<std::size_t> end = EndOf(text, open);
    if (!end) return fault(fmt::format("\"{}\": the placeholder must end with a brace", text));
    if (open > at) pieces.push_back({text.substr(at, open - at), nullptr});
    const std::string expression = text.substr(open + 2, *end - open - 3);
    at = *end;
    const cel::CompileResult compiled =
        cel::Compile(expression, Environment(), {.estimate_cost = false});
    if (!compiled.ok()) {
      const std::string why = compiled.issues.empty() ? compiled.error : compiled.issues[0].message;
      return fault(fmt::format("\"${{{}}}\": {}", expression, why));
    }
    const auto program = cel::Program::Compile(*compiled.checked);
    if (!program.ok()) {
      return fault(fmt::format("\"${{{}}}\": {}", expression, base::Message(program.status())));
    }
    for (const std::string& name : (*program)->variables()) {
      if (std::ranges::find(known, name) == known.end()) {
        return fault(fmt::format("\"${{{}}}\": unknown name \"{}\"; available here: {}", expression,
                                 name, fmt::join(known, ", ")));
      }
      if (!Uses(name)) used_.push_back(name);
    }
    pieces.push_back({expression, *program});
  }
  if (at < text.size()) pieces.push_back({text.substr(at), nullptr});
  texts_.emplace(text, std::move(pieces));
}

DocumentNode Template::Expand(const Variables& variables, std::vector<Fault>& faults) const {
  DocumentNode node = node_;
  if (!texts_.empty()) ExpandTree(node, variables, faults);
  return node;
}

void Template::ExpandTree(DocumentNode& node, const Variables& variables,
                          std::vector<Fault>& faults) const {
  if (node.kind == DocumentNode::Kind::kString) {
    if (const auto found = texts_.find(node.text); found != texts_.end()) {
      if (auto made = Evaluate(found->second, variables, node.position, faults)) {
        SetPosition(*made, node.position);
        node = std::move(*made);
      }
    }
    return;
  }
  for (DocumentNode& item : node.items) ExpandTree(item, variables, faults);
  for (api::Member& member : node.members) {
    if (const auto found = texts_.find(member.key); found != texts_.end()) {
      const auto made = Evaluate(found->second, variables, member.key_position, faults);
      if (made && (made->kind == DocumentNode::Kind::kString ||
                   made->kind == DocumentNode::Kind::kNumber)) {
        member.key = made->text;
      } else if (made) {
        faults.push_back({member.key_position, field_.ToString(),
                          fmt::format("\"{}\": a key must be a number or a string", member.key),
                          ""});
      }
    }
    ExpandTree(member.value, variables, faults);
  }
}

std::optional<DocumentNode> Template::Evaluate(const Pieces& pieces, const Variables& variables,
                                               api::Position position,
                                               std::vector<Fault>& faults) const {
  std::string text;
  for (const Piece& piece : pieces) {
    if (piece.program == nullptr) {
      text += piece.text;
      continue;
    }
    std::vector<cel::Value> slots;
    for (const std::string& name : piece.program->variables()) {
      slots.push_back(cel::Value::Int(name == kIndex ? variables.index : variables.node));
    }
    cel::Arena arena;
    const cel::Value value = cel::Evaluate(*piece.program, slots, arena).value;
    const auto fault = [&](std::string_view why) {
      faults.push_back(
          {position, field_.ToString(), fmt::format("\"${{{}}}\": {}", piece.text, why), ""});
      return std::nullopt;
    };
    if (value.is_error()) return fault(cel::ErrorMessage(value));
    std::size_t budget = kMaxItems;
    std::optional<DocumentNode> made = ToNode(value, budget);
    if (!made) {
      return fault(budget == 0 ? "gives more items than a scenario allows"
                               : fmt::format("gives a {}, which cannot be used in a scenario",
                                             cel::TypeName(value)));
    }
    if (pieces.size() == 1) return made;
    const bool joins =
        made->kind == DocumentNode::Kind::kString || made->kind == DocumentNode::Kind::kNumber;
    if (!joins) return fault("must give a number or a string to be a part of a string");
    text += made->text;
  }
  return Scalar(DocumentNode::Kind::kString, std::move(text));
}

}  // namespace dray::simulator
