// SPDX-License-Identifier: Apache-2.0
//
// `dray cel`: what an expression is, costs, reads, and gives on devices.
#include <algorithm>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "api/json.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "cel/compile.h"
#include "cel/device_env.h"
#include "cel/device_values.h"
#include "cel/program.h"
#include "cli/internal/command.h"
#include "cli/internal/json_tree.h"
#include "cli/manifests.h"
#include "cli/run.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

constexpr std::string_view kFooter =
    R"(The expression is a device selector, or with --derived a derived attribute. It is
compiled as the API server would, with all features on; with slices it is also
evaluated on each of their devices.

Examples:
  dray cel 'device.driver == "gpu.example.com"'
  dray cel 'device.attributes["gpu.example.com"].model == "H100"' -f slices.yaml
  dray cel --derived 'device.name.replace("gpu", "")' -f slices.yaml
  kubectl get resourceslices -o yaml | dray cel 'device.allowMultipleAllocations' -f -

Exit code: 0 fine, 1 the expression does not compile or fails on a device, 2 some
input or flag could not be used.)";

// What the expression gave on one device.
struct Outcome {
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<std::string> error;
  bool match = false;  // of a selector
  std::string value;   // of a derived attribute: its JSON form
  std::uint64_t cost = 0;
};

Outcome EvaluateOn(const cel::Program& program, bool derived, const api::ResourceSliceSpec& slice,
                   const api::Device& device) {
  Outcome outcome{.driver = slice.driver, .pool = slice.pool.name, .device = device.name};
  cel::Arena arena;
  const cel::DeviceValue variable(slice.driver, device, arena);
  const std::vector<cel::Value> variables(program.variables().size(), variable.value());
  const cel::EvaluationResult result = cel::Evaluate(program, variables, arena);
  outcome.cost = result.cost;
  if (derived) {
    const auto attribute = cel::ToAttribute(result.value);
    if (attribute.ok()) {
      outcome.value = api::EncodeJson(*attribute);
    } else {
      outcome.error = std::string(base::Message(attribute.status()));
    }
  } else {
    const auto match = cel::ToMatch(result.value);
    if (match.ok()) {
      outcome.match = *match;
    } else {
      outcome.error = std::string(base::Message(match.status()));
    }
  }
  return outcome;
}

std::vector<std::string> ReadNames(const cel::Reads& reads) {
  std::vector<std::string> names;
  if (reads.whole_device) return {"the whole device"};
  if (reads.driver) names.emplace_back("driver");
  if (reads.name) names.emplace_back("name");
  if (reads.allow_multiple_allocations) names.emplace_back("allowMultipleAllocations");
  if (reads.all_attributes) names.emplace_back("all attributes");
  if (reads.all_capacities) names.emplace_back("all capacities");
  for (const auto& name : reads.attributes) {
    names.push_back(fmt::format("attribute {}/{}", name.domain, name.id));
  }
  for (const auto& name : reads.capacities) {
    names.push_back(fmt::format("capacity {}/{}", name.domain, name.id));
  }
  return names;
}

class CelCommand final : public Command {
 public:
  void Define(CLI::App& app) override {
    app.add_option("expression", expression_, "The expression")->type_name("EXPR");
    app.add_option("-f,--filename", names_,
                   "File or folder with ResourceSlices, or - for standard input; may be repeated")
        ->type_name("FILE|DIR|-")
        ->allow_extra_args(false);
    app.add_flag("-R,--recursive", recursive_, "Look into the subfolders of folders");
    app.add_flag("--derived", derived_, "The expression is a derived attribute, not a selector");
    app.add_option("-o,--output", output_, "table or json")
        ->type_name("FORMAT")
        ->check(CLI::IsMember({"table", "json"}).description(""))
        ->capture_default_str();
    app.footer(std::string(kFooter));
  }

  int Run(Io& io) override {
    if (expression_.empty()) {
      return UsageError(io, "no expression", "dray cel 'device.driver == \"gpu.example.com\"'");
    }
    const cel::CompileOptions options{.purpose = derived_ ? cel::Purpose::kDerivedAttribute
                                                          : cel::Purpose::kSelector};
    const auto environment = cel::DeviceEnvironment(cel::DeviceEnvironmentOptions::Stored());
    const cel::CompileResult compiled = cel::Compile(expression_, environment, options);
    if (!compiled.ok()) return Refuse(io, compiled.error);
    const auto program = cel::Program::Compile(*compiled.checked);
    if (!program.ok()) return Refuse(io, std::string(base::Message(program.status())));
    Manifests manifests;
    if (!names_.empty()) {
      manifests = ReadManifests(LoadSources(names_, io.in, {.recursive = recursive_}));
    }
    std::vector<Outcome> outcomes;
    for (const Manifest& manifest : manifests.manifests) {
      const auto* slice = manifest.object.As<api::ResourceSlice>();
      if (slice == nullptr || !slice->spec.devices) continue;
      for (const api::Device& device : *slice->spec.devices) {
        outcomes.push_back(EvaluateOn(**program, derived_, slice->spec, device));
      }
    }
    if (output_ == "json") {
      PrintJson(io, compiled, **program, outcomes);
    } else {
      PrintTable(io, compiled, **program, outcomes);
    }
    return ExitCode(io, manifests.report, compiled, outcomes);
  }

