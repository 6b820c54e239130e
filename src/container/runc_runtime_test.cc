// SPDX-License-Identifier: Apache-2.0
//
// Real containers: busybox in temporary folders. Skipped, with the reason, where the machine lets
// nobody run any.
#include "container/runc_runtime.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <random>
#include <thread>

#include "base/mutex.h"
#include "cdi/folder.h"
#include "container/containers_for_test.h"
#include "container/internal/cgroups.h"
#include "container/internal/state_files.h"
#include "container/log_reader.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
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
using ::testing::StartsWith;
namespace fs = std::filesystem;

template <typename T>
struct Answer {
  std::promise<T> promise = std::promise<T>();
  T Get() {
    auto future = promise.get_future();
    if (future.wait_for(seconds(90)) != std::future_status::ready) {
      ADD_FAILURE() << "no answer";
      std::abort();
    }
    return future.get();
  }
};

class RuncTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { why_not_ = new std::string(WhyNoContainers()); }
  static void TearDownTestSuite() { delete why_not_; }

  void SetUp() override {
    if (!why_not_->empty()) GTEST_SKIP() << *why_not_;
    cgroup_ = fmt::format("/dray-test-{}", ::getpid());
    janitor_ = std::make_unique<Janitor>(folder_.path(), cgroup_);
    ASSERT_THAT(BuildBusybox(folder_ / "images"), IsOk());
    Open();
  }

  void TearDown() override {
    if (!why_not_->empty()) return;
    if (runtime_ != nullptr) {
      const auto all = List();
      for (const SandboxInfo& sandbox : all.sandboxes) {
        EXPECT_THAT(Ask([&](auto done) { runtime_->RemoveSandbox(sandbox.id, done); }), IsOk());
      }
    }
    runtime_.reset();
    store_.reset();
    ExpectNothingLeft();
    (void)internal::RemoveCgroup(cgroup_);
    janitor_->Dismiss();
  }

  // The machine is as it was, but for files in the folder.
  void ExpectNothingLeft() {
    EXPECT_THAT(files::NamesIn(folder_ / "run/containers"), IsOkAndHolds(IsEmpty()));
    EXPECT_THAT(files::NamesIn(folder_ / "run/sandboxes"), IsOkAndHolds(IsEmpty()));
    EXPECT_THAT(files::NamesIn(folder_ / "run/exits"), IsOkAndHolds(IsEmpty()));
    EXPECT_THAT(files::NamesIn(folder_ / "run/locks"), IsOkAndHolds(IsEmpty()));
    EXPECT_THAT(files::NamesIn(folder_ / "run/runc"), IsOkAndHolds(IsEmpty()));
    EXPECT_THAT(*files::ReadWhole("/proc/self/mountinfo"), Not(HasSubstr(folder_.path())));
    EXPECT_THAT(internal::CgroupFolders(cgroup_), IsEmpty());
    EXPECT_THAT(ProcessesIn(folder_.path()), IsEmpty());
  }

  bool SomethingIsCreated() const {
    const auto ids = files::NamesIn(folder_ / "run/containers");
    return ids.ok() && !ids->empty() &&
           ::access((folder_ / ("run/containers/" + ids->front() + "/created.json")).c_str(),
                    F_OK) == 0;
  }

  RuncOptions Options() const {
    return {.root = folder_ / "run",
            .shim = {ShimForTest()},
            .cgroup_parent = cgroup_,
            .cdi_folders = {folder_ / "cdi"}};
  }
  void Open() {
    runtime_.reset();
    auto store = image::Store::Open({.folder = folder_ / "store", .sources = {folder_ / "images"}});
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
    auto runtime = OpenRuncRuntime(Options(), *store_, clock_);
    ASSERT_THAT(runtime, IsOk());
    runtime_ = *std::move(runtime);
  }

  template <typename Call>
  static Status Ask(Call call) {
    Answer<Status> answer;
    call([&](Status status) { answer.promise.set_value(status); });
    return answer.Get();
  }
  template <typename T, typename Call>
  static StatusOr<T> AskFor(Call call) {
    Answer<StatusOr<T>> answer;
    call([&](StatusOr<T> value) { answer.promise.set_value(std::move(value)); });
    return answer.Get();
  }

  SandboxConfig Pod(const std::string& uid) const {
    SandboxConfig config;
    config.pod = {.namespace_ = "ns", .name = "pod-" + uid, .uid = uid};
    config.hostname = "pod-" + uid;
    config.log_directory = folder_ / ("logs/" + uid);
    return config;
  }
  std::string RunSandbox(const SandboxConfig& config) {
    const auto info = AskFor<SandboxInfo>([&](auto done) { runtime_->RunSandbox(config, done); });
    EXPECT_THAT(info, IsOk());
    return info.ok() ? info->id : "";
  }
  static ContainerConfig Sh(const std::string& name, const std::string& script) {
    ContainerConfig config;
    config.name = name;
    config.image = "busybox";
    config.command = {"sh", "-c", script};
    config.log_path = name + "/0.log";
    return config;
  }
  StatusOr<std::string> Create(const std::string& sandbox, const SandboxConfig& pod,
                               const ContainerConfig& config) {
    return AskFor<std::string>([&](auto done) { runtime_->Create(sandbox, pod, config, done); });
  }
  Status Start(const std::string& id) {
    return Ask([&](auto done) { runtime_->Start(id, done); });
  }
  Status Stop(const std::string& id, seconds grace) {
    return Ask([&](auto done) { runtime_->Stop(id, grace, done); });
  }
  Inventory List() {
    auto all = AskFor<Inventory>([&](auto done) { runtime_->List(done); });
    EXPECT_THAT(all, IsOk());
    return *all;
  }
  ContainerInfo InfoOf(const std::string& id) {
    for (const ContainerInfo& info : List().containers) {
      if (info.id == id) return info;
    }
    ADD_FAILURE() << "no container " << id;
    return {};
  }
  ContainerInfo WaitForEnd(const std::string& id) {
    for (int i = 0; i < 3000; ++i) {
      const ContainerInfo info = InfoOf(id);
      if (info.state == ContainerState::kExited) return info;
      std::this_thread::sleep_for(milliseconds(10));
    }
    ADD_FAILURE() << "container does not end";
    return {};
  }
  // Runs a container to its end in a pod of its own; what it said.
  struct Ended {
    ContainerInfo info;
    std::string log;
  };
  Ended RunToEnd(const ContainerConfig& config, const SandboxConfig& pod) {
    const std::string sandbox = RunSandbox(pod);
    const auto id = Create(sandbox, pod, config);
    EXPECT_THAT(id, IsOk());
    if (!id.ok()) return {};
    EXPECT_THAT(Start(*id), IsOk());
    const ContainerInfo info = WaitForEnd(*id);
    return {info, *ReadLog(info.log_path, {})};
  }
  StatusOr<ExecResult> Exec(const std::string& id, std::vector<std::string> command,
                            seconds timeout = seconds(30)) {
    return AskFor<ExecResult>(
        [&](auto done) { runtime_->ExecSync(id, std::move(command), timeout, done); });
  }

  static std::string* why_not_;
  files::TemporaryFolder folder_;
  std::string cgroup_;
  std::unique_ptr<Janitor> janitor_;
  base::SystemClock clock_;
  std::unique_ptr<image::Store> store_;
  std::unique_ptr<Runtime> runtime_;
};
std::string* RuncTest::why_not_ = nullptr;

