// SPDX-License-Identifier: Apache-2.0
#include "api/label_selector.h"

#include <algorithm>

#include "base/integer.h"
#include "base/names.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dray::api {
namespace {

using Operator = LabelMatcher::Operator;
using Requirement = LabelMatcher::Requirement;

bool Holds(const Requirement& requirement, const Map<std::string>& labels) {
  const std::string* value = labels.Find(requirement.key);
  const auto listed = [&] { return std::ranges::binary_search(requirement.values, *value); };
  const auto compare = [&](auto less) {
    if (value == nullptr) return false;
    const auto have = base::ParseInteger(*value);
    return have && less(*have, *base::ParseInteger(requirement.values[0]));
  };
  switch (requirement.op) {
    case Operator::kIn:
      return value != nullptr && listed();
    case Operator::kNotIn:
      return value == nullptr || !listed();
    case Operator::kExists:
      return value != nullptr;
    case Operator::kDoesNotExist:
      return value == nullptr;
    case Operator::kGreaterThan:
      return compare(std::greater<>());
    case Operator::kLessThan:
      return compare(std::less<>());
  }
  return false;
}

enum class TokenKind : std::uint8_t { kEnd, kWord, kSymbol };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text = {};

  bool Is(std::string_view symbol) const { return kind == TokenKind::kSymbol && text == symbol; }
  std::string Shown() const {
    return kind == TokenKind::kEnd ? "the end" : fmt::format("\"{}\"", text);
  }
};

// Words are what is between white space and symbols; `in` and `notin` are words, too: where an
// operator is expected they are operators, elsewhere keys and values.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) { Take(); }

  const Token& Next() const { return next_; }
  Token Take() {
    const Token taken = next_;
    next_ = Scan();
    return taken;
  }

 private:
  static constexpr std::string_view kSpace = " \t\r\n";
  static constexpr std::string_view kSymbols = "=!(),><";

  Token Scan() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpace), rest_.size()));
    if (rest_.empty()) return {};
    if (kSymbols.find(rest_[0]) == std::string_view::npos) {
      return Cut(TokenKind::kWord, std::min(rest_.find_first_of(" \t\r\n=!(),><"), rest_.size()));
    }
    const bool two = rest_.starts_with("==") || rest_.starts_with("!=");
    return Cut(TokenKind::kSymbol, two ? 2 : 1);
  }
  Token Cut(TokenKind kind, std::size_t size) {
    const Token token{kind, rest_.substr(0, size)};
    rest_.remove_prefix(size);
    return token;
  }

  std::string_view rest_;
  Token next_;
};

Status Expected(const Token& found, std::string_view expected) {
  return base::InvalidArgument(fmt::format("found {}, expected {}", found.Shown(), expected));
}

// After `in` or `notin`. Values may be left out: `(a,)` and `()` have the empty value.
StatusOr<std::vector<std::string>> ParseSet(Lexer& lexer) {
  if (const Token open = lexer.Take(); !open.Is("(")) return Expected(open, "'('");
  std::vector<std::string> values;
  while (true) {
    std::string value;
    if (lexer.Next().kind == TokenKind::kWord) value = lexer.Take().text;
    values.push_back(std::move(value));
    const Token after = lexer.Take();
    if (after.Is(")")) return values;
    if (!after.Is(",")) return Expected(after, "',' or ')'");
  }
}

// After `=`, `!=`, `>` and so on. Left out it is the empty value.
StatusOr<std::string> ParseValue(Lexer& lexer) {
  if (lexer.Next().kind == TokenKind::kEnd || lexer.Next().Is(",")) return "";
  const Token token = lexer.Take();
  if (token.kind != TokenKind::kWord) return Expected(token, "a value");
  return std::string(token.text);
}

StatusOr<Requirement> ParseRequirement(Lexer& lexer) {
  Requirement requirement;
  const bool negated = lexer.Next().Is("!");
  if (negated) lexer.Take();
  const Token key = lexer.Take();
  if (key.kind != TokenKind::kWord) return Expected(key, "a label key");
  requirement.key = key.text;
  if (negated || lexer.Next().kind == TokenKind::kEnd || lexer.Next().Is(",")) {
    requirement.op = negated ? Operator::kDoesNotExist : Operator::kExists;
    return requirement;
  }
  const Token op = lexer.Take();
  if (op.kind == TokenKind::kWord && (op.text == "in" || op.text == "notin")) {
    requirement.op = op.text == "in" ? Operator::kIn : Operator::kNotIn;
    DRAY_ASSIGN_OR_RETURN(requirement.values, ParseSet(lexer));
    return requirement;
  }
  if (op.Is("=") || op.Is("==")) {
    requirement.op = Operator::kIn;
  } else if (op.Is("!=")) {
    requirement.op = Operator::kNotIn;
  } else if (op.Is(">")) {
    requirement.op = Operator::kGreaterThan;
  } else if (op.Is("<")) {
    requirement.op = Operator::kLessThan;
  } else {
    return Expected(op, "an operator (=, ==, !=, in, notin, >, <)");
  }
  DRAY_ASSIGN_OR_RETURN(std::string value, ParseValue(lexer));
  requirement.values = {std::move(value)};
  return requirement;
}

