// SPDX-License-Identifier: Apache-2.0
//
// Agent and driver, each through the plain values of its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <proto/dra_v1.grpc.pb.h>
#include <sys/stat.h>

#include <fstream>

#include "rpc/plugin_for_test.h"
#include "rpc/raw_for_test.h"
#include "rpc/sockets_for_test.h"
#include "testing/status_matchers.h"

namespace dray::rpc {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::chrono::seconds kSoon(20);

std::vector<ClaimName> Claims(const std::string& uid) {
  return {{.namespace_ = "ns", .uid = uid, .name = "claim-" + uid}};
}

class PluginTest : public ::testing::Test {
 protected:
  std::unique_ptr<PluginServer> Serve() {
    auto server = ServePlugin({.registration = reg_, .dra = dra_}, handler_);
    EXPECT_THAT(server, IsOk());
    return *std::move(server);
  }
  std::unique_ptr<PluginChannel> Connect(DraService dra = DraService::kV1,
                                         HealthService health = HealthService::kV1) {
    auto channel = connector_->Channel({.endpoint = dra_, .dra = dra, .health = health}, listener_);
    EXPECT_THAT(channel, IsOk());
    return *std::move(channel);
  }
  StatusOr<PrepareAnswer> Prepare(PluginChannel& channel, const std::string& uid) {
    Answered<StatusOr<PrepareAnswer>> answered;
    channel.Prepare(Claims(uid), kSoon, answered.done());
    return answered.Get();
  }