TEST_F(RuncTest, OutputExitCodeAndTimes) {
  const Ended ended =
      RunToEnd(Sh("main", "echo out; echo err >&2; hostname; echo $HOSTNAME; exit 7"), Pod("1"));
  EXPECT_EQ(ended.info.exit_code, 7);
  EXPECT_EQ(ended.info.reason, "Error");
  EXPECT_EQ(ended.info.pod.uid, "1");
  EXPECT_EQ(ended.info.image, "docker.io/library/busybox:latest");
  EXPECT_THAT(ended.info.image_id, StartsWith("docker.io/library/busybox@sha256:"));
  EXPECT_LE(ended.info.created_at, ended.info.started_at);
  EXPECT_LE(ended.info.started_at, ended.info.finished_at);
  EXPECT_THAT(ended.log,
              AllOf(HasSubstr("out\n"), HasSubstr("err\n"), HasSubstr("pod-1\npod-1\n")));
  EXPECT_THAT(ReadLog(ended.info.log_path, {.stream = LogStream::kErr}), IsOkAndHolds("err\n"));
  const auto probe = AskFor<RuntimeInfo>([&](auto done) { runtime_->Probe(done); });
  ASSERT_THAT(probe, IsOk());
  EXPECT_EQ(probe->name, "runc");
  EXPECT_THAT(probe->version, StartsWith("1."));
}

