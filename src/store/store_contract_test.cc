// SPDX-License-Identifier: Apache-2.0
//
// What every store does: transactions and reads.
#include <string>
#include <utility>

#include "store/store_for_test.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

using StoreContract = StoreTest;
INSTANTIATE_TEST_SUITE_P(All, StoreContract, ::testing::ValuesIn(AllStores()), MakerName);

TEST_P(StoreContract, StartsEmptyAtRevisionZero) {
  if (consecutive()) {
    EXPECT_EQ(store().revision(), Revision{});
  }
  EXPECT_EQ(store().Find("a"), nullptr);
  EXPECT_EQ(All(), "");
  EXPECT_THAT(store().Health(), IsOk());
}

TEST_P(StoreContract, AVersionSaysWhenItsKeyAndItWereMade) {
  const Revision first = Put("a", "1");
  const Revision second = Put("a", "2");
  EXPECT_LT(first, second);
  const EntryPtr entry = store().Find("a");
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(*entry->value, "2");
  EXPECT_EQ(entry->created, first);
  EXPECT_EQ(entry->modified, second);
  EXPECT_GE(store().revision(), second);
}

TEST_P(StoreContract, AKeyThatComesBackIsNew) {
  Put("a", "1");
  Delete("a");
  EXPECT_EQ(store().Find("a"), nullptr);
  const Revision back = Put("a", "2");
  EXPECT_EQ(store().Find("a")->created, back);
}

TEST_P(StoreContract, ATransactionHasOneRevision) {
  Put("old", "1");
  const auto outcome =
      store().CommitAndWait(Transaction().Put("a", "1").Put("b", "2").Delete("old"));
  ASSERT_THAT(outcome, IsOk());
  EXPECT_EQ(outcome->conflict, std::nullopt);
  ASSERT_EQ(outcome->entries.size(), 3u);
  for (const EntryPtr& entry : outcome->entries) EXPECT_EQ(entry->modified, outcome->revision);
  EXPECT_EQ(*outcome->entries[2]->value, "1");
  EXPECT_EQ(All(), "a=1 b=2");
  EXPECT_GE(store().revision(), outcome->revision);
}

TEST_P(StoreContract, AnExpectedRevisionThatMovedIsAConflict) {
  const Revision first = Put("a", "1");
  const Revision second = Commit(Transaction().Put("a", "2", first));
  EXPECT_NE(second, Revision{});
  const auto outcome = store().CommitAndWait(Transaction().Put("b", "1").Put("a", "3", first));
  ASSERT_THAT(outcome, IsOk());
  ASSERT_TRUE(outcome->conflict.has_value());
  EXPECT_EQ(outcome->conflict->key, "a");
  EXPECT_EQ(outcome->conflict->actual, second);
  EXPECT_EQ(*outcome->conflict->entry->value, "2");
  // All or nothing: b was not written.
  EXPECT_EQ(All(), "a=2");
  if (consecutive()) {
    EXPECT_EQ(store().revision(), second);
  }
}

// Whoever builds on writes that are not answered yet need not wait for them.
TEST_P(StoreContract, WritersOfOneKeyBuildOnEachOther) {
  Put("n", "0");
  int done = 0;
  for (int i = 1; i <= 200; ++i) {
    const EntryPtr last = store().FindPending("n");
    ASSERT_EQ(*last->value, std::to_string(i - 1));
    store().Commit(Transaction()
                       .Put("n", std::to_string(i), last->modified)
                       .Put("k" + std::to_string(i), "", Revision{}),
                   [&](const StatusOr<Outcome>& outcome) {
                     ASSERT_THAT(outcome, IsOk());
                     EXPECT_EQ(outcome->conflict, std::nullopt);
                     EXPECT_EQ(outcome->entries[1]->modified, outcome->revision);
                     ++done;
                   });
  }
  Put("end", "");
  EXPECT_EQ(done, 200);
  EXPECT_EQ(*store().Find("n")->value, "200");
  EXPECT_EQ(store().FindPending("n")->modified, store().Find("n")->modified);
  EXPECT_EQ(store().Range("k")->entries.size(), 200u);
}

TEST_P(StoreContract, NobodyBuildsOnWhatWasRefused) {
  const Revision first = Put("n", "0");
  Put("x", "");
  bool refused = false;
  store().Commit(
      Transaction().Put("n", "a", first).Put("x", "", Revision{}),
      [&](const StatusOr<Outcome>& outcome) { refused = outcome->conflict.has_value(); });
  const EntryPtr pending = store().FindPending("n");
  const auto outcome =
      store().CommitAndWait(Transaction().Put("n", *pending->value + "b", pending->modified));
  ASSERT_THAT(outcome, IsOk());
  EXPECT_TRUE(refused);
  if (outcome->conflict) {
    EXPECT_EQ(outcome->conflict->actual, first);
    EXPECT_EQ(*store().Find("n")->value, "0");
  } else {
    EXPECT_EQ(*store().Find("n")->value, "0b");
  }
}

