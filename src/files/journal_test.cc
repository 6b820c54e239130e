// SPDX-License-Identifier: Apache-2.0
#include "files/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "files/crc32.h"
#include "files/disk_for_test.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::files {
namespace {

using dray::testing::IsOk;
using dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Fault = DiskForTest::Fault;

JournalOptions Options() { return {.path = "whole", .log_path = "log", .room = 4096}; }

// What a reader makes of it: the whole, and behind it the changes. "?" and a text: it cannot be read.
std::string StateOf(Disk& disk, const JournalOptions& options = Options()) {
  Journal::Contents read;
  const auto journal = Journal::Open(disk, options, read);
  if (!journal.ok()) return fmt::format("?{}", base::Message(journal.status()));
  std::string state = read.whole.value_or("-");
  for (const std::string& change : read.changes) state += "," + change;
  return state;
}

TEST(Crc32, IsTheOneOfZipFiles) {
  EXPECT_EQ(Crc32("123456789"), 0xcbf43926u);
  EXPECT_EQ(Crc32("6789", Crc32("12345")), 0xcbf43926u);
  EXPECT_EQ(Crc32(""), 0u);
}

TEST(JournalTest, KeepsWhatWasFoldedAndWhatWasAppended) {
  DiskForTest disk;
  Journal::Contents read;
  auto journal = Journal::Open(disk, Options(), read);
  ASSERT_THAT(journal, IsOk());
  EXPECT_FALSE(read.whole.has_value());
  EXPECT_TRUE(journal->must_fold());
  EXPECT_THAT(journal->Append("early", Sync::kYes),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("before it is folded")));
  ASSERT_THAT(journal->Fold("w1"), IsOk());
  EXPECT_FALSE(journal->changed());
  ASSERT_THAT(journal->Append("a", Sync::kYes), IsOk());
  ASSERT_THAT(journal->Append("", Sync::kNo), IsOk());
  ASSERT_THAT(journal->Append(std::string(1000, 'x'), Sync::kNo), IsOk());
  EXPECT_TRUE(journal->changed());
  EXPECT_EQ(StateOf(disk), "w1,a,," + std::string(1000, 'x'));
  ASSERT_THAT(journal->Fold("w2"), IsOk());
  EXPECT_EQ(StateOf(disk), "w2");
  // A short record does not bring back the long one that lay there.
  ASSERT_THAT(journal->Append("b", Sync::kNo), IsOk());
  EXPECT_EQ(StateOf(disk), "w2,b");
}

TEST(JournalTest, SaysWhenItIsFull) {
  DiskForTest disk;
  Journal::Contents read;
  auto journal = *Journal::Open(disk, Options(), read);
  ASSERT_THAT(journal.Fold("w"), IsOk());
  int appended = 0;
  while (!journal.full()) {
    ASSERT_THAT(journal.Append(std::string(100, 'x'), Sync::kNo), IsOk());
    ++appended;
  }
  EXPECT_EQ(appended, 23);
  // It goes on all the same.
  ASSERT_THAT(journal.Append("more", Sync::kYes), IsOk());
  EXPECT_THAT(StateOf(disk), HasSubstr(",more"));
}

// One sync for what has to outlive a power cut, none for the rest, three for a fold.
TEST(JournalTest, SyncsAsOftenAsItMust) {
  DiskForTest disk;
  Journal::Contents read;
  auto journal = *Journal::Open(disk, Options(), read);
  ASSERT_THAT(journal.Fold("w"), IsOk());
  auto syncs = [&, before = disk.syncs()]() mutable {
    return disk.syncs() - std::exchange(before, disk.syncs());
  };
  ASSERT_THAT(journal.Append("a", Sync::kNo), IsOk());
  EXPECT_EQ(syncs(), 0);
  ASSERT_THAT(journal.Append("b", Sync::kYes), IsOk());
  EXPECT_EQ(syncs(), 1);
  ASSERT_THAT(journal.SyncNow(), IsOk());
  EXPECT_EQ(syncs(), 0);
  ASSERT_THAT(journal.Fold("w2"), IsOk());
  EXPECT_EQ(syncs(), 3);
}

