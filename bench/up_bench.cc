// SPDX-License-Identifier: Apache-2.0
//
// The whole of `dray up` under load: pods with claim templates are created over HTTPS by several
// clients and watched until all have a node, with everything stored durably. The clients are in
// this process, so that their work is in the time, as on a laptop. DRAY_BENCH_LARGE=1 brings the size
// for the record where there are two.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "api/device_class.h"
#include "api/node.h"
#include "api/resource_claim.h"
#include "api/resource_slice.h"
#include "apiserver/client_for_test.h"
#include "base/check.h"
#include "base/clock.h"
#include "etcd_process.h"
#include "fmt/format.h"
#include "plane/control_plane.h"
#include "plane/remote_scheduler.h"

namespace dray::plane {
namespace {

using Moment = std::chrono::steady_clock::time_point;

// The sizes for the record, where the small ones are enough to see that it works.
const bool kLarge = std::getenv("DRAY_BENCH_LARGE") != nullptr;
constexpr int kClients = 64;
constexpr int kDevicesPerNode = 10;

std::vector<api::Object> ClusterOf(int nodes) {
  std::vector<api::Object> objects;
  for (int n = 0; n < nodes; ++n) {
    api::Node node;
    node.metadata.name = fmt::format("node-{:04}", n);
    objects.push_back(api::Object::Of(node));
    api::ResourceSlice slice;
    slice.metadata.name = node.metadata.name + "-gpus";
    slice.spec.driver = "gpu.example.com";
    slice.spec.node_name = node.metadata.name;
    slice.spec.pool = {.name = node.metadata.name, .generation = 1, .resource_slice_count = 1};
    auto& devices = slice.spec.devices.emplace();
    for (int i = 0; i < kDevicesPerNode; ++i)
      devices.emplace_back().name = fmt::format("gpu-{}", i);
    objects.push_back(api::Object::Of(slice));
  }
  api::DeviceClass gpus;
  gpus.metadata.name = "gpu";
  objects.push_back(api::Object::Of(gpus));
  api::ResourceClaimTemplate one;
  one.metadata.name = "one";
  one.metadata.namespace_ = "default";
  api::DeviceRequest& request = one.spec.spec.devices.requests.emplace_back();
  request.name = "gpu";
  request.exactly.emplace().device_class_name = "gpu";
  objects.push_back(api::Object::Of(one));
  return objects;
}

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string PodBody(int index) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p-{}"}},"spec":{{"containers":[{{"name":"c","image":"example.com/i","resources":{{"requests":{{"cpu":"100m","memory":"64Mi"}},"claims":[{{"name":"gpu"}}]}}}}],"resourceClaims":[{{"name":"gpu","resourceClaimTemplateName":"one"}}]}}}})",
      index);
}

struct Door {
  std::uint16_t port = 0;
  apiserver::ClientTls tls;

  explicit Door(const ControlPlane& plane, const std::string& folder) {
    const std::string& url = plane.url();
    port = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
    tls = {.authority = ReadAll(folder + "/pki/ca.crt"),
           .client = apiserver::KeyPair{.certificate = ReadAll(folder + "/pki/admin.crt"),
                                        .key = ReadAll(folder + "/pki/admin.key")}};
  }
};