TEST_P(StoreContract, DeletingWhatMustNotBeThereIsAConflict) {
  for (const bool is_there : {false, true}) {
    const Revision there = is_there ? Put("a", "1") : Revision{};
    const auto outcome = store().CommitAndWait(Transaction().Delete("a", Revision{}).Put("b", "1"));
    ASSERT_THAT(outcome, IsOk());
    ASSERT_TRUE(outcome->conflict.has_value());
    EXPECT_EQ(outcome->conflict->key, "a");
    EXPECT_EQ(outcome->conflict->actual, there);
    EXPECT_EQ(All(), is_there ? "a=1" : "");
  }
}

TEST_P(StoreContract, RevisionZeroMeansMustNotExist) {
  EXPECT_NE(Commit(Transaction().Put("a", "1", Revision{})), Revision{});
  const auto outcome = store().CommitAndWait(Transaction().Put("a", "2", Revision{}));
  ASSERT_THAT(outcome, IsOk());
  ASSERT_TRUE(outcome->conflict.has_value());
  EXPECT_EQ(outcome->conflict->actual, store().Find("a")->modified);
}

TEST_P(StoreContract, DeletingWhatIsNotThereIsAConflict) {
  const auto outcome = store().CommitAndWait(Transaction().Delete("a"));
  ASSERT_THAT(outcome, IsOk());
  ASSERT_TRUE(outcome->conflict.has_value());
  EXPECT_EQ(outcome->conflict->actual, Revision{});
  EXPECT_EQ(outcome->conflict->entry, nullptr);
}

TEST_P(StoreContract, ACheckGuardsTheRestAndWritesNothing) {
  const Revision ns = Put("ns", "active");
  EXPECT_NE(Commit(Transaction().Check("ns", ns).Put("pod", "1")), Revision{});
  EXPECT_EQ(store().Find("ns")->modified, ns);
  EXPECT_EQ(Commit(Transaction().Check("ns", Revision{}).Put("pod", "2")), Revision{});
  EXPECT_EQ(All(), "ns=active pod=1");
  const Revision now = store().revision();
  EXPECT_GE(Commit(Transaction().Check("ns", ns)), now);
  if (consecutive()) {
    EXPECT_EQ(store().revision(), now);
  }
}

TEST_P(StoreContract, TransactionsThatMakeNoSenseAreRefused) {
  const auto refused = [&](Transaction transaction, const std::string& why) {
    EXPECT_THAT(store().CommitAndWait(std::move(transaction)),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)));
  };
  refused({}, "empty");
  refused(Transaction().Put("", "1"), "key is empty");
  refused(Transaction().Put("a", "1").Delete("a"), "\"a\" is in the transaction twice");
  refused({{{.kind = Operation::Kind::kPut, .key = "a"}}}, "needs a value");
  refused({{{.kind = Operation::Kind::kCheck, .key = "a"}}}, "needs an expected revision");
  Transaction large;
  for (std::size_t i = 0; i <= kMaxOperations; ++i) large.Put(std::to_string(i), "1");
  refused(std::move(large), "1025 operations");
  EXPECT_EQ(All(), "");
}

TEST_P(StoreContract, TheLargestTransactionIsTaken) {
  Transaction large;
  for (std::size_t i = 0; i < kMaxOperations; ++i) large.Put(std::to_string(i), "1");
  const Revision first = Commit(std::move(large));
  EXPECT_GT(first, start());
  EXPECT_GT(Put("a", "1"), first);
  EXPECT_EQ(store().Range("")->entries.size(), kMaxOperations + 1);
}

TEST_P(StoreContract, AnyBytesAreAValueAndAKey) {
  const std::string bytes("\0\xff\n\0", 4);
  Put("k" + bytes, bytes);
  Put("empty", "");
  ASSERT_NE(store().Find("k" + bytes), nullptr);
  EXPECT_EQ(*store().Find("k" + bytes)->value, bytes);
  EXPECT_EQ(*store().Find("empty")->value, "");
}

TEST_P(StoreContract, RangesAreOrderedAndLimited) {
  for (const char* key : {"p/b", "p/a", "p", "q", "p/c", "o"}) Put(key, "1");
  EXPECT_EQ(All("p/"), "p/a=1 p/b=1 p/c=1");
  EXPECT_EQ(All(), "o=1 p=1 p/a=1 p/b=1 p/c=1 q=1");
  const auto page = store().Range("p/", {.limit = 1, .count = true});
  EXPECT_EQ(Show(page), "p/a=1");
  EXPECT_TRUE(page->more);
  EXPECT_EQ(page->remaining, 2u);
  const auto rest = store().Range("p/", {.start = "p/b", .limit = 2});
  EXPECT_EQ(Show(rest), "p/b=1 p/c=1");
  EXPECT_FALSE(rest->more);
}

