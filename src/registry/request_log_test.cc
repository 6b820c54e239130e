// SPDX-License-Identifier: Apache-2.0
#include "registry/request_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "logs/output_for_test.h"
#include "registry/world_for_test.h"

namespace dray::registry {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

const std::string kPods = "/api/v1/namespaces/default/pods";

class RequestLogTest : public ::testing::Test {
 protected:
  void Open(int verbosity, std::chrono::nanoseconds slow) {
    log_ = std::make_unique<logs::Log>(logs::LogOptions{.verbosity = verbosity}, clock_,
                                       std::make_unique<logs::StringOutput>(text_));
    HandlerOptions handling;
    handling.log = {log_->For("apiserver"), slow};
    // Whoever makes lists is slow.
    handling.post_reads = [this](const std::function<void()>& task) {
      world_->clock().Advance(milliseconds(700));
      task();
    };
    // As is what follows from a write.
    RegistryOptions options;
    options.post = [this](const std::function<void()>& task) {
      if (world_ != nullptr) world_->clock().Advance(milliseconds(600));
      task();
    };
    world_ = std::make_unique<World>(std::move(options), nullptr, std::move(handling));
    Text();
  }
  // What was logged since the last call.
  std::string Text() {
    EXPECT_TRUE(log_->Flush(std::chrono::seconds(30)));
    return std::exchange(text_, {});
  }

  base::ManualClock clock_{base::Time::FromUnix(1'800'000'000)};
  std::string text_;
  std::unique_ptr<logs::Log> log_;
  std::unique_ptr<World> world_;
};

TEST_F(RequestLogTest, ASlowRequestIsLoggedWithItsSteps) {
  Open(0, milliseconds(500));
  world_->Get(kPods + "/none");
  EXPECT_EQ(Text(), "");
  world_->Get(kPods + "?limit=3");
  EXPECT_EQ(Text(),
            "I0115 08:00:00.000000       0 apiserver] \"Slow request\" verb=\"list\" "
            "URI=\"/api/v1/namespaces/default/pods?limit=3\" took=\"700ms\" "
            "steps=\"received 0s, waited for a thread 700ms, answered 0s\" user=\"admin\" "
            "audit-ID=\"some-id\" srcIP=\"10.0.0.1:40312\" resp=200\n");
  // A watch lasts as long as it likes, and is answered at once.
  const Answer watch = world_->Get(kPods + "?watch=true");
  world_->clock().Advance(milliseconds(5'000));
  EXPECT_EQ(Text(), "");
}

TEST_F(RequestLogTest, AWriteSaysHowLongTheStoreTook) {
  Open(0, milliseconds(500));
  world_->Post(kPods,
               R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x"}]}})");
  EXPECT_THAT(Text(), HasSubstr("steps=\"received 0s, decoded 0s, stored 600ms, answered 0s\""));
}

TEST_F(RequestLogTest, WithThreeEveryRequestIs) {
  Open(3, std::chrono::nanoseconds(0));
  world_->Post(kPods,
               R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"x"}]}})");
  EXPECT_EQ(
      Text(),
      "I0115 08:00:00.000000       0 apiserver] \"HTTP\" verb=\"create\" "
      "URI=\"/api/v1/namespaces/default/pods\" latency=\"600ms\" user=\"admin\" userAgent=\"\" "
      "audit-ID=\"some-id\" srcIP=\"10.0.0.1:40312\" resp=201\n");
  world_->Get("/nowhere");
  EXPECT_THAT(Text(), HasSubstr("verb=\"GET\" URI=\"/nowhere\""));
}

}  // namespace
}  // namespace dray::registry
