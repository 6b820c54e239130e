// SPDX-License-Identifier: Apache-2.0
#include "cel/internal/hint_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/edit_distance.h"
#include "base/names.h"
#include "cel/device_env.h"
#include "cel/operators.h"
#include "cel/unparse.h"
#include "fmt/format.h"

namespace dray::cel::internal {
namespace {

struct Meant {
  std::string_view written;
  std::string_view meant;
};

// Operators of other languages.
constexpr std::array kWords = {Meant{"and", "&&"}, Meant{"or", "||"}, Meant{"not", "!"},
                               Meant{"is", "=="}};
// Functions of other languages, too far away for a spelling mistake.
constexpr std::array kFunctions = {
    Meant{"len", "size"},
    Meant{"length", "size"},
    Meant{"count", "size"},
    Meant{"any", "exists"},
    Meant{"some", "exists"},
    Meant{"anyOf", "exists"},
    Meant{"every", "all"},
    Meant{"each", "all"},
    Meant{"allOf", "all"},
    Meant{"where", "filter"},
    Meant{"select", "filter"},
    Meant{"lower", "lowerAscii"},
    Meant{"toLower", "lowerAscii"},
    Meant{"upper", "upperAscii"},
    Meant{"toUpper", "upperAscii"},
    Meant{"substr", "substring"},
    Meant{"strip", "trim"},
    Meant{"regex", "matches"},
    Meant{"hasPrefix", "startsWith"},
    Meant{"hasSuffix", "endsWith"},
    Meant{"parseQuantity", "quantity"},
    Meant{"version", "semver"},
};
constexpr std::array kConstants = {Meant{"None", "null"}, Meant{"nil", "null"}};
// Fields of slices that people look for in a device.
constexpr std::array kFields = {Meant{"attr", "attributes"}, Meant{"attrs", "attributes"},
                                Meant{"capacities", "capacity"}, Meant{"driverName", "driver"},
                                Meant{"id", "name"}};
constexpr std::array<std::string_view, 13> kMacros = {
    "has",          "all",      "exists", "exists_one", "existsOne", "map",          "filter",
    "transformMap", "cel.bind", "optMap", "optFlatMap", "sortBy",    "transformList"};

template <std::size_t N>
std::string_view Find(const std::array<Meant, N>& table, std::string_view written) {
  const auto it = std::ranges::find(table, written, &Meant::written);
  return it == table.end() ? std::string_view() : it->meant;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string DidYouMean(std::string_view what) { return fmt::format("did you mean {}?", what); }

bool IsWordChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view WordAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && IsWordChar(text[end])) ++end;
  return text.substr(at, end - at);
}

std::string_view WordBefore(std::string_view text, std::size_t at) {
  while (at > 0 && text[at - 1] == ' ') --at;
  std::size_t begin = at;
  while (begin > 0 && IsWordChar(text[begin - 1])) --begin;
  return text.substr(begin, at - begin);
}

// `a.b.c` that ends before `at`.
std::string_view PathBefore(std::string_view text, std::size_t at) {
  std::size_t begin = at;
  while (begin > 0 && (IsWordChar(text[begin - 1]) || text[begin - 1] == '.')) --begin;
  return text.substr(begin, at - begin);
}

std::string HintForWord(std::string_view word) {
  const std::string_view meant = Find(kWords, Lower(word));
  return meant.empty() ? "" : fmt::format("{} is written {}", word, meant);
}

const ObjectType* DeviceType(const Environment& environment) {
  return environment.FindObject(kDeviceTypeName);
}

std::vector<std::string_view> FieldNames(const ObjectType* type) {
  std::vector<std::string_view> names;
  if (type == nullptr) return names;
  for (const Variable& field : type->fields) names.push_back(field.name);
  return names;
}

bool IsDevice(const Ast& ast, ExprId id) {
  return ast.kind(id) == ExprKind::kIdent && ast.text(ast.ident(id)) == kDeviceVariable;
}

// `operand.name` and `operand["name"]`, and their optional forms.
struct Step {
  ExprId operand;
  std::string_view name;
};
std::optional<Step> AsStep(const Ast& ast, ExprId id) {
  if (ast.kind(id) == ExprKind::kSelect) {
    const SelectExpr select = ast.select(id);
    return Step{select.operand, ast.text(select.field)};
  }
  if (ast.kind(id) != ExprKind::kCall) return std::nullopt;
  const CallExpr call = ast.call(id);
  const std::string_view function = ast.text(call.function);
  if (function != op::kIndex && function != op::kOptionalIndex && function != op::kOptionalSelect) {
    return std::nullopt;
  }
  if (call.args.size() != 2 || ast.kind(call.args[1]) != ExprKind::kString) return std::nullopt;
  return Step{call.args[0], ast.string_value(call.args[1])};
}

std::string HintForCall(const Slip& slip, std::string_view name) {
  if (name == "includes" || name == "include") {
    return fmt::format("{} comes with the feature gate DRAListTypeAttributes", name);
  }
  if (const std::string_view meant = Find(kFunctions, name); !meant.empty()) {
    return DidYouMean(meant);
  }
  std::vector<std::string_view> names = slip.environment.FunctionNames();
  std::erase_if(names, [](std::string_view n) { return !IsWordChar(n[0]) || n[0] == '_'; });
  names.insert(names.end(), kMacros.begin(), kMacros.end());
  // `sets.contain` as a whole; otherwise what stands before the name is a value.
  const std::string_view written = PathBefore(slip.text, slip.issue.offset);
  for (const std::string_view asked : {written, name}) {
    const auto closest = base::ClosestMatch(asked, names);
    if (closest && *closest != asked) return DidYouMean(*closest);
  }
  return "";
}

std::string HintForVariable(const Slip& slip, std::string_view name) {
  if (const std::string_view meant = Find(kConstants, name); !meant.empty()) {
    return DidYouMean(meant);
  }
  const std::vector<std::string_view> fields = FieldNames(DeviceType(slip.environment));
  if (std::ranges::find(fields, name) != fields.end()) {
    return DidYouMean(fmt::format("{}.{}", kDeviceVariable, name));
  }
  const std::vector<std::string_view> known = {kDeviceVariable, "true", "false", "null"};
  if (const auto closest = base::ClosestMatch(name, known)) return DidYouMean(*closest);
  const std::string_view after = slip.text.substr(slip.issue.offset + name.size());
  if (after.starts_with('.')) return "the only variable is device";
  return fmt::format("a text is written in quotes, \"{}\"; the only variable is device", name);
}

}  // namespace

