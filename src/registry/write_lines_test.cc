// SPDX-License-Identifier: Apache-2.0
//
// Many writers of one object: each is answered, in turn, without trying again and again.
#include "registry/internal/write_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "registry/registry.h"
#include "rest/api_error.h"
#include "store/early_store.h"
#include "store/memory/memory_store.h"

namespace dray::registry {
namespace {

TEST(WriteLines, ALineIsServedInOrder) {
  internal::WriteLines lines;
  std::vector<int> turns;
  EXPECT_FALSE(lines.Busy("k"));
  EXPECT_TRUE(lines.Join("k", [] {}));
  EXPECT_FALSE(lines.Join("k", [&] { turns.push_back(2); }));
  EXPECT_FALSE(lines.Join("k", [&] { turns.push_back(3); }));
  EXPECT_TRUE(lines.Join("other", [] {}));
  EXPECT_TRUE(lines.Busy("k"));
  lines.Leave("k")();
  lines.Leave("k")();
  EXPECT_EQ(lines.Leave("k"), nullptr);
  EXPECT_FALSE(lines.Busy("k"));
  EXPECT_TRUE(lines.Busy("other"));
  EXPECT_EQ(turns, (std::vector{2, 3}));
}

// A store whose commits wait until the test lets them go, as those of a disk do.
class SlowStore final : public store::Store {
 public:
  void Commit(store::Transaction transaction, store::CommitFn done) override {
    waiting_.emplace_back(std::move(transaction), std::move(done));
  }
  // Before all that wait.
  void Overtake(store::Transaction transaction, store::CommitFn done) {
    store_->Commit(std::move(transaction), std::move(done));
  }
  // All that were handed over until now, in one go.
  std::size_t Flush() {
    auto group = std::exchange(waiting_, {});
    for (auto& [transaction, done] : group) store_->Commit(std::move(transaction), std::move(done));
    return group.size();
  }

  store::EarlyWrites* early() const override { return store_->early(); }
  void Current(store::ReadyFn ready) override { store_->Current(std::move(ready)); }
  void WaitFor(store::Revision at, store::ReadyFn ready) override {
    store_->WaitFor(at, std::move(ready));
  }
  store::EntryPtr Find(std::string_view key) const override { return store_->Find(key); }
  StatusOr<store::RangeResult> Range(std::string_view prefix,
                                     const store::RangeOptions& options) const override {
    return store_->Range(prefix, options);
  }
  StatusOr<std::unique_ptr<store::Watch>> WatchFrom(std::string_view prefix, store::Revision from,
                                                    std::function<void()> wake,
                                                    std::string_view topic) override {
    return store_->WatchFrom(prefix, from, std::move(wake), topic);
  }
  void SetTopics(std::string prefix, store::TopicFn topic_of) override {
    store_->SetTopics(std::move(prefix), std::move(topic_of));
  }
  void Attach(const store::Entry& version, std::shared_ptr<const void> attachment) override {
    store_->Attach(version, std::move(attachment));
  }
  store::Revision revision() const override { return store_->revision(); }
  store::Revision oldest_revision() const override { return store_->oldest_revision(); }
  Status Health() const override { return store_->Health(); }

 private:
  std::unique_ptr<store::Store> store_ = store::MakeMemoryStore();
  std::vector<std::pair<store::Transaction, store::CommitFn>> waiting_;
};

class ManyWritersTest : public ::testing::Test {
 protected:
  ManyWritersTest() {
    RegistryOptions options;
    options.post = [this](std::function<void()> task) { tasks_.push_back(std::move(task)); };
    registry_ = std::make_unique<Registry>(store_, clock_, random_, options);
    api::Namespace space;
    space.metadata.name = "n";
    bool made = false;
    registry_->Create(api::Object::Of(space), "", {},
                      [&](const StatusOr<api::Object>& result) { made = result.ok(); });
    Settle();
    EXPECT_TRUE(made);
  }

  // Everything that follows from what was begun.
  void Settle() {
    do {
      while (!tasks_.empty()) {
        auto task = std::move(tasks_.front());
        tasks_.pop_front();
        task();
      }
    } while (store_.Flush() > 0 || !tasks_.empty());
  }

