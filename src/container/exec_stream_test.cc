// SPDX-License-Identifier: Apache-2.0
//
// Commands without runc: a script that is called as runc would be, and says its pid where it should.
#include "container/internal/exec_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "files/temporary_folder.h"
#include "testing/status_matchers.h"

namespace dray::container::internal {
namespace {

class ExecStreamTest : public ::testing::Test {
 protected:
  // As in the agent: a command that reads no more is no reason to end.
  ExecStreamTest() { ::signal(SIGPIPE, SIG_IGN); }

  // The script's second argument is the file for its pid.
  ExecCall Call(const std::string& script) {
    const std::string path = folder_.path() + "/runc.sh";
    std::ofstream(path) << "echo $$ > \"$2\"\ncd '" << folder_.path() << "'\n" << script << "\n";
    return {.runc = {"/bin/sh", path},
            .container_id = "id",
            .command = {},
            .stdin_open = true,
            .pid_file = folder_.path() + "/pid",
            .timeout = std::chrono::seconds(60)};
  }

  files::TemporaryFolder folder_;
};

TEST_F(ExecStreamTest, WhatACommandDoesNotReadIsHeldUpToALimit) {
  std::atomic<int> rooms = 0;
  StreamInput input([&] { ++rooms; });
  const ExecCall call = Call("while ! [ -e gate ]; do sleep 0.02; done; wc -c");
  std::string out;
  std::thread thread([&] {
    const auto code = RunExec(
        call, input, [&](std::string bytes) { out += bytes; }, [](std::string) {});
    EXPECT_THAT(code, testing::IsOkAndHolds(0));
  });
  const std::string piece(64u << 10, 'x');
  constexpr std::size_t kPieces = 80;  // 5 MiB
  std::size_t written = 0;
  // Until nothing has gone on for a while: a pipe has room for something, too.
  for (int quiet = 0; quiet < 20;) {
    if (input.Full()) {
      ++quiet;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } else {
      input.Write(piece);
      written += piece.size();
    }
  }
  EXPECT_LE(written, kMostInput + (256u << 10));
  std::ofstream(folder_.path() + "/gate") << "";
  while (written < kPieces * piece.size()) {
    const int before = rooms;
    while (!input.Full() && written < kPieces * piece.size()) {
      input.Write(piece);
      written += piece.size();
    }
    // Whoever found it full is told, sooner or later.
    while (input.Full() && rooms == before) std::this_thread::yield();
  }
  input.Close();
  thread.join();
  EXPECT_GT(rooms, 0);
  EXPECT_EQ(std::stoul(out), kPieces * piece.size());
}

TEST_F(ExecStreamTest, WhatNobodyWillReadTakesNoRoom) {
  StreamInput input;
  const ExecCall call = Call("exec <&-; echo closed; while ! [ -e gate ]; do sleep 0.02; done");
  std::atomic<bool> closed = false;
  std::thread thread([&] {
    const auto code = RunExec(
        call, input, [&](std::string) { closed = true; }, [](std::string) {});
    EXPECT_THAT(code, testing::IsOkAndHolds(0));
  });
  while (!closed) std::this_thread::yield();
  for (int i = 0; i < 4; ++i) {
    input.Write(std::string(kMostInput, 'x'));
    while (input.Full()) std::this_thread::yield();
  }
  std::ofstream(folder_.path() + "/gate") << "";
  thread.join();
}

// One that has closed its outputs is watched like any other.
TEST_F(ExecStreamTest, ACommandThatHasNothingMoreToSayStillHasItsTime) {
  StreamInput input;
  ExecCall call = Call("exec >&- 2>&-; exec sleep 20");
  call.timeout = std::chrono::milliseconds(300);
  const auto began = std::chrono::steady_clock::now();
  const auto code = RunExec(
      call, input, [](std::string) {}, [](std::string) {});
  EXPECT_THAT(code, testing::StatusIs(StatusCode::kDeadlineExceeded, ::testing::_));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
  // And so is whoever listens.
  call.timeout.reset();
  std::thread thread([&] {
    EXPECT_THAT(RunExec(
                    call, input, [](std::string) {}, [](std::string) {}),
                testing::StatusIs(StatusCode::kCancelled, ::testing::_));
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  input.Abandon();
  thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(18));
}

}  // namespace
}  // namespace dray::container::internal