std::optional<std::string_view> QuotedAfter(std::string_view message, std::string_view prefix) {
  if (!message.starts_with(prefix)) return std::nullopt;
  message.remove_prefix(prefix.size());
  const auto end = message.find('\'');
  if (end == std::string_view::npos) return std::nullopt;
  return message.substr(0, end);
}

std::optional<DomainAccess> AsDomainAccess(const Ast& ast, ExprId id) {
  const auto domain = AsStep(ast, id);
  if (!domain) return std::nullopt;
  const auto map = AsStep(ast, domain->operand);
  if (!map || !IsDevice(ast, map->operand)) return std::nullopt;
  if (map->name != "attributes" && map->name != "capacity") return std::nullopt;
  return DomainAccess{map->name, domain->name};
}

std::optional<EntryAccess> AsEntryAccess(const Ast& ast, ExprId id) {
  const auto entry = AsStep(ast, id);
  if (!entry) return std::nullopt;
  const auto domain = AsDomainAccess(ast, entry->operand);
  if (!domain) return std::nullopt;
  return EntryAccess{*domain, entry->name};
}

std::string Written(std::string_view map, std::string_view domain, std::string_view name) {
  return base::IsCIdentifier(name) ? fmt::format("device.{}[\"{}\"].{}", map, domain, name)
                                   : fmt::format("device.{}[\"{}\"][\"{}\"]", map, domain, name);
}

std::string HintForDomain(const DomainAccess& access) {
  const std::string_view domain = access.domain;
  const auto slash = domain.rfind('/');
  if (slash != std::string_view::npos) {
    return DidYouMean(Written(access.map, domain.substr(0, slash), domain.substr(slash + 1)));
  }
  if (domain.find('.') != std::string_view::npos) {
    const std::string_view example = access.map == "capacity" ? "memory" : "model";
    return fmt::format("this is all of the domain \"{}\": name one of it, as in {}", domain,
                       Written(access.map, domain, example));
  }
  return fmt::format("the driver's domain comes first, as in {}",
                     Written(access.map, "gpu.example.com", domain));
}

std::string HintForSyntax(const Slip& slip) {
  if (!slip.issue.message.starts_with("Syntax error") || slip.issue.offset >= slip.text.size()) {
    return "";
  }
  const std::size_t at = slip.issue.offset;
  if (std::string hint = HintForWord(WordAt(slip.text, at)); !hint.empty()) return hint;
  if (Lower(WordBefore(slip.text, at)) == "not") return "not is written !";
  const std::string_view here = slip.text.substr(at);
  if (at > 0 && here.starts_with('>') && slip.text[at - 1] == '<') return "<> is written !=";
  if (at > 1 && here.starts_with('=') && slip.text.substr(at - 2, 2) == "==") {
    return "=== is written ==";
  }
  for (const std::string_view quote : {"“", "”", "‘", "’", "„"}) {
    if (here.starts_with(quote)) return "texts have straight quotes, \" or '";
  }
  return "";
}

std::string HintForName(const Slip& slip) {
  const auto name = QuotedAfter(slip.issue.message, "undeclared reference to '");
  if (!name || slip.issue.offset >= slip.text.size()) return "";
  if (std::string hint = HintForWord(*name); !hint.empty()) return hint;
  // A call is shown at its parenthesis, a variable at its beginning.
  if (slip.text[slip.issue.offset] == '(') return HintForCall(slip, *name);
  const std::vector<std::string_view> functions = slip.environment.FunctionNames();
  const std::string package = fmt::format("{}.", *name);
  // What is wrong with `sets.contain` is said about `contain`.
  if (std::ranges::any_of(functions, [&](auto f) { return f.starts_with(package); })) return "";
  return HintForVariable(slip, *name);
}

std::string HintForField(const Slip& slip) {
  if (slip.issue.message.ends_with("failed resolution of 'kubernetes.Quantity'")) {
    return "a capacity is the quantity itself: leave what follows it away";
  }
  const auto field = QuotedAfter(slip.issue.message, "undefined field '");
  if (!field) return "";
  const std::vector<std::string_view> names = FieldNames(DeviceType(slip.environment));
  const auto offer = [](std::string_view name) {
    return DidYouMean(fmt::format("{}.{}", kDeviceVariable, name));
  };
  if (const std::string_view meant = Find(kFields, *field); !meant.empty()) return offer(meant);
  if (const auto closest = base::ClosestMatch(*field, names)) return offer(*closest);
  return fmt::format("a device has {}; everything else about it is in its attributes",
                     fmt::join(names, ", "));
}

}  // namespace dray::cel::internal
