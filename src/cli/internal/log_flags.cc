// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/log_flags.h"

#include <unistd.h>

#include <ostream>
#include <utility>

#include "CLI/CLI.hpp"
#include "cli/internal/command.h"
#include "cli/internal/options.h"
#include "cli/internal/paint.h"
#include "fmt/format.h"

namespace dray::cli::internal {
namespace {

// For a run whose streams are a test's: written when the log ends, so that no two threads have one.
class StreamOutput final : public logs::Output {
 public:
  explicit StreamOutput(std::ostream& out) : out_(out) {}
  ~StreamOutput() override { out_ << text_ << std::flush; }
  Status Write(std::string_view lines) override {
    text_ += lines;
    return {};
  }

 private:
  std::ostream& out_;
  std::string text_;
};

}  // namespace

void AddLogFlags(CLI::App& app, LogFlags& flags) {
  AddChoices(
      *app.add_option("--logging-format", flags.format, "Format of log records on standard error")
           ->type_name("text|json")
           ->capture_default_str(),
      {"text", "json"});
  app.add_option("-v,--v", flags.verbosity,
                 "Log verbosity: 0 warnings and slow operations, 2 changes, 3 every request, 4 "
                 "every scheduling decision")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 10).description(""))
      ->capture_default_str();
}

std::unique_ptr<logs::Log> OpenLog(Io& io, const LogFlags& flags) {
  logs::LogOptions options;
  options.format = flags.format == "json" ? logs::Format::kJson : logs::Format::kText;
  options.verbosity = flags.verbosity;
  options.color = UseColor("auto", io.env.err_is_terminal, io.env);
  options.pid = static_cast<int>(::getpid());
  std::unique_ptr<logs::Output> output;
  if (io.env.log_file >= 0) {
    output = logs::MakeFdOutput(io.env.log_file);
  } else {
    output = std::make_unique<StreamOutput>(io.err);
  }
  return std::make_unique<logs::Log>(std::move(options), io.env.clock, std::move(output));
}

void AddThreshold(CLI::App& app, const std::string& flag, std::string& text,
                  const std::string& what) {
  app.add_option(flag, text, what)->type_name("DURATION")->capture_default_str();
}

std::optional<std::chrono::nanoseconds> ReadThreshold(Io& io, const std::string& flag,
                                                      const std::string& text) {
  const auto duration = base::ParseGoDuration(text);
  if (duration.ok() && duration->count() >= 0) return *duration;
  UsageError(io, fmt::format("{}: \"{}\" must be a duration of 0 or more", flag, Printable(text)),
             "for example 500ms or 2s; 0 means never");
  return std::nullopt;
}

}  // namespace dray::cli::internal
