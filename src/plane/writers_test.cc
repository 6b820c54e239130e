// SPDX-License-Identifier: Apache-2.0
//
// A registry as the control plane has it, with a disk's thread and threads for what follows from
// writes, under many writers and readers at once. Worth most with the `tsan` preset.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/namespace.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/uuid.h"
#include "registry/registry.h"
#include "store/sqlite/sqlite_store.h"
#include "threads/task_queue.h"

namespace dray::plane {
namespace {

constexpr int kWriters = 4;
constexpr int kWrites = 40;  // of each, to one object; and as many to objects of its own

const api::KindInfo& Kind() { return api::HubKind(api::TypeInfoOf<api::Namespace>()); }

api::Object NewNamespace(std::string name) {
  api::Namespace space;
  space.metadata.name = std::move(name);
  return api::Object::Of(space);
}

// Answers that are still to come.
class Pending {
 public:
  void Add() {
    const base::MutexLock lock(mutex_);
    ++open_;
  }
  void Done(const Status& status) {
    const base::MutexLock lock(mutex_);
    if (!status.ok()) failures_.push_back(status.ToString());
    if (--open_ == 0) idle_.NotifyAll();
  }
  // All answers are there; those that were no success.
  std::vector<std::string> Await() {
    const base::MutexLock lock(mutex_);
    while (open_ != 0) idle_.Wait(mutex_);
    return failures_;
  }

 private:
  base::Mutex mutex_;
  base::CondVar idle_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> failures_ ABSL_GUARDED_BY(mutex_);
};

class WritersTest : public ::testing::Test {
 protected:
  WritersTest() {
    folder_ = ::mkdtemp(folder_.data());
    store_ = *store::OpenSqliteStore({.path = folder_ + "/store.db"});
    registry::RegistryOptions options;
    options.post = [this](std::function<void()> task) { tasks_.Post(std::move(task)); };
    registry_ = std::make_unique<registry::Registry>(*store_, clock_, random_, options);
    Create("shared");
    EXPECT_TRUE(pending_.Await().empty());
  }
  ~WritersTest() override {
    // As the control plane ends: what was begun is answered, then the store goes.
    tasks_.Stop();
    store_ = nullptr;
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void Create(const std::string& name) {
    pending_.Add();
    registry_->Create(NewNamespace(name), "", {},
                      [this](const StatusOr<api::Object>& made) { pending_.Done(made.status()); });
  }
  // One more, whatever it is now.
  void Count() {
    pending_.Add();
    registry_->Modify(
        registry::Part::kObject, Kind(), "", "shared",
        [](const api::Object& stored) -> StatusOr<api::Object> {
          api::Object next = stored;
          std::string& count = next.MutableMetadata().annotations["count"];
          count = std::to_string(count.empty() ? 1 : std::stoi(count) + 1);
          return next;
        },
        {}, [this](const StatusOr<api::Object>& written) { pending_.Done(written.status()); });
  }

  std::string folder_ = (std::filesystem::temp_directory_path() / "dray-writers-XXXXXX").string();
  base::SystemClock clock_;
  base::SystemRandomSource random_;
  Pending pending_;
  std::unique_ptr<store::Store> store_;
  threads::TaskQueue tasks_{2};
  std::unique_ptr<registry::Registry> registry_;
};

TEST_F(WritersTest, EachWriteOfManyThreadsIsDoneOnce) {
  std::atomic<bool> over = false;
  std::thread reader([&] {
    std::size_t most = 0;
    while (!over) {
      const auto all = registry_->objects().All(Kind());
      ASSERT_TRUE(all.ok()) << all.status();
      EXPECT_GE(all->size(), most);
      most = all->size();
      for (const auto& stored : *all) EXPECT_FALSE(stored->Json()->empty());
    }
  });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([this, writer] {
      for (int i = 0; i < kWrites; ++i) {
        Count();
        Create("own-" + std::to_string(writer) + "-" + std::to_string(i));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(pending_.Await(), std::vector<std::string>());
  over = true;
  reader.join();
  const auto shared = registry_->Get(Kind(), "", "shared");
  ASSERT_TRUE(shared.ok()) << shared.status();
  const std::string* count = shared->metadata().annotations.Find("count");
  ASSERT_NE(count, nullptr);
  EXPECT_EQ(*count, std::to_string(kWriters * kWrites));
  const auto all = registry_->objects().All(Kind());
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 1u + kWriters * kWrites);
}

}  // namespace
}  // namespace dray::plane
