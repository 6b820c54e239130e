// SPDX-License-Identifier: Apache-2.0
//
// Manual pages: they have what --help has, and man takes them.
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "cli/cli_test_support.h"
#include "cli/internal/manual.h"
#include "cli/internal/outline.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dray::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Manual, APageHasNameSynopsisOptionsAndExamples) {
  const std::string page = RunLine({"man", "plan"}).out;
  EXPECT_THAT(page, AllOf(StartsWith(".TH DRAY-PLAN 1"), HasSubstr(".SH NAME\ndray\\-plan \\- "),
                          HasSubstr(".SH SYNOPSIS\n"), HasSubstr(".SH OPTIONS\n"),
                          HasSubstr("\\fB\\-f\\fR"), HasSubstr(".SH EXAMPLES\n.EX\n"),
                          HasSubstr(".SH EXIT STATUS\n")));
  EXPECT_THAT(RunLine({"man"}).out, AllOf(StartsWith(".TH DRAY 1"), HasSubstr("dray\\-validate")));
}

TEST(Manual, WhatIsNoCommandHasNoPage) {
  const Outcome outcome = RunLine({"man", "plam"});
  EXPECT_EQ(outcome.code, kExitUsage);
  EXPECT_THAT(outcome.err, HasSubstr("unknown command \"plam\""));
  EXPECT_EQ(RunLine({"man", "plan", "--to", "x"}).code, kExitUsage);
  EXPECT_EQ(RunLine({"man", "--to", "/proc/nowhere"}).code, kExitUsage);
}

TEST(Manual, EveryFlagOfEveryCommandIsInItsPage) {
  for (const internal::CommandOutline& command : internal::OutlineOfAll()) {
    const std::string page = internal::ManualOf(command, "1");
    for (const internal::FlagOutline& flag : command.flags) {
      for (const std::string& name : flag.names) {
        std::string escaped;
        for (const char c : name) escaped += c == '-' ? std::string("\\-") : std::string(1, c);
        EXPECT_THAT(page, HasSubstr("\\fB" + escaped + "\\fR")) << command.name;
      }
    }
  }
}

TEST(Manual, LinesAreNeverTakenForRequests) {
  internal::CommandOutline command{.name = "x", .summary = "s"};
  command.footer = ".ex is no request\n'nor this\nback\\slash - and ~";
  EXPECT_THAT(internal::ManualOf(command, "1"),
              AllOf(HasSubstr("\n\\&.ex is no"), HasSubstr("\n\\&'nor this"),
                    HasSubstr("back\\eslash \\- and \\(ti")));
}

// The judge is mandoc, which knows what pages should look like.
TEST(Manual, EveryPageIsWellFormed) {
  if (std::system("command -v mandoc >/dev/null") != 0) GTEST_SKIP() << "mandoc is not installed";
  char name[] = "/tmp/dray-man-XXXXXX";
  ASSERT_NE(mkdtemp(name), nullptr);
  const std::string folder = name;
  EXPECT_EQ(RunLine({"man", "--to", folder}).code, kExitOk);
  std::size_t pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string line = "! mandoc -T lint -W warning " + entry.path().string() +
                             " | grep -v 'missing date' > " + folder + "/report";
    EXPECT_EQ(std::system(line.c_str()), 0) << [&] {
      std::ifstream report(folder + "/report");
      return std::string(std::istreambuf_iterator<char>(report), {});
    }();
    ++pages;
  }
  EXPECT_GE(pages, internal::Commands().size() + 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dray::cli
