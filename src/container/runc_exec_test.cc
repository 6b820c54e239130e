// SPDX-License-Identifier: Apache-2.0
//
// Commands in containers, and attaching to one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/mutex.h"
#include "container/log_reader.h"
#include "container/runc_for_test.h"
#include "testing/status_matchers.h"

namespace dray::container {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(RuncTest, CommandsInContainers) {
  const SandboxConfig pod = Pod("1");
  const auto id = Create(RunSandbox(pod), pod, Sh("main", "sleep 1000"));
  EXPECT_THAT(Exec(*id, {"true"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not running")));
  ASSERT_THAT(Start(*id), IsOk());
  const auto said = Exec(*id, {"sh", "-c", "echo out; echo err >&2; exit 4"});
  ASSERT_THAT(said, IsOk());
  EXPECT_EQ(said->exit_code, 4);
  EXPECT_EQ(said->out, "out\n");
  EXPECT_EQ(said->err, "err\n");
  EXPECT_THAT(Exec(*id, {"not-there"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not-there")));
  EXPECT_THAT(Exec(*id, {"sleep", "77"}, seconds(1)),
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("longer")));
  // It does not go on.
  const auto left = Exec(*id, {"ps"});
  ASSERT_THAT(left, IsOk());
  EXPECT_THAT(left->out, AllOf(HasSubstr("sleep 1000"), Not(HasSubstr("sleep 77"))));
}

// What comes of a session.
class Heard {
 public:
  ExecEvents Events() {
    return {
        .out = [this](std::string bytes) { Add(bytes); },
        .err = [this](std::string bytes) { Add(bytes); },
        .done = [this](StatusOr<std::int32_t> code) { done_.promise.set_value(std::move(code)); }};
  }
  std::string Text() {
    const base::MutexLock lock(mutex_);
    return text_;
  }
  bool WaitFor(std::string_view text) {
    for (int i = 0; i < 1000; ++i) {
      if (Text().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }
  StatusOr<std::int32_t> End() { return done_.Get(); }

 private:
  void Add(const std::string& bytes) {
    const base::MutexLock lock(mutex_);
    text_ += bytes;
  }
  base::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  Answer<StatusOr<std::int32_t>> done_;
};

TEST_F(RuncTest, SessionsWithInputTerminalAndSize) {
  const SandboxConfig pod = Pod("1");
  const auto id = Create(RunSandbox(pod), pod, Sh("main", "sleep 1000"));
  ASSERT_THAT(Start(*id), IsOk());
  {
    Heard heard;
    const auto session =
        runtime_->Exec({.container_id = *id, .command = {"cat"}, .stdin = true}, heard.Events());
    session->Write("hello\n");
    EXPECT_TRUE(heard.WaitFor("hello\n"));
    session->CloseInput();
    EXPECT_THAT(heard.End(), IsOkAndHolds(0));
  }
  {
    Heard heard;
    const auto session = runtime_->Exec(
        {.container_id = *id, .command = {"sh"}, .tty = true, .stdin = true}, heard.Events());
    session->Resize(91, 33);
    session->Write("sleep 0.3; stty size; tty || busybox tty; exit 6\n");
    EXPECT_THAT(heard.End(), IsOkAndHolds(6));
    EXPECT_THAT(heard.Text(), HasSubstr("33 91"));
  }
  {
    // Who stops listening ends the command.
    Heard heard;
    auto session =
        runtime_->Exec({.container_id = *id, .command = {"sleep", "88"}}, heard.Events());
    std::this_thread::sleep_for(milliseconds(300));
    session.reset();
    EXPECT_THAT(heard.End(), StatusIs(StatusCode::kCancelled, HasSubstr("has gone")));
    EXPECT_THAT(Exec(*id, {"ps"})->out, Not(HasSubstr("sleep 88")));
  }
}

TEST_F(RuncTest, AttachingToTheFirstProcess) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  ContainerConfig config = Sh("main", "read line; echo got $line; read more; exit 8");
  config.stdin = true;
  const auto id = Create(sandbox, pod, config);
  ASSERT_THAT(Start(*id), IsOk());
  Heard heard;
  const auto session = runtime_->Exec({.container_id = *id, .stdin = true}, heard.Events());
  session->Write("this\n");
  EXPECT_TRUE(heard.WaitFor("got this\n"));
  session->CloseInput();
  EXPECT_THAT(heard.End(), IsOkAndHolds(8));
  EXPECT_THAT(ReadLog(WaitForEnd(*id).log_path, {}), IsOkAndHolds("got this\n"));
  // With a terminal.
  ContainerConfig with_tty = Sh("tty", "stty size; read line; stty size; echo $line");
  with_tty.tty = true;
  with_tty.stdin = true;
  const auto terminal = Create(sandbox, pod, with_tty);
  ASSERT_THAT(terminal, IsOk());
  ASSERT_THAT(Start(*terminal), IsOk());
  Heard seen;
  const auto attached =
      runtime_->Exec({.container_id = *terminal, .tty = true, .stdin = true}, seen.Events());
  attached->Resize(77, 22);
  attached->Write("x y\n");
  EXPECT_THAT(seen.End(), IsOkAndHolds(0));
  EXPECT_THAT(seen.Text(), AllOf(HasSubstr("22 77"), HasSubstr("x y")));
}

// What was said before the end arrives, and how it ended, though it is read more slowly than said.
TEST_F(RuncTest, WhoReadsSlowlyHearsTheEnd) {
  const SandboxConfig pod = Pod("1");
  ContainerConfig config =
      Sh("main", "read line; dd if=/dev/zero bs=1024 count=2000 2>/dev/null; exit 5");
  config.stdin = true;
  const auto id = Create(RunSandbox(pod), pod, config);
  ASSERT_THAT(Start(*id), IsOk());
  std::atomic<std::size_t> heard = 0;
  std::promise<StatusOr<std::int32_t>> end;
  ExecEvents events;
  events.out = [&](const std::string& bytes) {
    heard += bytes.size();
    std::this_thread::sleep_for(milliseconds(10));
  };
  events.done = [&](StatusOr<std::int32_t> code) { end.set_value(std::move(code)); };
  const auto session = runtime_->Exec({.container_id = *id, .stdin = true}, std::move(events));
  session->Write("go\n");
  EXPECT_THAT(end.get_future().get(), IsOkAndHolds(5));
  EXPECT_EQ(heard, 2000u * 1024);
}

// Nothing of it is lost, however long the container takes to read it.
TEST_F(RuncTest, WhatAContainerDoesNotReadWaitsForIt) {
  const SandboxConfig pod = Pod("1");
  ContainerConfig config = Sh("main", "while [ ! -e /go ]; do sleep 0.02; done; wc -c");
  config.stdin = true;
  const auto id = Create(RunSandbox(pod), pod, config);
  ASSERT_THAT(Start(*id), IsOk());
  Heard heard;
  const auto session = runtime_->Exec({.container_id = *id, .stdin = true}, heard.Events());
  const std::string piece(64u << 10, 'x');
  constexpr int kPieces = 160;  // 10 MiB: more than the shim, the agent and all pipes hold
  int written = 0;
  bool let_go = false;
  for (int quiet = 0; written < kPieces;) {
    if (!session->Full()) {
      session->Write(piece);
      ++written;
      quiet = 0;
    } else if (++quiet > 20 && !let_go) {
      ASSERT_THAT(Exec(*id, {"touch", "/go"}), IsOk());
      let_go = true;
    } else {
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
  EXPECT_TRUE(let_go);
  session->CloseInput();
  EXPECT_THAT(heard.End(), IsOkAndHolds(0));
  EXPECT_THAT(heard.Text(), HasSubstr(std::to_string(kPieces * piece.size())));
}

// A container for debugging sees the processes of another, and ends with it.
TEST_F(RuncTest, AContainerMaySeeTheProcessesOfAnother) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  const auto target = Create(sandbox, pod, Sh("main", "sleep 12345"));
  ASSERT_THAT(Start(*target), IsOk());
  ContainerConfig config = Sh("debugger", "sleep 54321");
  config.pid_target = *target;
  const auto id = Create(sandbox, pod, config);
  ASSERT_THAT(id, IsOk());
  ASSERT_THAT(Start(*id), IsOk());
  const auto seen = Exec(*id, {"busybox", "ps", "-o", "args"});
  ASSERT_THAT(seen, IsOk());
  EXPECT_THAT(seen->out, AllOf(HasSubstr("sleep 12345"), HasSubstr("sleep 54321")));
  // It can be stopped alone.
  EXPECT_THAT(Stop(*id, std::chrono::seconds(0)), IsOk());
  EXPECT_EQ(InfoOf(*target).state, ContainerState::kRunning);
  config.attempt = 1;
  const auto again = Create(sandbox, pod, config);
  ASSERT_THAT(Start(*again), IsOk());
  EXPECT_THAT(Stop(*target, std::chrono::seconds(0)), IsOk());
  EXPECT_EQ(WaitForEnd(*again).exit_code, 137);
  config.attempt = 2;
  EXPECT_THAT(Create(sandbox, pod, config),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("is not running")));
}

}  // namespace
}  // namespace dray::container
