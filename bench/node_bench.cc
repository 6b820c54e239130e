// SPDX-License-Identifier: Apache-2.0
//
// What it costs to have claims prepared: by gRPC alone, and through the agent, with a driver that does
// nothing. Driver and agent are one process here, and share its cores.
#include <benchmark/benchmark.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "files/files.h"
#include "files/temporary_folder.h"
#include "fmt/format.h"
#include "node/claim_log.h"
#include "node/claim_manager.h"
#include "node/plugin_table.h"
#include "rpc/plugin_client.h"
#include "rpc/plugin_server.h"
#include "threads/task_queue.h"

namespace dray::node {
namespace {

constexpr std::string_view kDriver = "nothing.example.com";

// Says yes.
class Nothing final : public rpc::PluginHandler {
 public:
  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>& claims) override {
    rpc::PrepareAnswer answer;
    for (const rpc::ClaimName& claim : claims) {
      answer[claim.uid].devices.push_back({.requests = {"gpu"},
                                           .pool = "pool",
                                           .device = "device",
                                           .cdi_ids = {"example.com/gpu=" + claim.uid}});
    }
    return answer;
  }
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>& claims) override {
    rpc::UnprepareAnswer answer;
    for (const rpc::ClaimName& claim : claims) answer[claim.uid];
    return answer;
  }
  Status WatchHealth(std::shared_ptr<rpc::HealthReports>) override {
    return base::MakeStatus(StatusCode::kUnimplemented, "none");
  }
  StatusOr<rpc::PluginInfo> Info() override { return rpc::PluginInfo(); }
  Status Registered(bool, const std::string&) override { return {}; }
};

class Deaf final : public rpc::PluginListener {
 public:
  void OnConnected(bool) override {}
  void OnHealth(std::vector<rpc::DeviceHealth>) override {}
  void OnHealthEnd(Status) override {}
};

std::vector<rpc::ClaimName> Claims(std::int64_t count) {
  std::vector<rpc::ClaimName> out;
  for (std::int64_t i = 0; i < count; ++i) {
    out.push_back({.namespace_ = "default",
                   .uid = fmt::format("8d0a7a5e-6a52-4c6b-9e8e-{:012}", i),
                   .name = fmt::format("claim-{}", i)});
  }
  return out;
}

