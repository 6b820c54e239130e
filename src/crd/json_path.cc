// SPDX-License-Identifier: Apache-2.0
#include "crd/json_path.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace dray::crd {
namespace {

using Kind = DocumentNode::Kind;

constexpr std::size_t kMaxSteps = 64;

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// A name up to a dot, a bracket or the end of its expression; a backslash takes what follows.
std::string TakeName(std::string_view& rest, std::string_view ends) {
  std::string name;
  while (!rest.empty() && ends.find(rest.front()) == ends.npos) {
    if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
    name += rest.front();
    rest.remove_prefix(1);
  }
  return name;
}

std::optional<std::int64_t> NumberIn(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool IsQuoted(std::string_view text) {
  return text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
         text.back() == text.front();
}

int Order(const DocumentNode& a, const DocumentNode& b) {
  if (const auto x = NumberOf(a), y = NumberOf(b); x && y) return *x < *y ? -1 : *x > *y ? 1 : 0;
  return a.text < b.text ? -1 : a.text > b.text ? 1 : 0;
}

}  // namespace

std::optional<std::vector<std::string>> JsonPath::ParseFields(std::string_view& rest) {
  std::vector<std::string> names;
  while (rest.starts_with('.')) {
    rest.remove_prefix(1);
    std::string name = TakeName(rest, ".[]=!<> )");
    if (name.empty()) return std::nullopt;
    names.push_back(std::move(name));
  }
  return names;
}

// @.a.b, or @.a == "x"
std::optional<JsonPath::Step> JsonPath::ParseFilter(std::string_view inside) {
  inside = Trimmed(inside);
  if (!inside.starts_with('@')) return std::nullopt;
  inside.remove_prefix(1);
  Step step{.kind = Step::Kind::kFilter};
  auto left = ParseFields(inside);
  if (!left) return std::nullopt;
  step.left = *std::move(left);
  inside = Trimmed(inside);
  if (inside.empty()) return step;
  for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (!inside.starts_with(op)) continue;
    step.op = op;
    inside = Trimmed(inside.substr(op.size()));
    if (IsQuoted(inside)) {
      step.right = rest::StringNode(inside.substr(1, inside.size() - 2));
    } else if (inside == "true" || inside == "false") {
      step.right = rest::BoolNode(inside == "true");
    } else {
      step.right.kind = Kind::kNumber;
      step.right.text = inside;
      if (!NumberOf(step.right)) return std::nullopt;
    }
    return step;
  }
  return std::nullopt;
}

std::optional<JsonPath::Step> JsonPath::ParseBracket(std::string_view inside) {
  inside = Trimmed(inside);
  if (inside == "*") return Step{.kind = Step::Kind::kAll};
  if (IsQuoted(inside)) {
    return Step{.kind = Step::Kind::kField,
                .name = std::string(inside.substr(1, inside.size() - 2))};
  }
  if (inside.starts_with("?(") && inside.ends_with(')')) {
    return ParseFilter(inside.substr(2, inside.size() - 3));
  }
  if (const std::size_t colon = inside.find(':'); colon != inside.npos) {
    Step step{.kind = Step::Kind::kSlice};
    const std::string_view from = Trimmed(inside.substr(0, colon));
    const std::string_view to = Trimmed(inside.substr(colon + 1));
    if (!from.empty() && !(step.from = NumberIn(from))) return std::nullopt;
    if (!to.empty() && !(step.to = NumberIn(to))) return std::nullopt;
    return step;
  }
  const auto index = NumberIn(inside);
  if (!index) return std::nullopt;
  return Step{.kind = Step::Kind::kIndex, .from = index};
}