// A whole that somebody else has written, or has removed: the log is not about it.
TEST(JournalTest, ALogOfAnotherWholeSaysNothing) {
  DiskForTest disk;
  Journal::Contents read;
  auto journal = *Journal::Open(disk, Options(), read);
  ASSERT_THAT(journal.Fold("w"), IsOk());
  ASSERT_THAT(journal.Append("a", Sync::kYes), IsOk());
  disk.Bytes("whole") = "other";
  EXPECT_EQ(StateOf(disk), "other");
  disk.Remove("whole");
  EXPECT_EQ(StateOf(disk), "-");
  auto next = *Journal::Open(disk, Options(), read);
  EXPECT_TRUE(next.must_fold());
  ASSERT_THAT(next.Fold("w"), IsOk());
  EXPECT_EQ(StateOf(disk), "w");
}

// Every byte of the log in turn is another one. What was synced is never quietly less; what was not
// may be.
TEST(JournalTest, DamageIsNoticed) {
  DiskForTest disk;
  Journal::Contents read;
  auto journal = *Journal::Open(disk, Options(), read);
  ASSERT_THAT(journal.Fold("w"), IsOk());
  for (const char* change : {"one", "two", "three"}) {
    ASSERT_THAT(journal.Append(change, Sync::kYes), IsOk());
  }
  const std::string good = disk.Bytes("log");
  const std::size_t used = good.find_last_not_of('\0') + 1;
  int noticed = 0;
  int cut = 0;
  for (std::size_t i = 0; i < used; ++i) {
    disk.Bytes("log") = good;
    disk.Bytes("log")[i] ^= 0x20;
    const std::string state = StateOf(disk);
    if (state.starts_with("?")) {
      EXPECT_THAT(state, HasSubstr("log is damaged")) << i;
      ++noticed;
    } else if (state != "w,one,two,three") {
      // The last one has nobody behind it that knows better: it may as well never have been whole.
      EXPECT_EQ(state, "w,one,two") << i;
      ++cut;
    }
  }
  EXPECT_GT(noticed, 90);
  EXPECT_LE(cut, 40);
  disk.Bytes("log") = "short";
  EXPECT_THAT(StateOf(disk), HasSubstr("it has no head"));
}

// ---- Faults ----

// What a run has done: everything whose outcome is known, and what was under way when it ended.
struct Outcome {
  std::string whole = "-";
  std::vector<std::string> changes;  // acknowledged
  std::size_t safe = 0;              // so many of them are there after a power cut, too
  std::optional<std::string> other;  // this is possible instead: a step whose end nobody knows

  std::string State(std::size_t n) const {
    std::string state = whole;
    for (std::size_t i = 0; i < n; ++i) state += "," + changes[i];
    return state;
  }
};

// Appends and folds as a user does who folds when he must; ends when the disk is dead.
Outcome Work(DiskForTest& disk, unsigned seed, int steps) {
  std::mt19937 random(seed);
  Outcome done;
  Journal::Contents read;
  auto opened = Journal::Open(disk, Options(), read);
  if (!opened.ok()) return done;
  Journal journal = *std::move(opened);
  done.whole = StateOf(disk);
  const auto flat = [&] { return done.State(done.changes.size()); };
  for (int i = 0; i < steps && !disk.dead(); ++i) {
    if (journal.must_fold() || journal.full() || random() % 8 == 0) {
      // Now and then the same as before.
      const std::string whole = random() % 3 == 0 ? "w" : fmt::format("w{}", i);
      if (journal.Fold(whole).ok()) {
        done = {.whole = whole, .changes = {}, .safe = 0, .other = {}};
      } else {
        done.other = whole;
      }
      continue;
    }
    const std::string change = std::string(random() % 900, 'c') + std::to_string(i);
    const Sync sync = random() % 2 == 0 ? Sync::kYes : Sync::kNo;
    if (journal.Append(change, sync).ok()) {
      done.changes.push_back(change);
      if (sync == Sync::kYes) done.safe = done.changes.size();
    } else {
      done.other = flat() + "," + change;
    }
  }
  return done;
}

class JournalFaults : public ::testing::TestWithParam<Fault> {};

