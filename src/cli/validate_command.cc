// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray validate`.
#include <istream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "cel/device_env.h"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/internal/report_formats.h"
#include "cli/run.h"
#include "cli/validate.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Checks manifests without a cluster: that the text is valid YAML or JSON, that every field
exists and has the right type, that each object satisfies the API's validation rules (its
status as well), and that the objects fit together: device classes named by claims, slices
of a pool, counters, attributes in constraints, claims of pods.

Examples:
  dray validate -f claim.yaml
  dray validate -f manifests/ -R --strict=false              unknown fields are warnings
  dray validate -f slices.yaml -f claims.yaml -o json
  kubectl get resourceslices -o yaml | dray validate -f -
  dray validate -f claim.yaml --feature-gates=DRADerivedAttributes=false
  dray validate -f claim.yaml --for kubernetes --feature-gates=AllAlpha=true
  dray validate -R -f manifests/ -o sarif > dray.sarif      for code scanning
  dray validate -R -f manifests/ -o junit > report.xml      for CI test reports

Exit code: 0 no errors, 1 errors were found, 2 an input or flag could not be used.
Warnings alone do not change the exit code.)";

class ValidateCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    AddFiles(app, files_);
    AddGates(app, gates_);
    app.add_flag("--strict", strict_,
                 "Report unknown and duplicate fields as errors, as kubectl does; with "
                 "--strict=false as warnings")
        ->default_str("true");
    AddChoices(
        *app.add_option("--for", judge_,
                        "Rules to check against: those of dray, or of kubernetes (v1.37 with its "
                        "default gates), where anything that only dray accepts is an error")
             ->type_name("WHO")
             ->capture_default_str(),
        {"dray", "kubernetes"});
    AddOutput(app, output_, {"text", "json", "sarif", "junit"});
    AddColor(app, color_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (files_.names.empty()) {
      return UsageError(io, "nothing to validate", "name files with -f; -f - reads standard input");
    }
    const bool kubernetes = judge_ == "kubernetes";
    const auto gates = ReadGatesToCheck(
        io, gates_, kubernetes ? api::FeatureGates::KubernetesDefaults() : api::FeatureGates());
    if (!gates) return kExitUsage;
    Sources sources = LoadSources(files_.names, io.in, {.recursive = files_.recursive});
    const cel::DeviceExpressionChecker expressions(kubernetes);
    const Report report = Validate(ReadManifests(std::move(sources), {.strict = strict_}),
                                   {.gates = *gates,
                                    .expressions = &expressions,
                                    .now = io.env.clock.Now(),
                                    .kubernetes_only = kubernetes});
    if (output_ == "json") {
      io.out << ToJson(report);
    } else if (output_ == "sarif") {
      io.out << ToSarif(report, DRAY_VERSION);
    } else if (output_ == "junit") {
      io.out << ToJUnit(report);
    } else {
      io.out << ToText(report, {.color = UseColor(color_, io.env.out_is_terminal, io.env),
                                .columns = io.env.columns});
      io.out.flush();
      io.err << SummaryOf(report) << '\n';
    }
    return report.ExitCode();
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("name files with -f, as in -f {}", argument);
  }

 private:
  FileFlags files_;
  std::vector<std::string> gates_;
  bool strict_ = true;
  std::string judge_ = "dray";
  std::string output_;
  std::string color_;
};

}  // namespace

std::unique_ptr<Command> MakeValidateCommand() { return std::make_unique<ValidateCommand>(); }

}  // namespace dray::cli::internal
