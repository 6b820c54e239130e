// SPDX-License-Identifier: Apache-2.0
//
// The client against a runtime of bytes, written from the tables of the specification: every number
// that is sent or read is checked here.
#include "rpc/cri_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/plugin_for_test.h"
#include "rpc/raw_for_test.h"
#include "testing/status_matchers.h"

namespace dray::rpc {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Optional;

class CriTest : public ::testing::Test {
 protected:
  // What a call answers when the runtime says `response`; its request goes to sent_.
  template <class T, class Call>
  StatusOr<T> Ask(const std::string& method, const std::string& response, const Call& call) {
    server_.Answer("/runtime.v1." + method, {.messages = {response}});
    Answered<StatusOr<T>> answered;
    call(answered.done());
    StatusOr<T> out = answered.Get();
    EXPECT_EQ(server_.Calls().back().first, "/runtime.v1." + method);
    sent_ = server_.Calls().back().second;
    return out;
  }
  template <class Call>
  Status Order(const std::string& method, const Call& call) {
    server_.Answer("/runtime.v1." + method, {.messages = {""}});
    Answered<Status> answered;
    call(answered.done());
    Status out = answered.Get();
    EXPECT_EQ(server_.Calls().back().first, "/runtime.v1." + method);
    sent_ = server_.Calls().back().second;
    return out;
  }

