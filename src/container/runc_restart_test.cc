// SPDX-License-Identifier: Apache-2.0
//
// Containers, and those who look after them being killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
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
      if (!store.ok()) {
        std::fprintf(stderr, "%s\n", store.status().ToString().c_str());
        ::_exit(1);
      }
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

// A machine may have no more inotify instances: other programs have taken them.
TEST_F(RuncTest, WithoutInotifyTheEndOfAContainerIsStillNoticed) {
  runtime_.reset();
  RuncOptions options = Options();
  options.inotify = false;
  auto runtime = OpenRuncRuntime(options, *store_, clock_);
  ASSERT_THAT(runtime, IsOk());
  runtime_ = *std::move(runtime);
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  const auto id = Create(sandbox, pod, Sh("main", "sleep 0.5; exit 6"));
  ASSERT_THAT(Start(*id), IsOk());
  std::atomic<bool> told = false;
  runtime_->OnChange([&] { told = true; });
  for (int i = 0; i < 3000 && !told; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(told);
  EXPECT_EQ(InfoOf(*id).exit_code, 6);
  EXPECT_THAT(Stop(*id, std::chrono::seconds(1)), IsOk());
}

// What the agent listens on is nobody's who outlives it: the next agent could not have the port.
TEST_F(RuncTest, NobodyInheritsWhatTheAgentHasOpen) {
  files::Fd listener(::socket(AF_INET, SOCK_STREAM, 0));  // not marked, as a library may leave it
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* where = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), where, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), where, &size), 0);
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  const auto id = Create(sandbox, pod, Sh("main", "sleep 1000"));
  ASSERT_THAT(Start(*id), IsOk());
  const auto inside =
      Exec(*id, {"sh", "-c", "busybox ls /proc/1/fd; busybox ls /proc/$$/fd; true"});
  ASSERT_THAT(inside, IsOk());
  EXPECT_EQ(inside->out, "0\n1\n2\n0\n1\n2\n");
  listener.Reset();
  const files::Fd next(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(next.get(), where, size), 0) << "somebody still listens";
}

// How a container ended is read a moment after it has, when the last of its output has come; until
// then a stop signals its pid, which must be nobody else's.
TEST_F(RuncTest, APidIsTheContainersUntilItsEndCanBeRead) {
  SandboxConfig pod = Pod("1");
  pod.shared_pids = true;  // so that somebody outlives the first process, and keeps its output open
  const std::string sandbox = RunSandbox(pod);
  const auto id = Create(sandbox, pod, Sh("main", "sleep 1000 & exit 4"));
  ASSERT_THAT(id, IsOk());
  const auto first = internal::ReadRecord<internal::PidRecord>(
      folder_ / ("run/containers/" + *id + "/created.json"));
  ASSERT_THAT(first, IsOk());
  const std::string stat = fmt::format("/proc/{}/stat", first->pid);
  const std::string exit_file = folder_ / ("run/exits/" + *id + ".json");
  ASSERT_THAT(Start(*id), IsOk());
  bool seen_dead = false;
  for (int i = 0; i < 100'000; ++i) {
    const auto text = files::ReadWhole(stat);
    const bool can_be_read = ::access(exit_file.c_str(), F_OK) == 0;
    if (can_be_read) break;
    ASSERT_TRUE(text.ok()) << "the pid is free, and nobody knows how the container ended";
    if (text->find(") Z ") != std::string::npos) seen_dead = true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(seen_dead);
  EXPECT_EQ(WaitForEnd(*id).exit_code, 4);
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
