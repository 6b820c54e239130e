// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "cli/cli_test_support.h"
#include "cli/internal/process_flags.h"

namespace dray::cli {
namespace {

using internal::ProcessFlags;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// What comes of flags and file; nothing: they cannot be.
struct Read {
  bool ok = false;
  plane::RemoteSchedulerOptions options;
  std::string err;
};
Read ReadFlags(const ProcessFlags& flags, const scheduler::LoadedConfig& file = {}) {
  const base::ManualClock clock;
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const Environment env{.clock = clock};
  Io io{in, out, err, env};
  Read read;
  read.options.config = file.config;
  read.ok = internal::ReadProcessFlags(io, flags, file, read.options);
  read.err = err.str();
  return read;
}

ProcessFlags Parsed(const std::string& line) {
  ProcessFlags flags;
  CLI::App app;
  internal::AddProcessFlags(app, flags);
  app.parse(line);
  return flags;
}

// What nobody says is the file's to say: a lease that is not waited for is no small matter.
TEST(SchedulerFlags, WhatIsNotGivenIsNotSaid) {
  const ProcessFlags none = Parsed("");
  EXPECT_EQ(none.leader_elect, std::nullopt);
  EXPECT_EQ(none.qps, std::nullopt);
  EXPECT_EQ(none.burst, std::nullopt);
  EXPECT_TRUE(ReadFlags(none).options.leader_elect);
  EXPECT_EQ(Parsed("--leader-elect").leader_elect, true);
  EXPECT_EQ(Parsed("--leader-elect=true").leader_elect, true);
  EXPECT_EQ(Parsed("--leader-elect=false").leader_elect, false);
  EXPECT_FALSE(ReadFlags(Parsed("--leader-elect=false")).options.leader_elect);
  EXPECT_EQ(Parsed("--kube-api-qps=50 --kube-api-burst 100").qps, 50);
  EXPECT_EQ(Parsed("--kube-api-qps=50 --kube-api-burst 100").burst, 100);
  EXPECT_THAT(Parsed("--authorization-always-allow-paths=/a,/b").always_allow,
              ElementsAre("/a", "/b"));
}

TEST(SchedulerFlags, TheLeaseIsThatOfTheFirstProfile) {
  scheduler::LoadedConfig file;
  file.config.profiles.front().scheduler_name = "gpus";
  file.config.profiles.push_back({.scheduler_name = "others"});
  const Read read = ReadFlags({}, file);
  ASSERT_TRUE(read.ok) << read.err;
  EXPECT_TRUE(read.options.leader_elect);
  EXPECT_EQ(read.options.lease.name, "gpus");
  EXPECT_EQ(read.options.lease.namespace_, "kube-system");
  EXPECT_THAT(read.err, IsEmpty());
  EXPECT_EQ(ReadFlags({}).options.lease.name, "default-scheduler");
}

TEST(SchedulerFlags, GoBeforeTheFile) {
  scheduler::LoadedConfig file;
  file.leader_election = {.leader_elect = false,
                          .lease_duration = std::chrono::seconds(30),
                          .resource_name = "of-the-file",
                          .resource_namespace = "elsewhere"};
  file.client_connection = {.qps = 5.0};
  const Read from_file = ReadFlags({}, file);
  ASSERT_TRUE(from_file.ok) << from_file.err;
  EXPECT_FALSE(from_file.options.leader_elect);
  EXPECT_EQ(from_file.options.lease.duration, std::chrono::seconds(30));
  EXPECT_EQ(from_file.options.lease.name, "of-the-file");
  EXPECT_EQ(from_file.options.lease.namespace_, "elsewhere");
  EXPECT_EQ(from_file.options.qps, 5.0);
  EXPECT_EQ(from_file.options.burst, 10);

  ProcessFlags flags;
  flags.leader_elect = true;
  flags.lease_duration = "20s";
  flags.resource_name = "of-the-flag";
  flags.qps = 100;
  flags.burst = 7;
  const Read from_flags = ReadFlags(flags, file);
  ASSERT_TRUE(from_flags.ok) << from_flags.err;
  EXPECT_TRUE(from_flags.options.leader_elect);
  EXPECT_EQ(from_flags.options.lease.duration, std::chrono::seconds(20));
  EXPECT_EQ(from_flags.options.lease.name, "of-the-flag");
  EXPECT_EQ(from_flags.options.qps, 100);
  EXPECT_EQ(from_flags.options.burst, 7);
}

TEST(SchedulerFlags, TheLeaseOfKubeSchedulerIsTakenWithAWarning) {
  ProcessFlags flags;
  flags.resource_name = "kube-scheduler";
  EXPECT_THAT(ReadFlags(flags).err, HasSubstr("warning: the lease kube-system/kube-scheduler is"));
  flags.resource_namespace = "other";
  EXPECT_THAT(ReadFlags(flags).err, IsEmpty());
}

TEST(SchedulerFlags, ThePortIsKubeSchedulers) {
  const Read read = ReadFlags({});
  ASSERT_TRUE(read.options.serving);
  EXPECT_EQ(read.options.serving->address, "0.0.0.0");
  EXPECT_EQ(read.options.serving->port, 10259);
  EXPECT_THAT(read.options.serving->always_allow, ElementsAre("/healthz", "/readyz", "/livez"));
  ProcessFlags none;
  none.secure_port = 0;
  EXPECT_FALSE(ReadFlags(none).options.serving);
}

TEST(SchedulerFlags, Http2CanBeSwitchedOffOrBounded) {
  EXPECT_TRUE(ReadFlags({}).options.serving->http2);
  EXPECT_EQ(ReadFlags({}).options.serving->max_streams, 250u);
  ProcessFlags flags;
  flags.http2 = {.disable = true, .max_streams = 7};
  EXPECT_FALSE(ReadFlags(flags).options.serving->http2);
  EXPECT_EQ(ReadFlags(flags).options.serving->max_streams, 7u);
  // Nothing to be read again.
  EXPECT_FALSE(ReadFlags({}).options.serving->reload);
}

TEST(SchedulerFlags, WhatCannotBeIsTold) {
  const auto fails = [](const std::vector<std::string>& flags, const std::string& told) {
    std::vector<std::string> args = {"scheduler", "--kubeconfig", "/nowhere"};
    args.insert(args.end(), flags.begin(), flags.end());
    const Outcome outcome = RunLine(args);
    EXPECT_EQ(outcome.code, 2) << told;
    EXPECT_THAT(outcome.err, HasSubstr(told));
  };
  fails({"--leader-elect-lease-duration", "5s"}, "a lease must last longer (5s)");
  fails({"--leader-elect-retry-period=soon"}, "--leader-elect-retry-period: \"soon\" must be");
  fails({"--leader-elect-resource-name", "A B"}, "\"A B\" cannot be the name of a Lease");
  fails({"--leader-elect-resource-lock", "endpoints"}, "--leader-elect-resource-lock");
  fails({"--secure-port", "70000"}, "--secure-port");
  fails({"--http2-max-streams-per-connection", "-1"}, "--http2-max-streams-per-connection");
  fails({"--tls-cert-file", "x"}, "must be given together");
  fails({"--client-ca-file", "/nowhere/ca"}, "/nowhere/ca");
  fails({"--authorization-kubeconfig", "/nowhere/config"}, "--authorization-kubeconfig: ");
  // As kubeadm starts kube-scheduler: only the files are missing.
  fails(
      {"--authentication-kubeconfig=/nowhere/k", "--bind-address=127.0.0.1", "--leader-elect=true"},
      "--authentication-kubeconfig: ");
}

TEST(SchedulerFlags, KeysThatOthersCanGetAtAreRefused) {
  using std::filesystem::perms;
  const TempFolder folder;
  const std::string key = folder.Write("key", "no key");
  const auto told = [&](perms others, const std::vector<std::string>& line) {
    std::filesystem::permissions(key, perms::owner_read | perms::owner_write | others);
    const Outcome outcome = RunLine(line);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const std::vector<std::string> lines[] = {
      {"scheduler", "--kubeconfig=/nowhere", "--tls-cert-file=/nowhere",
       "--tls-private-key-file=" + key},
      {"controllers", "--kubeconfig=/nowhere", "--tls-cert-file=/nowhere",
       "--tls-private-key-file=" + key},
      {"controllers", "--kubeconfig=/nowhere", "--cluster-signing-cert-file=/nowhere",
       "--cluster-signing-key-file=" + key}};
  for (const auto& line : lines) {
    SCOPED_TRACE(line.back());
    for (const perms others : {perms::others_read, perms::others_write, perms::group_write}) {
      EXPECT_THAT(told(others, line),
                  AllOf(HasSubstr(line.back().substr(0, line.back().find('='))),
                        HasSubstr("contains secrets"), HasSubstr("chmod 600 " + key)));
    }
    for (const perms others : {perms::none, perms::group_read}) {
      EXPECT_THAT(told(others, line), Not(HasSubstr("contains secrets")));
    }
  }
}

}  // namespace
}  // namespace dray::cli
