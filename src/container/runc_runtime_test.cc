// SPDX-License-Identifier: Apache-2.0
//
// How containers run: what is asked of them, and what they see.
#include "container/runc_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "cdi/folder.h"
#include "container/log_reader.h"
#include "container/runc_for_test.h"
#include "files/files.h"
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
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

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

TEST_F(RuncTest, SysctlsAreThePods) {
  SandboxConfig pod = Pod("1");
  pod.sysctls = {{"net.ipv4.ip_unprivileged_port_start", "42"}, {"kernel.shm_rmid_forced", "1"}};
  const Ended ended = RunToEnd(
      Sh("main",
         "cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/shm_rmid_forced"),
      pod);
  EXPECT_EQ(ended.log, "42\n1\n");
  // The host's are as they were.
  EXPECT_NE(files::ReadWhole("/proc/sys/net/ipv4/ip_unprivileged_port_start").value_or(""), "42\n");
}

TEST_F(RuncTest, APodHasLimitsAsAWhole) {
  if (!internal::HasController("memory")) GTEST_SKIP() << "there are no limits of memory here";
  SandboxConfig pod = Pod("1");
  pod.limits = {.cpu_shares = 100, .cpu_quota = 50'000, .memory_bytes = 24 << 20};
  const std::string sandbox = RunSandbox(pod);
  const auto quiet = Create(sandbox, pod, Sh("quiet", "sleep 1000"));
  ASSERT_THAT(Start(*quiet), IsOk());
  // Neither container has a limit of its own.
  const auto greedy =
      Create(sandbox, pod, Sh("greedy", "exec dd if=/dev/zero of=/dev/shm/x bs=1M count=60"));
  ASSERT_THAT(Start(*greedy), IsOk());
  const ContainerInfo info = WaitForEnd(*greedy);
  EXPECT_EQ(info.exit_code, 137);
  EXPECT_EQ(info.reason, "OOMKilled");
  bool cpu = false;
  for (const std::string& folder : internal::CgroupFolders(cgroup_ + "/pod1")) {
    const auto first = files::ReadWhole(folder + "/cpu.cfs_quota_us");
    const auto second = files::ReadWhole(folder + "/cpu.max");
    cpu = cpu || first.value_or("") == "50000\n" || second.value_or("") == "50000 100000\n";
  }
  EXPECT_TRUE(cpu || !internal::HasController("cpu"));
}

}  // namespace
}  // namespace dray::container
