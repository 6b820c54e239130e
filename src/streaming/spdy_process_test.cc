// SPDX-License-Identifier: Apache-2.0
//
// Processes behind SPDY, as the API server of a Kubernetes asks a node for them.
#include "streaming/internal/spdy_process_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/clock.h"
#include "container/none_runtime.h"
#include "spdy/frames.h"

namespace dray::streaming {
namespace {

using ::testing::HasSubstr;
using State = apiserver::StreamSource::State;
using Kind = spdy::Frame::Kind;

class SpdyProcessTest : public ::testing::Test {
 protected:
  SpdyProcessTest() {
    container::SandboxConfig sandbox{.pod = {.namespace_ = "ns", .name = "p", .uid = "u"}};
    runtime_.RunSandbox(sandbox, [&](const auto& made) { sandbox_ = made->id; });
    runtime_.Create(sandbox_, sandbox, {.name = "c"}, [&](const auto& made) { id_ = *made; });
    runtime_.Start(id_, [](const Status&) {});
    runtime_.SetExec(
        [](const container::ContainerConfig&, const std::vector<std::string>& command) {
          return container::ExecResult{
              .exit_code = command[0] == "bad" ? 3 : 0, .out = "out", .err = "err"};
        });
  }
  void Open(std::string command, bool err = true) {
    internal::ProcessRequest request;
    request.exec = {.container_id = id_, .command = {std::move(command)}};
    request.out = true;
    request.err = err;
    stream_ = internal::MakeSpdyProcessStream(runtime_, std::move(request));
    stream_->Start([] {});
    frames_ = spdy::FrameReader();
    writer_ = spdy::FrameWriter();
  }
  std::uint32_t Begin(std::string type) {
    next_ += 2;
    const std::string frame = writer_.SynStream(next_, {{"streamtype", std::move(type)}});
    EXPECT_EQ(stream_->Receive(frame), frame.size());
    Pull();
    return next_;
  }
  void Pull() {
    std::vector<apiserver::Bytes> out;
    ended_ = stream_->Pull(out) == State::kEnd;
    for (const apiserver::Bytes& bytes : out) frames_.Add(*bytes);
    for (;;) {
      auto frame = frames_.Next();
      ASSERT_TRUE(frame.ok());
      if (!frame->has_value()) return;
      const spdy::Frame& one = **frame;
      if (one.kind == Kind::kData) said_[one.stream] += one.data;
      if (one.kind == Kind::kData && one.last) over_.insert(one.stream);
      if (one.kind == Kind::kSynReply) agreed_.insert(one.stream);
      if (one.kind == Kind::kReset) reset_.insert(one.stream);
    }
  }

  const base::SystemClock clock_{};
  container::NoneRuntime runtime_{clock_};
  std::string sandbox_;
  std::string id_;
  std::unique_ptr<apiserver::StreamSource> stream_;
  spdy::FrameReader frames_;
  spdy::FrameWriter writer_;
  std::uint32_t next_ = static_cast<std::uint32_t>(-1);
  std::map<std::uint32_t, std::string> said_;
  std::set<std::uint32_t> over_;
  std::set<std::uint32_t> agreed_;
  std::set<std::uint32_t> reset_;
  bool ended_ = false;
};

TEST_F(SpdyProcessTest, BeginsWhenAllStreamsHaveAndEndsWithTheCode) {
  Open("bad");
  const std::uint32_t error = Begin("error");
  const std::uint32_t out = Begin("stdout");
  EXPECT_TRUE(said_.empty());
  const std::uint32_t err = Begin("stderr");
  EXPECT_EQ(said_[out], "out");
  EXPECT_EQ(said_[err], "err");
  EXPECT_THAT(said_[error], HasSubstr("\"NonZeroExitCode\""));
  EXPECT_THAT(said_[error], HasSubstr("\"3\""));
  EXPECT_EQ(over_, (std::set<std::uint32_t>{error, out, err}));
  EXPECT_EQ(agreed_, (std::set<std::uint32_t>{error, out, err}));
  EXPECT_TRUE(ended_);
}

TEST_F(SpdyProcessTest, StreamsThatNobodyAskedForAreRefused) {
  Open("good", /*err=*/false);
  for (const char* type : {"stdin", "stderr", "resize", "video", ""}) {
    const std::uint32_t stream = Begin(type);
    EXPECT_TRUE(reset_.contains(stream)) << type;
  }
  (void)Begin("error");
  EXPECT_TRUE(reset_.contains(Begin("error")));
  const std::uint32_t out = Begin("stdout");
  EXPECT_EQ(said_[out], "out");
}

TEST_F(SpdyProcessTest, NoiseIsSurvived) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    Open("good");
    std::string bytes = writer_.SynStream(1, {{"streamtype", "error"}});
    bytes += writer_.SynStream(3, {{"streamtype", "stdout"}});
    bytes += writer_.SynStream(5, {{"streamtype", "stderr"}}) + spdy::FrameWriter::Data(1, "x");
    for (int i = static_cast<int>(random() % 4); i >= 0; --i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    (void)stream_->Receive(bytes);
    std::vector<apiserver::Bytes> out;
    (void)stream_->Pull(out);
  }
}

}  // namespace
}  // namespace dray::streaming
