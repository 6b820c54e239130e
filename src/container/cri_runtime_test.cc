// SPDX-License-Identifier: Apache-2.0
#include "container/cri_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "base/clock.h"
#include "cdi/folder.h"
#include "container/cri_for_test.h"
#include "container/internal/cgroups.h"
#include "container/log_reader.h"
#include "container/streams_for_test.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "testing/status_matchers.h"

namespace dray::container {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

template <typename T>
struct Got {
  StatusOr<T> value = base::Internal("no answer");
  Done<T> done() {
    return [this](StatusOr<T> v) { value = std::move(v); };
  }
};

class CriTest : public ::testing::Test {
 protected:
  CriTest() {
    pod_.pod = {.namespace_ = "ns", .name = "pod", .uid = "uid"};
    pod_.hostname = "pod";
  }
  void Make(CdiMode mode = CdiMode::kAuto) {
    auto fake = std::make_unique<FakeCri>();
    cri_ = fake.get();
    runtime_ = MakeCriRuntime(
        std::move(fake),
        {.cdi = mode, .cdi_folders = {folder_ / "cdi"}, .log_max_bytes = 100, .log_max_files = 2},
        clock_);
  }
  void Save(const cdi::ContainerEdits& edits) {
    ASSERT_THAT(
        cdi::SaveSpec(folder_ / "cdi", "a.json",
                      {.kind = "v/c", .devices = {{.name = "d", .container_edits = edits}}}),
        IsOk());
  }
  std::string Sandbox() {
    Got<SandboxInfo> got;
    runtime_->RunSandbox(pod_, got.done());
    EXPECT_THAT(got.value, IsOk());
    return got.value.ok() ? got.value->id : "";
  }
  StatusOr<std::string> Create(const ContainerConfig& config) {
    Got<std::string> got;
    runtime_->Create(Sandbox(), pod_, config, got.done());
    return got.value;
  }
  Status Start(const std::string& id) {
    Status status = base::Internal("no answer");
    runtime_->Start(id, [&](Status s) { status = s; });
    return status;
  }
  Inventory List() {
    Got<Inventory> got;
    runtime_->List(got.done());
    EXPECT_THAT(got.value, IsOk());
    return *got.value;
  }
  files::TemporaryFolder folder_;
  base::ManualClock clock_{base::Time::FromUnix(1'000'000, 0)};
  SandboxConfig pod_;
  FakeCri* cri_ = nullptr;
  std::unique_ptr<Runtime> runtime_;
};

TEST(AppliesCdi, IsAQuestionOfNameAndVersion) {
  EXPECT_TRUE(AppliesCdi("containerd", "v2.1.9"));
  EXPECT_TRUE(AppliesCdi("containerd", "2.0.0-rc.1"));
  EXPECT_TRUE(AppliesCdi("containerd", "10.0"));
  EXPECT_FALSE(AppliesCdi("containerd", "1.7.24"));
  EXPECT_FALSE(AppliesCdi("containerd", "1.6.20~ds1"));
  EXPECT_TRUE(AppliesCdi("cri-o", "1.28.0"));
  EXPECT_FALSE(AppliesCdi("cri-o", "1.27.9"));
  EXPECT_FALSE(AppliesCdi("other", "9.9"));
  EXPECT_FALSE(AppliesCdi("containerd", "unknown"));
}

TEST_F(CriTest, NamesGoToARuntimeThatKnowsThem) {
  Make();
  Save({.env = {"GPU=1"}});
  const auto id = Create({.name = "main", .cdi_devices = {"v/c=d"}});
  ASSERT_THAT(id, IsOk());
  EXPECT_THAT(cri_->configs[*id].cdi_devices, ElementsAre("v/c=d"));
  EXPECT_THAT(cri_->configs[*id].envs, IsEmpty());
  EXPECT_THAT(Start(*id), IsOk());
  // Looked at once.
  const auto other = Create({.name = "main", .attempt = 1, .cdi_devices = {"v/c=d"}});
  EXPECT_THAT(Start(*other), IsOk());
  EXPECT_EQ(std::ranges::count(cri_->calls, "ContainerStatus -v"), 1);
}

TEST_F(CriTest, ARuntimeThatDropsDevicesIsNoticed) {
  Make(CdiMode::kRuntime);
  cri_->applies_cdi = false;
  Save({.env = {"GPU=1"}});
  for (std::uint32_t attempt = 0; attempt < 2; ++attempt) {
    const auto id = Create({.name = "main", .attempt = attempt, .cdi_devices = {"v/c=d"}});
    EXPECT_THAT(Start(*id), StatusIs(StatusCode::kFailedPrecondition,
                                     HasSubstr("ignored the CDI device v/c=d: GPU=1")));
    EXPECT_EQ(cri_->containers[*id].state, rpc::CriContainerState::kExited);
  }
}

TEST_F(CriTest, AnOldRuntimeGetsWhatTheNamesStandFor) {
  Make();
  cri_->version = "1.6.20";
  cri_->applies_cdi = false;
  Save({.env = {"GPU=1", "B=2"},
        .device_nodes = {{.path = "/dev/gpu", .host_path = "/dev/zero", .permissions = "rw"}},
        .mounts = {{.host_path = "/h", .container_path = "/c", .options = {"ro", "bind"}}},
        .additional_gids = {5, 0, 5}});
  const auto id = Create({.name = "main", .env = {{"B", "1"}}, .cdi_devices = {"v/c=d"}});
  ASSERT_THAT(id, IsOk());
  const rpc::CriContainerConfig& config = cri_->configs[*id];
  EXPECT_THAT(config.cdi_devices, IsEmpty());
  EXPECT_THAT(config.envs, ElementsAre(Pair("B", "2"), Pair("GPU", "1")));
  EXPECT_THAT(config.devices,
              ElementsAre(rpc::CriDevice{
                  .container_path = "/dev/gpu", .host_path = "/dev/zero", .permissions = "rw"}));
  EXPECT_THAT(config.mounts, ElementsAre(rpc::CriMount{
                                 .container_path = "/c", .host_path = "/h", .readonly = true}));
  EXPECT_THAT(config.security.supplemental_groups, ElementsAre(5));
  EXPECT_THAT(Start(*id), IsOk());
  EXPECT_THAT(Create({.name = "other", .cdi_devices = {"v/c=gone"}}),
              StatusIs(StatusCode::kNotFound, HasSubstr("unresolvable CDI devices v/c=gone")));
}

TEST(InlineEdits, WhatHasNoPlaceIsRefused) {
  const std::vector<std::pair<std::string, cdi::ContainerEdits>> cases = {
      {"hook", {.hooks = {{.hook_name = "poststop", .path = "/x"}}}},
      {"network device", {.net_devices = {{.host_interface_name = "a", .name = "b"}}}},
      {"intelRdt", {.intel_rdt = cdi::IntelRdt{.clos_id = "x"}}},
      {"mode or owner", {.device_nodes = {{.path = "/dev/x", .uid = 5}}}},
      {"without permissions", {.device_nodes = {{.path = "/dev/x", .permissions = "none"}}}},
      {"of type tmpfs", {.mounts = {{.host_path = "t", .container_path = "/c", .type = "tmpfs"}}}},
      {"not a bind mount", {.mounts = {{.host_path = "/h", .container_path = "/c"}}}},
      {"option noexec",
       {.mounts = {{.host_path = "/h", .container_path = "/c", .options = {"bind", "noexec"}}}}},
  };
  for (const auto& [what, edits] : cases) {
    rpc::CriContainerConfig config;
    EXPECT_THAT(InlineEdits(edits, config),
                StatusIs(StatusCode::kFailedPrecondition, HasSubstr(what)));
    EXPECT_THAT(config.envs, IsEmpty());
  }
}

TEST_F(CriTest, EverythingMayBeAskedAgain) {
  Make();
  const std::string sandbox = Sandbox();
  EXPECT_EQ(Sandbox(), sandbox);
  EXPECT_EQ(std::ranges::count(cri_->calls, "RunPodSandbox"), 1);
  const auto id = Create({.name = "main"});
  EXPECT_EQ(*Create({.name = "main"}), *id);
  EXPECT_EQ(std::ranges::count(cri_->calls, "CreateContainer"), 1);
  // One that did not get ready makes room.
  cri_->sandboxes[sandbox].state = rpc::CriSandboxState::kNotReady;
  (void)Sandbox();
  EXPECT_THAT(cri_->calls, Contains("RemovePodSandbox"));
  for (int i = 0; i < 2; ++i) {
    runtime_->Stop(*id, seconds(1), [](Status status) { EXPECT_THAT(status, IsOk()); });
    runtime_->Remove(*id, [](Status status) { EXPECT_THAT(status, IsOk()); });
    runtime_->RemoveSandbox(sandbox, [](Status status) { EXPECT_THAT(status, IsOk()); });
  }
}

TEST_F(CriTest, ListsWhatIsOursWithHowItEnded) {
  Make();
  const auto id = Create({.name = "main", .attempt = 3});
  ASSERT_THAT(Start(*id), IsOk());
  cri_->sandboxes["alien"] = {.id = "alien"};
  cri_->containers["alien"] = {.id = "alien"};
  Inventory all = List();
  ASSERT_THAT(all.sandboxes, SizeIs(1));
  ASSERT_THAT(all.containers, SizeIs(1));
  EXPECT_THAT(all.sandboxes[0].ips, ElementsAre("10.0.0.7"));
  EXPECT_EQ(all.sandboxes[0].created_at, base::Time::FromUnix(5, 1));
  EXPECT_EQ(all.sandboxes[0].pod, pod_.pod);
  EXPECT_EQ(all.containers[0].state, ContainerState::kRunning);
  EXPECT_EQ(all.containers[0].attempt, 3u);
  EXPECT_EQ(all.containers[0].pod, pod_.pod);
  // What runs and goes on running is not asked about again.
  const auto running = std::ranges::count(cri_->calls, "ContainerStatus");
  EXPECT_EQ(List().containers[0].started_at, base::Time::FromUnix(0, 7));
  EXPECT_EQ(std::ranges::count(cri_->calls, "ContainerStatus"), running);
  cri_->containers[*id].state = rpc::CriContainerState::kExited;
  cri_->containers[*id].exit_code = 9;
  // As containerd tells it of one that has ended by the time that its start is answered.
  cri_->containers[*id].finished_at = 6;
  EXPECT_EQ(List().containers[0].exit_code, 9);
  EXPECT_EQ(List().containers[0].started_at, base::Time::FromUnix(0, 6));
  // What has ended is not asked about again.
  const auto asked = std::ranges::count(cri_->calls, "ContainerStatus");
  EXPECT_EQ(List().containers[0].exit_code, 9);
  EXPECT_EQ(std::ranges::count(cri_->calls, "ContainerStatus"), asked);
}

TEST_F(CriTest, EventsSayThatListingIsWorthIt) {
  Make();
  int told = 0;
  runtime_->OnChange([&] { ++told; });
  cri_->on_event({});
  EXPECT_EQ(told, 1);
  (void)List();
  EXPECT_EQ(std::ranges::count(cri_->calls, "WatchEvents"), 1);
  Make();
  cri_->events = false;
  runtime_->OnChange([&] { ++told; });
  (void)List();
  EXPECT_EQ(std::ranges::count(cri_->calls, "WatchEvents"), 1);
}

TEST_F(CriTest, ImagesAreFoundOrPulled) {
  Make();
  const auto find = [&](const std::string& name) {
    Got<ImageInfo> got;
    runtime_->FindImage(name, got.done());
    return got.value;
  };
  EXPECT_EQ(find("busybox")->ref, "busybox@sha256:2");
  EXPECT_EQ(find("pullable")->id, "sha256:3");
  EXPECT_THAT(find("other"), StatusIs(StatusCode::kNotFound, HasSubstr("no such host")));
}

TEST_F(CriTest, ProbeSaysWhyItIsNotReady) {
  Make();
  Got<RuntimeInfo> got;
  runtime_->Probe(got.done());
  EXPECT_EQ(got.value->name, "containerd");
  EXPECT_EQ(got.value->network, "");
  cri_->network_ready = false;
  runtime_->Probe(got.done());
  EXPECT_EQ(got.value->network, "NetworkReady=false reason:NetworkPluginNotReady message:no CNI");
  cri_->ready = false;
  runtime_->Probe(got.done());
  EXPECT_THAT(got.value, StatusIs(StatusCode::kUnavailable, HasSubstr("no shim")));
}

TEST_F(CriTest, GroupsHaveTheNamesThatTheirMakerWants) {
  const char* with_systemd =
      R"({"containerd":{"defaultRuntimeName":"r","runtimes":{"r":{"options":)"
      R"({"SystemdCgroup":true}}}}})";
  const Status old = base::MakeStatus(StatusCode::kUnimplemented, "old");
  struct Case {
    StatusOr<rpc::CgroupDriver> driver;
    const char* config;
    const char* group;
  };
  const Case cases[] = {
      {rpc::CgroupDriver::kCgroupfs, with_systemd, "/dray-a/b"},
      {rpc::CgroupDriver::kSystemd, "{}", "dray_a-b.slice"},
      {old, with_systemd, "dray_a-b.slice"},
      {old, "{}", "/dray-a/b"},
      {old, "not JSON", "/dray-a/b"},
  };
  for (const Case& one : cases) {
    Make();
    cri_->cgroups = one.driver;
    cri_->config = one.config;
    pod_.cgroup_parent = "/dray-a/b";
    (void)Sandbox();
    EXPECT_EQ(cri_->cgroup_parent, one.group);
    (void)Create({.name = "main"});
    EXPECT_EQ(std::ranges::count(cri_->calls, "RuntimeConfig"), 1) << "asked once";
  }
}

TEST_F(CriTest, LogsThatAreFullArePutAside) {
  Make();
  const std::string log = folder_ / "0.log";
  const auto id = Create({.name = "main"});
  ASSERT_THAT(Start(*id), IsOk());
  cri_->containers[*id].log_path = log;
  const auto look = [&] {
    clock_.Advance(seconds(11));
    // The second waits for nothing: it comes behind the work of the first.
    (void)List();
    const auto end = std::chrono::steady_clock::now() + seconds(10);
    while (LogFilesOf(log).size() < 2 && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  ASSERT_THAT(files::WriteWhole(log, std::string(50, 'x')), IsOk());
  clock_.Advance(seconds(11));
  (void)List();
  (void)List();
  EXPECT_THAT(LogFilesOf(log), ElementsAre(log));
  ASSERT_THAT(files::WriteWhole(log, std::string(100, 'x')), IsOk());
  look();
  // Destroying it waits for what it does.
  runtime_.reset();
  const std::vector<std::string> all = LogFilesOf(log);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(files::ReadWhole(all[0]), IsOkAndHolds(std::string(100, 'x')));
  EXPECT_THAT(files::ReadWhole(log), IsOkAndHolds("new\n"));
}

TEST_F(CriTest, ALogThatIsGoneIsBegunAgain) {
  Make();
  const std::string log = folder_ / "0.log";
  const auto id = Create({.name = "main"});
  ASSERT_THAT(Start(*id), IsOk());
  cri_->containers[*id].log_path = log;
  clock_.Advance(seconds(11));
  (void)List();
  runtime_.reset();
  EXPECT_THAT(LogFilesOf(log), ElementsAre(log));
}

TEST_F(CriTest, ALogThatCannotBeOpenedAgainKeepsItsName) {
  Make();
  const std::string log = folder_ / "0.log";
  const auto id = Create({.name = "main"});
  ASSERT_THAT(Start(*id), IsOk());
  cri_->containers[*id].log_path = log;
  cri_->reopened = base::Unavailable("restarting");
  ASSERT_THAT(files::WriteWhole(log, std::string(100, 'x')), IsOk());
  clock_.Advance(seconds(11));
  (void)List();
  clock_.Advance(seconds(11));
  (void)List();
  runtime_.reset();
  EXPECT_THAT(LogFilesOf(log), ElementsAre(log));
  EXPECT_THAT(files::ReadWhole(log), IsOkAndHolds(std::string(100, 'x')));
}

TEST_F(CriTest, CommandsRunWhereTheRuntimeSays) {
  Make();
  StreamServer server([](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(3);
    peer.Write(spdy::FrameWriter::Data(streams["stdout"], "hello"));
    peer.Write(spdy::FrameWriter::Data(streams["error"], R"({"status":"Success"})", true));
  });
  cri_->stream_url = server.url();
  const auto id = Create({.name = "main"});
  std::string out;
  std::promise<StatusOr<std::int32_t>> ended;
  const auto session = runtime_->Exec({.container_id = *id, .command = {"ls"}},
                                      {.out = [&](std::string s) { out += s; },
                                       .err = {},
                                       .done = [&](auto code) { ended.set_value(code); }});
  EXPECT_NE(session, nullptr);
  EXPECT_THAT(ended.get_future().get(), IsOkAndHolds(0));
  EXPECT_EQ(out, "hello");
  EXPECT_THAT(cri_->calls, Contains("Exec tty=false stdin=false"));
  Got<std::int32_t> gone;
  (void)runtime_->Exec({.container_id = "gone", .command = {"ls"}}, {.done = gone.done()});
  EXPECT_THAT(gone.value, StatusIs(StatusCode::kNotFound, HasSubstr("no container")));
}

TEST_F(CriTest, WhoAttachesIsLetGoWhenTheRuntimeEnds) {
  Make();
  StreamServer server([](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    (void)peer.TakeStreams(4);
    while (peer.Next()) {
    }
  });
  cri_->stream_url = server.url();
  const auto id = Create({.name = "main"});
  std::promise<StatusOr<std::int32_t>> ended;
  const auto session =
      runtime_->Exec({.container_id = *id, .command = {}, .tty = true, .stdin = true},
                     {.done = [&](auto code) { ended.set_value(code); }});
  EXPECT_THAT(cri_->calls, Contains("Attach tty=true stdin=true"));
  runtime_.reset();
  EXPECT_THAT(ended.get_future().get(),
              StatusIs(StatusCode::kCancelled, HasSubstr("client of the command has gone")));
}

TEST_F(CriTest, SecuritySettingsArePassedOn) {
  Make();
  pod_.sysctls = {{"net.ipv4.tcp_syncookies", "1"}};
  pod_.selinux = SelinuxLabel{.user = {}, .role = {}, .type = {}, .level = "s0:c1"};
  ContainerConfig config{.name = "main"};
  config.security.app_armor = AppArmor::kLocalhost;
  config.security.app_armor_profile = "mine";
  config.security.selinux = SelinuxLabel{.user = "u", .role = "r", .type = "t", .level = "l"};
  const auto id = Create(config);
  ASSERT_THAT(id, IsOk());
  EXPECT_THAT(cri_->sysctls, ElementsAre(Pair("net.ipv4.tcp_syncookies", "1")));
  EXPECT_EQ(cri_->security.selinux->level, "s0:c1");
  const rpc::CriSecurity& security = cri_->configs[*id].security;
  EXPECT_EQ(security.apparmor,
            (rpc::CriProfile{.type = rpc::CriProfile::Type::kLocalhost, .localhost_ref = "mine"}));
  EXPECT_EQ(security.selinux,
            (rpc::CriSelinux{.user = "u", .role = "r", .type = "t", .level = "l"}));
  // Where nothing is said, the runtime does as it is configured.
  const auto plain = Create({.name = "plain"});
  EXPECT_EQ(cri_->configs[*plain].security.apparmor, std::nullopt);
  EXPECT_EQ(cri_->configs[*plain].security.selinux, std::nullopt);
}

TEST_F(CriTest, AContainerMaySeeTheProcessesOfAnother) {
  Make();
  ContainerConfig config{.name = "debugger"};
  config.pid_target = "container-0";
  const auto id = Create(config);
  EXPECT_EQ(cri_->configs[*id].security.namespaces.pid, rpc::NamespaceMode::kTarget);
  EXPECT_EQ(cri_->configs[*id].security.namespaces.target_id, "container-0");
  // Who sees all of the pod's needs none.
  pod_.shared_pids = true;
  config.attempt = 1;
  const auto other = Create(config);
  EXPECT_EQ(cri_->configs[*other].security.namespaces.pid, rpc::NamespaceMode::kPod);
}

TEST_F(CriTest, LimitsOfAPodNeedAGroupOfItsOwn) {
  Make();
  pod_.limits.memory_bytes = 64 << 20;
  cri_->cgroups = rpc::CgroupDriver::kSystemd;
  Got<SandboxInfo> got;
  runtime_->RunSandbox(pod_, got.done());
  EXPECT_THAT(got.value, StatusIs(StatusCode::kFailedPrecondition, HasSubstr("cgroupfs")));
  EXPECT_THAT(cri_->sandboxes, IsEmpty());
}

// Its cpu is a weight, which the group of a pod would have: no reason not to run it.
TEST_F(CriTest, APodThatOnlyRequestsAsAWholeRunsWithAnyDriver) {
  Make();
  pod_.limits.cpu_shares = 512;
  cri_->cgroups = rpc::CgroupDriver::kSystemd;
  Got<SandboxInfo> got;
  runtime_->RunSandbox(pod_, got.done());
  EXPECT_THAT(got.value, IsOk());
  EXPECT_THAT(cri_->cgroup_parent, Not(HasSubstr("/pod")));
}

// The server had removed the sandbox, and its answer was lost.
TEST_F(CriTest, TheGroupOfAPodGoesWithASandboxThatIsGoneAlready) {
  Make();
  pod_.cgroup_parent = fmt::format("/dray-test-{}", ::getpid());
  pod_.limits.cpu_shares = 512;
  pod_.limits.memory_bytes = 64 << 20;
  const std::string group = fmt::format("{}/pod{}", pod_.cgroup_parent, pod_.pod.uid);
  Got<SandboxInfo> got;
  runtime_->RunSandbox(pod_, got.done());
  if (!got.value.ok()) GTEST_SKIP() << base::Message(got.value.status());
  if (internal::CgroupFolders(group).empty()) GTEST_SKIP() << "no control groups here";
  cri_->sandboxes.clear();
  std::promise<Status> removed;
  runtime_->RemoveSandbox(got.value->id, [&](Status status) { removed.set_value(status); });
  EXPECT_THAT(removed.get_future().get(), IsOk());
  EXPECT_THAT(internal::CgroupFolders(group), IsEmpty());
  EXPECT_THAT(internal::RemoveCgroup(pod_.cgroup_parent), IsOk());
}

// What came of a connection to a port, which is made on another thread.
StatusOr<PortConnection> Connected(Runtime& runtime, const std::string& sandbox) {
  std::promise<StatusOr<PortConnection>> made;
  runtime.Connect(sandbox, 8080, seconds(10),
                  [&](StatusOr<PortConnection> got) { made.set_value(std::move(got)); });
  return made.get_future().get();
}

TEST_F(CriTest, PortsArePassedOnWhereTheRuntimeSays) {
  Make();
  StreamServer server([](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    auto streams = peer.TakeStreams(2);
    peer.Write(spdy::FrameWriter::Data(streams["data"], "hello", true));
    peer.Write(spdy::FrameWriter::Data(streams["error"], "", true));
    (void)peer.Next();
  });
  cri_->stream_url = server.url();
  const auto made = Connected(*runtime_, Sandbox());
  ASSERT_THAT(made, IsOk());
  char heard[8] = {};
  EXPECT_EQ(::recv(made->socket.get(), heard, sizeof(heard), MSG_WAITALL), 5);
  EXPECT_STREQ(heard, "hello");
  EXPECT_EQ(made->fault(), "");
  EXPECT_THAT(cri_->calls, Contains("PortForward 8080"));
  EXPECT_THAT(Connected(*runtime_, "gone"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no sandbox")));
}

TEST_F(CriTest, ConnectionsToPortsEndWithTheRuntime) {
  Make();
  StreamServer server([](StreamPeer& peer) {
    (void)peer.ReadHead();
    peer.Agree();
    (void)peer.TakeStreams(2);
    while (peer.Next()) {
    }
  });
  cri_->stream_url = server.url();
  const auto made = Connected(*runtime_, Sandbox());
  ASSERT_THAT(made, IsOk());
  runtime_.reset();
  char byte = 0;
  EXPECT_EQ(::recv(made->socket.get(), &byte, 1, 0), 0);
}

}  // namespace
}  // namespace dray::container
