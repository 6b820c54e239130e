// SPDX-License-Identifier: Apache-2.0
//
// Sockets with somebody at the other end who hangs, babbles, lies or floods: time and memory stay
// bounded, and errors say what happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "rpc/plugin_for_test.h"
#include "rpc/raw_for_test.h"
#include "rpc/sockets_for_test.h"
#include "testing/status_matchers.h"

namespace dray::rpc {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using ::testing::_;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using std::chrono::milliseconds;

constexpr std::chrono::seconds kSoon(20);
const std::string kPrepare = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources";
const std::string kHealth = "/v1.DRAResourceHealth/NodeWatchResources";

class BadPeers : public ::testing::Test {
 protected:
  StatusOr<PluginInfo> Info(const std::string& path, milliseconds deadline) {
    auto client = *connector_->Registration(path);
    Answered<StatusOr<PluginInfo>> info;
    client->GetInfo(deadline, info.done());
    return info.Get();
  }
  std::unique_ptr<PluginChannel> Connect(const std::string& path) {
    return *connector_->Channel({.endpoint = path, .health = HealthService::kV1}, listener_);
  }
  StatusOr<PrepareAnswer> Prepare(PluginChannel& channel, std::chrono::nanoseconds deadline) {
    Answered<StatusOr<PrepareAnswer>> answered;
    channel.Prepare({{.namespace_ = "n", .uid = "u", .name = "c"}}, deadline, answered.done());
    return answered.Get();
  }