  std::string HintForArgument(std::string_view argument) const override {
    return fmt::format(
        "put the whole expression in one pair of quotes; files are named with -f, as in -f {}",
        argument);
  }

 private:
  int Refuse(Io& io, const std::string& error) const {
    if (output_ == "json") {
      const api::Node document =
          Map({{"expression", String(expression_)}, {"error", String(error)}});
      io.out << api::IndentJson(api::ToJson(document), 2) << '\n';
    } else {
      io.err << "error: " << error << '\n';
    }
    return kExitFindings;
  }

  bool TooExpensive(const cel::CompileResult& compiled) const {
    return compiled.cost.max > Limit();
  }
  std::uint64_t Limit() const {
    return derived_ ? api::kDeviceClaimDerivedAttributeCELMaxCost
                    : api::kCELSelectorExpressionMaxCost;
  }

  int ExitCode(Io& io, const Report& report, const cel::CompileResult& compiled,
               const std::vector<Outcome>& outcomes) const {
    // Files that cannot be read are told; what is wrong inside objects is `dray validate`'s
    // business.
    if (report.ExitCode() == kExitUsage) {
      io.err << ToText(report, {});
      return kExitUsage;
    }
    const bool failed =
        std::ranges::any_of(outcomes, [](const Outcome& o) { return o.error.has_value(); });
    return failed || TooExpensive(compiled) ? kExitFindings : kExitOk;
  }

  void PrintTable(Io& io, const cel::CompileResult& compiled, const cel::Program& program,
                  const std::vector<Outcome>& outcomes) const {
    io.out << fmt::format("type:            {}\n", compiled.checked->result_type().ToString());
    io.out << fmt::format("estimated cost:  {} of at most {}{}\n", compiled.cost.max, Limit(),
                          TooExpensive(compiled) ? ": too complex, the API server refuses it" : "");
    io.out << fmt::format("reads:           {}\n", fmt::join(ReadNames(program.reads()), ", "));
    if (outcomes.empty()) {
      if (!names_.empty()) io.out << "no devices in the given files\n";
      return;
    }
    std::size_t width = 6;
    for (const Outcome& o : outcomes) {
      width = std::max(width, o.driver.size() + o.pool.size() + o.device.size() + 2);
    }
    io.out << fmt::format("\n{:<{}}  {:>6}  {}\n", "DEVICE", width, "COST",
                          derived_ ? "VALUE" : "MATCH");
    std::size_t matches = 0;
    std::size_t errors = 0;
    for (const Outcome& o : outcomes) {
      matches += o.match ? 1 : 0;
      errors += o.error ? 1 : 0;
      const std::string shown = o.error    ? "error: " + *o.error
                                : derived_ ? o.value
                                           : std::string(o.match ? "true" : "false");
      io.out << fmt::format("{:<{}}  {:>6}  {}\n",
                            fmt::format("{}/{}/{}", o.driver, o.pool, o.device), width, o.cost,
                            shown);
    }
    const std::string what = derived_
                                 ? fmt::format("{} of {} devices have a value",
                                               outcomes.size() - errors, outcomes.size())
                                 : fmt::format("{} of {} devices match", matches, outcomes.size());
    io.out.flush();
    io.err << fmt::format(
        "{}{}\n", what,
        errors > 0
            ? fmt::format(", {} failed: a pod that meets one of these is not scheduled", errors)
            : "");
  }

  void PrintJson(Io& io, const cel::CompileResult& compiled, const cel::Program& program,
                 const std::vector<Outcome>& outcomes) const {
    std::vector<api::Node> reads;
    for (const std::string& name : ReadNames(program.reads())) reads.push_back(String(name));
    std::vector<api::Node> devices;
    for (const Outcome& o : outcomes) {
      std::vector<Entry> entries = {{"driver", String(o.driver)},
                                    {"pool", String(o.pool)},
                                    {"device", String(o.device)},
                                    {"cost", Number(o.cost)}};
      if (o.error) {
        entries.push_back({"error", String(*o.error)});
      } else if (derived_) {
        std::vector<api::Diagnostic> none;
        entries.push_back({"value", api::ParseJson(o.value, none)});
      } else {
        entries.push_back({"match", Bool(o.match)});
      }
      devices.push_back(Map(std::move(entries)));
    }
    const api::Node document = Map({{"expression", String(expression_)},
                                    {"type", String(compiled.checked->result_type().ToString())},
                                    {"estimatedCost", Number(compiled.cost.max)},
                                    {"costLimit", Number(Limit())},
                                    {"reads", List(std::move(reads))},
                                    {"devices", List(std::move(devices))}});
    io.out << api::IndentJson(api::ToJson(document), 2) << '\n';
  }

  std::string expression_;
  std::vector<std::string> names_;
  bool recursive_ = false;
  bool derived_ = false;
  std::string output_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeCelCommand() { return std::make_unique<CelCommand>(); }

}  // namespace dray::cli::internal