TEST_F(RuncTest, EverythingMayBeAskedAgain) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  EXPECT_EQ(RunSandbox(pod), sandbox);
  const ContainerConfig config = Sh("main", "sleep 1000");
  const auto id = Create(sandbox, pod, config);
  ASSERT_THAT(id, IsOk());
  EXPECT_THAT(Create(sandbox, pod, config), IsOkAndHolds(*id));
  EXPECT_EQ(InfoOf(*id).state, ContainerState::kCreated);
  EXPECT_THAT(Start(*id), IsOk());
  EXPECT_THAT(Start(*id), IsOk());
  // As if the agent had been killed before it wrote that down.
  ASSERT_THAT(files::RemoveFile(folder_ / ("run/containers/" + *id + "/started.json")), IsOk());
  EXPECT_THAT(Start(*id), IsOk());
  EXPECT_EQ(InfoOf(*id).state, ContainerState::kRunning);
  EXPECT_THAT(List().sandboxes, SizeIs(1));
  EXPECT_TRUE(List().sandboxes[0].ready);
  for (int i = 0; i < 2; ++i) EXPECT_THAT(Stop(*id, seconds(0)), IsOk());
  EXPECT_EQ(InfoOf(*id).exit_code, 137);
  EXPECT_THAT(Start(*id), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ended")));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Ask([&](auto done) { runtime_->Remove(*id, done); }), IsOk());
    EXPECT_THAT(Ask([&](auto done) { runtime_->StopSandbox(sandbox, done); }), IsOk());
  }
  EXPECT_FALSE(List().sandboxes[0].ready);
  EXPECT_THAT(Create(sandbox, pod, config),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not ready")));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Ask([&](auto done) { runtime_->RemoveSandbox(sandbox, done); }), IsOk());
  }
  EXPECT_THAT(List().sandboxes, IsEmpty());
}

