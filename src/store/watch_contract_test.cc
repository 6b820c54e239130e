// SPDX-License-Identifier: Apache-2.0
//
// What every store does: watches.
#include <atomic>
#include <string>
#include <thread>

#include "store/store_for_test.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

using WatchContract = StoreTest;
INSTANTIATE_TEST_SUITE_P(All, WatchContract, ::testing::ValuesIn(AllStores()), MakerName);

TEST_P(WatchContract, TellsWhatHappensAfterTheRevision) {
  const Revision from = Put("p/a", "1");
  Put("p/a", "2");
  const auto watch = WatchFrom("p/", from);
  Put("p/b", "1");
  Put("q", "1");
  Delete("p/a");
  EXPECT_EQ(Show(watch->Next(100)), "~p/a=2 +p/b=1 -p/a=2");
  EXPECT_EQ(Show(watch->Next(100)), "");
}

TEST_P(WatchContract, AnEventHasBothVersions) {
  const Revision first = Put("a", "1");
  const auto watch = WatchFrom("", first);
  const Revision second = Put("a", "2");
  const Revision third = Delete("a");
  const auto events = watch->Next(10);
  ASSERT_THAT(events, IsOk());
  ASSERT_EQ(events->size(), 2u);
  const Event& put = (*events)[0];
  EXPECT_EQ(put.revision(), second);
  EXPECT_EQ(put.before->modified, first);
  EXPECT_EQ(put.entry->created, first);
  const Event& gone = (*events)[1];
  EXPECT_EQ(gone.revision(), third);
  EXPECT_EQ(gone.before->modified, second);
  EXPECT_EQ(*gone.entry->value, "2");
}

TEST_P(WatchContract, ProgressCoversKeysThatAreNotWatched) {
  const auto watch = WatchFrom("p/", start());
  Put("p/a", "1");
  const Revision last = Put("q", "1");
  EXPECT_EQ(watch->progress(), start());
  EXPECT_EQ(Show(watch->Next(10)), "+p/a=1");
  EXPECT_GE(watch->progress(), last);
}

TEST_P(WatchContract, ProgressStopsAtWhatWasReturned) {
  const auto watch = WatchFrom("", start());
  const Revision first = Put("a", "1");
  Put("b", "1");
  EXPECT_EQ(Show(watch->Next(1)), "+a=1");
  EXPECT_EQ(watch->progress(), first);
}

// A client that goes on from a revision must not miss the other half of it.
TEST_P(WatchContract, EventsOfOneRevisionStayTogether) {
  const auto watch = WatchFrom("", start());
  Commit(Transaction().Put("a", "1").Put("b", "1").Put("c", "1"));
  Put("d", "1");
  EXPECT_EQ(Show(watch->Next(1)), "+a=1 +b=1 +c=1");
  EXPECT_EQ(Show(watch->Next(1)), "+d=1");
}

TEST_P(WatchContract, WakesOnceAfterNothingWasThere) {
  std::atomic<int> woken = 0;
  const auto watch = WatchFrom("p/", start(), [&] { ++woken; });
  Put("p/a", "1");
  EXPECT_EQ(woken, 0);  // it was not waiting
  EXPECT_EQ(Show(watch->Next(10)), "+p/a=1");
  EXPECT_EQ(Show(watch->Next(10)), "");
  EXPECT_EQ(Show(watch->Next(10)), "");
  Put("q", "1");
  EXPECT_EQ(woken, 0);
  Put("p/a", "2");
  Put("p/a", "3");
  EXPECT_EQ(woken, 1);
}

TEST_P(WatchContract, WatchesOfNestedPrefixesAllHear) {
  const auto everything = WatchFrom("", start());
  const auto kind = WatchFrom("pods/", start());
  const auto one_namespace = WatchFrom("pods/ns/", start());
  const auto twin = WatchFrom("pods/ns/", start());
  Put("pods/ns/a", "1");
  Put("pods/other/a", "1");
  Put("nodes/n", "1");
  EXPECT_EQ(Show(everything->Next(10)), "+pods/ns/a=1 +pods/other/a=1 +nodes/n=1");
  EXPECT_EQ(Show(kind->Next(10)), "+pods/ns/a=1 +pods/other/a=1");
  EXPECT_EQ(Show(one_namespace->Next(10)), "+pods/ns/a=1");
  EXPECT_EQ(Show(twin->Next(10)), "+pods/ns/a=1");
}

// The value of a key is what it is about.
std::string ValueOf(const Entry& entry) { return *entry.value; }

TEST_P(WatchContract, ATopicHearsWhatComesToItAndWhatLeavesIt) {
  store().SetTopics("p/", ValueOf);
  const auto x = *store().WatchFrom(
      "p/", start(), [] {}, "x");
  const auto y = *store().WatchFrom(
      "p/", start(), [] {}, "y");
  Put("p/a", "");
  Put("p/a", "x");
  Put("p/b", "y");
  Put("p/a", "x");
  Put("p/a", "y");
  Put("q", "x");
  Delete("p/a");
  EXPECT_EQ(Show(x->Next(100)), "~p/a=x ~p/a=x ~p/a=y");
  EXPECT_EQ(Show(y->Next(100)), "+p/b=y ~p/a=y -p/a=y");
}

