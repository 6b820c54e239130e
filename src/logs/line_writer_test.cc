// SPDX-License-Identifier: Apache-2.0
#include "logs/line_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace dray::logs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Keeps what is written, once the gate is open.
struct Paper {
  base::Mutex mutex;
  std::string text;
  Status answer;
};
class PaperOutput final : public Output {
 public:
  PaperOutput(Paper& paper, std::shared_future<void> gate)
      : paper_(paper), gate_(std::move(gate)) {}
  Status Write(std::string_view lines) override {
    if (gate_.valid()) gate_.wait();
    const base::MutexLock lock(paper_.mutex);
    if (paper_.answer.ok()) paper_.text += lines;
    return base::MakeStatus(paper_.answer.code(), base::Message(paper_.answer));
  }

 private:
  Paper& paper_;
  std::shared_future<void> gate_;
};

TEST(LineWriter, LosesAndMixesNothingOfManyThreads) {
  Paper paper;
  {
    LineWriter writer(std::make_unique<PaperOutput>(paper, std::shared_future<void>()));
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&writer, t] {
        for (int i = 0; i < 500; ++i) {
          EXPECT_TRUE(writer.Write(std::to_string(t) + ":" + std::to_string(i) + "\n"));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(writer.Flush(seconds(30)));
    EXPECT_EQ(writer.counts().lines, 4000u);
    EXPECT_EQ(writer.counts().dropped, 0u);
  }
  std::istringstream lines(paper.text);
  std::vector<int> next(8, 0);
  for (std::string line; std::getline(lines, line);) {
    const auto thread = static_cast<std::size_t>(line.at(0) - '0');
    ASSERT_EQ(line.substr(2), std::to_string(next.at(thread)++));
  }
  EXPECT_EQ(next, std::vector<int>(8, 500));
}

TEST(LineWriter, WhoHandsOverNeverWaitsAndWhatWasDroppedIsTold) {
  Paper paper;
  std::promise<void> gate;
  LineWriterOptions options{.max_bytes = 100};
  options.dropped_line = [](std::uint64_t dropped) {
    return "dropped " + std::to_string(dropped) + "\n";
  };
  {
    LineWriter writer(std::make_unique<PaperOutput>(paper, gate.get_future().share()), options);
    int taken = 0;
    for (int i = 0; i < 1000; ++i) taken += writer.Write("0123456789012345678\n") ? 1 : 0;
    EXPECT_EQ(taken, 5);
    EXPECT_EQ(writer.counts().dropped, 995u);
    EXPECT_FALSE(writer.Flush(milliseconds(1)));
    gate.set_value();
    EXPECT_TRUE(writer.Flush(seconds(30)));
    // There is room again.
    EXPECT_TRUE(writer.Write("after\n"));
  }
  EXPECT_THAT(paper.text, HasSubstr("after\n"));
  // At once or in parts, as the writer came by.
  int told = 0;
  std::istringstream lines(paper.text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("dropped ")) told += std::stoi(line.substr(8));
  }
  EXPECT_EQ(told, 995) << paper.text;
}

TEST(LineWriter, AFailureIsCountedToldAndOver) {
  Paper paper;
  std::vector<std::uint64_t> failures;
  LineWriterOptions options;
  options.on_failure = [&](const Status& why, std::uint64_t lines) {
    EXPECT_EQ(base::Message(why), "no space left");
    failures.push_back(lines);
  };
  LineWriter writer(std::make_unique<PaperOutput>(paper, std::shared_future<void>()), options);
  paper.answer = base::Unavailable("no space left");
  writer.Write("a\n");
  EXPECT_TRUE(writer.Flush(seconds(30)));
  EXPECT_EQ(base::Message(writer.Health()), "no space left");
  EXPECT_EQ(writer.counts().failed, 1u);
  {
    const base::MutexLock lock(paper.mutex);
    paper.answer = Status();
  }
  writer.Write("b\n");
  EXPECT_TRUE(writer.Flush(seconds(30)));
  EXPECT_TRUE(writer.Health().ok());
  EXPECT_EQ(paper.text, "b\n");
  EXPECT_EQ(failures, std::vector<std::uint64_t>{1});
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  int in() const { return ends_[1]; }
  std::string ReadToEnd() {
    ::close(std::exchange(ends_[1], -1));
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(ends_[0], buffer, sizeof(buffer))) > 0;) {
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST(FdOutput, WritesToAPipe) {
  Pipe pipe;
  {
    LineWriter writer(MakeFdOutput(pipe.in()));
    for (int i = 0; i < 100; ++i) writer.Write(std::to_string(i) + "\n");
  }
  EXPECT_TRUE(pipe.ReadToEnd().ends_with("98\n99\n"));
}

// Nobody reads: neither who logs nor the end of the process waits for that.
TEST(FdOutput, APipeThatNobodyReadsHoldsUpNobody) {
  Pipe pipe;
  const auto began = std::chrono::steady_clock::now();
  {
    LineWriter writer(MakeFdOutput(pipe.in()),
                      {.max_bytes = 1u << 20, .patience = milliseconds(20)});
    for (int i = 0; i < 100'000; ++i) writer.Write(std::string(99, 'x') + "\n");
    EXPECT_GT(writer.counts().dropped, 0u);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(20));
}

// The process goes on, too: no signal ends it.
TEST(FdOutput, AReaderThatIsGoneIsAnError) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  LineWriter writer(MakeFdOutput(ends[1]));
  writer.Write("a\n");
  EXPECT_TRUE(writer.Flush(seconds(30)));
  EXPECT_THAT(std::string(base::Message(writer.Health())), HasSubstr("write: "));
  EXPECT_EQ(writer.counts().failed, 1u);
  ::close(ends[1]);
}

}  // namespace
}  // namespace dray::logs
