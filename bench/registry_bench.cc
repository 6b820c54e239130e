// SPDX-License-Identifier: Apache-2.0
//
// What a request costs the API, without sockets and without a disk: the part that every other cost
// comes on top of.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/pod.h"
#include "api/resource_claim.h"
#include "audit/auditor.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "fmt/format.h"
#include "logs/line_writer.h"
#include "registry/handler.h"
#include "registry/local_cluster.h"
#include "registry/registry.h"
#include "registry/watch_stream.h"
#include "store/memory/memory_store.h"

namespace dray::registry {
namespace {

class Mailbox final : public apiserver::Responder {
 public:
  void Send(apiserver::Response response) override { response_ = std::move(response); }
  const apiserver::Response& response() const { return response_; }

 private:
  apiserver::Response response_;
};

// A server in memory; its store answers before Commit returns.
struct World {
  explicit World(audit::Auditor* auditor = nullptr)
      : handler(registry, roles, {.auditor = auditor}) {
    Ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":"default"}})");
  }
  int Ask(std::string method, std::string path, std::string body) {
    apiserver::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.user = {"admin", {std::string(kMasters)}};
    auto mailbox = std::make_shared<Mailbox>();
    handler.Handle(std::move(request), mailbox);
    const apiserver::Response& response = mailbox->response();
    bytes = response.body == nullptr ? 0 : response.body->size();
    // A long answer is made as it is read.
    for (bool more = response.stream != nullptr; more;) {
      std::vector<apiserver::Bytes> pieces;
      more = response.stream->Pull(pieces) == apiserver::StreamSource::State::kMore;
      for (const apiserver::Bytes& piece : pieces) bytes += piece->size();
    }
    return response.status;
  }

  base::SystemClock clock;
  base::SeededRandomSource random{1};
  RoleAuthorizer roles;
  std::unique_ptr<store::Store> store = store::MakeMemoryStore();
  Registry registry{*store, clock, random, {}};
  RestHandler handler;
  std::size_t bytes = 0;  // of the last answer
};

std::string PodBody(std::int64_t i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{}","labels":{{"app":"bench"}}}},)"
      R"("spec":{{"containers":[{{"name":"main","image":"example.com/app:1","resources":{{"requests":)"
      R"({{"cpu":"100m","memory":"64Mi"}},"claims":[{{"name":"gpu"}}]}}}}],"resourceClaims":)"
      R"([{{"name":"gpu","resourceClaimTemplateName":"gpu"}}]}}}})",
      i);
}

