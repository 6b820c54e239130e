// SPDX-License-Identifier: Apache-2.0
#include "system/wire.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dray::system {
namespace {

// An answer of so many pieces.
class Pieces final : public apiserver::StreamSource {
 public:
  explicit Pieces(int count) : left_(count) {}
  void Start(std::function<void()>) override {}
  State Pull(std::vector<apiserver::Bytes>& out) override {
    out.push_back(std::make_shared<std::string>(std::to_string(left_) + ","));
    return --left_ > 0 ? State::kMore : State::kEnd;
  }
  bool Finite() const override { return true; }

 private:
  int left_;
};

class LongAnswers final : public apiserver::Handler {
 public:
  void Handle(apiserver::Request, std::shared_ptr<apiserver::Responder> responder) override {
    ++requests;
    apiserver::Response response;
    response.stream = std::make_unique<Pieces>(1000);
    responder->Send(std::move(response));
  }
  int requests = 0;
};

class WireTest : public ::testing::Test {
 protected:
  // What a client gets that asks now. `after`: something that happens so much later.
  StatusOr<client::HttpResponse> Ask(Nanos after = {}, std::function<void()> happen = nullptr) {
    StatusOr<client::HttpResponse> answer = base::Unavailable("still waiting");
    stage_.kernel.Spawn([&] {
      Process process(stage_.kernel);
      const auto client = wire_.MakeClient("user", process, {.name = "user"}, {});
      answer = client->Send({.target = "/api/v1/pods"});
    });
    if (happen) stage_.kernel.After(after, std::move(happen));
    stage_.kernel.RunUntil(stage_.kernel.now() + std::chrono::seconds(100));
    return answer;
  }

  Stage stage_{1};
  Wire wire_{stage_};
  LongAnswers server_;
};

TEST_F(WireTest, AListThatIsMadeAsItIsReadArrivesWhole) {
  wire_.Connect(&server_);
  const auto answer = Ask();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body.substr(0, 8), "1000,999");
  EXPECT_TRUE(answer->body.ends_with(",3,2,1,"));
}

TEST_F(WireTest, AServerThatDiesInTheMiddleOfAListHasNotAnswered) {
  wire_.Connect(&server_);
  // A thousand pieces take at least fifty milliseconds.
  const auto answer = Ask(std::chrono::milliseconds(8), [&] { wire_.Connect(nullptr); });
  EXPECT_EQ(server_.requests, 1);
  EXPECT_FALSE(answer.ok());
  EXPECT_NE(base::Message(answer.status()), "still waiting");
}

}  // namespace
}  // namespace dray::system
