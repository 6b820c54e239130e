// SPDX-License-Identifier: Apache-2.0
//
// Real containers: busybox in temporary folders. Skipped, with the reason, where the machine lets
// nobody run any.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "container/containers_for_test.h"
#include "container/internal/cgroups.h"
#include "container/log_reader.h"
#include "container/runc_runtime.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "image/store.h"
#include "testing/status_matchers.h"

namespace dray::container {

template <typename T>
struct Answer {
  std::promise<T> promise = std::promise<T>();
  T Get() {
    auto future = promise.get_future();
    if (future.wait_for(std::chrono::seconds(90)) != std::future_status::ready) {
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
    ASSERT_THAT(BuildBusybox(folder_ / "images"), testing::IsOk());
    Open();
  }

  void TearDown() override {
    if (!why_not_->empty()) return;
    if (runtime_ != nullptr) {
      const auto all = List();
      for (const SandboxInfo& sandbox : all.sandboxes) {
        EXPECT_THAT(Ask([&](auto done) { runtime_->RemoveSandbox(sandbox.id, done); }),
                    testing::IsOk());
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
    EXPECT_THAT(files::NamesIn(folder_ / "run/containers"),
                testing::IsOkAndHolds(::testing::IsEmpty()));
    EXPECT_THAT(files::NamesIn(folder_ / "run/sandboxes"),
                testing::IsOkAndHolds(::testing::IsEmpty()));
    EXPECT_THAT(files::NamesIn(folder_ / "run/exits"), testing::IsOkAndHolds(::testing::IsEmpty()));
    EXPECT_THAT(files::NamesIn(folder_ / "run/locks"), testing::IsOkAndHolds(::testing::IsEmpty()));
    EXPECT_THAT(files::NamesIn(folder_ / "run/runc"), testing::IsOkAndHolds(::testing::IsEmpty()));
    EXPECT_THAT(*files::ReadWhole("/proc/self/mountinfo"),
                ::testing::Not(::testing::HasSubstr(folder_.path())));
    EXPECT_THAT(internal::CgroupFolders(cgroup_), ::testing::IsEmpty());
    EXPECT_THAT(ProcessesIn(folder_.path()), ::testing::IsEmpty());
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
    ASSERT_THAT(store, testing::IsOk());
    store_ = *std::move(store);
    auto runtime = OpenRuncRuntime(Options(), *store_, clock_);
    ASSERT_THAT(runtime, testing::IsOk());
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
    EXPECT_THAT(info, testing::IsOk());
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
  Status Stop(const std::string& id, std::chrono::seconds grace) {
    return Ask([&](auto done) { runtime_->Stop(id, grace, done); });
  }
  Inventory List() {
    auto all = AskFor<Inventory>([&](auto done) { runtime_->List(done); });
    EXPECT_THAT(all, testing::IsOk());
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
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
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
    EXPECT_THAT(id, testing::IsOk());
    if (!id.ok()) return {};
    EXPECT_THAT(Start(*id), testing::IsOk());
    const ContainerInfo info = WaitForEnd(*id);
    return {info, *ReadLog(info.log_path, {})};
  }
  StatusOr<ExecResult> Exec(const std::string& id, std::vector<std::string> command,
                            std::chrono::seconds timeout = std::chrono::seconds(30)) {
    return AskFor<ExecResult>(
        [&](auto done) { runtime_->ExecSync(id, std::move(command), timeout, done); });
  }

  static inline std::string* why_not_ = nullptr;
  files::TemporaryFolder folder_;
  std::string cgroup_;
  std::unique_ptr<Janitor> janitor_;
  base::SystemClock clock_;
  std::unique_ptr<image::Store> store_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace dray::container