TEST_P(WatchContract, OnlyWhoWatchesTheTopicIsWoken) {
  store().SetTopics("p/", ValueOf);
  std::atomic<int> woken_x = 0;
  std::atomic<int> woken_y = 0;
  const auto x = *store().WatchFrom(
      "p/", start(), [&] { ++woken_x; }, "x");
  const auto y = *store().WatchFrom(
      "p/", start(), [&] { ++woken_y; }, "y");
  EXPECT_EQ(Show(x->Next(100)), "");
  EXPECT_EQ(Show(y->Next(100)), "");
  const Revision last = Put("p/a", "x");
  EXPECT_EQ(woken_x, 1);
  EXPECT_EQ(woken_y, 0);
  // A bookmark may still say how far it has come.
  EXPECT_EQ(Show(y->Next(100)), "");
  EXPECT_GE(y->progress(), last);
}

// A group is made for who comes first; who comes later may want to begin earlier.
TEST_P(WatchContract, AWatchMayBeginBeforeOneThatIsThereAlready) {
  store().SetTopics("p/", ValueOf);
  Put("p/a", "x");
  const Revision middle = Put("p/b", "x");
  Put("p/c", "x");
  for (const std::string_view topic : {"", "x"}) {
    const auto late = *store().WatchFrom(
        "p/", store().revision(), [] {}, topic);
    const auto between = *store().WatchFrom(
        "p/", middle, [] {}, topic);
    const auto early = *store().WatchFrom(
        "p/", start(), [] {}, topic);
    EXPECT_EQ(Show(late->Next(100)), "");
    EXPECT_EQ(Show(between->Next(100)), "+p/c=x");
    EXPECT_EQ(Show(early->Next(100)), "+p/a=x +p/b=x +p/c=x");
  }
}

TEST_P(WatchContract, AWatchThatFallsBehindIsOver) {
  Make({.events = 3});
  const auto slow = WatchFrom("a", start());
  const auto idle = WatchFrom("b", start());
  for (int i = 0; i < 5; ++i) Put("a", std::to_string(i));
  EXPECT_THAT(slow->Next(10), StatusIs(StatusCode::kOutOfRange, HasSubstr("fell behind")));
  // Nothing that it wanted was lost.
  EXPECT_EQ(Show(idle->Next(10)), "");
  Put("b", "1");
  EXPECT_EQ(Show(idle->Next(10)), "+b=1");
}

TEST_P(WatchContract, ARevisionLeavesTheHistoryWhole) {
  Make({.events = 3});
  const Revision first = Commit(Transaction().Put("a", "1").Put("b", "1"));
  Commit(Transaction().Put("c", "1").Put("d", "1"));
  EXPECT_EQ(store().oldest_revision(), first);
  EXPECT_EQ(Show(WatchFrom("", first)->Next(10)), "+c=1 +d=1");
}

TEST_P(WatchContract, TheCompactedPastAndTheFutureAreRefused) {
  Make({.events = 2});
  std::vector<Revision> put;
  for (int i = 0; i < 5; ++i) put.push_back(Put("a", std::to_string(i)));
  EXPECT_EQ(Show(WatchFrom("", put[2])->Next(10)), "~a=3 ~a=4");
  EXPECT_THAT(store().WatchFrom("", put[1], [] {}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr("compacted")));
  EXPECT_THAT(store().WatchFrom("", Revision{put[4].value + 1'000'000}, [] {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("future")));
}

TEST_P(WatchContract, AnEndedWatchIsNotWoken) {
  std::atomic<int> woken = 0;
  auto watch = WatchFrom("", start(), [&] { ++woken; });
  EXPECT_EQ(Show(watch->Next(1)), "");
  watch = nullptr;
  Put("a", "1");
  EXPECT_EQ(woken, 0);
}

TEST_P(WatchContract, AWatchMayOutliveItsStore) {
  Put("a", "1");
  const auto watch = WatchFrom("", start());
  Make();
  EXPECT_EQ(Show(watch->Next(10)), "+a=1");
}

// Writers, a paging reader, and watchers that come and go; each watcher must see each number of
// each writer exactly once and in order.
TEST_P(WatchContract, NothingIsMissedUnderConcurrency) {
  if (GetParam().one_thread) GTEST_SKIP() << "a store for one thread";
  constexpr int kWriters = 4;
  constexpr int kWrites = 200;
  store();
  std::atomic<int> running = kWriters;
  std::vector<std::thread> threads;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      for (int i = 1; i <= kWrites; ++i) Put("w/" + std::to_string(w), std::to_string(i));
      --running;
    });
  }
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&] {
      std::vector<int> last(kWriters, 0);
      auto watch = WatchFrom("w/", start());
      int seen = 0;
      while (seen < kWriters * kWrites) {
        const auto events = watch->Next(17);
        ASSERT_THAT(events, IsOk());
        for (const Event& event : *events) {
          const int writer = event.entry->key.back() - '0';
          EXPECT_EQ(std::stoi(*event.entry->value), ++last[static_cast<std::size_t>(writer)]);
          ++seen;
        }
        // Goes on from where it is, as a client that has lost its connection does.
        if (!events->empty() && seen % 5 == 0) watch = WatchFrom("w/", watch->progress());
      }
    });
  }
  threads.emplace_back([&] {
    while (running > 0) {
      const auto page = store().Range("w/", {.limit = 2});
      ASSERT_THAT(page, IsOk());
      EXPECT_THAT(store().Range("w/", {.start = "w/2", .at = page->revision}), IsOk());
    }
  });
  for (std::thread& thread : threads) thread.join();
  if (consecutive()) {
    EXPECT_EQ(store().revision(), Revision{kWriters * kWrites});
  }
}

}  // namespace
}  // namespace dray::store
