// SPDX-License-Identifier: Apache-2.0
//
// A store whose log others write to as well: readers wait until the cache has what they must see, and
// nothing is answered early.
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/early_store.h"
#include "store/internal/batch.h"
#include "store/internal/timeline.h"
#include "store/log.h"
#include "store/store_for_test.h"

namespace dray::store {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::HasSubstr;

// What several servers share. Each writes at once; what a server's cache shows comes later.
struct Shared {
  std::vector<Event> events;
  bool reachable = true;
  Revision latest() const { return events.empty() ? Revision{} : events.back().revision(); }
};

class SharedLog final : public Log {
 public:
  SharedLog(Shared& shared, SharedLog*& self) : shared_(shared) { self = this; }

  Status Open(internal::Timeline& cache) override {
    cache_ = &cache;
    return {};
  }
  // One key, put; the answer waits for the cache.
  void Write(Transaction transaction, CommitFn done) override {
    if (!shared_.reachable) return done(base::Unavailable("nobody knows"));
    const Operation& put = transaction.operations[0];
    const Revision next{shared_.latest().value + 1};
    auto entry = std::make_shared<const Entry>(
        Entry{.key = put.key, .value = put.value, .created = next, .modified = next});
    shared_.events.push_back({.entry = entry});
    cache_->WaitFor(next, [done = std::move(done), next, entry](Status status) {
      if (!status.ok()) return done(std::move(status));
      done(Outcome{.revision = next, .entries = {entry}});
    });
  }
  void Latest(std::function<void(StatusOr<Revision>)> done) override {
    ++asked;
    if (!shared_.reachable) return done(base::Unavailable("the log cannot be reached"));
    done(shared_.latest());
  }
  Status Health() const override { return {}; }

  // The watch tells of the next change.
  void Feed() {
    const Event& event = shared_.events[fed_++];
    cache_->Publish({event});
  }

  int asked = 0;

 private:
  Shared& shared_;
  internal::Timeline* cache_ = nullptr;
  std::size_t fed_ = 0;
};

class BarrierTest : public ::testing::Test {
 protected:
  BarrierTest() {
    here_ = *MakeStore(std::make_unique<SharedLog>(shared_, log_here_));
    there_ = *MakeStore(std::make_unique<SharedLog>(shared_, log_there_));
  }
  void WriteThere(const std::string& key) {
    there_->Commit(Transaction().Put(key, "1"), [](const StatusOr<Outcome>&) {});
  }
  ReadyFn Note() {
    return [this](const Status& status) {
      told_ += status.ok() ? "ok " : std::string(base::Message(status)) + " ";
    };
  }

  Shared shared_;
  SharedLog* log_here_ = nullptr;
  SharedLog* log_there_ = nullptr;
  std::unique_ptr<Store> here_;
  std::unique_ptr<Store> there_;
  std::string told_;
};

TEST_F(BarrierTest, AReaderWaitsForWhatOthersHaveWrittenBeforeIt) {
  WriteThere("a");
  WriteThere("b");
  here_->Current(Note());
  EXPECT_EQ(told_, "");
  log_here_->Feed();
  EXPECT_EQ(told_, "");
  log_here_->Feed();
  EXPECT_EQ(told_, "ok ");
  EXPECT_NE(here_->Find("b"), nullptr);
  // What comes after the question is not waited for.
  here_->Current(Note());
  WriteThere("c");
  EXPECT_EQ(told_, "ok ok ");
}

TEST_F(BarrierTest, ARevisionIsWaitedForIfItIsOnItsWay) {
  WriteThere("a");
  here_->WaitFor(Revision{1}, Note());
  EXPECT_EQ(told_, "");
  log_here_->Feed();
  EXPECT_EQ(told_, "ok ");
  here_->WaitFor(Revision{1}, Note());
  EXPECT_EQ(told_, "ok ok ");
  EXPECT_EQ(log_here_->asked, 1);
  here_->WaitFor(Revision{2}, Note());
  EXPECT_THAT(told_, HasSubstr("revision 2 is in the future: the latest one is 1"));
}

TEST_F(BarrierTest, ALogThatCannotBeAskedIsNoReasonToShowOldThings) {
  shared_.reachable = false;
  here_->Current(Note());
  EXPECT_EQ(told_, "the log cannot be reached ");
}

// The log has answered, and its watch is stuck.
TEST_F(BarrierTest, WhoWaitsTooLongIsTold) {
  SharedLog* log = nullptr;
  const auto store =
      *MakeStore(std::make_unique<SharedLog>(shared_, log), {}, std::chrono::milliseconds(20));
  WriteThere("a");
  std::promise<Status> current;
  std::promise<Status> reached;
  store->Current([&](Status status) { current.set_value(std::move(status)); });
  store->WaitFor(Revision{1}, [&](Status status) { reached.set_value(std::move(status)); });
  EXPECT_THAT(current.get_future().get(),
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("within 20ms")));
  EXPECT_THAT(reached.get_future().get(), StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("")));
  log->Feed();
  store->Current(Note());
  EXPECT_EQ(told_, "ok ");
}

TEST_F(BarrierTest, WhoWaitsWhenTheStoreIsClosedIsTold) {
  WriteThere("a");
  here_->Current(Note());
  here_ = nullptr;
  EXPECT_EQ(told_, "the store is closed ");
}

TEST_F(BarrierTest, WithoutEarlyWritesDecidersWaitLikeEverybody) {
  EXPECT_EQ(here_->early(), nullptr);
  const auto early = MakeEarlyStore(*here_);
  std::optional<StatusOr<Outcome>> outcome;
  early->Commit(Transaction().Put("a", "1"), [&](StatusOr<Outcome> o) { outcome = std::move(o); });
  EXPECT_EQ(outcome, std::nullopt);
  EXPECT_EQ(early->Find("a"), nullptr);
  log_here_->Feed();
  ASSERT_TRUE(outcome.has_value());
  ASSERT_THAT(*outcome, IsOk());
  EXPECT_EQ((*outcome)->revision, Revision{1});
  EXPECT_NE(early->Find("a"), nullptr);
  shared_.reachable = false;
  early->Commit(Transaction().Put("b", "1"), [&](StatusOr<Outcome> o) { outcome = std::move(o); });
  EXPECT_THAT(*outcome, StatusIs(StatusCode::kUnavailable, HasSubstr("nobody knows")));
}

using CurrentContract = StoreTest;
INSTANTIATE_TEST_SUITE_P(All, CurrentContract, ::testing::ValuesIn(AllStores()), MakerName);

TEST_P(CurrentContract, ALogOfThisProcessIsAlwaysCurrent) {
  const Revision last = Put("a", "1");
  int ready = 0;
  const auto note = [&](const Status& status) { ready += status.ok() ? 1 : 0; };
  store().Current(note);
  store().WaitFor(last, note);
  EXPECT_EQ(ready, 2);
  store().WaitFor(Revision{last.value + 1}, note);
  EXPECT_EQ(ready, 2);
}

}  // namespace
}  // namespace dray::store
