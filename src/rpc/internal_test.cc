// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "rpc/internal/socket_address.h"
#include "rpc/internal/workers.h"
#include "rpc/raw_for_test.h"
#include "testing/status_matchers.h"

namespace dray::rpc::internal {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::_;

TEST(Workers, DoAsMuchAtATimeAsIsGiven) {
  std::atomic<int> begun = 0;
  std::promise<void> go_on;
  std::shared_future<void> gone = go_on.get_future().share();
  {
    Workers workers;
    for (int i = 0; i < 40; ++i) {
      workers.Do([&] {
        ++begun;
        gone.wait();
      });
    }
    for (int i = 0; i < 2000 && begun < 40; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_EQ(begun, 40);
    go_on.set_value();
  }
}

TEST(Workers, DoEverythingBeforeTheyGo) {
  std::atomic<int> done = 0;
  {
    Workers workers;
    for (int i = 0; i < 1000; ++i) workers.Do([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

TEST(SocketAddress, IsWhatGrpcReads) {
  const auto plain = SocketAddress::Make("/run/dray/a.sock");
  ASSERT_THAT(plain, IsOk());
  EXPECT_EQ(plain->uri(), "unix:/run/dray/a.sock");
  EXPECT_EQ(SocketAddress::Make("/run/a b%")->uri(), "unix:/run/a%20b%25");
  EXPECT_THAT(SocketAddress::Make("a.sock"), StatusIs(StatusCode::kInvalidArgument, _));
  EXPECT_THAT(SocketAddress::Make(std::string("/a\0b", 4)),
              StatusIs(StatusCode::kInvalidArgument, _));
}

TEST(SocketAddress, GoesThroughTheFolderWhereThePathIsTooLong) {
  const TestFolder folder;
  const std::string deep = folder / std::string(100, 'd');
  std::filesystem::create_directories(deep);
  const auto address = SocketAddress::Make(deep + "/a.sock");
  ASSERT_THAT(address, IsOk());
  EXPECT_LE(address->path().size(), kLongestSocketPath);
  EXPECT_FALSE(SomebodyListens(*address));
}

}  // namespace
}  // namespace dray::rpc::internal