// The process dies at every step in turn, before, in the middle of and after it.
TEST_P(JournalFaults, AKillAtEveryStepLosesNothing) {
  for (int step = 0; step < 40; ++step) {
    for (unsigned seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(fmt::format("step {} seed {}", step, seed));
      DiskForTest disk;
      disk.FailAt(step, GetParam(), true, seed);
      const Outcome done = Work(disk, seed, 30);
      disk.Kill();
      const std::string state = StateOf(disk);
      const std::string known = done.State(done.changes.size());
      EXPECT_TRUE(state == known || state == done.other) << state << "\ninstead of\n"
                                                         << known << "\nor\n"
                                                         << done.other.value_or("");
      // And it goes on from there.
      EXPECT_FALSE(Work(disk, seed + 100, 10).whole.starts_with("?"));
      if (HasFailure()) return;
    }
  }
}

// The power goes at every step: what was synced is there, and nothing but a beginning of the rest.
TEST_P(JournalFaults, APowerCutAtEveryStepLeavesABeginning) {
  for (int step = 0; step < 40; ++step) {
    for (unsigned seed = 0; seed < 24; ++seed) {
      SCOPED_TRACE(fmt::format("step {} seed {}", step, seed));
      DiskForTest disk;
      disk.FailAt(step, GetParam(), true, seed);
      const Outcome done = Work(disk, seed, 30);
      disk.CutPower(seed * 7 + 1);
      const std::string state = StateOf(disk);
      bool fits = state == done.other;
      for (std::size_t n = done.safe; n <= done.changes.size(); ++n) fits |= state == done.State(n);
      EXPECT_TRUE(fits) << state << "\ninstead of\n"
                        << done.State(done.safe) << "\n.. or\n"
                        << done.other.value_or("");
      const Outcome next = Work(disk, seed + 100, 10);
      EXPECT_EQ(StateOf(disk), next.State(next.changes.size()));
      if (HasFailure()) return;
    }
  }
}

