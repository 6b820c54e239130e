// SPDX-License-Identifier: Apache-2.0
//
// `dray features`: the gate table.
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/gates.h"
#include "api/json.h"
#include "cli/internal/columns.h"
#include "cli/internal/command.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/options.h"
#include "cli/internal/wrap.h"
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(DEFAULT is dray's default, KUBERNETES the default of a v1.37 cluster. A gate can only be
enabled together with the gates it depends on. On a terminal narrower than the table, the
gates are printed as a list.

Examples:
  dray features
  dray features -o json
  dray validate -f claim.yaml --feature-gates=DRADerivedAttributes=false)";

std::string OnOff(bool on) { return on ? "on" : "off"; }

std::string DependsOn(const api::GateInfo& info) {
  std::string text;
  for (const api::Gate gate : info.depends_on) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", api::InfoOf(gate).name);
  }
  return text.empty() ? "-" : text;
}

std::string Table() {
  std::vector<Row> rows = {
      {{"NAME"}, {"STAGE"}, {"DEFAULT"}, {"KUBERNETES"}, {"DEPENDS-ON"}, {"SUMMARY"}}};
  for (const api::GateInfo& info : api::GateTable()) {
    rows.push_back({{std::string(info.name)},
                    {std::string(api::NameOf(info.stage))},
                    {OnOff(info.dray_default)},
                    {OnOff(info.kubernetes_default)},
                    {DependsOn(info)},
                    {std::string(info.summary)}});
  }
  return Columns(rows, Painter(false));
}

std::size_t WidthOf(std::string_view table) {
  std::size_t widest = 0;
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    widest = std::max(widest, end);
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  return widest;
}

// For a terminal that the table does not fit on: a paragraph for each.
std::string Records(std::size_t columns) {
  constexpr std::size_t kIndent = 4;
  std::string text;
  for (const api::GateInfo& info : api::GateTable()) {
    text += fmt::format("{}\n", info.name);
    text += Paragraph(info.summary, kIndent, columns);
    text += Paragraph(fmt::format("{}; {} here, {} in Kubernetes", api::NameOf(info.stage),
                                  OnOff(info.dray_default), OnOff(info.kubernetes_default)),
                      kIndent, columns);
    if (info.depends_on.empty()) continue;
    std::string needs = "needs";
    for (const api::Gate gate : info.depends_on) {
      needs += fmt::format("{} {}", needs == "needs" ? "" : ",", api::InfoOf(gate).name);
    }
    text += Paragraph(needs, kIndent, columns);
  }
  return text;
}

std::string Text(std::size_t columns) {
  std::string table = Table();
  return columns == 0 || WidthOf(table) <= columns ? table : Records(columns);
}

std::string Json() {
  std::vector<api::DocumentNode> features;
  for (const api::GateInfo& info : api::GateTable()) {
    std::vector<api::DocumentNode> depends_on;
    for (const api::Gate gate : info.depends_on) {
      depends_on.push_back(String(api::InfoOf(gate).name));
    }
    features.push_back(Map({{"name", String(info.name)},
                            {"stage", String(api::NameOf(info.stage))},
                            {"default", Bool(info.dray_default)},
                            {"kubernetesDefault", Bool(info.kubernetes_default)},
                            {"kubernetesLocked", Bool(info.locked)},
                            {"dependsOn", List(std::move(depends_on))},
                            {"summary", String(info.summary)}}));
  }
  const api::DocumentNode document = Map({{"features", List(std::move(features))}});
  return api::IndentJson(api::ToJson(document), 2) + "\n";
}

class FeaturesCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddOutput(app, output_, {"text", "json"});
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    io.out << (output_ == "json" ? Json() : Text(io.env.columns));
    return kExitOk;
  }

 private:
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeFeaturesCommand() { return std::make_unique<FeaturesCommand>(); }

}  // namespace dray::cli::internal