  const TestFolder folder_;
  const std::string reg_ = folder_ / "reg.sock";
  const std::string dra_ = folder_ / "dra.sock";
  TestHandler handler_;
  TestListener listener_;
  const std::unique_ptr<PluginConnector> connector_ = SocketConnector();
};

TEST_F(PluginTest, BothVersionsReachOneHandler) {
  const auto server = Serve();
  for (const DraService dra : {DraService::kV1, DraService::kV1Beta1}) {
    const auto channel = Connect(dra);
    const auto answer = Prepare(*channel, "u");
    ASSERT_THAT(answer, IsOk());
    ASSERT_THAT(answer->at("u").devices, SizeIs(1));
    EXPECT_EQ(answer->at("u").devices[0].share_id.has_value(), dra == DraService::kV1);
    EXPECT_EQ(answer->at("u").devices[0].cdi_ids[0], "example.com/gpu=u");
    Answered<StatusOr<UnprepareAnswer>> unprepared;
    channel->Unprepare(Claims("u"), kSoon, unprepared.done());
    EXPECT_THAT(unprepared.Get(), IsOkAndHolds(UnprepareAnswer{{"u", ""}}));
  }
}

TEST_F(PluginTest, ServicesThatAreNotOfferedAreNotThere) {
  auto server = ServePlugin({.dra = dra_, .v1 = false, .health_v1 = false}, handler_);
  ASSERT_THAT(server, IsOk());
  const auto channel = Connect(DraService::kV1);
  EXPECT_THAT(Prepare(*channel, "u"), StatusIs(StatusCode::kUnimplemented, ::testing::_));
  channel->WatchHealth();
  ASSERT_TRUE(Eventually([&] { return !listener_.ends().empty(); }));
  EXPECT_THAT(listener_.ends(), ElementsAre(StatusIs(StatusCode::kUnimplemented, ::testing::_)));
  const auto older = Connect(DraService::kV1Beta1);
  EXPECT_THAT(Prepare(*older, "u"), IsOk());
}

TEST_F(PluginTest, OneSocketForEverything) {
  auto server = ServePlugin({.registration = dra_, .dra = dra_}, handler_);
  ASSERT_THAT(server, IsOk());
  auto registration = *connector_->Registration(dra_);
  Answered<StatusOr<PluginInfo>> info;
  registration->GetInfo(kSoon, info.done());
  EXPECT_THAT(info.Get(), IsOk());
  const auto channel = Connect();
  EXPECT_THAT(Prepare(*channel, "u"), IsOk());
}

TEST_F(PluginTest, ErrorsOfTheHandlerKeepTheirCode) {
  handler_.prepare = [](const std::vector<ClaimName>&) {
    return base::FailedPrecondition("claim ns/c not allocated");
  };
  const auto server = Serve();
  const auto channel = Connect();
  EXPECT_THAT(Prepare(*channel, "u"),
              StatusIs(StatusCode::kFailedPrecondition, "claim ns/c not allocated"));
}

TEST_F(PluginTest, ACallThatHangsEndsAtItsDeadlineAndKeepsNobodyElseWaiting) {
  std::promise<void> let_go;
  std::shared_future<void> gone = let_go.get_future().share();
  handler_.prepare = [&](const std::vector<ClaimName>&) {
    gone.wait();
    return PrepareAnswer();
  };
  const auto server = Serve();
  const auto channel = Connect();
  std::vector<Answered<StatusOr<PrepareAnswer>>> hanging(16);
  for (auto& one : hanging) {
    channel->Prepare(Claims("u"), std::chrono::milliseconds(500), one.done());
  }
  Answered<StatusOr<UnprepareAnswer>> unprepared;
  channel->Unprepare(Claims("u"), kSoon, unprepared.done());
  EXPECT_THAT(unprepared.Get(), IsOk());
  for (auto& one : hanging) {
    EXPECT_THAT(one.Get(), StatusIs(StatusCode::kDeadlineExceeded, ::testing::_));
  }
  let_go.set_value();
}

TEST_F(PluginTest, CallsOnTheirWayEndWithTheirChannel) {
  std::promise<void> let_go;
  std::shared_future<void> gone = let_go.get_future().share();
  handler_.prepare = [&](const std::vector<ClaimName>&) {
    gone.wait();
    return PrepareAnswer();
  };
  const auto server = Serve();
  auto channel = Connect();
  std::atomic<int> called = 0;
  for (int i = 0; i < 5; ++i) {
    channel->Prepare(Claims("u"), kSoon, [&](const StatusOr<PrepareAnswer>& answer) {
      EXPECT_THAT(answer, StatusIs(StatusCode::kCancelled, ::testing::_));
      ++called;
    });
  }
  channel.reset();
  EXPECT_EQ(called, 5);
  let_go.set_value();
}

// gRPC calls back on threads that live as long as some channel does. A call that is still being put
// away when its channel goes must not take the channel's last owner with it onto such a thread: it
// would wait for its own end. No server of ours is here, since that would keep those threads alive.
TEST_F(PluginTest, AChannelGoesAsSoonAsItsAnswerIsThere) {
  class Plain final : public ::k8s::io::kubelet::pkg::apis::dra::v1::DRAPlugin::Service {};
  Plain plain;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + dra_, grpc::InsecureServerCredentials());
  builder.RegisterService(&plain);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  // A call that is long in being put away.
  const std::vector<ClaimName> many(20'000, Claims(std::string(36, 'u'))[0]);
  for (int i = 0; i < 20; ++i) {
    auto channel = Connect();
    Answered<StatusOr<UnprepareAnswer>> unprepared;
    channel->Unprepare(many, kSoon, unprepared.done());
    EXPECT_THAT(unprepared.Get(), StatusIs(StatusCode::kUnimplemented, ::testing::_));
    channel.reset();
  }
}

TEST_F(PluginTest, AConnectionIsMadeAtOnceAndIsTheOnlyOne) {
  handler_.watch_health = [kept = std::make_shared<std::vector<std::shared_ptr<HealthReports>>>()](
                              std::shared_ptr<HealthReports> reports) -> Status {
    reports->Send({{.pool = "p", .device = "d", .health = Health::kHealthy}});
    kept->push_back(std::move(reports));
    return {};
  };
  auto server = Serve();
  const SocketServer counting(folder_ / "front.sock", PassOnTo(dra_));
  auto channel = connector_->Channel(
      {.endpoint = folder_ / "front.sock", .health = HealthService::kV1}, listener_);
  ASSERT_THAT(channel, IsOk());
  // Nobody has called anything.
  ASSERT_TRUE(Eventually([&] { return listener_.connected(); }));
  EXPECT_EQ(counting.accepted(), 1);
  (*channel)->WatchHealth();
  ASSERT_TRUE(Eventually([&] { return listener_.messages().size() == 1; }));
  for (int i = 0; i < 20; ++i) EXPECT_THAT(Prepare(**channel, "u"), IsOk());
  EXPECT_EQ(counting.accepted(), 1);
  channel->reset();
}

TEST_F(PluginTest, ADriverThatRestartsIsConnectedAgain) {
  auto server = Serve();
  const auto channel = Connect();
  ASSERT_TRUE(Eventually([&] { return listener_.connected(); }));
  server.reset();
  ASSERT_TRUE(Eventually([&] { return !listener_.connected(); }));
  EXPECT_THAT(Prepare(*channel, "u"), StatusIs(StatusCode::kUnavailable, ::testing::_));
  const auto away = std::chrono::steady_clock::now();
  server = Serve();
  ASSERT_TRUE(Eventually([&] { return listener_.connected(); }));
  EXPECT_LT(std::chrono::steady_clock::now() - away, std::chrono::seconds(15));
  EXPECT_THAT(Prepare(*channel, "u"), IsOk());
  EXPECT_THAT(listener_.changes(), ElementsAre(true, false, true));
}

TEST_F(PluginTest, ADriverThatComesLaterIsConnectedThen) {
  const auto channel = Connect();
  EXPECT_THAT(Prepare(*channel, "u"), StatusIs(StatusCode::kUnavailable, ::testing::_));
  EXPECT_THAT(listener_.changes(), IsEmpty());
  const auto server = Serve();
  ASSERT_TRUE(Eventually([&] { return listener_.connected(); }));
  EXPECT_THAT(Prepare(*channel, "u"), IsOk());
}

TEST_F(PluginTest, HealthIsReportedUntilTheHandlerLetsGo) {
  std::promise<std::shared_ptr<HealthReports>> watching;
  handler_.watch_health = [&](std::shared_ptr<HealthReports> reports) -> Status {
    watching.set_value(std::move(reports));
    return {};
  };
  const auto server = Serve();
  const auto channel = Connect();
  channel->WatchHealth();
  std::shared_ptr<HealthReports> reports = watching.get_future().get();
  EXPECT_TRUE(reports->Send({{.pool = "p", .device = "d", .health = Health::kHealthy}}));
  ASSERT_TRUE(Eventually([&] { return listener_.messages().size() == 1; }));
  // Not asked for yet: the agent is not told, however often it is said.
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(reports->Send({{.pool = "p",
                                .device = "d" + std::to_string(i % 10),
                                .health = Health::kUnhealthy,
                                .message = std::to_string(i)}}));
  }
  EXPECT_THAT(listener_.messages(), SizeIs(1));
  reports = nullptr;
  while (listener_.ends().empty()) {
    channel->NextHealth();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_THAT(listener_.ends(), ElementsAre(IsOk()));
  // The latest of each device has arrived.
  std::map<std::string, std::string> last;
  for (const auto& message : listener_.messages()) {
    for (const DeviceHealth& device : message) last[device.device] = device.message;
  }
  EXPECT_THAT(last, SizeIs(11));
  EXPECT_EQ(last["d7"], "997");
}

TEST_F(PluginTest, AnAgentThatGoesIsNoticed) {
  std::promise<std::shared_ptr<HealthReports>> watching;
  handler_.watch_health = [&](std::shared_ptr<HealthReports> reports) -> Status {
    watching.set_value(std::move(reports));
    return {};
  };
  const auto server = Serve();
  auto channel = Connect(DraService::kV1, HealthService::kV1Alpha1);
  channel->WatchHealth();
  const std::shared_ptr<HealthReports> reports = watching.get_future().get();
  EXPECT_TRUE(reports->Send({}));
  ASSERT_TRUE(Eventually([&] { return listener_.messages().size() == 1; }));
  // The stream waits for NextHealth; the channel goes all the same, and says nothing of it.
  channel.reset();
  EXPECT_THAT(listener_.ends(), IsEmpty());
  EXPECT_TRUE(Eventually([&] { return !reports->Send({}); }));
}

TEST_F(PluginTest, AServerGoesWithStreamsOpen) {
  std::vector<std::shared_ptr<HealthReports>> kept;
  base::Mutex mutex;
  handler_.watch_health = [&](std::shared_ptr<HealthReports> reports) -> Status {
    const base::MutexLock lock(mutex);
    kept.push_back(std::move(reports));
    return {};
  };
  auto server = Serve();
  const auto channel = Connect();
  channel->WatchHealth();
  ASSERT_TRUE(Eventually([&] {
    const base::MutexLock lock(mutex);
    return kept.size() == 1;
  }));
  server.reset();
  ASSERT_TRUE(Eventually([&] { return !listener_.ends().empty(); }));
  EXPECT_FALSE(kept[0]->Send({}));
  EXPECT_NE(access(dra_.c_str(), F_OK), 0) << "the socket's file is still there";
  EXPECT_NE(access(reg_.c_str(), F_OK), 0);
}

TEST_F(PluginTest, ASocketOfSomebodyWhoLivesIsNotTaken) {
  const auto server = Serve();
  EXPECT_THAT(ServePlugin({.dra = dra_}, handler_),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("dra.sock")));
  const auto channel = Connect();
  EXPECT_THAT(Prepare(*channel, "u"), IsOk());
}