TEST_P(StoreContract, ARangeCanShowThePast) {
  Put("p/a", "1");
  Put("p/b", "1");
  const Revision then = Put("p/d", "1");
  Put("p/a", "2");
  Put("p/a", "3");
  Delete("p/b");
  Put("p/c", "1");
  Delete("p/d");
  Put("p/d", "2");
  Put("p/e", "1");
  EXPECT_EQ(Show(store().Range("p/", {.at = then})), "p/a=1 p/b=1 p/d=1");
  EXPECT_EQ(store().Range("p/", {.at = then})->revision, then);
  const auto page = store().Range("p/", {.start = "p/b", .limit = 1, .at = then, .count = true});
  EXPECT_EQ(Show(page), "p/b=1");
  EXPECT_EQ(page->remaining, 1u);
  EXPECT_EQ(All("p/"), "p/a=3 p/c=1 p/d=2 p/e=1");
  EXPECT_EQ(Show(store().Range("p/", {.at = start()})), "");
}

TEST_P(StoreContract, RevisionsOutsideOfTheHistoryAreRefused) {
  Make({.events = 2});
  std::vector<Revision> put;
  for (int i = 0; i < 5; ++i) put.push_back(Put("a", std::to_string(i)));
  EXPECT_EQ(store().oldest_revision(), put[2]);
  EXPECT_EQ(Show(store().Range("", {.at = put[2]})), "a=2");
  EXPECT_THAT(
      store().Range("", {.at = put[1]}),
      StatusIs(StatusCode::kOutOfRange,
               HasSubstr("revision " + std::to_string(put[1].value) + " has been compacted")));
  EXPECT_THAT(
      store().Range("", {.at = Revision{900'000}}),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("revision 900000 is in the future")));
}

TEST_P(StoreContract, HistoryIsBoundedByBytesToo) {
  Make({.bytes = 1000});
  std::vector<Revision> put;
  for (int i = 0; i < 5; ++i) put.push_back(Put("a", std::string(400, 'x')));
  EXPECT_EQ(store().oldest_revision(), put[2]);
}

TEST_P(StoreContract, AttachmentsAreMadeOnceWithTheRevisionAndStay) {
  int made = 0;
  const AttachFn attach = [&](const Entry& entry) {
    ++made;
    return std::make_shared<std::string>(*entry.value + "@" + std::to_string(entry.modified.value));
  };
  const auto text = [](const EntryPtr& entry) {
    return *std::static_pointer_cast<const std::string>(entry->attachment);
  };
  Put("other", "1");
  const auto outcome = store().CommitAndWait(Transaction().Put("a", "v", std::nullopt, attach));
  const auto at = [](const StatusOr<Outcome>& one) {
    return "v@" + std::to_string(one->revision.value);
  };
  EXPECT_EQ(text(outcome->entries[0]), at(outcome));
  EXPECT_EQ(text(store().Find("a")), at(outcome));
  const auto gone = store().CommitAndWait(Transaction().Delete("a", std::nullopt, attach));
  EXPECT_EQ(text(gone->entries[0]), at(gone));
  EXPECT_EQ(made, 2);
}

TEST_P(StoreContract, AttachGivesWhatIsMissingToTheCurrentVersionOnly) {
  Put("a", "1");
  const EntryPtr old = store().Find("a");
  const auto x = std::make_shared<int>(1);
  store().Attach(*old, x);
  EXPECT_EQ(store().Find("a")->attachment, x);
  EXPECT_EQ(old->attachment, nullptr);
  store().Attach(*old, std::make_shared<int>(2));
  EXPECT_EQ(store().Find("a")->attachment, x);
  Put("a", "2");
  store().Attach(*old, x);
  EXPECT_EQ(store().Find("a")->attachment, nullptr);
}

TEST_P(StoreContract, CommitsOfOneCallerKeepTheirOrder) {
  std::vector<std::int64_t> revisions;
  for (int i = 0; i < 100; ++i) {
    // Callbacks come from one thread at a time, the last CommitAndWait is after all of them.
    store().Commit(Transaction().Put("k", std::to_string(i)), [&](StatusOr<Outcome> outcome) {
      revisions.push_back(outcome->revision.value);
    });
  }
  EXPECT_GT(Put("end", ""), start());
  if (consecutive()) {
    EXPECT_EQ(store().revision(), Revision{101});
  }
  EXPECT_EQ(*store().Find("k")->value, "99");
  ASSERT_EQ(revisions.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(revisions));
}

TEST_P(StoreContract, ConflictsWithinABatchAreSeen) {
  int won = 0;
  for (int i = 0; i < 50; ++i) {
    store().Commit(Transaction().Put("k", std::to_string(i), Revision{}),
                   [&](StatusOr<Outcome> outcome) { won += outcome->conflict ? 0 : 1; });
  }
  Put("end", "");
  EXPECT_EQ(won, 1);
  EXPECT_EQ(*store().Find("k")->value, "0");
}

}  // namespace
}  // namespace dray::store