  const TestFolder folder_;
  RawServer server_{folder_ / "cri.sock"};
  const std::unique_ptr<CriClient> client_ = *ConnectCri({.endpoint = folder_ / "cri.sock"});
  std::string sent_;
};

const std::string kSandboxMetadata = S(1, "pod") + S(2, "uid") + S(3, "ns") + N(4, 2);

CriSandboxConfig Sandbox() {
  return {.metadata = {.name = "pod", .uid = "uid", .namespace_ = "ns", .attempt = 2},
          .hostname = "host",
          .log_directory = "/logs",
          .dns_servers = {"10.0.0.10"},
          .dns_searches = {"svc"},
          .dns_options = {"ndots:5"},
          .labels = {{"l", "1"}},
          .annotations = {{"a", "2"}},
          .cgroup_parent = "/dray",
          .sysctls = {{"s", "3"}},
          .security = {.privileged = true,
                       .namespaces = {.network = NamespaceMode::kNode},
                       .run_as_user = 0,
                       .run_as_group = 7,
                       .readonly_rootfs = true,
                       .supplemental_groups = {5, 6},
                       .seccomp = CriProfile{.type = CriProfile::Type::kLocalhost,
                                             .localhost_ref = "profile"},
                       .apparmor = CriProfile{.type = CriProfile::Type::kRuntimeDefault},
                       .selinux = CriSelinux{.user = {}, .role = {}, .type = {}, .level = "s1"}}};
}
const std::string kSandbox =
    S(1, kSandboxMetadata) + S(2, "host") + S(3, "/logs") +
    S(4, S(1, "10.0.0.10") + S(2, "svc") + S(3, "ndots:5")) + M(6, "l", "1") + M(7, "a", "2") +
    S(8,
      S(1, "/dray") +
          // Groups are numbers in a row. A user of 0 is one, hence a message without content.
          S(2, S(1, N(1, 2) + N(2, 1)) + S(2, S(4, "s1")) + S(3, "") + N(4, 1) + S(5, "\x05\x06") +
                   N(6, 1) + S(8, N(1, 7)) + S(9, N(1, 2) + S(2, "profile")) + S(10, "")) +
          M(3, "s", "3"));

TEST_F(CriTest, TheRuntimeItself) {
  EXPECT_THAT(
      Ask<CriVersion>("RuntimeService/Version",
                      S(1, "0.1.0") + S(2, "containerd") + S(3, "v2.1.9") + S(4, "v1"),
                      [&](auto done) { client_->Version(done); }),
      IsOkAndHolds(CriVersion{
          .runtime_name = "containerd", .runtime_version = "v2.1.9", .runtime_api_version = "v1"}));
  EXPECT_EQ(sent_, Hex(S(1, "v1")));
  EXPECT_THAT(
      Ask<CriStatus>(
          "RuntimeService/Status",
          S(1, S(1, S(1, "RuntimeReady") + N(2, 1)) +
                   S(1, S(1, "NetworkReady") + S(3, "NetworkPluginNotReady") + S(4, "no CNI"))) +
              M(2, "config", "{}"),
          [&](auto done) { client_->Status(done); }),
      IsOkAndHolds(CriStatus{.conditions = {CriCondition{.type = "RuntimeReady", .status = true},
                                            CriCondition{.type = "NetworkReady",
                                                         .reason = "NetworkPluginNotReady",
                                                         .message = "no CNI"}},
                             .info = {{"config", "{}"}}}));
  EXPECT_EQ(sent_, Hex(N(1, 1)));
  const auto cgroups = [&](auto done) { client_->Cgroups(done); };
  EXPECT_THAT(Ask<CgroupDriver>("RuntimeService/RuntimeConfig", S(1, N(1, 1)), cgroups),
              IsOkAndHolds(CgroupDriver::kCgroupfs));
  EXPECT_THAT(Ask<CgroupDriver>("RuntimeService/RuntimeConfig", S(1, ""), cgroups),
              IsOkAndHolds(CgroupDriver::kSystemd));
}

TEST_F(CriTest, Sandboxes) {
  EXPECT_THAT(Ask<std::string>("RuntimeService/RunPodSandbox", S(1, "id"),
                               [&](auto done) { client_->RunPodSandbox(Sandbox(), done); }),
              IsOkAndHolds("id"));
  EXPECT_EQ(sent_, Hex(S(1, kSandbox)));

  CriSandbox expected{.id = "id",
                      .metadata = {.name = "pod", .uid = "uid", .namespace_ = "ns", .attempt = 2},
                      .state = CriSandboxState::kNotReady,
                      .created_at = 12,
                      .labels = {{"l", "1"}},
                      .annotations = {{"a", "2"}}};
  EXPECT_THAT(
      Ask<std::vector<CriSandbox>>("RuntimeService/ListPodSandbox",
                                   S(1, S(1, "id") + S(2, kSandboxMetadata) + N(3, 1) + N(4, 12) +
                                            M(5, "l", "1") + M(6, "a", "2") + S(7, "handler")),
                                   [&](auto done) {
                                     client_->ListPodSandboxes({{"k", "v"}}, done);
                                   }),
      IsOkAndHolds(ElementsAre(expected)));
  EXPECT_EQ(sent_, Hex(S(1, M(3, "k", "v"))));

  expected.ips = {"10.1.1.1", "fd00::1"};
  expected.state = CriSandboxState::kReady;
  EXPECT_THAT(Ask<CriSandbox>("RuntimeService/PodSandboxStatus",
                              S(1, S(1, "id") + S(2, kSandboxMetadata) + N(4, 12) +
                                       S(5, S(1, "10.1.1.1") + S(2, S(1, "fd00::1"))) +
                                       M(7, "l", "1") + M(8, "a", "2")),
                              [&](auto done) { client_->PodSandboxStatus("id", done); }),
              IsOkAndHolds(expected));
  EXPECT_EQ(sent_, Hex(S(1, "id")));
  EXPECT_THAT(Order("RuntimeService/StopPodSandbox",
                    [&](auto done) { client_->StopPodSandbox("id", done); }),
              IsOk());
  EXPECT_EQ(sent_, Hex(S(1, "id")));
  EXPECT_THAT(Order("RuntimeService/RemovePodSandbox",
                    [&](auto done) { client_->RemovePodSandbox("id", done); }),
              IsOk());
  EXPECT_EQ(sent_, Hex(S(1, "id")));
}

TEST_F(CriTest, AContainerIsCreated) {
  const CriContainerConfig config{
      .name = "ctr",
      .attempt = 3,
      .image = "sha256:1",
      .user_specified_image = "busybox",
      .command = {"sh", "-c"},
      .args = {"env"},
      .working_dir = "/w",
      .envs = {{"K", std::string("v\xff", 2)}},
      .mounts = {{.container_path = "/c",
                  .host_path = "/h",
                  .readonly = true,
                  .propagation = CriMount::Propagation::kBidirectional}},
      .devices = {{.container_path = "/dev/a", .host_path = "/dev/b", .permissions = "rw"}},
      .cdi_devices = {"example.com/gpu=0", "example.com/gpu=1"},
      .labels = {{"l", "1"}},
      .annotations = {{"a", "2"}},
      .log_path = "ctr/3.log",
      .stdin = true,
      .stdin_once = true,
      .tty = true,
      .resources = {.cpu_period = 100'000,
                    .cpu_quota = 50'000,
                    .cpu_shares = 512,
                    .memory_limit_in_bytes = 1 << 20,
                    .oom_score_adj = -998,
                    .cpuset_cpus = "0-1",
                    .cpuset_mems = "0",
                    .unified = {{"memory.high", "1"}}},
      .security = {
          .namespaces = {.pid = NamespaceMode::kTarget, .target_id = "other"},
          .run_as_user = 1000,
          .run_as_group = 1001,
          .readonly_rootfs = true,
          .supplemental_groups = {44},
          .no_new_privs = true,
          .add_capabilities = {"NET_ADMIN"},
          .drop_capabilities = {"ALL"},
          .masked_paths = {"/proc/kcore"},
          .readonly_paths = {"/proc/sys"},
          .seccomp = CriProfile{},
          .apparmor = CriProfile{.type = CriProfile::Type::kLocalhost, .localhost_ref = "mine"},
          .selinux = CriSelinux{.user = "u", .role = "r", .type = "t", .level = "s0"}}};
  const std::string resources = N(1, 100'000) + N(2, 50'000) + N(3, 512) + N(4, 1 << 20) +
                                N(5, -998) + S(6, "0-1") + S(7, "0") + M(9, "memory.high", "1");
  const std::string security =
      S(1, S(1, "NET_ADMIN") + S(2, "ALL")) + S(3, N(2, 3) + S(4, "other")) +
      S(4, S(1, "u") + S(2, "r") + S(3, "t") + S(4, "s0")) + S(5, N(1, 1000)) + N(7, 1) +
      S(8, "\x2c") + N(11, 1) + S(12, N(1, 1001)) + S(13, "/proc/kcore") + S(14, "/proc/sys") +
      S(15, N(1, 1)) + S(16, N(1, 2) + S(2, "mine"));
  const std::string expected = S(1, S(1, "ctr") + N(2, 3)) +
                               S(2, S(1, "sha256:1") + S(18, "busybox")) + S(3, "sh") + S(3, "-c") +
                               S(4, "env") + S(5, "/w") + S(6, S(1, "K") + S(2, "v\xff")) +
                               S(7, S(1, "/c") + S(2, "/h") + N(3, 1) + N(5, 2)) +
                               S(8, S(1, "/dev/a") + S(2, "/dev/b") + S(3, "rw")) + M(9, "l", "1") +
                               M(10, "a", "2") + S(11, "ctr/3.log") + N(12, 1) + N(13, 1) +
                               N(14, 1) + S(15, S(1, resources) + S(2, security)) +
                               S(17, S(1, "example.com/gpu=0")) + S(17, S(1, "example.com/gpu=1"));
  EXPECT_THAT(Ask<std::string>(
                  "RuntimeService/CreateContainer", S(1, "cid"),
                  [&](auto done) { client_->CreateContainer("sid", config, Sandbox(), done); }),
              IsOkAndHolds("cid"));
  EXPECT_EQ(sent_, Hex(S(1, "sid") + S(2, expected) + S(3, kSandbox)));
}

TEST_F(CriTest, Containers) {
  EXPECT_THAT(
      Order("RuntimeService/StartContainer", [&](auto d) { client_->StartContainer("c", d); }),
      IsOk());
  EXPECT_EQ(sent_, Hex(S(1, "c")));
  EXPECT_THAT(Order("RuntimeService/StopContainer",
                    [&](auto d) { client_->StopContainer("c", std::chrono::seconds(30), d); }),
              IsOk());
  EXPECT_EQ(sent_, Hex(S(1, "c") + N(2, 30)));
  EXPECT_THAT(
      Order("RuntimeService/RemoveContainer", [&](auto d) { client_->RemoveContainer("c", d); }),
      IsOk());
  EXPECT_EQ(sent_, Hex(S(1, "c")));

  CriContainer expected{.id = "c",
                        .sandbox_id = "s",
                        .name = "ctr",
                        .attempt = 3,
                        .state = CriContainerState::kExited,
                        .created_at = 1,
                        .image = "busybox",
                        .image_ref = "ref",
                        .image_id = "iid",
                        .labels = {{"l", "1"}},
                        .annotations = {{"a", "2"}}};
  EXPECT_THAT(Ask<std::vector<CriContainer>>(
                  "RuntimeService/ListContainers",
                  S(1, S(1, "c") + S(2, "s") + S(3, S(1, "ctr") + N(2, 3)) + S(4, S(1, "busybox")) +
                           S(5, "ref") + N(6, 2) + N(7, 1) + M(8, "l", "1") + M(9, "a", "2") +
                           S(10, "iid")),
                  [&](auto done) {
                    client_->ListContainers({{"k", "v"}}, done);
                  }),
              IsOkAndHolds(ElementsAre(expected)));
  EXPECT_EQ(sent_, Hex(S(1, M(4, "k", "v"))));

  expected.sandbox_id = "";
  expected.started_at = 2;
  expected.finished_at = 3;
  expected.exit_code = 137;
  expected.reason = "OOMKilled";
  expected.message = "too much";
  expected.log_path = "/logs/ctr/3.log";
  expected.info = {{"info", "{}"}};
  EXPECT_THAT(
      Ask<CriContainer>("RuntimeService/ContainerStatus",
                        S(1, S(1, "c") + S(2, S(1, "ctr") + N(2, 3)) + N(3, 2) + N(4, 1) + N(5, 2) +
                                 N(6, 3) + N(7, 137) + S(8, S(1, "busybox")) + S(9, "ref") +
                                 S(10, "OOMKilled") + S(11, "too much") + M(12, "l", "1") +
                                 M(13, "a", "2") + S(15, "/logs/ctr/3.log") + S(17, "iid")) +
                            M(2, "info", "{}"),
                        [&](auto done) { client_->ContainerStatus("c", true, done); }),
      IsOkAndHolds(expected));
  EXPECT_EQ(sent_, Hex(S(1, "c") + N(2, 1)));
}

TEST_F(CriTest, CommandsInContainers) {
  const auto result = Ask<CriExecResult>(
      "RuntimeService/ExecSync", S(1, "out") + S(2, "\xff") + N(3, 2), [&](auto done) {
        client_->ExecSync("c", {"ls", "/"}, std::chrono::seconds(4), done);
      });
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->out, "out");
  EXPECT_EQ(result->err, "\xff");
  EXPECT_EQ(result->exit_code, 2);
  EXPECT_EQ(sent_, Hex(S(1, "c") + S(2, "ls") + S(2, "/") + N(3, 4)));
  EXPECT_THAT(
      Ask<std::string>("RuntimeService/Exec", S(1, "http://x"),
                       [&](auto done) { client_->ExecUrl("c", {"sh"}, false, true, done); }),
      IsOkAndHolds("http://x"));
  EXPECT_EQ(sent_, Hex(S(1, "c") + S(2, "sh") + N(4, 1) + N(5, 1) + N(6, 1)));
  EXPECT_THAT(Ask<std::string>("RuntimeService/Attach", S(1, "http://x"),
                               [&](auto done) { client_->AttachUrl("c", true, true, done); }),
              IsOkAndHolds("http://x"));
  EXPECT_EQ(sent_, Hex(S(1, "c") + N(2, 1) + N(3, 1) + N(4, 1)));
  EXPECT_THAT(Ask<std::string>("RuntimeService/PortForward", S(1, "http://x"),
                               [&](auto done) { client_->PortForwardUrl("s", 80, done); }),
              IsOkAndHolds("http://x"));
  // Numbers in a row.
  EXPECT_EQ(sent_, Hex(S(1, "s") + S(2, "\x50")));
}

