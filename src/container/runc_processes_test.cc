// SPDX-License-Identifier: Apache-2.0
//
// How many processes of runc's a container takes: each costs some ten milliseconds, more than all that
// is done here besides. Skipped, with the reason, where nobody can run containers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <future>
#include <sstream>

#include "cdi/folder.h"
#include "container/containers_for_test.h"
#include "container/runc_runtime.h"
#include "testing/status_matchers.h"

namespace dray::container {
namespace {

using ::dray::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RuncProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why_not = WhyNoContainers();
    if (!why_not.empty()) GTEST_SKIP() << why_not;
    janitor_ = std::make_unique<Janitor>(folder_.path(), cgroup_);
    ASSERT_THAT(BuildBusybox(folder_ / "images"), IsOk());
    // Between us and runc: writes down what runc is to do.
    ASSERT_THAT(files::WriteWhole(folder_ / "runc",
                                  fmt::format("#!/bin/sh\nfor word in \"$@\"; do case $word in\n"
                                              "create|start|run|state|kill|delete|exec) echo $word "
                                              ">>{}; break ;;\nesac; done\nexec runc \"$@\"\n",
                                              folder_ / "calls"),
                                  0755),
                IsOk());
    auto store = image::Store::Open({.folder = folder_ / "store", .sources = {folder_ / "images"}});
    ASSERT_THAT(store, IsOk());
    store_ = *std::move(store);
    auto runtime = OpenRuncRuntime({.root = folder_ / "run",
                                    .runc = folder_ / "runc",
                                    .shim = {ShimForTest()},
                                    .cgroup_parent = cgroup_,
                                    .cdi_folders = {folder_ / "cdi"}},
                                   *store_, clock_);
    ASSERT_THAT(runtime, IsOk());
    runtime_ = *std::move(runtime);
  }
  void TearDown() override {
    runtime_.reset();
    if (!janitor_) return;
    (void)internal::RemoveCgroup(cgroup_);
    janitor_->Dismiss();
  }

  // What runc was called for since the last time.
  std::vector<std::string> Calls() {
    std::vector<std::string> calls;
    std::istringstream words(files::ReadWhole(folder_ / "calls").value_or(""));
    for (std::string word; words >> word;) calls.push_back(word);
    EXPECT_THAT(files::RemoveFile(folder_ / "calls"), IsOk());
    return calls;
  }

  template <class T, class Call>
  T Ask(const Call& call) {
    std::promise<T> answer;
    auto future = answer.get_future();
    call([&answer](T value) { answer.set_value(std::move(value)); });
    return future.get();
  }

  // A pod with a container that runs; the id of its sandbox.
  std::string RunPod(ContainerConfig config) {
    const SandboxConfig pod{.pod = {.namespace_ = "ns", .name = "pod", .uid = "uid"},
                            .hostname = "pod",
                            .log_directory = folder_ / "logs"};
    const auto sandbox =
        Ask<StatusOr<SandboxInfo>>([&](auto done) { runtime_->RunSandbox(pod, done); });
    EXPECT_THAT(sandbox, IsOk());
    const auto id = Ask<StatusOr<std::string>>(
        [&](auto done) { runtime_->Create(sandbox->id, pod, config, done); });
    EXPECT_THAT(id, IsOk());
    EXPECT_THAT(Ask<Status>([&](auto done) { runtime_->Start(*id, done); }), IsOk());
    // Asking again starts nothing.
    EXPECT_THAT(Ask<Status>([&](auto done) { runtime_->Start(*id, done); }), IsOk());
    const auto all = Ask<StatusOr<Inventory>>([&](auto done) { runtime_->List(done); });
    EXPECT_EQ(all->containers.at(0).state, ContainerState::kRunning);
    EXPECT_GE(all->containers.at(0).started_at, all->containers.at(0).created_at);
    return sandbox->id;
  }

  ContainerConfig Sleeper() {
    return {
        .name = "main", .image = "busybox", .command = {"sleep", "1000"}, .log_path = "main/0.log"};
  }

  const files::TemporaryFolder folder_;
  const std::string cgroup_ = fmt::format("/dray-processes-{}", ::getpid());
  const base::SystemClock clock_{};
  std::unique_ptr<Janitor> janitor_;
  std::unique_ptr<image::Store> store_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(RuncProcessesTest, OneToMakeAContainerAndOneToRemoveIt) {
  const std::string sandbox = RunPod(Sleeper());
  EXPECT_THAT(Calls(), ElementsAre("create"));
  EXPECT_THAT(Ask<StatusOr<Inventory>>([&](auto done) { runtime_->List(done); }), IsOk());
  EXPECT_THAT(Calls(), IsEmpty());
  EXPECT_THAT(Ask<Status>([&](auto done) { runtime_->RemoveSandbox(sandbox, done); }), IsOk());
  EXPECT_THAT(Calls(), ElementsAre("delete"));
}

// Some hooks are runc's to run when a container starts.
TEST_F(RuncProcessesTest, AContainerWithHooksIsStartedByRunc) {
  ASSERT_THAT(cdi::SaveSpec(folder_ / "cdi", "a.json",
                            {.kind = "example.com/a",
                             .devices = {{.name = "d",
                                          .container_edits = {.hooks = {{.hook_name = "poststart",
                                                                         .path = "/bin/true"}}}}}}),
              IsOk());
  ContainerConfig config = Sleeper();
  config.cdi_devices = {"example.com/a=d"};
  const std::string sandbox = RunPod(config);
  EXPECT_THAT(Calls(), ElementsAre("create", "start"));
  EXPECT_THAT(Ask<Status>([&](auto done) { runtime_->RemoveSandbox(sandbox, done); }), IsOk());
}

}  // namespace
}  // namespace dray::container