// One call after the other: the latency of a call, and what a claim more in it costs.
void BM_Rpc_Prepare(benchmark::State& state) {
  const files::TemporaryFolder folder;
  Nothing driver;
  const auto server = rpc::ServePlugin({.dra = folder / "dra.sock"}, driver);
  DRAY_CHECK(server.ok());
  const auto connector = rpc::SocketConnector();
  Deaf deaf;
  auto channel = connector->Channel({.endpoint = folder / "dra.sock"}, deaf);
  DRAY_CHECK(channel.ok());
  const std::vector<rpc::ClaimName> claims = Claims(state.range(0));
  for (auto _ : state) {
    std::promise<bool> done;
    (*channel)->Prepare(
        claims, std::chrono::seconds(10),
        [&](const StatusOr<rpc::PrepareAnswer>& answer) { done.set_value(answer.ok()); });
    DRAY_CHECK(done.get_future().get());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Rpc_Prepare)->ArgName("claims")->Arg(1)->Arg(10)->Arg(100)->UseRealTime();

// The claims of this benchmark's pods; the checkpoint goes to the disk as an agent's does, or nowhere.
class Source final : public ClaimSource {
 public:
  Source(Loop& loop, ClaimLog* log) : loop_(loop), log_(log) {}
  void Fetch(const std::string& namespace_, std::vector<std::string> names,
             std::function<void(StatusOr<Claims>)> done) override {
    Claims claims;
    for (const std::string& name : names) {
      api::ResourceClaim& claim = claims.emplace_back();
      claim.metadata.namespace_ = namespace_;
      claim.metadata.name = name;
      claim.metadata.uid = "uid-of-" + name;
      // claim-7 is reserved for the pod of UID 7.
      claim.status.reserved_for = {
          {.resource = "pods", .name = "pod-" + name.substr(6), .uid = name.substr(6)}};
      claim.status.allocation = api::AllocationResult();
      claim.status.allocation->devices.results = {
          {.request = "gpu", .driver = std::string(kDriver), .pool = "pool", .device = "device"}};
    }
    loop_.Post([done = std::move(done), claims = std::move(claims)] { done(claims); });
  }
  void WriteCheckpoint(ClaimChanges changes, std::function<void(Status)> done) override {
    if (log_ == nullptr) {
      loop_.Post([done = std::move(done)] { done(Status()); });
      return;
    }
    // Beside the loop, as an agent has it.
    writer_.Post([this, changes = std::move(changes), done = std::move(done)] {
      loop_.Post([done, status = log_->Write(changes)] { done(status); });
    });
  }
  ~Source() override { writer_.Stop(); }

 private:
  Loop& loop_;
  ClaimLog* const log_;
  threads::TaskQueue writer_{1};
};

class NoSlices final : public SliceWiper {
 public:
  void Wipe(const std::string&, std::function<void(Status)>) override {}
};

api::Pod MakePod(std::int64_t number) {
  api::Pod pod;
  pod.metadata.namespace_ = "default";
  pod.metadata.name = fmt::format("pod-{}", number);
  pod.metadata.uid = std::to_string(number);
  pod.spec.resource_claims.push_back(
      {.name = "c", .resource_claim_name = fmt::format("claim-{}", number)});
  return pod;
}

// So many pods at a time, each with a claim of its own: prepared, then unprepared. `disk`: with the
// checkpoint on it, synced; what happens while it is written goes into the next one together.
void BM_Node_ClaimsPrepared(benchmark::State& state) {
  const files::TemporaryFolder folder;
  Nothing driver;
  const auto server = rpc::ServePlugin({.dra = folder / "dra.sock"}, driver);
  DRAY_CHECK(server.ok());
  const auto connector = rpc::SocketConnector();
  const base::SystemClock clock;
  Loop loop(clock);
  NoSlices no_slices;
  SliceWipes wipes(loop, no_slices, {}, [] { return 0.0; });
  PluginTable table({.loop = loop, .connector = *connector, .wipes = wipes});
  DRAY_CHECK(
      table.AddPlugin({.driver = std::string(kDriver), .endpoint = folder / "dra.sock"}).ok());
  const auto log = *ClaimLog::Open(folder / "root");
  Source source(loop, state.range(1) != 0 ? log.get() : nullptr);
  const api::FeatureGates gates;
  ClaimManager claims(source, table, clock, gates);
  std::thread thread([&] { loop.Run(); });

  const std::int64_t pods = state.range(0);
  const std::uint64_t syncs = files::Syncs();
  for (auto _ : state) {
    std::promise<void> over;
    std::atomic<std::int64_t> left = pods;
    loop.Post([&] {
      for (std::int64_t i = 0; i < pods; ++i) {
        const api::Pod pod = MakePod(i);
        claims.Prepare(pod, [&, uid = pod.metadata.uid](const Status& prepared) {
          DRAY_CHECK(prepared.ok(), base::Message(prepared));
          claims.Unprepare(uid, [&](const Status& unprepared) {
            DRAY_CHECK(unprepared.ok(), base::Message(unprepared));
            if (--left == 0) over.set_value();
          });
        });
      }
    });
    over.get_future().wait();
  }
  state.SetItemsProcessed(state.iterations() * pods);
  state.counters["syncs_per_claim"] =
      static_cast<double>(files::Syncs() - syncs) / static_cast<double>(state.iterations() * pods);
  loop.Stop();
  thread.join();
}
BENCHMARK(BM_Node_ClaimsPrepared)
    ->ArgNames({"pods", "disk"})
    ->ArgsProduct({{1, 110}, {0, 1}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::node