TEST_F(RuncTest, AGracePeriodIsGivenAndEnds) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  const auto polite = Create(
      sandbox, pod,
      Sh("polite", "trap 'echo bye; exit 3' TERM; echo up; while true; do sleep 0.05; done"));
  const auto deaf =
      Create(sandbox, pod, Sh("deaf", "trap '' TERM; echo up; while true; do sleep 1; done"));
  ASSERT_THAT(polite, IsOk());
  ASSERT_THAT(deaf, IsOk());
  for (const auto& id : {*polite, *deaf}) {
    ASSERT_THAT(Start(id), IsOk());
    while (*ReadLog(InfoOf(id).log_path, {}) != "up\n")
      std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_THAT(Stop(*polite, seconds(30)), IsOk());
  EXPECT_EQ(InfoOf(*polite).exit_code, 3);
  EXPECT_THAT(ReadLog(InfoOf(*polite).log_path, {}), IsOkAndHolds("up\nbye\n"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(Stop(*deaf, seconds(1)), IsOk());
  EXPECT_GE(std::chrono::steady_clock::now() - begin, seconds(1));
  EXPECT_EQ(InfoOf(*deaf).exit_code, 137);
}

TEST_F(RuncTest, CdiDevicesAreInTheContainer) {
  ASSERT_THAT(files::WriteWhole(folder_ / "given", "from the host"), IsOk());
  cdi::Spec spec{.kind = "example.com/gpu"};
  spec.container_edits.env = {"FILE=yes"};
  cdi::ContainerEdits edits;
  edits.env = {"GPU=one", "PATH=/bin:/gpu"};
  edits.device_nodes = {{.path = "/dev/gpu0", .host_path = "/dev/zero"}};
  edits.mounts = {{.host_path = folder_ / "given",
                   .container_path = "/etc/gpu/given",
                   .options = {"ro", "bind"}}};
  edits.hooks = {{.hook_name = "createRuntime",
                  .path = "/bin/busybox",
                  .args = {"busybox", "touch", folder_ / "hooked"}}};
  edits.additional_gids = {4242};
  spec.devices = {{.name = "uid-1", .container_edits = edits}};
  ASSERT_THAT(cdi::SaveSpec(folder_ / "cdi", "gpu.json", spec), IsOk());
  ContainerConfig config =
      Sh("main",
         "echo $GPU $FILE $PATH; head -c 3 /dev/gpu0 | wc -c; cat /etc/gpu/given; echo; id -G; "
         "echo x >/etc/gpu/given || echo readonly");
  config.cdi_devices = {"example.com/gpu=uid-1"};
  const Ended ended = RunToEnd(config, Pod("1"));
  EXPECT_THAT(ended.log, AllOf(StartsWith("one yes /bin:/gpu\n3\nfrom the host\n"),
                               HasSubstr("4242"), HasSubstr("readonly")));
  EXPECT_EQ(::access((folder_ / "hooked").c_str(), F_OK), 0);
}

TEST_F(RuncTest, WithoutItsDeviceAContainerIsNotMade) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  ContainerConfig config = Sh("main", "true");
  config.cdi_devices = {"example.com/gpu=gone"};
  EXPECT_THAT(
      Create(sandbox, pod, config),
      StatusIs(StatusCode::kNotFound, HasSubstr("unresolvable CDI devices example.com/gpu=gone")));
  // What cannot be made leaves nothing, and can be made later.
  config.cdi_devices.clear();
  config.command = {"/bin/not-there"};
  EXPECT_THAT(Create(sandbox, pod, config),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not-there")));
  config.image = "other";
  EXPECT_THAT(Create(sandbox, pod, config), StatusIs(StatusCode::kNotFound, HasSubstr("other")));
  EXPECT_THAT(List().containers, IsEmpty());
  EXPECT_THAT(files::NamesIn(folder_ / "run/containers"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Create(sandbox, pod, Sh("main", "true")), IsOk());
}

TEST_F(RuncTest, ContainersOutliveTheAgent) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  const auto ended = Create(sandbox, pod, Sh("ended", "exit 5"));
  const auto runs = Create(
      sandbox, pod,
      Sh("runs", fmt::format("while [ ! -e /tmp/go ]; do sleep 0.02; done; echo done; exit 9")));
  const auto waits = Create(sandbox, pod, Sh("waits", "exit 0"));
  ASSERT_THAT(Start(*ended), IsOk());
  ASSERT_THAT(Start(*runs), IsOk());
  runtime_.reset();
  Open();
  EXPECT_TRUE(List().sandboxes[0].ready);
  EXPECT_EQ(WaitForEnd(*ended).exit_code, 5);
  EXPECT_EQ(InfoOf(*runs).state, ContainerState::kRunning);
  EXPECT_EQ(InfoOf(*waits).state, ContainerState::kCreated);
  std::atomic<bool> told = false;
  runtime_->OnChange([&] { told = true; });
  EXPECT_THAT(
      Exec(*runs, {"sh", "-c", "mkdir -p /tmp; busybox mkdir -p /tmp; busybox touch /tmp/go"}),
      IsOk());
  const ContainerInfo info = WaitForEnd(*runs);
  EXPECT_EQ(info.exit_code, 9);
  EXPECT_THAT(ReadLog(info.log_path, {}), IsOkAndHolds("done\n"));
  for (int i = 0; i < 100 && !told; ++i) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(told);
  EXPECT_THAT(Start(*waits), IsOk());
  EXPECT_EQ(WaitForEnd(*waits).reason, "Completed");
}

// An agent that is killed at any moment of making a pod leaves nothing that the next one cannot use or
// remove.
TEST_F(RuncTest, KilledInTheMiddleOfCreate) {
  runtime_.reset();
  store_.reset();
  const SandboxConfig pod = Pod("1");
  const ContainerConfig config = Sh("main", "sleep 1000");
  int created = 0;
  // The last one: once the container is there, however slow the machine is.
  for (const int after : {2, 10, 20, 35, 50, 65, 80, 110, 150, 220, -1}) {
    const pid_t agent = ::fork();
    ASSERT_GE(agent, 0);
    if (agent == 0) {
      // Its own answers are nobody's: it is killed.
      auto store =
          image::Store::Open({.folder = folder_ / "store", .sources = {folder_ / "images"}});
      if (!store.ok()) ::_exit(1);
      auto runtime = OpenRuncRuntime(Options(), **store, clock_);
      if (!runtime.ok()) ::_exit(1);
      const auto sandbox =
          AskFor<SandboxInfo>([&](auto done) { (*runtime)->RunSandbox(pod, done); });
      if (!sandbox.ok()) ::_exit(1);
      const auto id = AskFor<std::string>(
          [&](auto done) { (*runtime)->Create(sandbox->id, pod, config, done); });
      if (id.ok()) (void)Ask([&](auto done) { (*runtime)->Start(*id, done); });
      for (;;) ::pause();
    }
    if (after >= 0) std::this_thread::sleep_for(milliseconds(after));
    for (int i = 0; after < 0 && i < 3000 && !SomethingIsCreated(); ++i) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    ::kill(agent, SIGKILL);
    ::waitpid(agent, nullptr, 0);
    Open();
    const Inventory all = List();
    EXPECT_LE(all.sandboxes.size(), 1u);
    EXPECT_LE(all.containers.size(), 1u);
    created += static_cast<int>(all.containers.size());
    for (const ContainerInfo& info : all.containers) {
      EXPECT_NE(info.state, ContainerState::kExited) << after;
      EXPECT_NE(info.state, ContainerState::kUnknown);
    }
    // What there is can be gone on with.
    const std::string sandbox = RunSandbox(pod);
    const auto id = Create(sandbox, pod, config);
    ASSERT_THAT(id, IsOk());
    EXPECT_THAT(Start(*id), IsOk());
    EXPECT_EQ(InfoOf(*id).state, ContainerState::kRunning);
    EXPECT_THAT(Ask([&](auto done) { runtime_->RemoveSandbox(sandbox, done); }), IsOk());
    runtime_.reset();
    store_.reset();
    ExpectNothingLeft();
  }
  EXPECT_GE(created, 1);
}

// The same of one that makes and removes pods all the time: it is killed while it removes, too.
TEST_F(RuncTest, KilledAtAnyMoment) {
  runtime_.reset();
  store_.reset();
  std::mt19937 random(static_cast<unsigned>(::getpid()));
  for (int round = 0; round < 8; ++round) {
    const pid_t agent = ::fork();
    ASSERT_GE(agent, 0);
    if (agent == 0) {
      auto store =
          image::Store::Open({.folder = folder_ / "store", .sources = {folder_ / "images"}});
      if (!store.ok()) ::_exit(1);
      auto runtime = OpenRuncRuntime(Options(), **store, clock_);
      if (!runtime.ok()) {
        std::fprintf(stderr, "%s\n", runtime.status().ToString().c_str());
        ::_exit(1);
      }
      for (std::uint32_t attempt = 0;; ++attempt) {
        SandboxConfig pod = Pod("1");
        pod.attempt = attempt;
        const auto sandbox =
            AskFor<SandboxInfo>([&](auto done) { (*runtime)->RunSandbox(pod, done); });
        if (!sandbox.ok()) {
          std::fprintf(stderr, "%s\n", sandbox.status().ToString().c_str());
          ::_exit(1);
        }
        const auto id = AskFor<std::string>([&](auto done) {
          (*runtime)->Create(sandbox->id, pod, Sh("main", "sleep 1000"), done);
        });
        if (id.ok()) (void)Ask([&](auto done) { (*runtime)->Start(*id, done); });
        (void)Ask([&](auto done) { (*runtime)->RemoveSandbox(sandbox->id, done); });
      }
    }
    std::this_thread::sleep_for(milliseconds(150 + random() % 800));
    ::kill(agent, SIGKILL);
    int status = 0;
    ::waitpid(agent, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));  // it did not end by itself
    Open();
    for (const SandboxInfo& sandbox : List().sandboxes) {
      EXPECT_THAT(Ask([&](auto done) { runtime_->RemoveSandbox(sandbox.id, done); }), IsOk());
    }
    EXPECT_THAT(List().containers, IsEmpty());
    runtime_.reset();
    store_.reset();
    ExpectNothingLeft();
  }
}

TEST_F(RuncTest, AContainerWhoseShimIsKilledHasEnded) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  const auto id = Create(sandbox, pod, Sh("main", "sleep 1000"));
  ASSERT_THAT(Start(*id), IsOk());
  const auto shim = internal::ReadRecord<internal::PidRecord>(
      folder_ / ("run/containers/" + *id + "/shim.pid.json"));
  ASSERT_THAT(shim, IsOk());
  ::kill(static_cast<pid_t>(shim->pid), SIGKILL);
  const ContainerInfo info = WaitForEnd(*id);
  EXPECT_EQ(info.exit_code, 137);
  EXPECT_EQ(info.reason, "ContainerStatusUnknown");
  EXPECT_EQ(InfoOf(*id).finished_at, info.finished_at);
}

