// SPDX-License-Identifier: Apache-2.0
#include "plane/internal/loop.h"

#include <gtest/gtest.h>

#include <atomic>

#include "store/memory/memory_store.h"

namespace dray::plane::internal {
namespace {

using namespace std::chrono_literals;

// Counts its calls; says when a number of them has been reached.
class Counter final : public Worker {
 public:
  explicit Counter(std::atomic<int>& calls) : calls_(calls) {}
  bool Work() override {
    calls_.fetch_add(1);
    calls_.notify_all();
    return false;
  }
  std::optional<std::chrono::nanoseconds> NextDue() const override { return std::nullopt; }

 private:
  std::atomic<int>& calls_;
};

void AwaitMoreThan(std::atomic<int>& calls, int seen) {
  for (int now = calls.load(); now <= seen; now = calls.load()) calls.wait(now);
}

TEST(Loop, EveryStoredChangeIsWorkedOn) {
  const auto store = store::MakeMemoryStore();
  const base::SystemClock clock;
  std::atomic<int> calls = 0;
  const Loop loop(*store, clock,
                  [&](const auto& /*ring*/) { return std::make_unique<Counter>(calls); });
  AwaitMoreThan(calls, 0);
  for (int i = 0; i < 20; ++i) {
    const int seen = calls.load();
    ASSERT_TRUE(store->CommitAndWait(store::Transaction().Put("key", "value")).ok());
    AwaitMoreThan(calls, seen);
  }
}

TEST(Loop, ItsEndWaitsForTheWorker) {
  const auto store = store::MakeMemoryStore();
  const base::SystemClock clock;
  std::atomic<int> calls = 0;
  std::atomic<bool> made = false;
  {
    const Loop loop(*store, clock, [&](const auto& /*ring*/) {
      made = true;
      return std::make_unique<Counter>(calls);
    });
  }
  EXPECT_TRUE(made);
}

}  // namespace
}  // namespace dray::plane::internal