  const TestFolder folder_;
  const std::string path_ = folder_ / "dra.sock";
  TestListener listener_;
  const std::unique_ptr<PluginConnector> connector_ = SocketConnector();
};

TEST_F(BadPeers, NobodyListens) {
  EXPECT_THAT(Info(path_, kSoon), StatusIs(StatusCode::kUnavailable, _));
  close(ListenOn(path_));
  EXPECT_THAT(Info(path_, kSoon), StatusIs(StatusCode::kUnavailable, HasSubstr("refused")));
}

TEST_F(BadPeers, ASocketThatSaysNothingCostsTheDeadline) {
  const SocketServer silent(path_, Silence);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Info(path_, milliseconds(300)), AnyOf(StatusIs(StatusCode::kDeadlineExceeded, _),
                                                    StatusIs(StatusCode::kUnavailable, _)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  const auto channel = Connect(path_);
  EXPECT_THAT(Prepare(*channel, milliseconds(300)), StatusIs(StatusCode::kDeadlineExceeded, _));
  EXPECT_THAT(listener_.changes(), IsEmpty());
}

TEST_F(BadPeers, ASocketThatBabblesIsNotConnected) {
  const SocketServer babbling(path_, Babble);
  EXPECT_THAT(Info(path_, milliseconds(500)), AnyOf(StatusIs(StatusCode::kUnavailable, _),
                                                    StatusIs(StatusCode::kDeadlineExceeded, _)));
  const auto channel = Connect(path_);
  EXPECT_THAT(
      Prepare(*channel, milliseconds(500)),
      AnyOf(StatusIs(StatusCode::kUnavailable, _), StatusIs(StatusCode::kDeadlineExceeded, _)));
  EXPECT_FALSE(listener_.connected());
  // It is not hammered: a second passes between two attempts.
  EXPECT_LT(babbling.accepted(), 10);
}

TEST_F(BadPeers, AnswersThatAreNoMessages) {
  RawServer server(path_);
  const auto channel = Connect(path_);
  for (const std::string& bytes : {std::string("\x0a\xff"), std::string(1, '\x0a'),
                                   S(1, S(1, "u") + S(2, S(2, "\xff\xfe no UTF-8")))}) {
    server.Answer(kPrepare, {.messages = {bytes}});
    EXPECT_THAT(Prepare(*channel, kSoon), StatusIs(StatusCode::kInternal, _)) << Hex(bytes);
  }
  // And the connection lives.
  server.Answer(kPrepare, {.messages = {""}});
  EXPECT_THAT(Prepare(*channel, kSoon), IsOk());
}

TEST_F(BadPeers, AnswersThatAreTooLong) {
  RawServer server(path_);
  server.Answer(kPrepare,
                {.messages = {S(1, S(1, "u") + S(2, S(2, std::string(kLongestMessage, 'x'))))}});
  const auto channel = Connect(path_);
  EXPECT_THAT(Prepare(*channel, kSoon),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("larger than max")));
  server.Answer(kPrepare, {.messages = {""}});
  EXPECT_THAT(Prepare(*channel, kSoon), IsOk());
}

TEST_F(BadPeers, CodesThatNobodyKnows) {
  RawServer server(path_);
  // 29 is none of gRPC's, and a number that its type can hold.
  server.Answer(kPrepare, {.status = grpc::Status(static_cast<grpc::StatusCode>(29), "odd")});
  const auto channel = Connect(path_);
  EXPECT_THAT(Prepare(*channel, kSoon), StatusIs(StatusCode::kUnknown, HasSubstr("odd")));
}

TEST_F(BadPeers, MoreAnswersThanOneAndFewer) {
  RawServer server(path_);
  const auto channel = Connect(path_);
  server.Answer(kPrepare, {});
  EXPECT_THAT(Prepare(*channel, kSoon), StatusIs(StatusCode::kInternal, HasSubstr("no message")));
  server.Answer(kPrepare, {.messages = {"", ""}});
  (void)Prepare(*channel, milliseconds(300));  // whatever it is, it ends
}

TEST_F(BadPeers, HealthThatIsNoMessage) {
  RawServer server(path_);
  server.Answer(kHealth, {.messages = {S(1, N(2, 1)), "\x0a\xff"}, .stays_open = true});
  const auto channel = Connect(path_);
  channel->WatchHealth();
  ASSERT_TRUE(Eventually([&] { return listener_.messages().size() == 1; }));
  channel->NextHealth();
  ASSERT_TRUE(Eventually([&] { return !listener_.ends().empty(); }));
  EXPECT_THAT(listener_.ends()[0], StatusIs(StatusCode::kInternal, _));
}

// A driver that reports a hundred thousand devices as often as it can waits for its reader.
TEST_F(BadPeers, AFloodOfHealthWaits) {
  RawServer server(path_);
  std::string everything;
  for (int i = 0; i < 100'000; ++i) {
    everything += S(1, S(1, S(1, "pool") + S(2, "device-" + std::to_string(i))) + N(2, 1));
  }
  server.Answer(kHealth, {.messages = std::vector<std::string>(8, everything)});
  auto channel = Connect(path_);
  channel->WatchHealth();
  ASSERT_TRUE(Eventually([&] { return listener_.messages().size() == 1; }));
  EXPECT_THAT(listener_.messages()[0], SizeIs(100'000));
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_THAT(listener_.messages(), SizeIs(1));
  channel->NextHealth();
  channel->NextHealth();  // more often than there is something to ask for
  ASSERT_TRUE(Eventually([&] { return listener_.messages().size() == 2; }));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_THAT(listener_.messages(), SizeIs(2));
  // Other calls are served meanwhile, and all of it can be dropped in the middle.
  server.Answer(kPrepare, {.messages = {""}});
  EXPECT_THAT(Prepare(*channel, kSoon), IsOk());
  channel.reset();
}

// What a stranger may send to a driver of ours.
TEST_F(BadPeers, StrangersAtTheDriversSocket) {
  TestHandler handler;
  const auto server = ServePlugin({.dra = path_}, handler);
  ASSERT_THAT(server, IsOk());
  int called = 0;
  handler.prepare = [&](const std::vector<ClaimName>&) {
    ++called;
    return PrepareAnswer();
  };
  EXPECT_FALSE(RawCall(path_, kPrepare, "\x0a\xff").status.ok());
  EXPECT_EQ(RawCall(path_, kPrepare, S(1, std::string(kLongestMessage, 'x'))).status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(called, 0);
  {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = UnixAddress(path_);
    ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const std::string text = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_GT(send(fd, text.data(), text.size(), MSG_NOSIGNAL), 0);
    close(fd);
  }
  EXPECT_TRUE(RawCall(path_, kPrepare, "").status.ok());
}

}  // namespace
}  // namespace dray::rpc