TEST_F(RuncTest, CommandsInContainers) {
  const SandboxConfig pod = Pod("1");
  const auto id = Create(RunSandbox(pod), pod, Sh("main", "sleep 1000"));
  EXPECT_THAT(Exec(*id, {"true"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not running")));
  ASSERT_THAT(Start(*id), IsOk());
  const auto said = Exec(*id, {"sh", "-c", "echo out; echo err >&2; exit 4"});
  ASSERT_THAT(said, IsOk());
  EXPECT_EQ(said->exit_code, 4);
  EXPECT_EQ(said->out, "out\n");
  EXPECT_EQ(said->err, "err\n");
  EXPECT_THAT(Exec(*id, {"not-there"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not-there")));
  EXPECT_THAT(Exec(*id, {"sleep", "77"}, seconds(1)),
              StatusIs(StatusCode::kDeadlineExceeded, HasSubstr("longer")));
  // It does not go on.
  const auto left = Exec(*id, {"ps"});
  ASSERT_THAT(left, IsOk());
  EXPECT_THAT(left->out, AllOf(HasSubstr("sleep 1000"), Not(HasSubstr("sleep 77"))));
}

// What comes of a session.
class Heard {
 public:
  ExecEvents Events() {
    return {
        .out = [this](std::string bytes) { Add(bytes); },
        .err = [this](std::string bytes) { Add(bytes); },
        .done = [this](StatusOr<std::int32_t> code) { done_.promise.set_value(std::move(code)); }};
  }
  std::string Text() {
    const base::MutexLock lock(mutex_);
    return text_;
  }
  bool WaitFor(std::string_view text) {
    for (int i = 0; i < 1000; ++i) {
      if (Text().find(text) != std::string::npos) return true;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return false;
  }
  StatusOr<std::int32_t> End() { return done_.Get(); }

 private:
  void Add(const std::string& bytes) {
    const base::MutexLock lock(mutex_);
    text_ += bytes;
  }
  base::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  Answer<StatusOr<std::int32_t>> done_;
};

TEST_F(RuncTest, SessionsWithInputTerminalAndSize) {
  const SandboxConfig pod = Pod("1");
  const auto id = Create(RunSandbox(pod), pod, Sh("main", "sleep 1000"));
  ASSERT_THAT(Start(*id), IsOk());
  {
    Heard heard;
    const auto session =
        runtime_->Exec({.container_id = *id, .command = {"cat"}, .stdin = true}, heard.Events());
    session->Write("hello\n");
    EXPECT_TRUE(heard.WaitFor("hello\n"));
    session->CloseInput();
    EXPECT_THAT(heard.End(), IsOkAndHolds(0));
  }
  {
    Heard heard;
    const auto session = runtime_->Exec(
        {.container_id = *id, .command = {"sh"}, .tty = true, .stdin = true}, heard.Events());
    session->Resize(91, 33);
    session->Write("sleep 0.3; stty size; tty || busybox tty; exit 6\n");
    EXPECT_THAT(heard.End(), IsOkAndHolds(6));
    EXPECT_THAT(heard.Text(), HasSubstr("33 91"));
  }
  {
    // Who stops listening ends the command.
    Heard heard;
    auto session =
        runtime_->Exec({.container_id = *id, .command = {"sleep", "88"}}, heard.Events());
    std::this_thread::sleep_for(milliseconds(300));
    session.reset();
    EXPECT_THAT(heard.End(), StatusIs(StatusCode::kCancelled, HasSubstr("listens")));
    EXPECT_THAT(Exec(*id, {"ps"})->out, Not(HasSubstr("sleep 88")));
  }
}

TEST_F(RuncTest, AttachingToTheFirstProcess) {
  const SandboxConfig pod = Pod("1");
  const std::string sandbox = RunSandbox(pod);
  ContainerConfig config = Sh("main", "read line; echo got $line; read more; exit 8");
  config.stdin = true;
  const auto id = Create(sandbox, pod, config);
  ASSERT_THAT(Start(*id), IsOk());
  Heard heard;
  const auto session = runtime_->Exec({.container_id = *id, .stdin = true}, heard.Events());
  session->Write("this\n");
  EXPECT_TRUE(heard.WaitFor("got this\n"));
  session->CloseInput();
  EXPECT_THAT(heard.End(), IsOkAndHolds(8));
  EXPECT_THAT(ReadLog(WaitForEnd(*id).log_path, {}), IsOkAndHolds("got this\n"));
  // With a terminal.
  ContainerConfig with_tty = Sh("tty", "stty size; read line; stty size; echo $line");
  with_tty.tty = true;
  with_tty.stdin = true;
  const auto terminal = Create(sandbox, pod, with_tty);
  ASSERT_THAT(terminal, IsOk());
  ASSERT_THAT(Start(*terminal), IsOk());
  Heard seen;
  const auto attached =
      runtime_->Exec({.container_id = *terminal, .tty = true, .stdin = true}, seen.Events());
  attached->Resize(77, 22);
  attached->Write("x y\n");
  EXPECT_THAT(seen.End(), IsOkAndHolds(0));
  EXPECT_THAT(seen.Text(), AllOf(HasSubstr("22 77"), HasSubstr("x y")));
}

TEST_F(RuncTest, NamespacesOfAPod) {
  SandboxConfig pod = Pod("1");
  pod.shared_pids = true;
  const std::string sandbox = RunSandbox(pod);
  const auto one = Create(sandbox, pod, Sh("one", "sleep 999"));
  const auto two = Create(sandbox, pod, Sh("two", "sleep 888"));
  ASSERT_THAT(one, IsOk());
  ASSERT_THAT(two, IsOk());
  ASSERT_THAT(Start(*one), IsOk());
  ASSERT_THAT(Start(*two), IsOk());
  EXPECT_THAT(Exec(*one, {"ps"})->out, HasSubstr("sleep 888"));
  EXPECT_THAT(Exec(*two, {"hostname"})->out, "pod-1\n");
  EXPECT_THAT(Exec(*two, {"ip", "addr"})->out,
              AllOf(HasSubstr("127.0.0.1"), Not(HasSubstr("eth"))));
  // A second pod is apart from it.
  const SandboxConfig other = Pod("2");
  const auto apart = Create(RunSandbox(other), other, Sh("one", "sleep 777"));
  ASSERT_THAT(Start(*apart), IsOk());
  EXPECT_THAT(Exec(*apart, {"ps"})->out, Not(HasSubstr("sleep 888")));
  // Killing what shares its pids with others kills all that it has started.
  EXPECT_THAT(Stop(*one, seconds(0)), IsOk());
  EXPECT_THAT(Exec(*two, {"ps"})->out, Not(HasSubstr("sleep 999")));
}

TEST_F(RuncTest, HostNetworkHasTheHostsName) {
  SandboxConfig pod = Pod("1");
  pod.host_network = true;
  pod.hostname = "";
  char name[256] = {};
  ::gethostname(name, sizeof(name) - 1);
  EXPECT_EQ(RunToEnd(Sh("main", "hostname"), pod).log, std::string(name) + "\n");
}

TEST_F(RuncTest, ItsFilesAreItsOwn) {
  const SandboxConfig pod = Pod("1");
  ASSERT_THAT(files::MakeFolder(folder_ / "volume"), IsOk());
  ContainerConfig config =
      Sh("main", "echo x >/mine; cat /mine; echo y >/volume/shared; busybox ls /volume");
  config.mounts = {{.container_path = "/volume", .host_path = folder_ / "volume"}};
  EXPECT_EQ(RunToEnd(config, pod).log, "x\nshared\n");
  EXPECT_THAT(files::ReadWhole(folder_ / "volume/shared"), IsOkAndHolds("y\n"));
  ContainerConfig strict = Sh("strict", "cat /mine; echo x >/other || echo readonly");
  strict.security.read_only_root = true;
  const Ended ended = RunToEnd(strict, Pod("2"));
  EXPECT_THAT(ended.log, AllOf(HasSubstr("No such file"), HasSubstr("readonly")));
}

TEST_F(RuncTest, LimitsHoldWhereTheyCanBeHad) {
  if (::access("/sys/fs/cgroup/memory/memory.limit_in_bytes", F_OK) != 0) {
    GTEST_SKIP() << "there is no control group for memory here";
  }
  ContainerConfig config = Sh("main", "exec dd if=/dev/zero of=/dev/shm/x bs=1M count=60");
  config.limits.memory_bytes = 16 << 20;
  const Ended ended = RunToEnd(config, Pod("1"));
  EXPECT_EQ(ended.info.exit_code, 137);
  EXPECT_EQ(ended.info.reason, "OOMKilled");
}

TEST_F(RuncTest, MuchOutputIsKeptInOrderAndPutAside) {
  RuncOptions options = Options();
  options.log_max_bytes = 100'000;
  options.log_max_files = 100;
  runtime_.reset();
  auto runtime = OpenRuncRuntime(options, *store_, clock_);
  ASSERT_THAT(runtime, IsOk());
  runtime_ = *std::move(runtime);
  const Ended ended = RunToEnd(
      Sh("main", "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done"), Pod("1"));
  std::string want;
  for (int i = 0; i < 5000; ++i) want += fmt::format("line {}\n", i);
  EXPECT_EQ(ended.log, want);
  EXPECT_GT(LogFilesOf(ended.info.log_path).size(), 2u);
}

}  // namespace
}  // namespace dray::container
