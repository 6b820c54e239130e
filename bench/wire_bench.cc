// SPDX-License-Identifier: Apache-2.0
//
// The scheduler over the wire beside a load generator that decides nothing: both bind a backlog of pods with a claim
// each on the same server in the same run, in turns, with the same requests, as many at a time. What the scheduler
// loses against the generator is its own; what both cannot do is the server's.
//
// The server is dray's in a process of its own, or any that $DRAY_WIRE_KUBECONFIG leads to (an administrator's, of a
// cluster that may be written to; objects that are made there are deleted at the end).
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/pod_claims.h"
#include "client/remote_cluster.h"
#include "load_world.h"
#include "plane/remote_scheduler.h"

namespace dray::plane {
namespace {

using load::Moment;

constexpr int kDevicesPerNode = 10;
constexpr std::string_view kNamespace = "default";
// Of the generator: pods that name it are nobody else's.
constexpr std::string_view kGenerator = "wire-generator";
constexpr std::string_view kDriver = "wire.example.com";
constexpr int kRounds = 3;

template <typename T>
const api::KindInfo& KindOf() {
  return api::HubKind(api::TypeInfoOf<T>());
}

double ProcessorSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

template <typename T>
T Must(StatusOr<T> result) {
  DRAY_CHECK(result.ok(), result.status().ToString());
  return *std::move(result);
}

// All indices below `count`, by so many threads at a time.
template <typename Do>
void InParallel(int count, std::size_t threads, Do todo) {
  std::atomic<int> next = 0;
  std::vector<std::jthread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&] {
      for (int i = next++; i < count; i = next++) todo(i);
    });
  }
}

// What one of the two has reached.
struct Rate {
  int pods = 0;
  double seconds = 0;  // from the first binding to the last
  double whole = 0;    // with beginning, and with events until the last is written
  double own = 0;      // processor seconds of this process
  double server = 0;   // and of the server's
};

class World {
 public:
  World(client::ServerAccess access, const load::Server* server, int nodes, std::size_t writers)
      : access_(std::move(access)), server_(server), nodes_(nodes), writers_(writers) {
    http_ = Must(client::HttpClient::Create(access_));
    cluster_ = std::make_unique<client::RemoteCluster>(*http_, clock_);
    InParallel(2 * nodes_, writers_, [&](int n) { AddNode(n); });
    api::DeviceClass devices;
    devices.metadata.name = "wire";
    Keep(api::Object::Of(devices));
  }
  ~World() {
    if (server_ != nullptr) return;  // it goes with all that it has
    InParallel(static_cast<int>(made_.size()), writers_, [&](int i) {
      const api::Object& object = made_[static_cast<std::size_t>(i)];
      const api::ObjectMeta& metadata = object.metadata();
      // Nobody may be there who would take it off.
      auto now = cluster_->Find(object.kind(), metadata.namespace_, metadata.name);
      if (now.ok() && now->has_value() && !(*now)->metadata().finalizers.empty()) {
        (*now)->MutableMetadata().finalizers.clear();
        cluster_->Update(**std::move(now)).IgnoreError();
      }
      cluster_->Delete(object.kind(), metadata.namespace_, metadata.name).IgnoreError();
    });
  }

  // Pods and their claims, in the store before anything is measured.
  void AddPods(const std::string& prefix, std::string_view scheduler, int first, int count) {
    InParallel(count, writers_, [&](int i) {
      api::ResourceClaim claim;
      claim.metadata.namespace_ = kNamespace;
      claim.metadata.name = fmt::format("{}-{}", prefix, first + i);
      api::DeviceRequest& request = claim.spec.devices.requests.emplace_back();
      request.name = "device";
      request.exactly.emplace().device_class_name = "wire";
      api::Pod pod;
      pod.metadata.namespace_ = kNamespace;
      pod.metadata.name = claim.metadata.name;
      pod.spec.scheduler_name = scheduler;
      pod.spec.termination_grace_period_seconds = 0;
      pod.spec.resource_claims = {{.name = "device", .resource_claim_name = claim.metadata.name}};
      pod.spec.containers.push_back({.name = "c", .image = "example.com/i"});
      pod.spec.containers[0].resources.claims.push_back({.name = "device"});
      Keep(api::Object::Of(claim));
      Keep(api::Object::Of(pod));
    });
    if (server_ != nullptr) server_->AwaitRest();
  }