void BM_Registry_CreatePod(benchmark::State& state) {
  World world;
  std::int64_t i = 0;
  for (auto _ : state) {
    const int status = world.Ask("POST", "/api/v1/namespaces/default/pods", PodBody(i++));
    DRAY_CHECK(status == 201, "a pod is created");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Registry_CreatePod);

// Where audit events go when only the way there is to be measured.
class Nowhere final : public logs::Output {
 public:
  Status Write(std::string_view) override { return {}; }
};

// Audited at a level (0: no auditor at all), in processor time of all threads: what the thread does
// that writes events is part of the price.
struct AuditedWorld {
  explicit AuditedWorld(std::int64_t level)
      : auditor({.rules = {{.level = static_cast<audit::Level>(level)}},
                 .omit_stages = WithoutTheFirst()},
                clock, writer),
        world(level == 0 ? nullptr : &auditor) {}
  static audit::Stages WithoutTheFirst() {
    audit::Stages stages;
    stages.Add(audit::Stage::kRequestReceived);
    return stages;
  }

  base::SystemClock clock;
  logs::LineWriter writer{std::make_unique<Nowhere>(), {.max_bytes = 256u << 20}};
  audit::Auditor auditor;
  World world;
};

void BM_Registry_AuditedCreate(benchmark::State& state) {
  AuditedWorld audited(state.range(0));
  std::int64_t i = 0;
  for (auto _ : state) {
    const int status = audited.world.Ask("POST", "/api/v1/namespaces/default/pods", PodBody(i++));
    DRAY_CHECK(status == 201, "a pod is created");
  }
  DRAY_CHECK(audited.writer.counts().dropped == 0, "all were written");
}
BENCHMARK(BM_Registry_AuditedCreate)->ArgName("level")->DenseRange(0, 3)->MeasureProcessCPUTime();

void BM_Registry_AuditedGet(benchmark::State& state) {
  AuditedWorld audited(state.range(0));
  audited.world.Ask("POST", "/api/v1/namespaces/default/pods", PodBody(0));
  for (auto _ : state) {
    const int status = audited.world.Ask("GET", "/api/v1/namespaces/default/pods/pod-0", "");
    DRAY_CHECK(status == 200, "a pod is read");
  }
  DRAY_CHECK(audited.writer.counts().dropped == 0, "all were written");
}
BENCHMARK(BM_Registry_AuditedGet)->ArgName("level")->DenseRange(0, 3)->MeasureProcessCPUTime();

void BM_Registry_BindPod(benchmark::State& state) {
  World world;
  LocalCluster cluster(world.registry, "bench");
  std::int64_t i = 0;
  for (auto _ : state) {
    state.PauseTiming();
    world.Ask("POST", "/api/v1/namespaces/default/pods", PodBody(i));
    state.ResumeTiming();
    DRAY_CHECK(cluster.Bind("default", fmt::format("pod-{}", i++), "", "node-1").ok(), "bound");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Registry_BindPod);

// What a scheduler writes for each claim.
void BM_Registry_AllocateClaim(benchmark::State& state) {
  World world;
  LocalCluster cluster(world.registry, "bench");
  std::int64_t i = 0;
  for (auto _ : state) {
    state.PauseTiming();
    api::ResourceClaim claim;
    claim.metadata.name = fmt::format("claim-{}", i++);
    claim.metadata.namespace_ = "default";
    api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
    request.name = "gpu";
    request.exactly.emplace().device_class_name = "gpu.example.com";
    auto made = cluster.Create(api::Object::Of(claim));
    DRAY_CHECK(made.ok(), made.status().ToString());
    api::ResourceClaim& next = *made->Mutable<api::ResourceClaim>();
    next.status.allocation.emplace().devices.results.push_back(
        {.request = "gpu", .driver = "gpu.example.com", .pool = "node-1", .device = "gpu-0"});
    next.status.reserved_for.push_back({.resource = "pods", .name = "p", .uid = "u"});
    state.ResumeTiming();
    const auto updated = cluster.UpdateStatus(*std::move(made));
    DRAY_CHECK(updated.ok(), updated.status().ToString());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Registry_AllocateClaim);

void BM_Registry_ListPods(benchmark::State& state) {
  World world;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    world.Ask("POST", "/api/v1/namespaces/default/pods", PodBody(i));
  }
  std::int64_t bytes = 0;
  for (auto _ : state) {
    world.Ask("GET", "/api/v1/pods", "");
    bytes += static_cast<std::int64_t>(world.bytes);
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Registry_ListPods)->ArgName("pods")->Arg(5000);

// One pod changes, so many watchers are told.
void BM_Registry_WatchFanOut(benchmark::State& state) {
  World world;
  const api::KindInfo& kind = api::HubKind(api::TypeInfoOf<api::Pod>());
  std::vector<std::unique_ptr<apiserver::StreamSource>> streams;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    WatchOptions options;
    options.selection.kind = &kind;
    options.from = world.store->revision();
    streams.push_back(MakeWatchStream(world.registry.objects(), world.clock, std::move(options)));
    streams.back()->Start([] {});
  }
  std::int64_t i = 0;
  for (auto _ : state) {
    state.PauseTiming();
    world.Ask("POST", "/api/v1/namespaces/default/pods", PodBody(i++));
    state.ResumeTiming();
    for (const auto& stream : streams) {
      std::vector<apiserver::Bytes> lines;
      stream->Pull(lines);
      DRAY_CHECK(!lines.empty() && lines.back()->ends_with('\n'), "one event");
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Registry_WatchFanOut)->ArgName("watchers")->Arg(100);

}  // namespace
}  // namespace dray::registry
