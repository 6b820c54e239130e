// SPDX-License-Identifier: Apache-2.0
//
// A process that writes is killed at random moments, again and again, on one file.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "store/store_for_test.h"

namespace dray::store {
namespace {

constexpr int kWriters = 4;
constexpr int kRounds = 25;
// Small, so that compaction is under way all the time.
constexpr HistoryOptions kHistory = {.events = 50};

int NumberAt(const Store& store, const std::string& key) {
  const EntryPtr entry = store.Find(key);
  return entry ? std::stoi(*entry->value) : 0;
}

// Counts up under two keys at a time and reports each number once it is acknowledged. Never
// returns.
[[noreturn]] void WriteUntilKilled(const TempFolder& folder, int report) {
  auto store = OpenSqliteStore({.path = folder.File("store.db"), .history = kHistory});
  if (!store.ok()) _exit(1);
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      const std::string a = "a/" + std::to_string(w);
      const std::string b = "b/" + std::to_string(w);
      for (int i = NumberAt(**store, a) + 1;; ++i) {
        const std::string value = std::to_string(i);
        if (!(*store)->CommitAndWait(Transaction().Put(a, value).Put(b, value)).ok()) _exit(2);
        const std::string line = std::to_string(w) + " " + value + "\n";
        if (::write(report, line.data(), line.size()) < 0) _exit(3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  _exit(4);
}

// The last number that each writer was told is safe.
std::map<int, int> ReadReports(int report) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = ::read(report, buffer, sizeof(buffer)); n > 0;
       n = ::read(report, buffer, sizeof(buffer))) {
    text.append(buffer, static_cast<std::size_t>(n));
  }
  text.resize(text.rfind('\n') + 1);
  std::istringstream lines(text);
  std::map<int, int> last;
  for (int writer = 0, number = 0; lines >> writer >> number;) last[writer] = number;
  return last;
}

TEST(Kill, NothingAcknowledgedIsLostAndNothingIsHalfWritten) {
  const TempFolder folder;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  int acknowledged = 0;
  Revision revision;
  for (int round = 0; round < kRounds; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(ends[0]);
      WriteUntilKilled(folder, ends[1]);
    }
    ::close(ends[1]);
    // Every other time not before something was acknowledged, however slow the machine is; else
    // opening the file may be hit too.
    if (round % 2 == 1) {
      pollfd reports = {.fd = ends[0], .events = POLLIN};
      ASSERT_EQ(::poll(&reports, 1, 60'000), 1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 80));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << WEXITSTATUS(status);
    const std::map<int, int> reports = ReadReports(ends[0]);
    ::close(ends[0]);

    const auto store = OpenSqlite(folder, kHistory);
    ASSERT_NE(store, nullptr) << "round " << round;
    for (const auto& [writer, number] : reports) {
      const int stored = NumberAt(*store, "a/" + std::to_string(writer));
      EXPECT_GE(stored, number) << "round " << round;
      EXPECT_EQ(NumberAt(*store, "b/" + std::to_string(writer)), stored) << "round " << round;
      acknowledged = std::max(acknowledged, number);
    }
    EXPECT_GE(store->revision(), revision);
    revision = store->revision();
  }
  EXPECT_GT(acknowledged, 0) << "no round got as far as writing";
}

}  // namespace
}  // namespace dray::store
