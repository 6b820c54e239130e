// SPDX-License-Identifier: Apache-2.0
//
// `dray cel`: what an expression is, costs, reads, and gives on devices.
#include <algorithm>
#include <istream>
#include <iterator>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/json.h"
#include "cel/compile.h"
#include "cel/device_trial.h"
#include "cel/source.h"
#include "cli/internal/cel_trial.h"
#include "cli/internal/command.h"
#include "cli/internal/expressions.h"
#include "cli/internal/json_tree.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "cli/manifests.h"
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(Checks a CEL device selector, or with --derived the expression of a derived attribute. It
is compiled as the API server compiles it, with all features enabled. Given ResourceSlices,
it is also evaluated on each of their devices.

Examples:
  dray cel 'device.driver == "gpu.example.com"'
  dray cel 'device.attributes["gpu.example.com"].model == "H100"' -f slices.yaml
  dray cel --derived 'device.name.replace("gpu", "")' -f slices.yaml
  dray cel - -f slices/ < selector.cel
  kubectl get resourceslices -o yaml | dray cel 'device.allowMultipleAllocations' -f -

Exit code: 0 the expression compiles and fails on no device (even if no device
matches), 1 it does not compile, costs too much or fails on a device, 2 an input or
flag could not be used.)";

class CelCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("expression", expression_, "The expression, or - to read it from standard input")
        ->type_name("EXPR|-");
    AddFiles(app, files_, {.what = "File or folder with ResourceSlices,", .many = false});
    app.add_flag("--derived", derived_, "The expression is a derived attribute, not a selector");
    AddOutput(app, output_, {"table", "json"});
    AddColor(app, color_);
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (expression_.empty()) {
      return UsageError(io, "no expression", "dray cel 'device.driver == \"gpu.example.com\"'");
    }
    if (expression_ == "-") {
      if (std::ranges::find(files_.names, "-") != files_.names.end()) {
        return UsageError(io, "standard input cannot be both the expression and a file",
                          "name one of them");
      }
      ReadExpression(io.in);
    }
    review_ = cel::ReviewExpression(expression_, Purpose());
    if (review_.program == nullptr) return Refuse(io);
    Manifests manifests;
    if (!files_.names.empty()) {
      manifests = ReadManifests(LoadSources(files_.names, io.in, {.recursive = files_.recursive}));
    }
    const std::vector<DeviceTrial> trials = TryOnDevices(*review_.program, Purpose(), manifests);
    if (output_ == "json") {
      PrintJson(io, trials);
    } else {
      PrintTable(io, trials);
    }
    return ExitCode(io, manifests.report, trials);
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format(
        "put the whole expression in one pair of quotes; name files with -f, as in -f {}",
        argument);
  }

 private:
  cel::Purpose Purpose() const {
    return derived_ ? cel::Purpose::kDerivedAttribute : cel::Purpose::kSelector;
  }
  // The newline at the end belongs to the file, not to the expression.
  void ReadExpression(std::istream& in) {
    expression_.assign(std::istreambuf_iterator<char>(in), {});
    while (expression_.ends_with('\n') || expression_.ends_with('\r')) expression_.pop_back();
  }

  int Refuse(Io& io) const {
    if (output_ == "json") {
      const api::DocumentNode document = Map({{"expression", String(expression_)},
                                              {"error", String(review_.error)},
                                              {"issues", JsonOfRemarks()}});
      io.out << api::IndentJson(api::ToJson(document), 2) << '\n';
    } else {
      PrintRemarks(io);
    }
    return kExitFindings;
  }

  int ExitCode(Io& io, const Report& report, const std::vector<DeviceTrial>& trials) const {
    // Files that cannot be read are told; what is wrong inside objects is `dray validate`'s
    // business.
    if (report.ExitCode() == kExitUsage) {
      Report unusable;
      std::ranges::copy_if(report.findings, std::back_inserter(unusable.findings),
                           [](const Finding& finding) {
                             return finding.level == Level::kError && finding.object.kind.empty();
                           });
      io.err << ToText(unusable, {.color = UseColor(color_, io.env.err_is_terminal, io.env)});
      return kExitUsage;
    }
    const bool failed =
        std::ranges::any_of(trials, [](const DeviceTrial& t) { return t.error.has_value(); });
    const bool refused =
        std::ranges::any_of(review_.remarks, [](const auto& remark) { return remark.error; });
    return failed || refused ? kExitFindings : kExitOk;
  }

  void PrintRemarks(Io& io) const {
    const Painter paint(UseColor(color_, io.env.err_is_terminal, io.env));
    const cel::Source source(expression_);
    io.out.flush();
    for (const auto& [error, advice] : review_.remarks) {
      const cel::Location at = source.LocationAt(advice.offset);
      io.err << paint.Paint(error ? kRed : kMagenta, error ? "error" : "warning") << ": ";
      if (at.line > 0) io.err << fmt::format("{}:{}: ", at.line, at.column + 1);
      io.err << Printable(WithSnippet(advice, expression_)) << '\n';
      if (!advice.hint.empty()) {
        io.err << fmt::format("  {}: {}\n", paint.Paint(kGreen, "hint"), Printable(advice.hint));
      }
    }
  }

  void PrintTable(Io& io, const std::vector<DeviceTrial>& trials) const {
    const std::vector<std::string> reads = cel::ReadNames(review_.program->reads());
    io.out << fmt::format("type:            {}\n", review_.type);
    io.out << fmt::format("estimated cost:  {} of at most {}\n", review_.cost, review_.limit);
    io.out << Printable(fmt::format("reads:           {}",
                                    reads.empty() ? "nothing about the device"
                                                  : fmt::format("{}", fmt::join(reads, ", "))))
           << '\n';
    PrintRemarks(io);
    if (!trials.empty()) {
      PrintTrials(io, trials);
    } else if (!files_.names.empty()) {
      io.out << "no devices in the given files\n";
    }
  }

  void PrintTrials(Io& io, const std::vector<DeviceTrial>& trials) const {
    const Painter paint(UseColor(color_, io.env.out_is_terminal, io.env));
    std::size_t width = 6;
    for (const DeviceTrial& t : trials) width = std::max(width, Printable(t.Name()).size());
    io.out << '\n'
           << paint.Bold(fmt::format("{:<{}}  {:>6}  {}", "DEVICE", width, "COST",
                                     derived_ ? "VALUE" : "MATCH"))
           << '\n';
    for (const DeviceTrial& t : trials) {
      io.out << fmt::format("{:<{}}  {:>6}  ", Printable(t.Name()), width, t.cost);
      if (t.error) {
        io.out << paint.Paint(kRed, "error") << ": " << Printable(*t.error) << '\n';
      } else if (derived_) {
        io.out << Printable(t.value) << '\n';
      } else {
        io.out << (t.match ? paint.Paint(kGreen, "true") : "false") << '\n';
      }
    }
    io.out.flush();
    PrintSummary(io, trials);
  }

  void PrintSummary(Io& io, const std::vector<DeviceTrial>& trials) const {
    const auto failed = [](const DeviceTrial& t) { return t.error.has_value(); };
    const auto errors = static_cast<std::size_t>(std::ranges::count_if(trials, failed));
    const auto good =
        derived_ ? trials.size() - errors
                 : static_cast<std::size_t>(std::ranges::count(trials, true, &DeviceTrial::match));
    io.err << fmt::format("{} of {} devices {}", good, trials.size(),
                          derived_ ? "have a value" : "match");
    if (errors == 0) {
      io.err << '\n';
      return;
    }
    io.err << fmt::format(
        "; the expression fails on {}: a pod whose search reaches one stays pending\n",
        errors == 1 ? "1 device" : fmt::format("{} devices", errors));
    const DeviceTrial& first = *std::ranges::find_if(trials, failed);
    if (first.hint.empty()) return;
    const Painter paint(UseColor(color_, io.env.err_is_terminal, io.env));
    io.err << fmt::format("  {}: {}: {}\n", paint.Paint(kGreen, "hint"), Printable(first.Name()),
                          Printable(first.hint));
  }

  // Every field is always there; a line of 0 is the whole expression.
  api::DocumentNode JsonOfRemarks() const {
    const cel::Source source(expression_);
    std::vector<api::DocumentNode> issues;
    for (const auto& [error, advice] : review_.remarks) {
      const cel::Location at = source.LocationAt(advice.offset);
      const bool placed = at.line > 0;
      issues.push_back(
          Map({{"severity", String(error ? "error" : "warning")},
               {"line", Number(placed ? static_cast<std::size_t>(at.line) : 0)},
               {"column", Number(placed ? static_cast<std::size_t>(at.column) + 1 : 0)},
               {"message", String(advice.message)},
               {"hint", String(advice.hint)}}));
    }
    return List(std::move(issues));
  }

  void PrintJson(Io& io, const std::vector<DeviceTrial>& trials) const {
    std::vector<api::DocumentNode> reads;
    for (const std::string& name : cel::ReadNames(review_.program->reads()))
      reads.push_back(String(name));
    std::vector<api::DocumentNode> devices;
    for (const DeviceTrial& t : trials) {
      std::vector<Entry> entries = {{"driver", String(t.driver)},
                                    {"pool", String(t.pool)},
                                    {"device", String(t.device)},
                                    {"cost", Number(t.cost)}};
      if (t.error) {
        entries.push_back({"error", String(*t.error)});
        entries.push_back({"hint", String(t.hint)});
      } else if (derived_) {
        std::vector<api::Diagnostic> none;
        entries.push_back({"value", api::ParseJson(t.value, none)});
      } else {
        entries.push_back({"match", Bool(t.match)});
      }
      devices.push_back(Map(std::move(entries)));
    }
    const api::DocumentNode document = Map({{"expression", String(expression_)},
                                            {"type", String(review_.type)},
                                            {"estimatedCost", Number(review_.cost)},
                                            {"costLimit", Number(review_.limit)},
                                            {"reads", List(std::move(reads))},
                                            {"issues", JsonOfRemarks()},
                                            {"devices", List(std::move(devices))}});
    io.out << api::IndentJson(api::ToJson(document), 2) << '\n';
  }

  std::string expression_;
  FileFlags files_;
  bool derived_ = false;
  std::string output_;
  std::string color_;
  cel::Review review_;
};

}  // namespace

std::unique_ptr<Command> MakeCelCommand() { return std::make_unique<CelCommand>(); }

}  // namespace dray::cli::internal
