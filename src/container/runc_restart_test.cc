// SPDX-License-Identifier: Apache-2.0
//
// Containers, and those who look after them being killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "container/internal/state_files.h"
#include "container/log_reader.h"
#include "container/runc_for_test.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::container {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using std::chrono::milliseconds;
using ::testing::IsEmpty;

TEST_F(RuncTest, ContainersOutliveTheAgent) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  const auto ended = Create(sandbox, pod, Sh("ended", "exit 5"));
  const auto runs = Create(
      sandbox, pod,
      Sh("runs", fmt::format("while [ ! -e /tmp/go ]; do sleep 0.02; done; echo done; exit 9")));
  const auto waits = Create(sandbox, pod, Sh("waits", "exit 0"));
  ASSERT_THAT(Start(*ended), IsOk());
  ASSERT_THAT(Start(*runs), IsOk());
  runtime_.reset();
  Open();
  EXPECT_TRUE(List().sandboxes[0].ready);
  EXPECT_EQ(WaitForEnd(*ended).exit_code, 5);
  EXPECT_EQ(InfoOf(*runs).state, ContainerState::kRunning);
  EXPECT_EQ(InfoOf(*waits).state, ContainerState::kCreated);
  std::atomic<bool> told = false;
  runtime_->OnChange([&] { told = true; });
  EXPECT_THAT(
      Exec(*runs, {"sh", "-c", "mkdir -p /tmp; busybox mkdir -p /tmp; busybox touch /tmp/go"}),
      IsOk());
  const ContainerInfo info = WaitForEnd(*runs);
  EXPECT_EQ(info.exit_code, 9);
  EXPECT_THAT(ReadLog(info.log_path, {}), IsOkAndHolds("done\n"));
  for (int i = 0; i < 100 && !told; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(told);
  EXPECT_THAT(Start(*waits), IsOk());
  EXPECT_EQ(WaitForEnd(*waits).reason, "Completed");
}

// An agent that is killed at any moment of making a pod leaves nothing that the next one cannot use or
// remove.
TEST_F(RuncTest, KilledInTheMiddleOfCreate) {
  runtime_.reset();
  store_.reset();
  const SandboxConfig pod = Pod("1");
  const ContainerConfig config = Sh("main", "sleep 1000");
  int created = 0;
  // The last one: once the container is there, however slow the machine is.
  for (const int after : {2, 10, 20, 35, 50, 65, 80, 110, 150, 220, -1}) {
    const pid_t agent = ::fork();
    ASSERT_GE(agent, 0);
    if (agent == 0) {
      // Its own answers are nobody's: it is killed.
      auto store =
          image::Store::Open({.folder = folder_ / "store", .sources = {folder_ / "images"}});
      if (!store.ok()) ::_exit(1);
      auto runtime = OpenRuncRuntime(Options(), **store, clock_);
      if (!runtime.ok()) ::_exit(1);
      const auto sandbox =
          AskFor<SandboxInfo>([&](auto done) { (*runtime)->RunSandbox(pod, done); });
      if (!sandbox.ok()) ::_exit(1);
      const auto id = AskFor<std::string>(
          [&](auto done) { (*runtime)->Create(sandbox->id, pod, config, done); });
      if (id.ok()) (void)Ask([&](auto done) { (*runtime)->Start(*id, done); });
      for (;;) ::pause();
    }
    if (after >= 0) std::this_thread::sleep_for(milliseconds(after));
    for (int i = 0; after < 0 && i < 3000 && !SomethingIsCreated(); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    ::kill(agent, SIGKILL);
    ::waitpid(agent, nullptr, 0);
    Open();
    const Inventory all = List();
    EXPECT_LE(all.sandboxes.size(), 1u);
    EXPECT_LE(all.containers.size(), 1u);
    created += static_cast<int>(all.containers.size());
    for (const ContainerInfo& info : all.containers) {
      EXPECT_NE(info.state, ContainerState::kExited) << after;
      EXPECT_NE(info.state, ContainerState::kUnknown);
    }
    // What there is can be gone on with.
    const std::string sandbox = RunSandbox(pod);
    const auto id = Create(sandbox, pod, config);
    ASSERT_THAT(id, IsOk());
    EXPECT_THAT(Start(*id), IsOk());
    EXPECT_EQ(InfoOf(*id).state, ContainerState::kRunning);
    EXPECT_THAT(Ask([&](auto done) { runtime_->RemoveSandbox(sandbox, done); }), IsOk());
    runtime_.reset();
    store_.reset();
    ExpectNothingLeft();
  }
  EXPECT_GE(created, 1);
}

// The same of one that makes and removes pods all the time: it is killed while it removes, too.
TEST_F(RuncTest, KilledAtAnyMoment) {
  runtime_.reset();
  store_.reset();
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  for (int round = 0; round < 8; ++round) {
    const pid_t agent = ::fork();
    ASSERT_GE(agent, 0);
    if (agent == 0) {
      auto store =
          image::Store::Open({.folder = folder_ / "store", .sources = {folder_ / "images"}});
      if (!store.ok()) ::_exit(1);
      auto runtime = OpenRuncRuntime(Options(), **store, clock_);
      if (!runtime.ok()) {
        std::fprintf(stderr, "%s\n", runtime.status().ToString().c_str());
        ::_exit(1);
      }
      for (std::uint32_t attempt = 0;; ++attempt) {
        SandboxConfig pod = Pod("1");
        pod.attempt = attempt;
        const auto sandbox =
            AskFor<SandboxInfo>([&](auto done) { (*runtime)->RunSandbox(pod, done); });
        if (!sandbox.ok()) {
          std::fprintf(stderr, "%s\n", sandbox.status().ToString().c_str());
          ::_exit(1);
        }
        const auto id = AskFor<std::string>([&](auto done) {
          (*runtime)->Create(sandbox->id, pod, Sh("main", "sleep 1000"), done);
        });
        if (id.ok()) (void)Ask([&](auto done) { (*runtime)->Start(*id, done); });
        (void)Ask([&](auto done) { (*runtime)->RemoveSandbox(sandbox->id, done); });
      }
    }
    std::this_thread::sleep_for(milliseconds(150 + random() % 800));
    ::kill(agent, SIGKILL);
    int status = 0;
    ::waitpid(agent, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));  // it did not end by itself
    Open();
    for (const SandboxInfo& sandbox : List().sandboxes) {
      EXPECT_THAT(Ask([&](auto done) { runtime_->RemoveSandbox(sandbox.id, done); }), IsOk());
    }
    EXPECT_THAT(List().containers, IsEmpty());
    runtime_.reset();
    store_.reset();
    ExpectNothingLeft();
  }
}

TEST_F(RuncTest, AContainerWhoseShimIsKilledHasEnded) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  const auto id = Create(sandbox, pod, Sh("main", "sleep 1000"));
  ASSERT_THAT(Start(*id), IsOk());
  const auto shim = internal::ReadRecord<internal::PidRecord>(
      folder_ / ("run/containers/" + *id + "/shim.pid.json"));
  ASSERT_THAT(shim, IsOk());
  ::kill(static_cast<pid_t>(shim->pid), SIGKILL);
  const ContainerInfo info = WaitForEnd(*id);
  EXPECT_EQ(info.exit_code, 137);
  EXPECT_EQ(info.reason, "ContainerStatusUnknown");
  EXPECT_EQ(InfoOf(*id).finished_at, info.finished_at);
}

}  // namespace
}  // namespace dray::container
