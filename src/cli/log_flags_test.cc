// SPDX-License-Identifier: Apache-2.0
//
// Flags of logs and of the audit log: what makes no sense is refused before anything is started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "cli/cli_test_support.h"
#include "cli/internal/log_flags.h"

namespace dray::cli {
namespace {

using ::testing::HasSubstr;

TEST(LogFlags, AreInTheHelp) {
  for (const char* command : {"up", "scheduler"}) {
    const std::string help = RunLine({command, "--help"}).out;
    for (const char* flag :
         {"-v,--v NUMBER", "--logging-format text|json", "--slow-decision-threshold"}) {
      EXPECT_THAT(help, HasSubstr(flag)) << command;
    }
  }
  const std::string help = RunLine({"up", "--help"}).out;
  for (const char* flag :
       {"--slow-request-threshold", "--slow-commit-threshold", "--stuck-loop-threshold",
        "--stuck-request-threshold", "--audit-log-path FILE|-", "--audit-policy-file FILE",
        "--audit-log-maxsize NUMBER", "--audit-log-maxbackup NUMBER"}) {
    EXPECT_THAT(help, HasSubstr(flag));
  }
}

TEST(LogFlags, WhatMakesNoSenseIsRefused) {
  const TempFolder folder;
  const std::string wrong = folder.Write(
      "wrong.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Meta\n");
  struct Row {
    std::vector<std::string> flags;
    std::string want;
  };
  const Row rows[] = {
      {{"--slow-request-threshold", "soon"},
       "error: --slow-request-threshold: \"soon\" must be a duration of 0 or more\n"},
      {{"--slow-decision-threshold=-1s"},
       "error: --slow-decision-threshold: \"-1s\" must be a duration"},
      {{"--slow-commit-threshold", "1"},
       "error: --slow-commit-threshold: \"1\" must be a duration of 0 or more\n"},
      {{"--stuck-loop-threshold=-1s"}, "error: --stuck-loop-threshold: \"-1s\" must be"},
      {{"--stuck-request-threshold", "x"}, "error: --stuck-request-threshold: \"x\" must be"},
      {{"--logging-format", "xml"}, "xml"},
      {{"-v", "many"}, "many"},
      {{"--audit-policy-file", wrong}, "error: --audit-policy-file needs --audit-log-path\n"},
      {{"--audit-log-path", folder.path() + "/a.log", "--audit-policy-file", wrong},
       "error: --audit-policy-file: " + wrong +
           ": line 4: rules[0].level: \"Meta\" is not a level of auditing; it must be one of None, "
           "Metadata, Request, RequestResponse\n"},
      {{"--audit-log-path", folder.path() + "/a.log", "--audit-policy-file",
        folder.path() + "/none"},
       "error: --audit-policy-file: " + folder.path() + "/none: "},
      {{"--audit-log-path", folder.path() + "/none/a.log"},
       "error: audit log: " + folder.path() + "/none/a.log: it cannot be opened: No such file"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> args = {"up",       "--memory",   "--data", folder.path() + "/data",
                                     "--listen", "127.0.0.1:0"};
    args.insert(args.end(), row.flags.begin(), row.flags.end());
    const Outcome outcome = RunLine(args);
    EXPECT_EQ(outcome.code, kExitUsage) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(row.want));
  }
}

TEST(LogFlags, TheLogOfARunIsWrittenWhenItEnds) {
  const base::ManualClock clock(base::Time::FromUnix(1'780'000'000));
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const Environment env{.variables = {}, .clock = clock};
  Io io{in, out, err, env};
  {
    const auto log = internal::OpenLog(io, {.format = "json", .verbosity = 1});
    log->For("a").Info(1, "Told");
    log->For("a").Info(2, "Not told");
  }
  EXPECT_EQ(err.str(), R"({"ts":1780000000000.000,"logger":"a","level":"info","v":1,"msg":"Told"})"
                       "\n");
}

}  // namespace
}  // namespace dray::cli
