// SPDX-License-Identifier: Apache-2.0
#include "container/none_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace dray::container {
namespace {

using ::dray::testing::IsOk;
using ::dray::testing::StatusIs;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NoneRuntimeTest : public ::testing::Test {
 protected:
  NoneRuntimeTest() { sandbox_.pod = {.namespace_ = "ns", .name = "pod", .uid = "uid-1"}; }

  std::string RunSandbox() {
    std::string id;
    runtime_.RunSandbox(sandbox_, [&](const StatusOr<SandboxInfo>& info) {
      ASSERT_THAT(info, IsOk());
      id = info->id;
    });
    return id;
  }
  StatusOr<std::string> Create(const std::string& sandbox, const ContainerConfig& config) {
    StatusOr<std::string> id = base::Internal("no answer");
    runtime_.Create(sandbox, sandbox_, config, [&](StatusOr<std::string> made) { id = made; });
    return id;
  }
  Status Start(const std::string& id) {
    Status status = base::Internal("no answer");
    runtime_.Start(id, [&](Status done) { status = done; });
    return status;
  }
  Inventory List() {
    Inventory inventory;
    runtime_.List([&](StatusOr<Inventory> all) { inventory = *std::move(all); });
    return inventory;
  }

  base::ManualClock clock_{base::Time::FromUnix(1000)};
  NoneRuntime runtime_{clock_};
  SandboxConfig sandbox_;
};

TEST_F(NoneRuntimeTest, AContainerLivesAsItsAnnotationsSay) {
  const std::string sandbox = RunSandbox();
  EXPECT_EQ(RunSandbox(), sandbox);
  const ContainerConfig config{.name = "main",
                               .annotations = {{"dray/runs-for", "90s"}, {"dray/exit-code", "3"}}};
  const auto id = Create(sandbox, config);
  ASSERT_THAT(id, IsOk());
  EXPECT_EQ(*Create(sandbox, config), *id);
  EXPECT_EQ(List().containers[0].state, ContainerState::kCreated);
  ASSERT_THAT(Start(*id), IsOk());
  ASSERT_THAT(Start(*id), IsOk());
  clock_.Advance(seconds(89));
  EXPECT_EQ(List().containers[0].state, ContainerState::kRunning);
  clock_.Advance(seconds(100));
  const ContainerInfo ended = List().containers[0];
  EXPECT_EQ(ended.state, ContainerState::kExited);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.reason, "Error");
  EXPECT_EQ(ended.finished_at, base::Time::FromUnix(1090));
  EXPECT_THAT(Start(*id), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("ended")));
}

TEST_F(NoneRuntimeTest, StoppingAndRemovingMayBeAskedAgain) {
  const std::string sandbox = RunSandbox();
  const auto id = Create(sandbox, {.name = "main"});
  ASSERT_THAT(Start(*id), IsOk());
  for (int i = 0; i < 2; ++i) {
    runtime_.StopSandbox(sandbox, [](Status status) { EXPECT_THAT(status, IsOk()); });
  }
  EXPECT_EQ(List().containers[0].exit_code, 143);
  EXPECT_FALSE(List().sandboxes[0].ready);
  EXPECT_THAT(Create(sandbox, {.name = "other"}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not ready")));
  for (int i = 0; i < 2; ++i) {
    runtime_.Remove(*id, [](Status status) { EXPECT_THAT(status, IsOk()); });
    runtime_.RemoveSandbox(sandbox, [](Status status) { EXPECT_THAT(status, IsOk()); });
  }
  EXPECT_THAT(List().sandboxes, IsEmpty());
}

TEST_F(NoneRuntimeTest, FailsAndWaitsWhenItIsTold) {
  runtime_.Fail("RunSandbox", base::Unavailable("no room"));
  bool failed = false;
  runtime_.RunSandbox(sandbox_, [&](const StatusOr<SandboxInfo>& info) { failed = !info.ok(); });
  EXPECT_TRUE(failed);
  EXPECT_THAT(List().sandboxes, IsEmpty());
  runtime_.Hold("RunSandbox");
  bool done = false;
  runtime_.RunSandbox(sandbox_, [&](const StatusOr<SandboxInfo>& info) { done = info.ok(); });
  EXPECT_FALSE(done);
  EXPECT_THAT(List().sandboxes, IsEmpty());
  runtime_.LetGo("RunSandbox");
  EXPECT_TRUE(done);
  EXPECT_THAT(List().sandboxes, SizeIs(1));
}

TEST_F(NoneRuntimeTest, TellsWhatWasAsked) {
  const std::string sandbox = RunSandbox();
  const auto id =
      Create(sandbox, {.name = "main", .attempt = 2, .cdi_devices = {"a/b=c", "a/b=d"}});
  ASSERT_THAT(Start(*id), IsOk());
  bool told = false;
  runtime_.OnChange([&] { told = true; });
  runtime_.End("uid-1", "main", 7);
  EXPECT_TRUE(told);
  EXPECT_EQ(List().containers[0].exit_code, 7);
  EXPECT_THAT(runtime_.Calls(), ElementsAre("RunSandbox ns/pod", "Create ns/pod/main#2 a/b=c,a/b=d",
                                            "Start ns/pod/main", "List"));
  EXPECT_THAT(runtime_.ConfigOf("uid-1", "main")->cdi_devices, ElementsAre("a/b=c", "a/b=d"));
}

TEST_F(NoneRuntimeTest, CommandsAreAnsweredByTheTest) {
  const auto id = Create(RunSandbox(), {.name = "main"});
  const auto exec = [&] {
    StatusOr<ExecResult> result = base::Internal("no answer");
    runtime_.ExecSync(*id, {"ls", "/"}, seconds(1), [&](StatusOr<ExecResult> r) { result = r; });
    return result;
  };
  EXPECT_THAT(exec(), StatusIs(StatusCode::kFailedPrecondition, HasSubstr("not running")));
  ASSERT_THAT(Start(*id), IsOk());
  EXPECT_EQ(exec()->exit_code, 0);
  runtime_.SetExec([](const ContainerConfig& config, const std::vector<std::string>& command) {
    return ExecResult{.exit_code = 1, .out = config.name + command[0], .err = {}};
  });
  EXPECT_EQ(exec()->out, "mainls");
  EXPECT_EQ(exec()->exit_code, 1);
}

}  // namespace
}  // namespace dray::container