  // The same writes as the scheduler's, for devices of nodes that it does not use.
  Rate Generate(int first, int count) {
    const Measure measure(*this);
    const auto http = Must(client::HttpClient::Create(access_));
    auto cluster = std::make_unique<client::RemoteCluster>(
        *http, clock_, client::RemoteOptions{.component = std::string(kGenerator)});
    std::vector<std::optional<api::Object>> pods(static_cast<std::size_t>(count));
    std::vector<std::optional<api::Object>> claims(static_cast<std::size_t>(count));
    const auto sort_in = [&](std::vector<api::Object> all,
                             std::vector<std::optional<api::Object>>& to) {
      for (api::Object& object : all) {
        const std::string& name = object.metadata().name;
        if (!name.starts_with("g-")) continue;
        const int index = std::stoi(name.substr(2)) - first;
        if (index >= 0 && index < count) to[static_cast<std::size_t>(index)] = std::move(object);
      }
    };
    sort_in(Must(cluster->List(KindOf<api::Pod>())), pods);
    sort_in(Must(cluster->List(KindOf<api::ResourceClaim>())), claims);
    std::atomic<int> bound = 0;
    Rate rate;
    {
      const std::jthread writing([&] {
        InParallel(count, writers_, [&](int i) {
          const auto at = static_cast<std::size_t>(i);
          Bind(*cluster, *pods[at], *claims[at], first + i);
          ++bound;
        });
      });
      rate = measure.Await(count, [&] { return bound.load(); });
    }
    cluster = nullptr;  // writes the events that wait
    return measure.Ended(rate);
  }

  Rate Schedule(int count) {
    const Measure measure(*this);
    plane::RemoteSchedulerOptions options;
    options.access = access_;
    options.leader_elect = false;
    options.writers = writers_;
    auto scheduler = Must(RemoteScheduler::Start(std::move(options), clock_));
    const Rate rate =
        measure.Await(count, [&] { return static_cast<int>(scheduler->statistics().bound); });
    scheduler = nullptr;
    return measure.Ended(rate);
  }

 private:
  class Measure {
   public:
    explicit Measure(const World& world)
        : world_(world),
          begin_(std::chrono::steady_clock::now()),
          own_(ProcessorSeconds()),
          server_(world.ServerSeconds()) {}
    // Until so many are bound.
    template <typename Bound>
    Rate Await(int count, Bound bound) const {
      std::optional<Moment> first;
      int already = 0;
      for (;;) {
        const int now = bound();
        const Moment at = std::chrono::steady_clock::now();
        if (!first && now > 0) {
          first = at;
          already = now;
        }
        if (now >= count) {
          return {.pods = count,
                  .seconds = std::chrono::duration<double>(at - *first).count() *
                             static_cast<double>(count) / static_cast<double>(count - already)};
        }
        DRAY_CHECK(at - begin_ < std::chrono::minutes(10), "pods are not bound");
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      }
    }
    Rate Ended(Rate rate) const {
      rate.whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
      rate.own = ProcessorSeconds() - own_;
      rate.server = world_.ServerSeconds() - server_;
      return rate;
    }

   private:
    const World& world_;
    const Moment begin_;
    const double own_;
    const double server_;
  };

  double ServerSeconds() const { return server_ == nullptr ? 0 : server_->Seconds(); }

  void Keep(api::Object object) {
    api::Object made = Must(cluster_->Create(std::move(object)));
    if (server_ != nullptr) return;
    const base::MutexLock lock(mutex_);
    made_.push_back(std::move(made));
  }

  // The second half is the generator's.
  void AddNode(int n) {
    api::Node node;
    node.metadata.name = NodeName(n);
    node.spec.unschedulable = n >= nodes_;
    node.status.allocatable["pods"] = *base::Quantity::Parse("110");
    node.status.allocatable["cpu"] = *base::Quantity::Parse("64");
    api::Object made = Must(cluster_->Create(api::Object::Of(node)));
    // A cluster without an agent on it takes it for not ready.
    if (!made.As<api::Node>()->spec.taints.empty()) {
      made.Mutable<api::Node>()->spec.taints.clear();
      made = Must(cluster_->Update(std::move(made)));
    }
    if (server_ == nullptr) {
      const base::MutexLock lock(mutex_);
      made_.push_back(std::move(made));
    }
    api::ResourceSlice slice;
    slice.metadata.name = node.metadata.name;
    slice.spec.driver = kDriver;
    slice.spec.node_name = node.metadata.name;
    slice.spec.pool = {.name = node.metadata.name, .generation = 1, .resource_slice_count = 1};
    auto& devices = slice.spec.devices.emplace();
    for (int i = 0; i < kDevicesPerNode; ++i) devices.emplace_back().name = DeviceName(i);
    Keep(api::Object::Of(slice));
  }
  static std::string NodeName(int n) { return fmt::format("wire-{:04}", n); }
  static std::string DeviceName(int i) { return fmt::format("device-{}", i); }

