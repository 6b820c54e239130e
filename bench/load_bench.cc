// SPDX-License-Identifier: Apache-2.0
//
// Whether one user's load is another one's wait: latencies of somebody who does little beside
// somebody who does much, and what the server's processor does for those who only watch. The server
// is another process, its store is on disk. DRAY_BENCH_LARGE=1 brings the sizes for the record.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstdlib>
#include <functional>

#include "load_world.h"

namespace dray::plane::load {
namespace {

const bool kLarge = std::getenv("DRAY_BENCH_LARGE") != nullptr;

void Report(benchmark::State& state, const std::string& prefix, Latencies& latencies) {
  state.counters[prefix + "p50_ms"] = latencies.At(0.5);
  state.counters[prefix + "p99_ms"] = latencies.At(0.99);
  state.counters[prefix + "max_ms"] = latencies.At(1);
}

// From a pod's creation until a watcher sees its node, one pod after the other.
class Bystander {
 public:
  explicit Bystander(const Server& server)
      : client_(server.Connect()), lines_(server, "/api/v1/namespaces/quiet/pods?watch=1") {}
  double One() {
    const std::string name = fmt::format("b-{}", next_++);
    const Moment start = std::chrono::steady_clock::now();
    CreatePod(*client_, "quiet", name);
    lines_.AwaitBound(name);
    return MillisecondsSince(start);
  }