TEST_F(CriTest, ALogIsOpenedAgain) {
  EXPECT_THAT(
      Order("RuntimeService/ReopenContainerLog", [&](auto d) { client_->ReopenLog("c", d); }),
      IsOk());
  EXPECT_EQ(sent_, Hex(S(1, "c")));
}

TEST_F(CriTest, Images) {
  const std::string image = S(1, "sha256:1") + S(2, "busybox:1") + S(3, "busybox@sha256:2") +
                            N(4, 77) + S(5, N(1, 5)) + S(6, "user");
  const CriImage expected{.id = "sha256:1",
                          .repo_tags = {"busybox:1"},
                          .repo_digests = {"busybox@sha256:2"},
                          .size = 77,
                          .uid = 5,
                          .username = "user"};
  const auto status = [&](auto done) { client_->ImageStatus("busybox", done); };
  EXPECT_THAT(Ask<std::optional<CriImage>>("ImageService/ImageStatus", S(1, image), status),
              IsOkAndHolds(Optional(expected)));
  EXPECT_EQ(sent_, Hex(S(1, S(1, "busybox"))));
  EXPECT_THAT(Ask<std::optional<CriImage>>("ImageService/ImageStatus", "", status),
              IsOkAndHolds(std::nullopt));
  EXPECT_THAT(Ask<std::vector<CriImage>>("ImageService/ListImages", S(1, image),
                                         [&](auto done) { client_->ListImages(done); }),
              IsOkAndHolds(ElementsAre(expected)));
  const CriAuth auth{.username = "u",
                     .password = "p",
                     .auth = "a",
                     .server_address = "s",
                     .identity_token = "i",
                     .registry_token = "r"};
  EXPECT_THAT(
      Ask<std::string>("ImageService/PullImage", S(1, "ref"),
                       [&](auto done) { client_->PullImage("busybox", auth, Sandbox(), done); }),
      IsOkAndHolds("ref"));
  EXPECT_EQ(sent_, Hex(S(1, S(1, "busybox")) +
                       S(2, S(1, "u") + S(2, "p") + S(3, "a") + S(4, "s") + S(5, "i") + S(6, "r")) +
                       S(3, kSandbox)));
}