  void Bind(client::RemoteCluster& cluster, const api::Object& pod, const api::Object& claim,
            int index) const {
    const std::string node = NodeName(nodes_ + index / kDevicesPerNode);
    api::Object guarded = claim;
    guarded.MutableMetadata().finalizers.emplace_back(api::kClaimFinalizer);
    api::Object stored = Must(cluster.Update(std::move(guarded)));
    api::ResourceClaimStatus& status = stored.Mutable<api::ResourceClaim>()->status;
    api::DeviceRequestAllocationResult& result =
        status.allocation.emplace().devices.results.emplace_back();
    result.request = "device";
    result.driver = kDriver;
    result.pool = node;
    result.device = DeviceName(index % kDevicesPerNode);
    api::NodeSelectorTerm& term =
        status.allocation->node_selector.emplace().node_selector_terms.emplace_back();
    term.match_fields.push_back({.key = "metadata.name", .operator_ = "In", .values = {node}});
    status.reserved_for.push_back(
        {.resource = "pods", .name = pod.metadata().name, .uid = pod.metadata().uid});
    Must(cluster.UpdateStatus(std::move(stored)));
    const api::ObjectMeta& metadata = pod.metadata();
    const Status bound = cluster.Bind(metadata.namespace_, metadata.name, metadata.uid, node);
    DRAY_CHECK(bound.ok(), bound.ToString());
    cluster.Note({.about = pod,
                  .type = "Normal",
                  .reason = "Scheduled",
                  .message = fmt::format("Successfully assigned {}/{} to {}", metadata.namespace_,
                                         metadata.name, node),
                  .component = std::string(kGenerator),
                  .action = "Binding"});
  }

  const client::ServerAccess access_;
  const load::Server* const server_;  // null: somebody else's
  const int nodes_;                   // that the scheduler uses, and as many for the generator
  const std::size_t writers_;
  const base::SystemClock clock_{};
  std::unique_ptr<client::HttpClient> http_;
  std::unique_ptr<client::RemoteCluster> cluster_;
  base::Mutex mutex_;
  std::vector<api::Object> made_;
};

void Add(const Rate& one, Rate& all) {
  all.pods += one.pods;
  all.seconds += one.seconds;
  all.whole += one.whole;
  all.own += one.own;
  all.server += one.server;
}

void Show(benchmark::State& state, const std::string& who, const Rate& rate) {
  state.counters[who] = rate.pods / rate.seconds;
  state.counters[who + "_whole"] = rate.pods / rate.whole;
  state.counters[who + "_us"] = rate.own / rate.pods * 1e6;
  state.counters[who + "_server_us"] = rate.server / rate.pods * 1e6;
}

void BM_Wire_SchedulerBesideAGenerator(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  const auto writers = static_cast<std::size_t>(state.range(1));
  const int nodes = (pods * kRounds + kDevicesPerNode - 1) / kDevicesPerNode;
  Rate generated;
  Rate scheduled;
  for ([[maybe_unused]] auto _ : state) {
    const char* elsewhere = std::getenv("DRAY_WIRE_KUBECONFIG");
    std::unique_ptr<load::Server> server;
    client::AccessOptions where{.kubeconfig = elsewhere == nullptr ? "" : elsewhere};
    if (elsewhere == nullptr) {
      server = std::make_unique<load::Server>(
          [] { return PlaneOptions{.scheduler = false, .controllers = false, .nodes = false}; });
      where.kubeconfig = server->folder() + "/admin.kubeconfig";
    }
    World world(Must(client::LoadAccess(where)), server.get(), nodes, writers);
    for (int round = 0; round < kRounds; ++round) {
      const int first = round * pods;
      world.AddPods("g", kGenerator, first, pods);
      Add(world.Generate(first, pods), generated);
      world.AddPods("s", "default-scheduler", first, pods);
      Add(world.Schedule(pods), scheduled);
    }
  }
  Show(state, "generator", generated);
  Show(state, "scheduler", scheduled);
  state.counters["share"] =
      (scheduled.pods / scheduled.seconds) / (generated.pods / generated.seconds);
}
BENCHMARK(BM_Wire_SchedulerBesideAGenerator)
    ->ArgNames({"pods", "writers"})
    ->Args({50, 32})
    ->Args({1000, 32})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace dray::plane