Status CheckWellFormed(const Requirement& requirement) {
  const auto bad_key = base::CheckLabelKey(requirement.key);
  if (!bad_key.empty()) {
    return base::InvalidArgument(
        fmt::format("invalid label key \"{}\": {}", requirement.key, bad_key[0]));
  }
  for (const std::string& value : requirement.values) {
    const auto bad_value = base::CheckLabelValue(value);
    if (bad_value.empty()) continue;
    return base::InvalidArgument(
        fmt::format("invalid value \"{}\" of label {}: {}", value, requirement.key, bad_value[0]));
  }
  const bool numeric =
      requirement.op == Operator::kGreaterThan || requirement.op == Operator::kLessThan;
  if (numeric && !base::ParseInteger(requirement.values[0])) {
    return base::InvalidArgument(
        fmt::format("label {} is compared with \"{}\", expected an integer", requirement.key,
                    requirement.values[0]));
  }
  return absl::OkStatus();
}

StatusOr<Requirement> FromExpression(const LabelSelectorRequirement& expression) {
  Requirement requirement{.key = expression.key, .values = expression.values};
  const bool has_values = !expression.values.empty();
  bool wants_values = true;
  if (expression.operator_ == "In") {
    requirement.op = Operator::kIn;
  } else if (expression.operator_ == "NotIn") {
    requirement.op = Operator::kNotIn;
  } else if (expression.operator_ == "Exists") {
    requirement.op = Operator::kExists;
    wants_values = false;
  } else if (expression.operator_ == "DoesNotExist") {
    requirement.op = Operator::kDoesNotExist;
    wants_values = false;
  } else {
    return base::InvalidArgument(
        fmt::format("\"{}\" is not a label selector operator, expected In, NotIn, Exists or "
                    "DoesNotExist",
                    expression.operator_));
  }
  if (has_values != wants_values) {
    return base::InvalidArgument(fmt::format("operator {} on label {} {} values",
                                             expression.operator_, expression.key,
                                             wants_values ? "needs" : "takes no"));
  }
  return requirement;
}

std::string TextOf(const Requirement& requirement) {
  const std::string& key = requirement.key;
  switch (requirement.op) {
    case Operator::kIn:
      if (requirement.values.size() == 1) return fmt::format("{}={}", key, requirement.values[0]);
      return fmt::format("{} in ({})", key, fmt::join(requirement.values, ","));
    case Operator::kNotIn:
      if (requirement.values.size() == 1) return fmt::format("{}!={}", key, requirement.values[0]);
      return fmt::format("{} notin ({})", key, fmt::join(requirement.values, ","));
    case Operator::kExists:
      return key;
    case Operator::kDoesNotExist:
      return "!" + key;
    case Operator::kGreaterThan:
      return fmt::format("{}>{}", key, requirement.values[0]);
    case Operator::kLessThan:
      return fmt::format("{}<{}", key, requirement.values[0]);
  }
  return key;
}

}  // namespace

StatusOr<LabelMatcher> LabelMatcher::Parse(std::string_view text) {
  LabelMatcher matcher;
  Lexer lexer(text);
  const auto parse = [&]() -> Status {
    while (lexer.Next().kind != TokenKind::kEnd) {
      DRAY_ASSIGN_OR_RETURN(Requirement requirement, ParseRequirement(lexer));
      DRAY_RETURN_IF_ERROR(matcher.Add(std::move(requirement)));
      const Token after = lexer.Take();
      if (after.kind == TokenKind::kEnd) break;
      if (!after.Is(",")) return Expected(after, "',' or the end");
      if (lexer.Next().kind == TokenKind::kEnd) return Expected(lexer.Next(), "a label key");
    }
    return absl::OkStatus();
  };
  const Status status = parse();
  if (!status.ok()) {
    return base::Annotate(status, fmt::format("invalid label selector \"{}\"", text));
  }
  matcher.Sort();
  return matcher;
}

StatusOr<LabelMatcher> LabelMatcher::From(const LabelSelector& selector) {
  LabelMatcher matcher;
  for (const auto& [key, value] : selector.match_labels) {
    DRAY_RETURN_IF_ERROR(matcher.Add({.key = key.str(), .op = Operator::kIn, .values = {value}}));
  }
  for (const LabelSelectorRequirement& expression : selector.match_expressions) {
    DRAY_ASSIGN_OR_RETURN(Requirement requirement, FromExpression(expression));
    DRAY_RETURN_IF_ERROR(matcher.Add(std::move(requirement)));
  }
  matcher.Sort();
  return matcher;
}

bool LabelMatcher::Matches(const Map<std::string>& labels) const {
  return std::ranges::all_of(
      requirements_, [&](const Requirement& requirement) { return Holds(requirement, labels); });
}

std::optional<std::string_view> LabelMatcher::RequiredValue(std::string_view key) const {
  for (const Requirement& requirement : requirements_) {
    const bool single = requirement.op == Operator::kIn && requirement.values.size() == 1;
    if (single && requirement.key == key) return requirement.values[0];
  }
  return std::nullopt;
}

std::string LabelMatcher::ToString() const {
  std::vector<std::string> texts;
  for (const Requirement& requirement : requirements_) texts.push_back(TextOf(requirement));
  return fmt::format("{}", fmt::join(texts, ","));
}

Status LabelMatcher::Add(Requirement requirement) {
  DRAY_RETURN_IF_ERROR(CheckWellFormed(requirement));
  std::ranges::sort(requirement.values);
  const auto repeated = std::unique(requirement.values.begin(), requirement.values.end());
  requirement.values.erase(repeated, requirement.values.end());
  requirements_.push_back(std::move(requirement));
  return absl::OkStatus();
}

void LabelMatcher::Sort() { std::ranges::stable_sort(requirements_, {}, &Requirement::key); }

}  // namespace dray::api
