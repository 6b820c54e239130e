// SPDX-License-Identifier: Apache-2.0
#include "base/shared_value.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>

namespace dray::base {
namespace {

std::string& TextOf(const SharedValue& value) { return *static_cast<std::string*>(value.get()); }

TEST(SharedValue, CopiesShareUntilTheyAreGone) {
  SharedValue value = SharedValue::Make<std::string>("a");
  EXPECT_TRUE(value.Alone());
  {
    const SharedValue copy = value;
    EXPECT_EQ(copy.get(), value.get());
    EXPECT_FALSE(value.Alone());
    EXPECT_FALSE(copy.Alone());
  }
  EXPECT_TRUE(value.Alone());
  EXPECT_EQ(TextOf(value), "a");
}

TEST(SharedValue, MovingKeepsTheValueAndTheCount) {
  SharedValue value = SharedValue::Make<std::string>("a");
  const void* at = value.get();
  SharedValue moved = std::move(value);
  EXPECT_EQ(moved.get(), at);
  EXPECT_TRUE(moved.Alone());
  value = SharedValue::Make<std::string>("b");
  moved = value;
  EXPECT_EQ(TextOf(moved), "b");
  EXPECT_FALSE(value.Alone());
}

TEST(SharedValue, TheValueEndsWithItsLastCopy) {
  const auto watched = std::make_shared<int>(7);
  {
    SharedValue value = SharedValue::Make<std::shared_ptr<int>>(watched);
    const SharedValue copy = value;
    value = {};
    EXPECT_EQ(value.get(), nullptr);
    EXPECT_EQ(watched.use_count(), 2);
  }
  EXPECT_EQ(watched.use_count(), 1);
}

// Says how often it was copied and moved.
struct Traveller {
  Traveller() = default;
  Traveller(const Traveller& other) : copies(other.copies + 1), moves(other.moves) {}
  Traveller(Traveller&& other) noexcept : copies(other.copies), moves(other.moves + 1) {}
  int copies = 0;
  int moves = 0;
};

TEST(SharedValue, TheValueIsMadeWhereItStays) {
  Traveller original;
  const SharedValue copied = SharedValue::Make<Traveller>(std::as_const(original));
  EXPECT_EQ(static_cast<const Traveller*>(copied.get())->copies, 1);
  EXPECT_EQ(static_cast<const Traveller*>(copied.get())->moves, 0);
  const SharedValue moved = SharedValue::Make<Traveller>(std::move(original));
  EXPECT_EQ(static_cast<const Traveller*>(moved.get())->copies, 0);
  EXPECT_EQ(static_cast<const Traveller*>(moved.get())->moves, 1);
}

// Nothing but the count orders the reader's reads before the write: the thread sanitizer sees it.
TEST(SharedValue, WhoIsAloneMayWriteWhatAnotherThreadHasRead) {
  for (int round = 0; round < 200; ++round) {
    SharedValue value = SharedValue::Make<std::string>("before");
    std::atomic<bool> gone = false;
    std::string read;
    std::thread reader([&, copy = value]() mutable {
      read = TextOf(copy);
      copy = {};
      gone.store(true, std::memory_order_relaxed);
    });
    while (!gone.load(std::memory_order_relaxed)) std::this_thread::yield();
    EXPECT_TRUE(value.Alone());
    TextOf(value) = "after";
    reader.join();
    EXPECT_EQ(read, "before");
  }
}

}  // namespace
}  // namespace dray::base