 private:
  std::unique_ptr<apiserver::TestClient> client_;
  Lines lines_;
  int next_ = 0;
};

bool AllReady(apiserver::TestClient& client, int pods) {
  const auto response = client.Get("/apis/apps/v1/namespaces/burst/deployments/d");
  return response.body.find(fmt::format("\"readyReplicas\":{},", pods)) != std::string::npos ||
         response.body.find(fmt::format("\"readyReplicas\":{}}}", pods)) != std::string::npos;
}

// A deployment of another namespace comes up meanwhile.
void BM_Load_Bystander(benchmark::State& state) {
  const int burst = static_cast<int>(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    const Server server([&] {
      return PlaneOptions{.objects = ClusterOf(burst / 8 + 10, {"burst", "quiet"})};
    });
    Bystander bystander(server);
    const auto client = server.Connect();
    bystander.One();
    Latencies idle;
    for (int i = 0; i < 50; ++i) idle.Add(bystander.One());
    state.ResumeTiming();
    const auto made =
        Say(*client, "POST", "/apis/apps/v1/namespaces/burst/deployments",
            fmt::format(R"({{"metadata":{{"name":"d"}},"spec":{{"replicas":{},"selector":)"
                        R"({{"matchLabels":{{"a":"b"}}}},"template":{{"metadata":{{"labels":)"
                        R"({{"a":"b"}}}},"spec":{}}}}}}})",
                        burst, kPodSpec));
    DRAY_CHECK(made.status == 201, made.body);
    Latencies beside;
    do {
      for (int i = 0; i < 10; ++i) beside.Add(bystander.One());
    } while (!AllReady(*client, burst));
    state.PauseTiming();
    Report(state, "idle_", idle);
    Report(state, "", beside);
    state.counters["bystanders"] = static_cast<double>(beside.size());
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Load_Bystander)
    ->ArgName("burst")
    ->Arg(kLarge ? 8'000 : 100)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

double CreateTemplate(apiserver::TestClient& client, int index) {
  const Moment start = std::chrono::steady_clock::now();
  const auto response =
      Say(client, "POST", "/apis/resource.k8s.io/v1/namespaces/quiet/resourceclaimtemplates",
          fmt::format(R"({{"metadata":{{"name":"t-{}"}},"spec":{{"spec":{{"devices":{{"requests":[)"
                      R"({{"name":"r","exactly":{{"deviceClassName":"gpu"}}}}]}}}}}}}})",
                      index));
  DRAY_CHECK(response.status == 201, response.body);
  return MillisecondsSince(start);
}

// Others change one object of 200 kB, all at once and again and again.
void BM_Load_CreatesBesideManyWritersOfOneObject(benchmark::State& state) {
  const auto writers = static_cast<std::size_t>(state.range(0));
  const int patches = static_cast<int>(state.range(1));
  const std::string path = "/apis/resource.k8s.io/v1/namespaces/burst/resourceclaimtemplates/one";
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    const Server server([] { return PlaneOptions{.objects = ClusterOf(1, {"burst", "quiet"})}; });
    const auto creator = server.Connect();
    const auto large = Say(
        *creator, "PATCH", path,
        fmt::format(R"({{"metadata":{{"annotations":{{"x":"{}"}}}}}})", std::string(200'000, 'x')),
        "application/merge-patch+json");
    DRAY_CHECK(large.status == 200, large.body);
    std::vector<std::unique_ptr<apiserver::TestClient>> clients;
    for (std::size_t c = 0; c < writers; ++c) clients.push_back(server.Connect());
    int made = 0;
    Latencies idle;
    for (int i = 0; i < 50; ++i) idle.Add(CreateTemplate(*creator, made++));
    std::atomic<int> done = 0;
    std::atomic<int> refused = 0;
    Latencies beside;
    state.ResumeTiming();
    {
      std::vector<std::jthread> threads;
      for (std::size_t c = 0; c < writers; ++c) {
        threads.emplace_back([&, c] {
          for (int i = 0; i < patches; ++i) {
            const auto answer =
                Say(*clients[c], "PATCH", path,
                    fmt::format(R"({{"metadata":{{"labels":{{"w{}":"{}"}}}}}})", c, i),
                    "application/merge-patch+json");
            if (answer.status != 200) ++refused;
          }
          ++done;
        });
      }
      while (done < static_cast<int>(writers)) beside.Add(CreateTemplate(*creator, made++));
    }
    state.PauseTiming();
    Report(state, "idle_", idle);
    Report(state, "", beside);
    state.counters["creates"] = static_cast<double>(beside.size());
    state.counters["refused"] = refused.load();
    state.counters["patches"] =
        benchmark::Counter(static_cast<double>(writers) * patches, benchmark::Counter::kIsRate);
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Load_CreatesBesideManyWritersOfOneObject)
    ->ArgNames({"writers", "patches"})
    ->Args({kLarge ? 128 : 8, 4})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Until all have a node and nothing more happens; the server's seconds meanwhile.
double SecondsForPods(const Server& server, const std::string& prefix, int pods) {
  const auto client = server.Connect();
  Lines lines(server, "/api/v1/namespaces/quiet/pods?watch=1");
  server.AwaitRest();
  const double before = server.Seconds();
  for (int i = 0; i < pods; ++i) CreatePod(*client, "quiet", fmt::format("{}-{}", prefix, i));
  lines.AwaitAllBound(static_cast<std::size_t>(pods), prefix);
  server.AwaitRest();
  return server.Seconds() - before;
}

// On etcd or, where that is not asked for, on a file of the server's.
StoreAddress StoreOf(const EtcdProcess* etcd) {
  if (etcd == nullptr) return {};
  auto address = StoreAddress::Parse(etcd->Address());
  DRAY_CHECK(address.ok(), address.status().ToString());
  return *std::move(address);
}

// As kubelets do: each watches the pods of its node, and hardly any of them gets one.
void BM_Load_NodeWatchers(benchmark::State& state) {
  const int watchers = static_cast<int>(state.range(0));
  const int pods = static_cast<int>(state.range(1));
  const bool on_etcd = state.range(2) != 0;
  if (on_etcd && EtcdProcess::Program().empty()) {
    return state.SkipWithError("tools/fetch-etcd build/etcd");
  }
  for ([[maybe_unused]] auto _ : state) {
    const auto etcd = on_etcd ? std::make_unique<EtcdProcess>() : nullptr;
    const Server server([&] {
      return PlaneOptions{.store = StoreOf(etcd.get()), .objects = ClusterOf(watchers, {"quiet"})};
    });
    SecondsForPods(server, "warm", pods / 4);
    const double without = SecondsForPods(server, "without", pods);
    // What they are sent stays in the sockets: they do not read.
    std::vector<std::unique_ptr<apiserver::TestClient>> clients;
    for (int i = 0; i < watchers; ++i) {
      clients.push_back(server.Connect());
      clients.back()->Send(
          fmt::format("GET /api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dnode-{:04} "
                      "HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      i));
      clients.back()->ReadUntil("\r\n\r\n");
    }
    const double with = SecondsForPods(server, "with", pods);
    state.counters["without_s"] = without;
    state.counters["with_s"] = with;
    state.counters["times"] = with / without;
  }
}
BENCHMARK(BM_Load_NodeWatchers)
    ->ArgNames({"watchers", "pods", "etcd"})
    ->Args({kLarge ? 5'000 : 50, kLarge ? 2'000 : 50, 0})
    ->Args({kLarge ? 5'000 : 50, kLarge ? 2'000 : 50, 1})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Many clients make `count` things, each `make(client, index)`.
void InParallel(const Server& server, int count,
                const std::function<void(apiserver::TestClient&, int)>& make) {
  constexpr int kClients = 32;
  std::vector<std::jthread> threads;
  for (int c = 0; c < kClients; ++c) {
    threads.emplace_back([&, c] {
      const auto client = server.Connect();
      for (int i = c; i < count; i += kClients) make(*client, i);
    });
  }
}

void Post(apiserver::TestClient& client, std::string_view path, const std::string& body) {
  const auto response = Say(client, "POST", path, body);
  DRAY_CHECK(response.status == 201, response.body);
}

// A cluster as large as there are: loaded over the API, and pods scheduled on it while it lives.
void BM_Load_LargeCluster(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  const int devices = static_cast<int>(state.range(1));
  const int pods = static_cast<int>(state.range(2));
  const bool on_etcd = state.range(3) != 0;
  if (on_etcd && EtcdProcess::Program().empty()) {
    return state.SkipWithError("tools/fetch-etcd build/etcd");
  }
  for ([[maybe_unused]] auto _ : state) {
    const auto etcd = on_etcd ? std::make_unique<EtcdProcess>() : nullptr;
    const Server server([&] {
      PlaneOptions options{.store = StoreOf(etcd.get()), .objects = ClusterOf(0, {"quiet"})};
      options.etcd.alone = true;  // as `dray up`
      return options;
    });
    Moment began = std::chrono::steady_clock::now();
    InParallel(server, nodes, [&](apiserver::TestClient& client, int i) {
      const api::Node node = NodeOf(i);
      Post(client, "/api/v1/nodes", api::Object::Of(node).ToJson());
      Post(client, "/apis/resource.k8s.io/v1/resourceslices",
           api::Object::Of(SliceOf(node, devices)).ToJson());
    });
    state.counters["load_s"] = MillisecondsSince(began) / 1000;
    server.AwaitRest();
    state.counters["ready_s"] = MillisecondsSince(began) / 1000;
    Lines lines(server, "/api/v1/namespaces/quiet/pods?watch=1");
    const double before = server.Seconds();
    const double etcd_before = etcd == nullptr ? 0 : etcd->Seconds();
    began = std::chrono::steady_clock::now();
    {
      const std::jthread creating([&] {
        InParallel(server, pods, [&](apiserver::TestClient& client, int i) {
          CreatePod(client, "quiet", fmt::format("p-{}", i));
        });
      });
      lines.AwaitAllBound(static_cast<std::size_t>(pods));
    }
    const double seconds = MillisecondsSince(began) / 1000;
    state.counters["pods"] = pods / seconds;
    state.counters["server_us"] = (server.Seconds() - before) / pods * 1e6;
    if (etcd != nullptr) {
      state.counters["etcd_us"] = (etcd->Seconds() - etcd_before) / pods * 1e6;
    }
    state.counters["server_MiB"] = server.PeakMebibytes();
    state.counters["etcd_MiB"] = etcd == nullptr ? 0 : etcd->PeakMebibytes();
  }
}
BENCHMARK(BM_Load_LargeCluster)
    ->ArgNames({"nodes", "devices", "pods", "etcd"})
    ->Args({kLarge ? 100'000 : 50, 16, kLarge ? 10'000 : 50, 0})
    ->Args({kLarge ? 100'000 : 50, 16, kLarge ? 10'000 : 50, 1})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

std::vector<api::Object> PodsOf(int pods) {
  std::vector<api::Object> objects;
  for (int i = 0; i < pods; ++i) {
    api::Pod pod;
    pod.metadata.name = fmt::format("p-{}", i);
    pod.metadata.namespace_ = "default";
    pod.metadata.labels["app"] = "load";
    pod.spec.node_name = fmt::format("node-{:04}", i % 1000);
    pod.spec.containers.push_back({.name = "c", .image = "example.com/i"});
    objects.push_back(api::Object::Of(std::move(pod)));
  }
  return objects;
}

// Somebody asks for everything as a table, the largest answer that there is.
void BM_Load_LivezBesideATable(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    state.PauseTiming();
    const Server server([&] {
      return PlaneOptions{
          .scheduler = false, .controllers = false, .nodes = false, .objects = PodsOf(pods)};
    });
    const auto asking = server.Connect();
    const auto table = server.Connect();
    const auto ask = [&] {
      const Moment start = std::chrono::steady_clock::now();
      const auto response = asking->Get("/livez");
      DRAY_CHECK(response.status == 200, response.body);
      const double took = MillisecondsSince(start);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return took;
    };
    Latencies idle;
    for (int i = 0; i < 100; ++i) idle.Add(ask());
    std::atomic<bool> done = false;
    Latencies beside;
    std::size_t bytes = 0;
    state.ResumeTiming();
    {
      const std::jthread reader([&] {
        const auto response =
            table->Get("/api/v1/pods", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n");
        DRAY_CHECK(response.status == 200, response.body.substr(0, 500));
        bytes = response.body.size();
        done = true;
      });
      while (!done) beside.Add(ask());
    }
    state.PauseTiming();
    Report(state, "idle_", idle);
    Report(state, "", beside);
    state.counters["asked"] = static_cast<double>(beside.size());
    state.counters["table_MB"] = static_cast<double>(bytes) * 1e-6;
    state.ResumeTiming();
  }
}
BENCHMARK(BM_Load_LivezBesideATable)
    ->ArgName("pods")
    ->Arg(kLarge ? 100'000 : 1'000)
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::plane::load
