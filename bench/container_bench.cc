// SPDX-License-Identifier: Apache-2.0
//
// What it takes to run a pod with one container: with the runtime that runs nothing, with runc, and
// `runc run` alone beside it; and to list what a full node has. Needs what containers need: where they
// cannot be had, those of runc say so and measure nothing.
#include <benchmark/benchmark.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "container/containers_for_test.h"
#include "container/internal/process.h"
#include "container/none_runtime.h"
#include "container/runc_runtime.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "image/store.h"

namespace dray::container {
namespace {

template <typename T, typename Call>
StatusOr<T> AskFor(Call call) {
  std::promise<StatusOr<T>> answer;
  auto future = answer.get_future();
  call([&answer](StatusOr<T> value) { answer.set_value(std::move(value)); });
  return future.get();
}

template <typename Call>
Status Ask(Call call) {
  std::promise<Status> answer;
  auto future = answer.get_future();
  call([&answer](Status status) { answer.set_value(std::move(status)); });
  return future.get();
}

SandboxConfig Pod(std::int64_t number, const std::string& logs) {
  SandboxConfig pod;
  pod.pod = {.namespace_ = "ns",
             .name = fmt::format("pod-{}", number),
             .uid = fmt::format("uid-{}", number)};
  pod.hostname = "bench";
  pod.log_directory = fmt::format("{}/{}", logs, number);
  return pod;
}

ContainerConfig Command(std::vector<std::string> command) {
  ContainerConfig config;
  config.name = "main";
  config.image = "busybox";
  config.command = std::move(command);
  config.log_path = "main/0.log";
  return config;
}

// Runs a pod; the id of its container.
std::string RunPod(Runtime& runtime, const SandboxConfig& pod, const ContainerConfig& config) {
  const auto sandbox = AskFor<SandboxInfo>([&](auto done) { runtime.RunSandbox(pod, done); });
  DRAY_CHECK(sandbox.ok(), sandbox.status().ToString());
  const auto id =
      AskFor<std::string>([&](auto done) { runtime.Create(sandbox->id, pod, config, done); });
  DRAY_CHECK(id.ok(), id.status().ToString());
  const Status started = Ask([&](auto done) { runtime.Start(*id, done); });
  DRAY_CHECK(started.ok(), started.ToString());
  return sandbox->id;
}

struct Machine {
  Machine() : janitor(folder.path(), "/dray-bench") {
    DRAY_CHECK(BuildBusybox(folder / "images").ok());
    auto opened = image::Store::Open({.folder = folder / "store", .sources = {folder / "images"}});
    DRAY_CHECK(opened.ok());
    store = *std::move(opened);
    auto made = OpenRuncRuntime(
        {.root = folder / "run", .shim = {ShimForTest()}, .cgroup_parent = "/dray-bench"}, *store,
        clock);
    DRAY_CHECK(made.ok(), made.status().ToString());
    runtime = *std::move(made);
    DRAY_CHECK(store->Find("busybox").ok());
  }
  files::TemporaryFolder folder;
  Janitor janitor;
  base::SystemClock clock;
  std::unique_ptr<image::Store> store;
  std::unique_ptr<Runtime> runtime;
};

void BM_Container_PodStart_None(benchmark::State& state) {
  const base::SystemClock clock;
  NoneRuntime runtime(clock);
  std::int64_t number = 0;
  for (auto _ : state) {
    const std::string id = RunPod(runtime, Pod(++number, "/logs"), Command({"true"}));
    (void)Ask([&](auto done) { runtime.RemoveSandbox(id, done); });
  }
}
BENCHMARK(BM_Container_PodStart_None)->UseRealTime();

// From nothing to a container that runs; taking it away is not measured.
void BM_Container_PodStart_Runc(benchmark::State& state) {
  if (const std::string why = WhyNoContainers(); !why.empty()) {
    for (auto _ : state) benchmark::DoNotOptimize(why);
    state.SetLabel(why);
    return;
  }
  Machine machine;
  std::int64_t number = 0;
  for (auto _ : state) {
    const std::string id = RunPod(*machine.runtime, Pod(++number, machine.folder / "logs"),
                                  Command({"sleep", "1000"}));
    state.PauseTiming();
    (void)Ask([&](auto done) { machine.runtime->RemoveSandbox(id, done); });
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Container_PodStart_Runc)->UseRealTime()->Unit(benchmark::kMillisecond);

// What cannot be had cheaper: the same command in the same root, by runc alone, to its end.
void BM_Container_RuncRunAlone(benchmark::State& state) {
  if (const std::string why = WhyNoContainers(); !why.empty()) {
    for (auto _ : state) benchmark::DoNotOptimize(why);
    state.SetLabel(why);
    return;
  }
  Machine machine;
  const std::string rootfs = machine.store->Find("busybox")->rootfs;
  const std::string bundle = machine.folder / "bundle";
  DRAY_CHECK(files::MakeFolder(bundle).ok());
  DRAY_CHECK(
      ::system(fmt::format(
                   "cd {0} && runc spec && sed -i -e 's|\"terminal\": true|\"terminal\": false|' "
                   "-e 's|\"sh\"|\"true\"|' -e 's|\"path\": \"rootfs\"|\"path\": \"{1}\"|' "
                   "-e '/\"rlimits\"/,/],/d' config.json",
                   bundle, rootfs)
                   .c_str()) == 0);
  std::int64_t number = 0;
  for (auto _ : state) {
    const auto ran =
        internal::RunCommand({"runc", "--root", machine.folder / "plain", "run", "--bundle", bundle,
                              fmt::format("bench-{}-{}", ::getpid(), ++number)},
                             std::chrono::seconds(30));
    DRAY_CHECK(ran.ok() && ran->code == 0, ran.ok() ? ran->err : ran.status().ToString());
  }
}
BENCHMARK(BM_Container_RuncRunAlone)->UseRealTime()->Unit(benchmark::kMillisecond);

// What an agent asks every second, of so many pods.
void BM_Container_List_Runc(benchmark::State& state) {
  if (const std::string why = WhyNoContainers(); !why.empty()) {
    for (auto _ : state) benchmark::DoNotOptimize(why);
    state.SetLabel(why);
    return;
  }
  Machine machine;
  std::vector<std::string> ids;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    ids.push_back(
        RunPod(*machine.runtime, Pod(i, machine.folder / "logs"), Command({"sleep", "1000"})));
  }
  for (auto _ : state) {
    const auto all = AskFor<Inventory>([&](auto done) { machine.runtime->List(done); });
    DRAY_CHECK(all.ok() && all->containers.size() == ids.size());
  }
  for (const std::string& id : ids)
    (void)Ask([&](auto done) { machine.runtime->RemoveSandbox(id, done); });
}
BENCHMARK(BM_Container_List_Runc)
    ->ArgName("pods")
    ->Arg(10)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::container