std::optional<JsonPath> JsonPath::Parse(std::string_view text) {
  JsonPath path;
  if (text == ".") return path;
  while (!text.empty()) {
    if (path.steps_.size() >= kMaxSteps) return std::nullopt;
    if (text.starts_with(".[")) text.remove_prefix(1);
    if (text.starts_with('[')) {
      // The bracket that ends it is outside of quotes.
      char quote = 0;
      std::size_t end = 1;
      while (end < text.size() && (quote != 0 || text[end] != ']')) {
        if (quote != 0) {
          if (text[end] == quote) quote = 0;
        } else if (text[end] == '\'' || text[end] == '"') {
          quote = text[end];
        }
        ++end;
      }
      if (end >= text.size()) return std::nullopt;
      auto step = ParseBracket(text.substr(1, end - 1));
      if (!step) return std::nullopt;
      path.steps_.push_back(*std::move(step));
      text.remove_prefix(end + 1);
      continue;
    }
    if (!text.starts_with('.')) return std::nullopt;
    text.remove_prefix(1);
    std::string name = TakeName(text, ".[");
    if (name.empty()) return std::nullopt;
    path.steps_.push_back(name == "*" ? Step{.kind = Step::Kind::kAll}
                                      : Step{.kind = Step::Kind::kField, .name = std::move(name)});
  }
  return path;
}

bool JsonPath::Holds(const Step& step, const DocumentNode& item) {
  const DocumentNode* at = &item;
  for (const std::string& name : step.left) {
    at = at->kind == Kind::kMap ? rest::FindIn(*at, name) : nullptr;
    if (at == nullptr) return false;
  }
  if (step.op.empty()) return true;
  const bool same_kind = at->kind == step.right.kind;
  if (step.op == "==") return same_kind && rest::JsonEqual(*at, step.right);
  if (step.op == "!=") return !same_kind || !rest::JsonEqual(*at, step.right);
  if (!same_kind) return false;
  const int order = Order(*at, step.right);
  if (step.op == "<") return order < 0;
  if (step.op == "<=") return order <= 0;
  return step.op == ">" ? order > 0 : order >= 0;
}

std::vector<const DocumentNode*> JsonPath::Find(const DocumentNode& root) const {
  std::vector<const DocumentNode*> found = {&root};
  for (const Step& step : steps_) {
    std::vector<const DocumentNode*> next;
    const auto add = [&](const DocumentNode& node) {
      if (next.size() < kMaxFound) next.push_back(&node);
    };
    for (const DocumentNode* node : found) {
      const auto size = static_cast<std::int64_t>(node->items.size());
      switch (step.kind) {
        case Step::Kind::kField:
          if (node->kind == Kind::kMap) {
            if (const DocumentNode* value = rest::FindIn(*node, step.name)) add(*value);
          }
          break;
        case Step::Kind::kIndex: {
          const std::int64_t index = *step.from < 0 ? *step.from + size : *step.from;
          if (index >= 0 && index < size) add(node->items[static_cast<std::size_t>(index)]);
          break;
        }
        case Step::Kind::kAll:
          for (const DocumentNode& item : node->items) add(item);
          for (const api::Member& member : node->members) add(member.value);
          break;
        case Step::Kind::kSlice: {
          const auto place = [&](const std::optional<std::int64_t>& at, std::int64_t none) {
            const std::int64_t from = at.value_or(none);
            return std::clamp<std::int64_t>(from < 0 ? from + size : from, 0, size);
          };
          for (std::int64_t i = place(step.from, 0); i < place(step.to, size); ++i) {
            add(node->items[static_cast<std::size_t>(i)]);
          }
          break;
        }
        case Step::Kind::kFilter:
          for (const DocumentNode& item : node->items) {
            if (Holds(step, item)) add(item);
          }
          break;
      }
    }
    found = std::move(next);
  }
  return found;
}

const DocumentNode* JsonPath::First(const DocumentNode& root) const {
  const auto found = Find(root);
  return found.empty() ? nullptr : found.front();
}

std::optional<std::vector<std::string>> JsonPath::Fields() const {
  std::vector<std::string> names;
  for (const Step& step : steps_) {
    if (step.kind != Step::Kind::kField) return std::nullopt;
    names.push_back(step.name);
  }
  return names;
}

}  // namespace dray::crd
