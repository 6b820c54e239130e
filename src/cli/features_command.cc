// SPDX-License-Identifier: Apache-2.0
//
// `dray features`: the gate table.
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
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(DEFAULT is what dray starts with, KUBERNETES what a v1.37 cluster starts with. A
gate can be on only while those it depends on are.

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
    io.out << (output_ == "json" ? Json() : Table());
    return kExitOk;
  }

 private:
  std::string output_;
};

}  // namespace

std::unique_ptr<Command> MakeFeaturesCommand() { return std::make_unique<FeaturesCommand>(); }

}  // namespace dray::cli::internal
