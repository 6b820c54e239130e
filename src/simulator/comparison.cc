// SPDX-License-Identifier: Apache-2.0
#include "simulator/comparison.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <map>
#include <utility>

#include "api/document.h"
#include "api/json.h"
#include "api/json_tree.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "simulator/internal/units.h"

namespace dray::simulator {
namespace {

using api::DocumentNode;
using Unit = Difference::Unit;

// A number differs from run to run, or is a series of its own.
constexpr std::array<std::string_view, 3> kLeftOut = {"samples", "measured", "reasons"};
constexpr std::array<std::string_view, 8> kSeconds = {
    "p50", "p90", "p99", "max", "mean", "simulatedSeconds", "waitP50", "waitP99"};

Unit UnitOf(std::string_view field) {
  if (std::ranges::find(kSeconds, field) != kSeconds.end()) return Unit::kSeconds;
  const auto has = [&](std::string_view part) { return field.find(part) != field.npos; };
  return has("tilisation") || has("ragmentation") ? Unit::kShare : Unit::kCount;
}

struct Number {
  std::string path;
  Unit unit;
  double value;
};

void Walk(const DocumentNode& node, const std::string& path, std::string_view field,
          std::vector<Number>& numbers) {
  switch (node.kind) {
    case DocumentNode::Kind::kNumber:
      numbers.push_back({path, UnitOf(field), std::strtod(node.text.c_str(), nullptr)});
      return;
    case DocumentNode::Kind::kMap:
      for (const api::Member& member : node.members) {
        if (path.empty() && std::ranges::find(kLeftOut, member.key) != kLeftOut.end()) continue;
        if (path.empty() && member.key == "seed") continue;
        Walk(member.value, path.empty() ? member.key : path + "." + member.key, member.key,
             numbers);
      }
      return;
    case DocumentNode::Kind::kList:
      // Rows that have a name are found by it in the other.
      for (const DocumentNode& item : node.items) {
        const api::Member* name = item.Find("name");
        if (name == nullptr) continue;
        const std::string& called = name->value.text;
        Walk(item, fmt::format("{}.{}", path, called.empty() ? "(dump)" : called), "", numbers);
      }
      return;
    default:
      return;
  }
}

StatusOr<DocumentNode> ResultIn(std::string_view name, std::string_view json) {
  std::vector<api::Diagnostic> faults;
  DocumentNode node = api::ParseJson(json, faults);
  if (!faults.empty() || node.Find("pods") == nullptr || node.Find("workloads") == nullptr) {
    return base::InvalidArgument(
        fmt::format("{} is neither a scenario nor the output of 'dray simulate -o json'", name));
  }
  return node;
}

RunSummary SummaryOf(std::string_view name, const DocumentNode& node) {
  const auto text = [&](std::string_view key) {
    const api::Member* member = node.Find(key);
    return member == nullptr ? std::string() : member->value.text;
  };
  return {.name = std::string(name),
          .title = text("title"),
          .policy = text("policy"),
          .seed = text("seed")};
}

std::string Shown(double value, Unit unit) {
  switch (unit) {
    case Unit::kSeconds:
      return internal::ShortTime(
          std::chrono::duration_cast<Duration>(std::chrono::duration<double>(value)));
    case Unit::kShare:
      return internal::Percent(value);
    case Unit::kCount:
      return std::floor(value) == value ? fmt::format("{:.0f}", value)
                                        : fmt::format("{:.1f}", value);
  }
  return {};
}

std::string ShownChange(const Difference& row) {
  const auto change = row.Change();
  if (!change) return row.a ? "only in A" : "only in B";
  const std::string sign = *change < 0 ? "-" : "+";
  if (row.unit == Unit::kShare)
    return fmt::format("{}{:.1f} points", sign, std::abs(*change) * 100);
  return sign + Shown(std::abs(*change), row.unit);
}

std::string Line(std::string_view letter, const RunSummary& run) {
  return fmt::format("{}: {}{}, {}, seed {}\n", letter, run.name,
                     run.title.empty() ? "" : fmt::format(" ({})", run.title), run.policy,
                     run.seed);
}

api::DocumentNode JsonOf(const std::optional<double>& value) {
  DocumentNode node;
  if (!value) return node;  // null
  node.kind = DocumentNode::Kind::kNumber;
  node.text = fmt::format("{}", *value);
  if (node.text.ends_with(".0")) node.text.resize(node.text.size() - 2);
  return node;
}

}  // namespace

std::optional<double> Difference::Change() const {
  if (!a || !b) return std::nullopt;
  return *b - *a;
}

StatusOr<Comparison> Compare(std::string_view name_a, std::string_view json_a,
                             std::string_view name_b, std::string_view json_b) {
  DRAY_ASSIGN_OR_RETURN(const DocumentNode a, ResultIn(name_a, json_a));
  DRAY_ASSIGN_OR_RETURN(const DocumentNode b, ResultIn(name_b, json_b));
  Comparison comparison{.a = SummaryOf(name_a, a), .b = SummaryOf(name_b, b)};
  std::vector<Number> of_a;
  std::vector<Number> of_b;
  Walk(a, "", "", of_a);
  Walk(b, "", "", of_b);
  std::map<std::string_view, std::size_t> places;
  for (const Number& number : of_a) {
    places.emplace(number.path, comparison.differences.size());
    comparison.differences.push_back({.path = number.path, .unit = number.unit, .a = number.value});
  }
  for (const Number& number : of_b) {
    const auto found = places.find(number.path);
    if (found == places.end()) {
      comparison.differences.push_back(
          {.path = number.path, .unit = number.unit, .b = number.value});
    } else {
      comparison.differences[found->second].b = number.value;
    }
  }
  return comparison;
}

std::string ToText(const Comparison& comparison) {
  std::string text = Line("A", comparison.a) + Line("B", comparison.b) + "\n";
  std::vector<std::array<std::string, 4>> rows = {{"WHAT", "A", "B", "DIFFERENCE"}};
  for (const Difference& row : comparison.differences) {
    if (row.Change() == 0.0) continue;
    const auto shown = [&](const std::optional<double>& value) {
      return value ? Shown(*value, row.unit) : std::string("-");
    };
    rows.push_back({row.path, shown(row.a), shown(row.b), ShownChange(row)});
  }
  if (rows.size() == 1) {
    return text + fmt::format("All {} numbers are equal.\n", comparison.differences.size());
  }
  std::array<std::size_t, 4> widths = {};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], base::CodePoints(row[i]));
    }
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += row[i];
      if (i + 1 < row.size()) text.append(widths[i] - base::CodePoints(row[i]) + 3, ' ');
    }
    text += '\n';
  }
  const std::size_t equal = comparison.differences.size() - (rows.size() - 1);
  return text + fmt::format("\n{} other numbers are equal\n", equal);
}

std::string ToJson(const Comparison& comparison) {
  using api::json::List;
  using api::json::Map;
  using api::json::String;
  const auto run = [](const RunSummary& summary) {
    return Map({{"name", String(summary.name)},
                {"title", String(summary.title)},
                {"policy", String(summary.policy)},
                {"seed", String(summary.seed)}});
  };
  std::vector<DocumentNode> rows;
  for (const Difference& row : comparison.differences) {
    rows.push_back(Map({{"path", String(row.path)},
                        {"a", JsonOf(row.a)},
                        {"b", JsonOf(row.b)},
                        {"difference", JsonOf(row.Change())}}));
  }
  const DocumentNode document = Map(
      {{"a", run(comparison.a)}, {"b", run(comparison.b)}, {"differences", List(std::move(rows))}});
  return api::IndentJson(api::ToJson(document), 2) + "\n";
}

}  // namespace dray::simulator