TEST_F(CriTest, Events) {
  server_.Answer("/runtime.v1.RuntimeService/GetContainerEvents",
                 {.messages = {S(1, "c") + N(2, 2) + N(3, 99) + S(4, "whatever"), S(1, "d")},
                  .status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting")});
  base::Mutex mutex;
  std::vector<CriEvent> events;
  Answered<Status> end;
  client_->WatchEvents(
      [&](CriEvent event) {
        const base::MutexLock lock(mutex);
        events.push_back(std::move(event));
      },
      end.done());
  EXPECT_THAT(end.Get(), StatusIs(StatusCode::kUnavailable, "restarting"));
  const base::MutexLock lock(mutex);
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].container_id, "c");
  EXPECT_EQ(events[0].type, CriEvent::Type::kStopped);
  EXPECT_EQ(events[0].created_at, 99);
  EXPECT_EQ(events[1].type, CriEvent::Type::kCreated);
}

TEST_F(CriTest, ErrorsAreTheRuntimes) {
  Answered<StatusOr<CgroupDriver>> older;
  client_->Cgroups(older.done());
  EXPECT_THAT(older.Get(), StatusIs(StatusCode::kUnimplemented, _));
  const auto nobody = *ConnectCri({.endpoint = folder_ / "nobody.sock"});
  Answered<StatusOr<CriVersion>> version;
  nobody->Version(version.done());
  EXPECT_THAT(version.Get(), StatusIs(StatusCode::kUnavailable, _));
  EXPECT_THAT(ConnectCri({.endpoint = "relative.sock"}), StatusIs(StatusCode::kInvalidArgument, _));
}

// Streams and calls that hang end with their client.
TEST_F(CriTest, GoesWithCallsOnTheirWay) {
  server_.Answer("/runtime.v1.RuntimeService/GetContainerEvents", {.stays_open = true});
  server_.Answer("/runtime.v1.RuntimeService/StopContainer", {.stays_open = true});
  auto client = *ConnectCri({.endpoint = folder_ / "cri.sock"});
  int ended = 0;
  base::Mutex mutex;
  const auto end = [&](const Status& status) {
    EXPECT_THAT(status, StatusIs(StatusCode::kCancelled, _));
    const base::MutexLock lock(mutex);
    ++ended;
  };
  client->WatchEvents([](CriEvent) {}, end);
  client->StopContainer("c", std::chrono::seconds(1), end);
  ASSERT_TRUE(Eventually([&] { return server_.Calls().size() == 2; }));
  client.reset();
  const base::MutexLock lock(mutex);
  EXPECT_EQ(ended, 2);
}

}  // namespace
}  // namespace dray::rpc