TEST_F(PluginTest, ASocketOfSomebodyWhoDiedIsReplaced) {
  close(ListenOn(dra_));
  ASSERT_EQ(access(dra_.c_str(), F_OK), 0);
  const auto server = Serve();
  const auto channel = Connect();
  EXPECT_THAT(Prepare(*channel, "u"), IsOk());
}

TEST_F(PluginTest, AFileThatIsNoSocketStays) {
  std::ofstream(dra_) << "precious";
  EXPECT_THAT(ServePlugin({.dra = dra_}, handler_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not a socket")));
  EXPECT_EQ(std::filesystem::file_size(dra_), 8);
  EXPECT_THAT(ServePlugin({.dra = folder_ / "missing/dra.sock"}, handler_),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("does its folder exist")));
  EXPECT_THAT(ServePlugin({.dra = "dra.sock"}, handler_),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not absolute")));
}

TEST_F(PluginTest, PathsMayBeLongAndOdd) {
  std::string deep = folder_ / "a %2F#?ü";
  while (deep.size() < 150) {
    std::filesystem::create_directories(deep);
    deep += "/" + std::string(20, 'x');
  }
  std::filesystem::create_directories(deep);
  for (const std::string& path : {folder_ / "a %2F#?ü/dra.sock", deep + "/dra.sock"}) {
    SCOPED_TRACE(path);
    {
      const auto server = ServePlugin({.dra = path}, handler_);
      ASSERT_THAT(server, IsOk());
      EXPECT_TRUE(std::filesystem::is_socket(path));
      TestListener listener;
      auto channel = connector_->Channel({.endpoint = path}, listener);
      ASSERT_THAT(channel, IsOk());
      EXPECT_THAT(Prepare(**channel, "u"), IsOk());
    }
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_THAT(connector_->Registration(deep + "/" + std::string(100, 'y')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("too long")));
  EXPECT_THAT(connector_->Registration(deep + "/missing/reg.sock"),
              StatusIs(StatusCode::kNotFound, HasSubstr("missing")));
}

}  // namespace
}  // namespace dray::rpc
