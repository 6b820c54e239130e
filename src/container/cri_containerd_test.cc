// SPDX-License-Identifier: Apache-2.0
//
// A real containerd, of this machine's packages, in a temporary folder. Skipped, with the reason,
// where there is none or the machine lets nobody run containers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <regex>
#include <thread>

#include "base/clock.h"
#include "cdi/folder.h"
#include "container/containerd_for_test.h"
#include "container/cri_runtime.h"
#include "container/log_reader.h"
#include "testing/status_matchers.h"

namespace dray::container {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::IsOkAndHolds;
using ::dray::testing::StatusIs;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

template <class Holds>
bool Eventually(const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + seconds(30);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

// What a command says while somebody listens.
struct Spoken {
  base::Mutex mutex;
  std::string out ABSL_GUARDED_BY(mutex);
  std::string err ABSL_GUARDED_BY(mutex);
  std::promise<StatusOr<std::int32_t>> ended;

  ExecEvents Events() {
    return {.out =
                [this](std::string bytes) {
                  const base::MutexLock lock(mutex);
                  out += bytes;
                },
            .err =
                [this](std::string bytes) {
                  const base::MutexLock lock(mutex);
                  err += bytes;
                },
            .done = [this](StatusOr<std::int32_t> code) { ended.set_value(std::move(code)); }};
  }
  std::string Out() {
    const base::MutexLock lock(mutex);
    return out;
  }
  std::string Err() {
    const base::MutexLock lock(mutex);
    return err;
  }
  StatusOr<std::int32_t> Code() {
    auto future = ended.get_future();
    if (future.wait_for(seconds(60)) != std::future_status::ready) {
      return base::Internal("it does not end");
    }
    return future.get();
  }
};

class ContainerdTest : public ::testing::Test {
 protected:
  // One for all: it starts in a moment, but its images take a while.
  static void SetUpTestSuite() {
    world_ = new World;
    if (!world_->why_not.empty()) return;
    ASSERT_THAT(world_->containerd->Begin(), IsOk());
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }

  void SetUp() override {
    if (!world_->why_not.empty()) GTEST_SKIP() << world_->why_not;
    const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    pod_ = {.pod = {.namespace_ = "ns", .name = "pod", .uid = "uid-" + name},
            .log_directory = Folder() + "/logs/" + name,
            .cgroup_parent = world_->cgroup,
            .host_network = true,
            .labels = {{"app", "test"}},
            .annotations = {}};
    Open();
  }
  void TearDown() override {
    if (!world_->why_not.empty() || runtime_ == nullptr) return;
    for (const SandboxInfo& sandbox : List().sandboxes) {
      // A container that ends in the same moment may be an error of containerd's; an agent asks again.
      Status removed;
      EXPECT_TRUE(Eventually([&] {
        removed = Order([&](auto done) { runtime_->RemoveSandbox(sandbox.id, done); });
        return removed.ok();
      })) << removed;
    }
    const Inventory left = List();
    EXPECT_THAT(left.sandboxes, IsEmpty());
    EXPECT_THAT(left.containers, IsEmpty());
    runtime_.reset();
    EXPECT_TRUE(Eventually([] { return world_->containerd->Shims().empty(); }));
  }

  static std::string Folder() { return world_->folder.path(); }
  static rpc::CriOptions Endpoint() { return {.endpoint = world_->containerd->socket()}; }

  void Open(CriRuntimeOptions options = {}) {
    runtime_.reset();
    options.cdi_folders = {Folder() + "/cdi"};
    runtime_ = MakeCriRuntime(*rpc::ConnectCri(Endpoint()), options, clock_);
  }

  template <class T, class Call>
  StatusOr<T> Ask(const Call& call) {
    auto promise = std::make_shared<std::promise<StatusOr<T>>>();
    auto future = promise->get_future();
    call([promise](StatusOr<T> value) { promise->set_value(std::move(value)); });
    if (future.wait_for(seconds(90)) != std::future_status::ready) {
      return base::Internal("no answer");
    }
    return future.get();
  }
  template <class Call>
  Status Order(const Call& call) {
    const auto done = Ask<bool>([&](auto answered) {
      call([answered](const Status& status) {
        status.ok() ? answered(true) : answered(StatusOr<bool>(status));
      });
    });
    return done.status();
  }

  Inventory List() {
    auto all = Ask<Inventory>([&](auto done) { runtime_->List(done); });
    EXPECT_THAT(all, IsOk());
    return all.ok() ? *all : Inventory();
  }
  SandboxInfo Sandbox() {
    EXPECT_THAT(files::MakeFolder(pod_.log_directory + "/main"), IsOk());
    auto made = Ask<SandboxInfo>([&](auto done) { runtime_->RunSandbox(pod_, done); });
    EXPECT_THAT(made, IsOk());
    return made.ok() ? *made : SandboxInfo();
  }
  ContainerConfig Shell(const std::string& script, std::uint32_t attempt = 0) {
    const auto image = Ask<ImageInfo>([&](auto done) { runtime_->FindImage("busybox", done); });
    EXPECT_THAT(image, IsOk());
    return {.name = "main",
            .attempt = attempt,
            .image = image.ok() ? image->id : "",
            .command = {"sh", "-c", script},
            .log_path = fmt::format("main/{}.log", attempt)};
  }
  StatusOr<std::string> Create(const ContainerConfig& config) {
    const std::string sandbox = Sandbox().id;
    return Ask<std::string>([&](auto done) { runtime_->Create(sandbox, pod_, config, done); });
  }
  Status Start(const std::string& id) {
    return Order([&](auto done) { runtime_->Start(id, done); });
  }
  std::string Run(const ContainerConfig& config) {
    const auto id = Create(config);
    EXPECT_THAT(id, IsOk());
    if (!id.ok()) return "";
    EXPECT_THAT(Start(*id), IsOk());
    return *id;
  }
  ContainerInfo InfoOf(const std::string& id) {
    for (const ContainerInfo& info : List().containers) {
      if (info.id == id) return info;
    }
    return {};
  }
  ContainerInfo WaitForEnd(const std::string& id) {
    ContainerInfo info;
    EXPECT_TRUE(Eventually([&] {
      info = InfoOf(id);
      return info.state == ContainerState::kExited;
    }));
    return info;
  }
  std::string Log(std::uint32_t attempt = 0) {
    return ReadLog(fmt::format("{}/main/{}.log", pod_.log_directory, attempt), {}).value_or("none");
  }
  Status Stop(const std::string& id, seconds grace) {
    return Order([&](auto done) { runtime_->Stop(id, grace, done); });
  }

  struct World {
    std::string why_not = WhyNoContainerd();
    files::TemporaryFolder folder;
    std::string cgroup = fmt::format("/dray-cri-test-{}", ::getpid());
    // Made while there is one thread.
    std::unique_ptr<Janitor> janitor =
        why_not.empty() ? std::make_unique<Janitor>(folder.path(), cgroup) : nullptr;
    std::unique_ptr<Containerd> containerd = std::make_unique<Containerd>(
        Containerd::Options{.folder = folder.path(), .cgroup = cgroup});
    ~World() {
      containerd->End();
      EXPECT_THAT(internal::CgroupFolders(cgroup), IsEmpty());
      EXPECT_THAT(ProcessesIn(folder.path()), IsEmpty());
      EXPECT_THAT(*files::ReadWhole("/proc/self/mountinfo"), Not(HasSubstr(folder.path())));
      if (janitor) janitor->Dismiss();
    }
  };
  static inline World* world_ = nullptr;

  const base::SystemClock clock_{};
  SandboxConfig pod_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(ContainerdTest, AContainerRunsAndEnds) {
  ContainerConfig config = Shell("echo out; echo err >&2; echo $GREETING; exit 3");
  config.env = {{"GREETING", "hello"}};
  const std::string id = Run(config);
  const ContainerInfo info = WaitForEnd(id);
  EXPECT_EQ(info.exit_code, 3);
  EXPECT_EQ(info.reason, "Error");
  EXPECT_EQ(info.pod, pod_.pod);
  EXPECT_EQ(info.name, "main");
  EXPECT_GE(info.finished_at, info.started_at);
  EXPECT_EQ(info.log_path, pod_.log_directory + "/main/0.log");
  EXPECT_THAT(Log(), AllOf(HasSubstr("out\n"), HasSubstr("err\n"), HasSubstr("hello\n")));
  // Again, as a restart is.
  EXPECT_EQ(WaitForEnd(Run(Shell("echo again", 1))).exit_code, 0);
  EXPECT_EQ(Log(1), "again\n");
  EXPECT_THAT(List().containers, SizeIs(2));
  EXPECT_THAT(Order([&](auto done) { runtime_->Remove(id, done); }), IsOk());
  EXPECT_THAT(List().containers, SizeIs(1));
}

TEST_F(ContainerdTest, APodHasLimitsAsAWhole) {
  if (!internal::HasController("memory")) GTEST_SKIP() << "there are no limits of memory here";
  pod_.limits.memory_bytes = 24 << 20;
  pod_.limits.cpu_shares = 100;
  const std::string id =
      Run(Shell("busybox dd if=/dev/zero of=/dev/shm/x bs=1M count=60; sleep 1000"));
  const std::string group = world_->cgroup + "/pod" + pod_.pod.uid;
  EXPECT_THAT(internal::CgroupFolders(group), Not(IsEmpty()));
  // It is not the container that has a limit; what is in it is killed all the same.
  EXPECT_TRUE(Eventually([&] {
    std::int64_t kills = 0;
    for (const std::string& one : internal::CgroupFolders(group)) {
      for (const std::string& below : files::NamesIn(one).value_or(std::vector<std::string>())) {
        kills += internal::OomKills(one + "/" + below);
      }
    }
    return kills > 0;
  }));
  EXPECT_EQ(InfoOf(id).state, ContainerState::kRunning);
  const std::string sandbox = List().sandboxes.at(0).id;
  EXPECT_THAT(Order([&](auto done) { runtime_->RemoveSandbox(sandbox, done); }), IsOk());
  EXPECT_THAT(internal::CgroupFolders(group), IsEmpty());
}

TEST_F(ContainerdTest, AContainerMaySeeTheProcessesOfAnother) {
  const std::string target = Run(Shell("sleep 12345"));
  ContainerConfig config = Shell("sleep 54321");
  config.name = "debugger";
  config.log_path = "main/debugger.log";
  config.pid_target = target;
  const std::string id = Run(config);
  const auto seen = Ask<ExecResult>([&](auto done) {
    runtime_->ExecSync(id, {"busybox", "ps", "-o", "args"}, seconds(30), done);
  });
  ASSERT_THAT(seen, IsOk());
  EXPECT_THAT(seen->out, AllOf(HasSubstr("sleep 12345"), HasSubstr("sleep 54321")));
}

TEST_F(ContainerdTest, OneThatCannotBeStartedSaysWhy) {
  ContainerConfig config = Shell("");
  config.command = {"/nonsuch"};
  const auto id = Create(config);
  ASSERT_THAT(id, IsOk());
  EXPECT_THAT(Start(*id), StatusIs(StatusCode::kUnknown, HasSubstr("no such file or directory")));
  EXPECT_EQ(InfoOf(*id).state, ContainerState::kExited);
}

// containerd 1.6 knows nothing of CDI, and the edits are in the request; from 2.0 on it gets the names.
TEST_F(ContainerdTest, DevicesAreThereWhoeverAppliesCdi) {
  ASSERT_THAT(files::MakeFolder(Folder() + "/data"), IsOk());
  ASSERT_THAT(files::WriteWhole(Folder() + "/data/file", "of the driver\n"), IsOk());
  ASSERT_THAT(
      cdi::SaveSpec(Folder() + "/cdi", "a.json",
                    {.kind = "example.com/gpu",
                     .devices = {{.name = "0",
                                  .container_edits = {.env = {"GPU=0"},
                                                      .device_nodes = {{.path = "/dev/gpu0",
                                                                        .host_path = "/dev/zero",
                                                                        .permissions = "rw"}},
                                                      .mounts = {{.host_path = Folder() + "/data",
                                                                  .container_path = "/data",
                                                                  .options = {"ro", "bind"}}},
                                                      .additional_gids = {4711}}}}}),
      IsOk());
  ContainerConfig config = Shell(
      "echo GPU=$GPU; head -c 3 /dev/gpu0 | wc -c; cat /data/file; id; touch /data/x || echo ro");
  config.cdi_devices = {"example.com/gpu=0"};
  EXPECT_EQ(WaitForEnd(Run(config)).exit_code, 0);
  EXPECT_THAT(Log(), AllOf(HasSubstr("GPU=0\n"), HasSubstr("3\n"), HasSubstr("of the driver\n"),
                           HasSubstr("4711"), HasSubstr("ro\n")));
  const auto about = Ask<RuntimeInfo>([&](auto done) { runtime_->Probe(done); });
  ASSERT_THAT(about, IsOk());
  // Names for a runtime that drops them: noticed, and that container does not run on.
  Open({.cdi = CdiMode::kRuntime});
  config.attempt = 1;
  config.log_path = "main/1.log";
  config.command = {"sleep", "1000"};
  const auto id = Create(config);
  ASSERT_THAT(id, IsOk());
  if (AppliesCdi(about->name, about->version)) {
    EXPECT_THAT(Start(*id), IsOk());
    config.attempt = 2;
    config.cdi_devices = {"example.com/gpu=gone"};
    EXPECT_THAT(Create(config), StatusIs(StatusCode::kUnknown, HasSubstr("example.com/gpu=gone")));
    return;
  }
  EXPECT_THAT(Start(*id), StatusIs(StatusCode::kFailedPrecondition,
                                   HasSubstr("ignored the CDI device example.com/gpu=0")));
  EXPECT_EQ(InfoOf(*id).state, ContainerState::kExited);
}

TEST_F(ContainerdTest, StoppingGivesTime) {
  const std::string kind =
      Run(Shell("trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"));
  ASSERT_TRUE(Eventually([&] { return Log() == "up\n"; }));
  EXPECT_THAT(Stop(kind, seconds(20)), IsOk());
  EXPECT_EQ(InfoOf(kind).exit_code, 0);
  EXPECT_EQ(Log(), "up\nbye\n");
  const std::string deaf = Run(Shell("trap '' TERM; echo up; while :; do sleep 0.1; done", 1));
  ASSERT_TRUE(Eventually([&] { return Log(1) == "up\n"; }));
  EXPECT_THAT(Stop(deaf, seconds(1)), IsOk());
  EXPECT_EQ(InfoOf(deaf).exit_code, 137);
  EXPECT_THAT(Stop(deaf, seconds(1)), IsOk()) << "asking again does nothing";
  EXPECT_THAT(Stop("gone", seconds(1)), IsOk());
}

TEST_F(ContainerdTest, AnotherAgentFindsWhatRuns) {
  const std::string sandbox = Sandbox().id;
  const std::string id = Run(Shell("echo up; sleep 1000"));
  Open();
  const Inventory all = List();
  ASSERT_THAT(all.sandboxes, SizeIs(1));
  EXPECT_EQ(all.sandboxes[0].id, sandbox);
  EXPECT_TRUE(all.sandboxes[0].ready);
  EXPECT_EQ(all.sandboxes[0].pod, pod_.pod);
  EXPECT_EQ(InfoOf(id).state, ContainerState::kRunning);
  EXPECT_EQ(Sandbox().id, sandbox);
  EXPECT_THAT(Create(Shell("sleep 1000")), IsOkAndHolds(id));
  // So does one whose containerd was killed meanwhile.
  world_->containerd->Kill();
  EXPECT_THAT(Ask<Inventory>([&](auto done) { runtime_->List(done); }),
              StatusIs(StatusCode::kUnavailable, ::testing::_));
  ASSERT_THAT(world_->containerd->Start(), IsOk());
  EXPECT_TRUE(Eventually([&] {
    const auto again = Ask<Inventory>([&](auto done) { runtime_->List(done); });
    return again.ok() && again->containers.size() == 1 &&
           again->containers[0].state == ContainerState::kRunning;
  }));
  EXPECT_THAT(Stop(id, seconds(0)), IsOk());
  EXPECT_EQ(InfoOf(id).exit_code, 137);
}

TEST_F(ContainerdTest, ASandboxThatDiedMakesRoom) {
  const std::string first = Sandbox().id;
  EXPECT_THAT(Order([&](auto done) { runtime_->StopSandbox(first, done); }), IsOk());
  EXPECT_FALSE(List().sandboxes.at(0).ready);
  const std::string second = Sandbox().id;
  EXPECT_NE(second, first);
  EXPECT_THAT(List().sandboxes, SizeIs(1));
}

TEST_F(ContainerdTest, CommandsForProbes) {
  const std::string id = Run(Shell("sleep 1000"));
  const auto exec = [&](std::vector<std::string> command, seconds timeout) {
    return Ask<ExecResult>([&](auto done) { runtime_->ExecSync(id, command, timeout, done); });
  };
  const auto ran = exec({"sh", "-c", "echo out; echo err >&2; exit 4"}, seconds(10));
  ASSERT_THAT(ran, IsOk());
  EXPECT_EQ(ran->exit_code, 4);
  EXPECT_EQ(ran->out, "out\n");
  EXPECT_EQ(ran->err, "err\n");
  EXPECT_THAT(exec({"sleep", "100"}, seconds(1)),
              StatusIs(StatusCode::kDeadlineExceeded, ::testing::_));
  EXPECT_THAT(exec({"nonsuch"}, seconds(10)),
              StatusIs(StatusCode::kUnknown, HasSubstr("executable file not found")));
}

TEST_F(ContainerdTest, CommandsWithInputAndItsEnd) {
  const std::string id = Run(Shell("sleep 1000"));
  Spoken spoken;
  const auto session = runtime_->Exec(
      {.container_id = id, .command = {"sh", "-c", "cat; echo over >&2; exit 5"}, .stdin = true},
      spoken.Events());
  std::string much;
  for (int i = 0; i < 100'000; ++i) much += fmt::format("{}\n", i);
  session->Write(much);
  session->CloseInput();
  EXPECT_THAT(spoken.Code(), IsOkAndHolds(5));
  EXPECT_EQ(spoken.Out(), much);
  EXPECT_EQ(spoken.Err(), "over\n");

  Spoken bare;
  const auto other =
      runtime_->Exec({.container_id = id, .command = {"echo", "hello"}}, bare.Events());
  EXPECT_THAT(bare.Code(), IsOkAndHolds(0));
  EXPECT_EQ(bare.Out(), "hello\n");

  Spoken wrong;
  const auto none = runtime_->Exec({.container_id = id, .command = {"nonsuch"}}, wrong.Events());
  EXPECT_THAT(wrong.Code(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("executable file not found")));
  Spoken gone;
  const auto nobody = runtime_->Exec({.container_id = "gone", .command = {"ls"}}, gone.Events());
  EXPECT_THAT(gone.Code(), StatusIs(StatusCode::kNotFound, ::testing::_));
}

TEST_F(ContainerdTest, ATerminalHasASize) {
  const std::string id = Run(Shell("sleep 1000"));
  Spoken spoken;
  const auto session = runtime_->Exec({.container_id = id,
                                       .command = {"sh", "-c", "read x; stty size; echo got $x"},
                                       .tty = true,
                                       .stdin = true},
                                      spoken.Events());
  session->Resize(91, 17);
  // The size takes its own way, so it may come later than the input.
  std::this_thread::sleep_for(milliseconds(300));
  session->Write("word\n");
  EXPECT_THAT(spoken.Code(), IsOkAndHolds(0));
  EXPECT_THAT(spoken.Out(), AllOf(HasSubstr("17 91\r\n"), HasSubstr("got word\r\n")));
}

TEST_F(ContainerdTest, WhoAttachesTalksToTheContainer) {
  ContainerConfig config = Shell("while read x; do echo got $x; done; echo over");
  config.stdin = true;
  const std::string id = Run(config);
  Spoken spoken;
  const auto session = runtime_->Exec({.container_id = id, .stdin = true}, spoken.Events());
  session->Write("one\n");
  ASSERT_TRUE(Eventually([&] { return spoken.Out() == "got one\n"; })) << spoken.Out();
  session->Write("two\n");
  ASSERT_TRUE(Eventually([&] { return spoken.Out() == "got one\ngot two\n"; })) << spoken.Out();
  EXPECT_THAT(Stop(id, seconds(0)), IsOk());
  EXPECT_THAT(spoken.Code(), IsOkAndHolds(0));
  EXPECT_THAT(Log(), HasSubstr("got two\n"));
}

TEST_F(ContainerdTest, WhoeverLetsGoOfACommandIsLetGo) {
  const std::string id = Run(Shell("sleep 1000"));
  Spoken spoken;
  auto session =
      runtime_->Exec({.container_id = id, .command = {"sh", "-c", "echo up; cat"}, .stdin = true},
                     spoken.Events());
  ASSERT_TRUE(Eventually([&] { return spoken.Out() == "up\n"; }));
  session = nullptr;
  EXPECT_THAT(spoken.Code(), StatusIs(StatusCode::kCancelled, ::testing::_));
}

TEST_F(ContainerdTest, LogsThatAreFullArePutAside) {
  Open({.log_max_bytes = 2000, .log_max_files = 3, .log_interval = milliseconds(50)});
  const std::string id =
      Run(Shell("i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); sleep 0.01; done"));
  const std::string log = pod_.log_directory + "/main/0.log";
  std::size_t most = 0;
  LogReader reader(log, {});
  std::string shown;
  EXPECT_TRUE(Eventually([&] {
    const bool over = InfoOf(id).state == ContainerState::kExited;
    most = std::max(most, LogFilesOf(log).size());
    while (reader.Read(shown).value_or(false)) {
    }
    return over;
  }));
  EXPECT_GT(most, 1u);
  EXPECT_LE(LogFilesOf(log).size(), 3u);
  // Who follows misses nothing.
  std::string all;
  for (int i = 0; i < 200; ++i) all += fmt::format("line {}\n", i);
  EXPECT_EQ(shown, all);
}

TEST_F(ContainerdTest, AnImageThatIsNotThere) {
  EXPECT_THAT(
      Ask<ImageInfo>([&](auto done) { runtime_->FindImage("127.0.0.1:1/none:1", done); }),
      StatusIs(StatusCode::kNotFound, AllOf(HasSubstr("image 127.0.0.1:1/none:1 cannot be pulled"),
                                            HasSubstr("refused"))));
}

TEST_F(ContainerdTest, APrivilegedContainer) {
  pod_.privileged = true;
  ContainerConfig config = Shell("[ -c /dev/kmsg ] && echo all devices");
  config.security.privileged = true;
  EXPECT_EQ(WaitForEnd(Run(config)).exit_code, 0);
  EXPECT_EQ(Log(), "all devices\n");
}

TEST_F(ContainerdTest, LimitsHold) {
  if (!internal::HasController("memory")) GTEST_SKIP() << "no memory controller";
  ContainerConfig config = Shell("x=a; while :; do x=$x$x; done");
  config.limits.memory_bytes = 16 << 20;
  // containerd hears of it by another way than of the end: it says so later perhaps, and now and
  // then never, when the group has gone before its counter was looked at. So it may be told late,
  // and not of each, but of one in five.
  std::string reason;
  for (int attempt = 0; attempt < 5 && reason != "OOMKilled"; ++attempt) {
    config.name = fmt::format("limits-{}", attempt);
    const std::string id = Run(config);
    ASSERT_EQ(WaitForEnd(id).exit_code, 137);
    const auto end = std::chrono::steady_clock::now() + seconds(6);
    while ((reason = InfoOf(id).reason) != "OOMKilled" && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(20));
    }
  }
  EXPECT_EQ(reason, "OOMKilled");
}

// Last: pods have a network from here on.
TEST_F(ContainerdTest, TheNetworkOfPodsIsThePlugins) {
  const auto probe = [&] { return Ask<RuntimeInfo>([&](auto done) { runtime_->Probe(done); }); };
  auto info = probe();
  ASSERT_THAT(info, IsOk());
  EXPECT_EQ(info->name, "containerd");
  EXPECT_THAT(info->network, HasSubstr("NetworkPluginNotReady"));
  pod_.host_network = false;
  pod_.hostname = "inside";
  ASSERT_THAT(files::MakeFolder(pod_.log_directory), IsOk());
  EXPECT_THAT(Ask<SandboxInfo>([&](auto done) { runtime_->RunSandbox(pod_, done); }),
              StatusIs(StatusCode::kUnknown, HasSubstr("cni plugin not initialized")));
  ASSERT_THAT(world_->containerd->AddNetwork(), IsOk());
  EXPECT_TRUE(Eventually([&] {
    info = probe();
    return info.ok() && info->network.empty();
  }));
  const SandboxInfo sandbox = Sandbox();
  EXPECT_THAT(sandbox.ips, ElementsAre("10.99.0.7"));
  (void)Run(Shell("hostname; echo hello | nc -l -p 80 127.0.0.1"));
  ASSERT_TRUE(Eventually([&] { return Log() == "inside\n"; }));
  // A port within the pod. Its program may not listen yet.
  std::string heard;
  std::string fault;
  EXPECT_TRUE(Eventually([&] {
    const auto made = Ask<PortConnection>(
        [&](auto done) { runtime_->Connect(sandbox.id, 80, seconds(10), done); });
    if (!made.ok()) return false;
    char buffer[64];
    ssize_t n = 0;
    while ((n = ::recv(made->socket.get(), buffer, sizeof(buffer), 0)) > 0) {
      heard.append(buffer, static_cast<std::size_t>(n));
    }
    fault = made->fault();
    return !heard.empty();
  }));
  EXPECT_EQ(heard, "hello\n");
  EXPECT_EQ(fault, "");
  const auto nobody =
      Ask<PortConnection>([&](auto done) { runtime_->Connect(sandbox.id, 81, seconds(10), done); });
  ASSERT_THAT(nobody, IsOk());
  char byte = 0;
  EXPECT_EQ(::recv(nobody->socket.get(), &byte, 1, 0), 0);
  EXPECT_THAT(nobody->fault(), HasSubstr("connection refused"));
}

// The last one: from here on there is a network.
TEST_F(ContainerdTest, SysctlsAreThePods) {
  ASSERT_THAT(world_->containerd->AddNetwork(), IsOk());
  pod_.host_network = false;
  pod_.hostname = "inside";
  pod_.sysctls = {{"net.ipv4.ip_unprivileged_port_start", "42"}};
  const auto probe = [&] { return Ask<RuntimeInfo>([&](auto done) { runtime_->Probe(done); }); };
  ASSERT_TRUE(Eventually([&] { return probe().ok() && probe()->network.empty(); }));
  const std::string id = Run(Shell("cat /proc/sys/net/ipv4/ip_unprivileged_port_start"));
  EXPECT_EQ(WaitForEnd(id).exit_code, 0);
  EXPECT_EQ(Log(), "42\n");
}

}  // namespace
}  // namespace dray::container
