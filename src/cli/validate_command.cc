// SPDX-License-Identifier: Apache-2.0
//
// The flags of `dray validate`.
#include <istream>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/gates.h"
#include "cel/device_env.h"
#include "cli/internal/command.h"
#include "cli/internal/paint.h"
#include "cli/run.h"
#include "cli/validate.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(What is checked: that the text is YAML or JSON, that every field exists and has
the right type, the rules of the API for each object (a status counts as a
status update), and how the objects fit together: classes that claims name,
slices of a pool, counters, attributes of constraints, claims of pods.

Examples:
  dray validate -f claim.yaml
  dray validate -f manifests/ -R --strict
  dray validate -f slices.yaml -f claims.yaml -o json
  kubectl get resourceslices -o yaml | dray validate -f -
  dray validate -f claim.yaml --feature-gates=DRADerivedAttributes=false

Exit code: 0 nothing to correct, 1 errors were found, 2 some input or flag could
not be used. Warnings alone do not change it.)";

class ValidateCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("-f,--filename", names_,
                   "File, folder (its *.yaml, *.yml and *.json) or - for standard input; may be "
                   "repeated")
        ->type_name("FILE|DIR|-");
    app.add_flag("-R,--recursive", recursive_, "Look into the subfolders of folders");
    app.add_option("--feature-gates", gates_, "Which features are on; 'dray features' lists them")
        ->type_name("A=true,B=false")
        ->allow_extra_args(false);
    app.add_flag("--strict", strict_, "Unknown and repeated fields are errors, not warnings");
    app.add_option("-o,--output", output_, "text or json")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"text", "json"}).description(""))
        ->capture_default_str();
    app.add_option("--color", color_, "auto (on terminals, unless NO_COLOR is set), always, never")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
        ->capture_default_str();
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (names_.empty()) {
      return UsageError(io, "nothing to validate", "name files with -f; -f - is standard input");
    }
    std::string gates_text;
    for (const std::string& text : gates_) {
      gates_text += (gates_text.empty() ? "" : ",") + text;
    }
    const auto gates = api::FeatureGates::Parse(gates_text, api::FeatureGates());
    if (!gates.ok()) {
      return UsageError(io, fmt::format("--feature-gates: {}", base::Message(gates.status())),
                        "'dray features' lists the gates");
    }
    Sources sources = LoadSources(names_, io.in, {.recursive = recursive_});
    const cel::DeviceExpressionChecker expressions;
    const Report report =
        Validate(ReadManifests(std::move(sources), {.strict = strict_}),
                 {.gates = *gates, .expressions = &expressions, .now = io.env.clock.Now()});
    if (output_ == "json") {
      io.out << ToJson(report);
    } else {
      io.out << ToText(report, {.color = UseColor(color_, io.env.out_is_terminal, io.env)});
      io.out.flush();
      io.err << SummaryOf(report) << '\n';
    }
    return report.ExitCode();
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format("files are named with -f, as in -f {}", argument);
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::string> gates_;
  bool recursive_ = false;
  bool strict_ = false;
  std::string output_ = "text";
  std::string color_ = "auto";
};

}  // namespace

std::unique_ptr<Command> MakeValidateCommand() { return std::make_unique<ValidateCommand>(); }

}  // namespace dray::cli::internal