// Creates every kClients-th pod.
void CreatePods(apiserver::TestClient& client, int first, int pods, std::vector<Moment>& sent) {
  for (int i = first; i < pods; i += kClients) {
    const std::string body = PodBody(i);
    sent[static_cast<std::size_t>(i)] = std::chrono::steady_clock::now();
    client.Send(
        fmt::format("POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: localhost\r\n"
                    "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                    body.size(), body));
    const auto response = client.ReadResponse();
    DRAY_CHECK(response.status == 201, response.body);
  }
}

// The name of the pod that an event is about, if it has a node.
std::string_view BoundPod(std::string_view event) {
  if (event.find("\"nodeName\":\"") == std::string_view::npos) return {};
  constexpr std::string_view kName = "\"name\":\"p-";
  const auto at = event.find(kName);
  if (at == std::string_view::npos) return {};
  const auto begin = at + kName.size();
  return event.substr(begin, event.find('"', begin) - begin);
}

// Until every pod has a node: when each was seen to have one.
void AwaitBound(const Door& door, int pods, std::vector<Moment>& bound) {
  apiserver::TestClient client(door.port, door.tls);
  client.Send("GET /api/v1/pods?watch=1&resourceVersion=0 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  client.ReadUntil("\r\n\r\n");
  std::string text;
  for (int left = pods; left > 0;) {
    const std::string chunk = client.ReadChunk();
    DRAY_CHECK(!chunk.empty(), "the watch has ended");
    text += chunk;
    std::size_t begin = 0;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      const std::string_view name = BoundPod(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
      if (name.empty()) continue;
      Moment& seen = bound[static_cast<std::size_t>(std::stoi(std::string(name)))];
      if (seen != Moment()) continue;
      seen = std::chrono::steady_clock::now();
      --left;
    }
    text.erase(0, begin);
  }
}

double SecondsSince(Moment start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Pods a second in one list of all, and the bytes of one of them.
double ListRate(const Door& door, int pods, benchmark::State& state) {
  apiserver::TestClient client(door.port, door.tls);
  const Moment start = std::chrono::steady_clock::now();
  const auto response = client.Get("/api/v1/pods");
  DRAY_CHECK(response.status == 200, response.body);
  const double seconds = SecondsSince(start);
  state.counters["pod_bytes"] = static_cast<double>(response.body.size()) / pods;
  return pods / seconds;
}

// Events a second to one watcher that asks for all that is there.
double WatchRate(const Door& door, int pods) {
  std::vector<Moment> bound(static_cast<std::size_t>(pods));
  const Moment start = std::chrono::steady_clock::now();
  AwaitBound(door, pods, bound);
  return pods / SecondsSince(start);
}

double Percentile(std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

// A scheduler over HTTPS instead of the one in process; none: no writers.
std::unique_ptr<RemoteScheduler> ScheduleRemotely(const std::string& folder, std::size_t writers,
                                                  const base::Clock& clock) {
  if (writers == 0) return nullptr;
  auto access = client::LoadAccess({.kubeconfig = folder + "/scheduler.kubeconfig"});
  DRAY_CHECK(access.ok(), access.status().ToString());
  plane::RemoteSchedulerOptions options;
  options.access = *std::move(access);
  options.leader_elect = false;
  options.writers = writers;
  auto started = RemoteScheduler::Start(std::move(options), clock);
  DRAY_CHECK(started.ok(), started.status().ToString());
  return *std::move(started);
}

struct Run {
  double seconds = 0;             // from the first create to the last binding
  std::vector<double> latencies;  // of each pod, in milliseconds
  double processor = 0;           // seconds, of everything in this process
};

// All pods are created and bound; `afterwards` is told of the door then, outside of the time.
Run RunOnce(int nodes, int pods, std::size_t writers, const StoreAddress& store,
            const std::function<void(const Door&)>& afterwards) {
  const base::SystemClock clock;
  Run run;
  std::string folder = (std::filesystem::temp_directory_path() / "dray-up-XXXXXX").string();
  DRAY_CHECK(::mkdtemp(folder.data()) != nullptr, "mkdtemp");
  auto plane = ControlPlane::Start(
      {.data = folder, .store = store, .scheduler = writers == 0, .objects = ClusterOf(nodes)},
      clock);
  DRAY_CHECK(plane.ok(), plane.status().ToString());
  auto scheduler = ScheduleRemotely(folder, writers, clock);
  const Door door(**plane, folder);
  std::vector<Moment> sent(static_cast<std::size_t>(pods));
  std::vector<Moment> bound(static_cast<std::size_t>(pods));
  std::vector<std::unique_ptr<apiserver::TestClient>> clients;
  for (int c = 0; c < kClients; ++c) {
    clients.push_back(std::make_unique<apiserver::TestClient>(door.port, door.tls));
    DRAY_CHECK(clients.back()->connected(), "no connection");
  }
  const Moment began = std::chrono::steady_clock::now();
  const double processor = SecondsOf(::getpid());
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { AwaitBound(door, pods, bound); });
    for (int c = 0; c < kClients; ++c) {
      threads.emplace_back(
          [&, c] { CreatePods(*clients[static_cast<std::size_t>(c)], c, pods, sent); });
    }
  }
  run.seconds = SecondsSince(began);
  run.processor = SecondsOf(::getpid()) - processor;
  for (std::size_t i = 0; i < sent.size(); ++i) {
    run.latencies.push_back(std::chrono::duration<double, std::milli>(bound[i] - sent[i]).count());
  }
  clients.clear();
  scheduler = nullptr;
  afterwards(door);
  *plane = nullptr;
  std::filesystem::remove_all(folder);
  std::ranges::sort(run.latencies);
  return run;
}

void RunPods(benchmark::State& state, std::size_t writers) {
  const int nodes = static_cast<int>(state.range(0));
  const int pods = static_cast<int>(state.range(1));
  double lists = 0;
  double events = 0;
  for ([[maybe_unused]] auto _ : state) {
    Run run = RunOnce(nodes, pods, writers, {}, [&](const Door& door) {
      lists = ListRate(door, pods, state);
      events = WatchRate(door, pods);
    });
    state.SetIterationTime(run.seconds);
    state.counters["p50_ms"] = Percentile(run.latencies, 0.5);
    state.counters["p99_ms"] = Percentile(run.latencies, 0.99);
    state.counters["max_ms"] = run.latencies.back();
    // Processor time of a pod, clients included: what others on the machine disturb less than time.
    state.counters["cpu_us"] = run.processor / pods * 1e6;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["pods"] =
      benchmark::Counter(static_cast<double>(pods) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
  state.counters["listed_per_s"] = lists;
  state.counters["watched_per_s"] = events;
  state.counters["peak_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}

void BM_Up_PodsThroughTheApi(benchmark::State& state) { RunPods(state, 0); }
BENCHMARK(BM_Up_PodsThroughTheApi)
    ->ArgNames({"nodes", "pods"})
    ->Args({20, 100})
    ->Args({500, 5000})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void BM_Up_SchedulerOverHttp(benchmark::State& state) {
  RunPods(state, static_cast<std::size_t>(state.range(2)));
}
BENCHMARK(BM_Up_SchedulerOverHttp)
    ->ArgNames({"nodes", "pods", "writers"})
    ->Args({20, 100, 32})
    ->Args({500, 500, 1})  // each write waits for the disk
    ->Args({500, 5000, 32})
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// The same pods on a file and on etcd, in turns: what etcd costs is the ratio. Both are on the same
// disk, and both have every write on it before it is acknowledged.
void BM_Up_EtcdBesideSqlite(benchmark::State& state) {
  if (EtcdProcess::Program().empty()) return state.SkipWithError("tools/fetch-etcd build/etcd");
  const int nodes = static_cast<int>(state.range(0));
  const int pods = static_cast<int>(state.range(1));
  const EtcdProcess etcd;
  std::map<std::string, std::vector<double>> rates;
  std::map<std::string, double> processor;
  double etcds = 0;
  const auto turns = static_cast<int>(state.range(2));
  for ([[maybe_unused]] auto _ : state) {
    for (int turn = 0; turn < turns; ++turn) {
      for (const std::string name : {"sqlite", "etcd"}) {
        StoreAddress store;
        if (name == "etcd") {
          const auto address = StoreAddress::Parse(etcd.Address(fmt::format("run-{}", turn)));
          DRAY_CHECK(address.ok(), address.status().ToString());
          store = *address;
        }
        const double before = etcd.Seconds();
        Run run = RunOnce(nodes, pods, 0, store, [](const Door&) {});
        rates[name].push_back(pods / run.seconds);
        processor[name] += run.processor;
        state.counters[name + "_p50_ms"] = Percentile(run.latencies, 0.5);
        state.counters[name + "_p99_ms"] = Percentile(run.latencies, 0.99);
        if (name == "etcd") etcds += etcd.Seconds() - before;
      }
    }
  }
  for (auto& [name, all] : rates) {
    std::ranges::sort(all);
    state.counters[name + "_pods"] = all[all.size() / 2];
    state.counters[name + "_us"] = processor[name] / turns / pods * 1e6;
  }
  state.counters["etcd_itself_us"] = etcds / turns / pods * 1e6;
  state.counters["share"] = state.counters["etcd_pods"] / state.counters["sqlite_pods"];
}
BENCHMARK(BM_Up_EtcdBesideSqlite)
    ->ArgNames({"nodes", "pods", "turns"})
    ->Args({kLarge ? 500 : 20, kLarge ? 5000 : 100, kLarge ? 3 : 1})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::plane