  void Label(int writer) {
    registry_->Modify(
        Part::kObject, api::HubKind(api::TypeInfoOf<api::Namespace>()), "", "n",
        [this, writer](const api::Object& stored) -> StatusOr<api::Object> {
          ++tries_;
          api::Object next = stored;
          next.MutableMetadata().labels["l" + std::to_string(writer)] = "x";
          return next;
        },
        {},
        [this, writer](const StatusOr<api::Object>& result) {
          EXPECT_TRUE(result.ok()) << result.status();
          answered_.push_back(writer);
        });
  }

  SlowStore store_;
  base::ManualClock clock_;
  base::SystemRandomSource random_;
  std::deque<std::function<void()>> tasks_;
  std::unique_ptr<Registry> registry_;
  int tries_ = 0;
  std::vector<int> answered_;
};

TEST_F(ManyWritersTest, OfOneObjectTakeTurns) {
  for (int i = 0; i < 64; ++i) Label(i);
  Settle();
  ASSERT_EQ(answered_.size(), 64u);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(answered_[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(tries_, 64);
  const auto stored = registry_->Get(api::HubKind(api::TypeInfoOf<api::Namespace>()), "", "n");
  ASSERT_TRUE(stored.ok());
  EXPECT_GE(stored->metadata().labels.size(), 64u);
}

TEST_F(ManyWritersTest, WhoComesWhileOthersWaitStandsBehindThem) {
  for (int i = 0; i < 8; ++i) Label(i);
  while (!tasks_.empty() || answered_.empty()) {
    store_.Flush();
    while (!tasks_.empty()) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
    if (!answered_.empty()) break;
  }
  ASSERT_LT(answered_.size(), 8u);
  Label(8);
  Settle();
  ASSERT_EQ(answered_.size(), 9u);
  EXPECT_EQ(answered_.back(), 8);
  EXPECT_EQ(tries_, 9);
}

// Who names a version has one try: nothing is left of the object for a second one, and none is needed.
TEST_F(ManyWritersTest, AnUpdateOfAVersionThatIsGoneIsToldSo) {
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Namespace>());
  const auto stored = registry_->Get(kind, "", "n");
  ASSERT_TRUE(stored.ok());
  api::Object next = *stored;
  next.MutableMetadata().labels["mine"] = "x";
  Status told;
  registry_->Update(Part::kObject, next, {},
                    [&](const StatusOr<api::Object>& result) { told = result.status(); });
  // Past the line in which writers of this registry stand: the update is on its way to the disk.
  api::Object others = *stored;
  others.MutableMetadata().labels["others"] = "x";
  store::Transaction transaction;
  Objects::Put(transaction, others, std::nullopt);
  bool written = false;
  store_.Overtake(std::move(transaction), [&](const auto& outcome) { written = outcome.ok(); });
  ASSERT_TRUE(written);
  Settle();
  EXPECT_EQ(rest::FromStatus(told).code, 409) << told;
  EXPECT_THAT(std::string(base::Message(told)), ::testing::HasSubstr("has been modified"));
  const auto now = registry_->Get(kind, "", "n");
  ASSERT_TRUE(now.ok());
  EXPECT_TRUE(now->metadata().labels.contains("others"));
  EXPECT_FALSE(now->metadata().labels.contains("mine"));
}

TEST_F(ManyWritersTest, AnUpdateIsStoredWithAllThatItSays) {
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Namespace>());
  const auto stored = registry_->Get(kind, "", "n");
  ASSERT_TRUE(stored.ok());
  api::Object next = *stored;
  next.MutableMetadata().labels["mine"] = "x";
  registry_->Update(Part::kObject, next, {}, [&](const StatusOr<api::Object>& result) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->metadata().labels.contains("mine"));
  });
  Settle();
  // What was handed over is the caller's, and stays as it was.
  EXPECT_EQ(next.metadata().resource_version, stored->metadata().resource_version);
  EXPECT_TRUE(registry_->Get(kind, "", "n")->metadata().labels.contains("mine"));
}

}  // namespace
}  // namespace dray::registry
