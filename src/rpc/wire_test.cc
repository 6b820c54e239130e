// SPDX-License-Identifier: Apache-2.0
//
// What goes over the wire, byte by byte: paths of methods, numbers and types of fields. The bytes are
// written from the tables of the specification, or were recorded between a kubelet and a driver; no
// generated message is used here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "rpc/plugin_for_test.h"
#include "rpc/pod_resources.h"
#include "rpc/raw_for_test.h"
#include "testing/recorded_cases.h"
#include "testing/status_matchers.h"

namespace dray::rpc {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::chrono::seconds kSoon(20);
const std::vector<ClaimName> kClaim = {{.namespace_ = "default", .uid = "x", .name = "c1"}};

std::unique_ptr<PluginChannel> ChannelTo(const std::string& path, DraService dra,
                                         TestListener& listener,
                                         HealthService health = HealthService::kNone) {
  static const std::unique_ptr<PluginConnector> connector = SocketConnector();
  auto channel = connector->Channel({.endpoint = path, .dra = dra, .health = health}, listener);
  EXPECT_THAT(channel, IsOk());
  return *std::move(channel);
}

TEST(Wire, RegistrationAsTheAgentSpeaksIt) {
  const TestFolder folder;
  RawServer server(folder / "reg.sock");
  server.Answer("/pluginregistration.Registration/GetInfo",
                {.messages = {S(1, "DRAPlugin") + S(2, "gpu.example.com") + S(3, "/run/dra.sock") +
                              S(4, "v1.DRAPlugin") + S(4, "v1.DRAResourceHealth") + N(99, 1)}});
  server.Answer("/pluginregistration.Registration/NotifyRegistrationStatus", {.messages = {""}});
  const auto connector = SocketConnector();
  auto client = *connector->Registration(folder / "reg.sock");

  Answered<StatusOr<PluginInfo>> info;
  client->GetInfo(kSoon, info.done());
  EXPECT_THAT(info.Get(), IsOkAndHolds(PluginInfo{
                              .type = "DRAPlugin",
                              .name = "gpu.example.com",
                              .endpoint = "/run/dra.sock",
                              .supported_versions = {"v1.DRAPlugin", "v1.DRAResourceHealth"}}));
  Answered<Status> yes;
  client->Notify("", kSoon, yes.done());
  EXPECT_THAT(yes.Get(), IsOk());
  Answered<Status> no;
  client->Notify("no", kSoon, no.done());
  EXPECT_THAT(no.Get(), IsOk());
  EXPECT_THAT(
      server.Calls(),
      ElementsAre(Pair("/pluginregistration.Registration/GetInfo", ""),
                  Pair("/pluginregistration.Registration/NotifyRegistrationStatus", "0801"),
                  Pair("/pluginregistration.Registration/NotifyRegistrationStatus", "12026e6f")));
}

TEST(Wire, RegistrationAsTheDriverSpeaksIt) {
  const TestFolder folder;
  TestHandler handler;
  std::vector<std::pair<bool, std::string>> told;
  handler.registered_ = [&](bool registered, const std::string& error) -> Status {
    told.emplace_back(registered, error);
    if (registered) return {};
    return base::MakeStatus(StatusCode::kUnknown, "failed registration process: " + error);
  };
  handler.info = [] {
    return PluginInfo{.type = "DRAPlugin",
                      .name = "n",
                      .endpoint = "/e",
                      .supported_versions = {"v1.DRAPlugin", "v1beta1.DRAPlugin"}};
  };
  const auto server = ServePlugin({.registration = folder / "reg.sock"}, handler);
  ASSERT_THAT(server, IsOk());

  EXPECT_EQ(RawCall(folder / "reg.sock", "/pluginregistration.Registration/GetInfo", "").message,
            S(1, "DRAPlugin") + S(2, "n") + S(3, "/e") + S(4, "v1.DRAPlugin") +
                S(4, "v1beta1.DRAPlugin"));
  const std::string notify = "/pluginregistration.Registration/NotifyRegistrationStatus";
  EXPECT_TRUE(RawCall(folder / "reg.sock", notify, N(1, 1)).status.ok());
  const RawReply refused = RawCall(folder / "reg.sock", notify, Unhex("12026e6f"));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(refused.status.error_message(), "failed registration process: no");
  EXPECT_THAT(told, ElementsAre(Pair(true, ""), Pair(false, "no")));
  // Nothing but the registration is served on that socket.
  EXPECT_EQ(RawCall(folder / "reg.sock",
                    "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources", "")
                .status.error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

struct Version {
  DraService service;
  std::string prefix;
};
const Version kV1 = {DraService::kV1, "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"};
const Version kV1Beta1 = {DraService::kV1Beta1, "/k8s.io.kubelet.pkg.apis.dra.v1beta1.DRAPlugin/"};

TEST(Wire, PreparingAsTheAgentSpeaksIt) {
  for (const Version& version : {kV1, kV1Beta1}) {
    SCOPED_TRACE(version.prefix);
    const TestFolder folder;
    RawServer server(folder / "dra.sock");
    const std::string device = S(1, "r1") + S(1, "r2") + S(2, "pool") + S(3, "dev") + S(4, "a=1") +
                               S(4, "a=2") + S(5, "share");
    server.Answer(version.prefix + "NodePrepareResources",
                  {.messages = {S(1, S(1, "x") + S(2, S(1, device) + S(1, S(3, "bare")))) +
                                S(1, S(1, "y") + S(2, S(2, "no room")))}});
    server.Answer(version.prefix + "NodeUnprepareResources",
                  {.messages = {Unhex("0a050a01781200") + S(1, S(1, "y") + S(2, S(1, "busy")))}});
    TestListener listener;
    const auto channel = ChannelTo(folder / "dra.sock", version.service, listener);

    Answered<StatusOr<PrepareAnswer>> prepared;
    channel->Prepare(kClaim, kSoon, prepared.done());
    PrepareAnswer expected;
    expected["x"].devices = {
        {.requests = {"r1", "r2"}, .pool = "pool", .device = "dev", .cdi_ids = {"a=1", "a=2"}},
        {.device = "bare"}};
    // The older version has no such field; there it is one that nobody knows.
    if (version.service == DraService::kV1) expected["x"].devices[0].share_id = "share";
    expected["y"].error = "no room";
    EXPECT_THAT(prepared.Get(), IsOkAndHolds(expected));

    Answered<StatusOr<UnprepareAnswer>> unprepared;
    channel->Unprepare(kClaim, kSoon, unprepared.done());
    EXPECT_THAT(unprepared.Get(), IsOkAndHolds(UnprepareAnswer{{"x", ""}, {"y", "busy"}}));

    const std::string request = "0a100a0764656661756c741201781a026331";
    EXPECT_THAT(server.Calls(),
                ElementsAre(Pair(version.prefix + "NodePrepareResources", request),
                            Pair(version.prefix + "NodeUnprepareResources", request)));
  }
}

TEST(Wire, PreparingAsTheDriverSpeaksIt) {
  const TestFolder folder;
  TestHandler handler;
  std::vector<ClaimName> asked;
  handler.prepare = [&](const std::vector<ClaimName>& claims) {
    asked = claims;
    PrepareAnswer answer;
    answer["x"].devices = {{.requests = {"r"},
                            .pool = "p",
                            .device = "d",
                            .cdi_ids = {"a=1", "a=2"},
                            .share_id = "s"}};
    return answer;
  };
  handler.unprepare = [&](const std::vector<ClaimName>&) { return UnprepareAnswer{{"x", "busy"}}; };
  const auto server = ServePlugin({.dra = folder / "dra.sock"}, handler);
  ASSERT_THAT(server, IsOk());
  for (const Version& version : {kV1, kV1Beta1}) {
    SCOPED_TRACE(version.prefix);
    std::string device = S(1, "r") + S(2, "p") + S(3, "d") + S(4, "a=1") + S(4, "a=2");
    if (version.service == DraService::kV1) device += S(5, "s");
    EXPECT_EQ(Hex(RawCall(folder / "dra.sock", version.prefix + "NodePrepareResources",
                          Unhex("0a100a0764656661756c741201781a026331") + N(7, 1))
                      .message),
              Hex(S(1, S(1, "x") + S(2, S(1, device)))));
    EXPECT_EQ(asked, kClaim);
    EXPECT_EQ(Hex(RawCall(folder / "dra.sock", version.prefix + "NodeUnprepareResources",
                          Unhex("0a100a0764656661756c741201781a026331"))
                      .message),
              Hex(S(1, S(1, "x") + S(2, S(1, "busy")))));
  }
}

TEST(Wire, HealthAsTheAgentSpeaksIt) {
  for (const auto& [service, path] :
       {std::pair(HealthService::kV1, "/v1.DRAResourceHealth/NodeWatchResources"),
        std::pair(HealthService::kV1Alpha1, "/v1alpha1.DRAResourceHealth/NodeWatchResources")}) {
    SCOPED_TRACE(path);
    const TestFolder folder;
    RawServer server(folder / "dra.sock");
    server.Answer(path, {.messages = {S(1, S(1, S(1, "p") + S(2, "d")) + N(2, 2) +
                                               N(3, 1700000000) + N(4, 7) + S(5, "too hot")) +
                                          S(1, S(1, S(1, "p") + S(2, "e")) + N(2, 1) + N(4, -1)) +
                                          S(1, N(2, 17)),
                                      ""},
                         .status = grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no")});
    TestListener listener;
    const auto channel = ChannelTo(folder / "dra.sock", DraService::kV1, listener, service);
    channel->WatchHealth();
    ASSERT_TRUE(Eventually([&] { return listener.messages().size() == 1; }));
    EXPECT_THAT(listener.messages()[0],
                ElementsAre(DeviceHealth{.pool = "p",
                                         .device = "d",
                                         .health = Health::kUnhealthy,
                                         .last_updated_seconds = 1700000000,
                                         .timeout = std::chrono::seconds(7),
                                         .message = "too hot"},
                            DeviceHealth{.pool = "p", .device = "e", .health = Health::kHealthy},
                            DeviceHealth{}));
    channel->NextHealth();
    ASSERT_TRUE(Eventually([&] { return listener.messages().size() == 2; }));
    EXPECT_THAT(listener.messages()[1], IsEmpty());
    EXPECT_THAT(listener.ends(), IsEmpty());
    channel->NextHealth();
    ASSERT_TRUE(Eventually([&] { return !listener.ends().empty(); }));
    EXPECT_THAT(listener.ends(), ElementsAre(StatusIs(StatusCode::kUnimplemented, "no")));
    EXPECT_THAT(server.Calls(), ElementsAre(Pair(path, "")));
  }
}

TEST(Wire, HealthAsTheDriverSpeaksIt) {
  const TestFolder folder;
  TestHandler handler;
  handler.watch_health = [](const std::shared_ptr<HealthReports>& reports) -> Status {
    reports->Send({{.pool = "p",
                    .device = "d",
                    .health = Health::kUnhealthy,
                    .last_updated_seconds = 5,
                    .timeout = std::chrono::seconds(7),
                    .message = "m"}});
    return {};
  };
  const auto server = ServePlugin({.dra = folder / "dra.sock"}, handler);
  ASSERT_THAT(server, IsOk());
  for (const char* path : {"/v1.DRAResourceHealth/NodeWatchResources",
                           "/v1alpha1.DRAResourceHealth/NodeWatchResources"}) {
    // One message and the end is what a unary call looks like, too.
    EXPECT_EQ(Hex(RawCall(folder / "dra.sock", path, "").message),
              Hex(S(1, S(1, S(1, "p") + S(2, "d")) + N(2, 2) + N(3, 5) + N(4, 7) + S(5, "m"))));
  }
}

class OnePod final : public PodResourcesSource {
 public:
  explicit OnePod(PodResources pod) : pod_(std::move(pod)) {}
  void List(Done<std::vector<PodResources>> done) override {
    done(std::vector<PodResources>{pod_});
  }
  void Get(const std::string& namespace_, const std::string& name,
           Done<std::optional<PodResources>> done) override {
    if (namespace_ == pod_.namespace_ && name == pod_.name) {
      done(std::optional(pod_));
    } else {
      done(std::optional<PodResources>());
    }
  }

 private:
  const PodResources pod_;
};

TEST(Wire, PodResources) {
  const std::string pod =
      S(1, "pod") + S(2, "ns") +
      S(3, S(1, "ctr") + S(5, S(2, "claim") + S(3, "ns") +
                                  S(4, S(1, S(1, "a=1")) + S(1, S(1, "a=2")) + S(2, "driver") +
                                           S(3, "pool") + S(4, "dev") + S(5, "share")) +
                                  S(4, S(2, "driver") + S(3, "pool") + S(4, "other"))));
  OnePod source(
      {.name = "pod",
       .namespace_ = "ns",
       .containers = {
           {.name = "ctr",
            .claims = {
                {.claim_name = "claim",
                 .claim_namespace = "ns",
                 .resources = {{.driver = "driver",
                                .pool = "pool",
                                .device = "dev",
                                .cdi_devices = {"a=1", "a=2"},
                                .share_id = "share"},
                               {.driver = "driver", .pool = "pool", .device = "other"}}}}}}});
  const TestFolder folder;
  const base::SystemClock clock;
  const std::string socket = folder / "kubelet.sock";
  const auto server = ServePodResources({.socket = socket, .clock = &clock}, source);
  ASSERT_THAT(server, IsOk());
  EXPECT_EQ(Hex(RawCall(socket, "/v1.PodResourcesLister/List", "").message), Hex(S(1, pod)));
  EXPECT_EQ(Hex(RawCall(socket, "/v1.PodResourcesLister/Get", S(1, "pod") + S(2, "ns")).message),
            Hex(S(1, pod)));
  EXPECT_EQ(RawCall(socket, "/v1.PodResourcesLister/GetAllocatableResources", "").message, "");
  const RawReply none = RawCall(socket, "/v1.PodResourcesLister/Get", S(1, "p") + S(2, "n"));
  EXPECT_EQ(none.status.error_code(), grpc::StatusCode::UNKNOWN);
  EXPECT_EQ(none.status.error_message(), "pod p in namespace n not found");
}

// The same list as a kubelet sent: read, and written again without a byte lost.
TEST(Wire, PodResourcesThatAKubeletSent) {
  const auto shared = testing::SharedFolder("transcripts/node");
  if (!shared) GTEST_SKIP() << "no recorded transcripts here";
  std::istringstream lines(testing::ReadFile(*shared / "wire.txt"));
  std::string method;
  std::string recorded;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("/")) method = line;
    if (method == "/v1.PodResourcesLister/List" && line.starts_with("  response ")) {
      recorded = line.substr(11);
    }
  }
  ASSERT_FALSE(recorded.empty());

  const TestFolder folder;
  RawServer kubelet(folder / "kubelet.sock");
  kubelet.Answer("/v1.PodResourcesLister/List", {.messages = {Unhex(recorded)}});
  auto client = ConnectPodResources(folder / "kubelet.sock");
  ASSERT_THAT(client, IsOk());
  const auto pods = (*client)->List();
  ASSERT_THAT(pods, IsOk());
  ASSERT_EQ(pods->size(), 1);
  EXPECT_EQ(pods->front().name, "pp");
  ASSERT_EQ(pods->front().containers.size(), 3);
  EXPECT_EQ(pods->front().containers[2].name, "ext");

  OnePod source(pods->front());
  const base::SystemClock clock;
  const auto server = ServePodResources({.socket = folder / "ours.sock", .clock = &clock}, source);
  ASSERT_THAT(server, IsOk());
  EXPECT_EQ(Hex(RawCall(folder / "ours.sock", "/v1.PodResourcesLister/List", "").message),
            recorded);
}

}  // namespace
}  // namespace dray::rpc