// A step fails and the process lives: it folds, and what it says then is what a reader finds.
TEST_P(JournalFaults, AfterAFailureItIsFoldedAndRight) {
  for (int step = 0; step < 40; ++step) {
    for (unsigned seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(fmt::format("step {} seed {}", step, seed));
      DiskForTest disk;
      disk.FailAt(step, GetParam(), false, seed);
      const Outcome done = Work(disk, seed, 40);
      const std::string known = done.State(done.changes.size());
      const std::string state = StateOf(disk);
      EXPECT_TRUE(state == known || state == done.other) << state << "\ninstead of\n" << known;
      if (HasFailure()) return;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, JournalFaults,
                         ::testing::Values(Fault::kBefore, Fault::kAfter, Fault::kTorn),
                         [](const auto& info) {
                           return info.param == Fault::kBefore  ? "Before"
                                  : info.param == Fault::kAfter ? "After"
                                                                : "Torn";
                         });

// A disk that says yes to a sync and does not do it: what is left is a beginning, or the reader is told
// that something is missing; it is never something that was not written like that.
TEST(JournalTest, ASyncThatWasNoneIsNoticedOrLeavesABeginning) {
  int noticed = 0;
  for (int step = 0; step < 40; ++step) {
    for (unsigned seed = 0; seed < 24; ++seed) {
      SCOPED_TRACE(fmt::format("step {} seed {}", step, seed));
      DiskForTest disk;
      Journal::Contents read;
      Journal journal = *Journal::Open(disk, Options(), read);
      ASSERT_THAT(journal.Fold("w"), IsOk());
      disk.FailAt(step, Fault::kLie, false, seed);
      std::vector<std::string> states = {"w"};
      for (int i = 0; i < 12; ++i) {
        const std::string change = std::string(200, 'c') + std::to_string(i);
        ASSERT_THAT(journal.Append(change, Sync::kYes), IsOk());
        states.push_back(states.back() + "," + change);
      }
      disk.CutPower(seed);
      const std::string state = StateOf(disk);
      noticed += state.starts_with("?") ? 1 : 0;
      EXPECT_TRUE(state.starts_with("?") ||
                  std::find(states.begin(), states.end(), state) != states.end())
          << state;
    }
  }
  EXPECT_GT(noticed, 0);
}

// Two processes that take turns see what the other has done.
TEST(JournalTest, TwoThatShareItSeeEachOther) {
  DiskForTest disk;
  Journal::Contents read;
  Journal a = *Journal::Open(disk, Options(), read);
  ASSERT_THAT(a.Fold("w"), IsOk());
  Journal b = *Journal::Open(disk, Options(), read);
  ASSERT_THAT(a.Append("1", Sync::kYes), IsOk());
  auto news = b.Refresh();
  ASSERT_THAT(news, IsOk());
  ASSERT_TRUE(news->has_value());
  EXPECT_FALSE((*news)->whole.has_value());
  EXPECT_THAT((*news)->changes, ElementsAre("1"));
  news = b.Refresh();
  ASSERT_THAT(news, IsOk());
  EXPECT_FALSE(news->has_value());
  ASSERT_THAT(b.Append("2", Sync::kNo), IsOk());
  news = a.Refresh();
  ASSERT_TRUE(news.ok() && news->has_value());
  EXPECT_THAT((*news)->changes, ElementsAre("2"));
  ASSERT_THAT(a.Fold("w2"), IsOk());
  ASSERT_THAT(a.Append("3", Sync::kNo), IsOk());
  news = b.Refresh();
  ASSERT_TRUE(news.ok() && news->has_value());
  EXPECT_EQ((*news)->whole, "w2");
  EXPECT_THAT((*news)->changes, ElementsAre("3"));
  ASSERT_THAT(b.Append("4", Sync::kNo), IsOk());
  EXPECT_EQ(StateOf(disk), "w2,3,4");
}

// On the machine's disk, with processes that are killed in the middle of their work: each has said
// through a pipe what it was told is written.
TEST(JournalTest, SurvivesKillsOnARealDisk) {
  const TemporaryFolder folder;
  const JournalOptions options{.path = folder / "whole", .log_path = folder / "log", .room = 16384};
  for (int round = 0; round < 25; ++round) {
    int pipes[2];
    ASSERT_EQ(::pipe(pipes), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      Journal::Contents read;
      auto journal = Journal::Open(TheDisk(), options, read);
      if (!journal.ok()) ::_exit(3);
      std::string state = read.whole.value_or("");
      for (const std::string& change : read.changes) state += "," + change;
      for (int i = 0;; ++i) {
        const std::string change = fmt::format("{}-{}", round, i);
        // Folds keep the last of it.
        if (journal->must_fold() || journal->full()) {
          state = fmt::format("w{}", change);
          if (!journal->Fold(state).ok()) ::_exit(4);
        } else {
          if (!journal->Append(change, i % 50 == 0 ? Sync::kYes : Sync::kNo).ok()) ::_exit(5);
          state += "," + change;
        }
        const char told = 'x';
        if (::write(pipes[1], &told, 1) != 1) ::_exit(6);
        if (i == 0 && ::write(pipes[1], "!", 1) != 1) ::_exit(6);
      }
    }
    ::close(pipes[1]);
    // It lives for a while that differs, and dies wherever it is.
    std::string told;
    char buffer[512];
    while (told.find('!') == std::string::npos) {
      const ssize_t n = ::read(pipes[0], buffer, sizeof(buffer));
      ASSERT_GT(n, 0);
      told.append(buffer, static_cast<std::size_t>(n));
    }
    ::usleep(static_cast<useconds_t>(200 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    for (ssize_t n; (n = ::read(pipes[0], buffer, sizeof(buffer))) > 0;) {
      told.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(pipes[0]);
    const long acknowledged = std::count(told.begin(), told.end(), 'x');
    // The last that was acknowledged, or the one that was being done.
    const std::string state = StateOf(TheDisk(), options);
    ASSERT_FALSE(state.starts_with("?")) << state;
    const std::string last = state.substr(state.find_last_of(",w") + 1);
    EXPECT_TRUE(last == fmt::format("{}-{}", round, acknowledged - 1) ||
                last == fmt::format("{}-{}", round, acknowledged))
        << last << " of " << acknowledged;
  }
}

}  // namespace
}  // namespace dray::files
