// SPDX-License-Identifier: Apache-2.0
//
// Pods per second from the queue to the node, against a cluster in memory: every write (claim
// status, binding, event) and every change that comes back of it is included; loading the cluster,
// creating the pods and the first pod, which looks at every node, are not. DRAY_BENCH_LARGE=1 adds
// the clusters of 100,000 nodes.
#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/device_class.h"
#include "api/memory_cluster.h"
#include "api/namespace.h"
#include "api/resource_slice.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "plane/internal/scheduler_metrics.h"
#include "scheduler/scheduler.h"
#include "scheduler_workloads.h"

namespace dray::scheduler {
namespace {

using workloads::Workload;

constexpr int kPods = 20'000;
constexpr int kRefusedPods = 500;
// Of the shapes: pods at a time, which go before the next come.
constexpr int kRoundPods = 250;
constexpr int kRounds = 8;

// Of the processor: what else the machine does is not counted.
double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

class CountedIds final : public Ids {
 public:
  std::string Uid() override { return "00000000-0000-4000-8000-" + std::to_string(next_++); }

 private:
  std::uint64_t next_ = 100'000'000'000;
};

class Setting {
 public:
  Setting(Workload workload, std::int64_t nodes) : workload_(std::move(workload)) {
    std::vector<api::Object> objects;
    objects.push_back(api::Object::Of(workloads::MakeClass()));
    for (std::int64_t i = 0; i < nodes; ++i) {
      objects.push_back(api::Object::Of(workloads::MakeNode(i)));
      if (!workload_.devices) continue;
      for (api::ResourceSlice& slice : workloads::SlicesOf(workload_, i)) {
        objects.push_back(api::Object::Of(std::move(slice)));
      }
    }
    DRAY_CHECK(cluster_.Load(std::move(objects)).ok());
  }

  void Start(Observer* observer = nullptr,
             allocator::Policy policy = allocator::Policy::kFirstFit) {
    SchedulerOptions options;
    options.observer = observer;
    options.policy = policy;
    scheduler_ = std::make_unique<Scheduler>(cluster_, clock_, ids_, std::move(options));
    scheduler_->Sync();
  }
  const base::Clock& clock() const { return clock_; }
  void Create(int pods, bool devices = true) {
    std::vector<api::Object> objects;
    for (int i = 0; i < pods; ++i) {
      const std::string name = "pod-" + std::to_string(made_++);
      const bool claim = devices && workload_.asks != nullptr;
      if (claim) objects.push_back(api::Object::Of(workloads::MakeClaim(workload_, name)));
      api::Pod pod = workloads::MakePod(name, claim);
      if (devices && workload_.asks == nullptr) {
        pod.spec.containers[0].resources.requests[workloads::kExtended] = workloads::Amount("1");
      }
      objects.push_back(api::Object::Of(std::move(pod)));
    }
    DRAY_CHECK(cluster_.Load(std::move(objects)).ok());
  }
  // The pods that were made last, with their claims.
  void Delete(int pods) {
    const auto& pod_kind = api::HubKind(api::TypeInfoOf<api::Pod>());
    const auto& claim_kind = api::HubKind(api::TypeInfoOf<api::ResourceClaim>());
    for (int i = 0; i < pods; ++i) {
      const std::string name = "pod-" + std::to_string(made_ - 1 - i);
      const api::Object pod = *cluster_.Stored(pod_kind, "default", name);
      const auto& special = pod.As<api::Pod>()->status.extended_resource_claim_status;
      const std::string claim_name = special ? special->resource_claim_name : name + "-gpu";
      DRAY_CHECK(cluster_.Delete(pod_kind, "default", name).ok());
      api::ResourceClaim claim =
          *cluster_.Stored(claim_kind, "default", claim_name)->As<api::ResourceClaim>();
      claim.status = {};
      claim = *cluster_.UpdateStatus(api::Object::Of(std::move(claim)))->As<api::ResourceClaim>();
      claim.metadata.finalizers.clear();
      DRAY_CHECK(cluster_.Update(api::Object::Of(std::move(claim))).ok());
      DRAY_CHECK(cluster_.Delete(claim_kind, "default", claim_name).ok());
    }
  }
  // Seconds.
  double Run() {
    const double start = ThreadSeconds();
    scheduler_->Run();
    return ThreadSeconds() - start;
  }
  // The time of the rounds' pods, which all find a node, and go unless they stay.
  double Round(int pods, bool stay = false) {
    Create(pods);
    const std::uint64_t before = scheduler_->statistics().bound;
    const double took = Run();
    DRAY_CHECK(scheduler_->statistics().bound == before + static_cast<std::uint64_t>(pods));
    if (!stay) Delete(pods);
    return took;
  }
  Scheduler& scheduler() { return *scheduler_; }
  api::MemoryCluster& cluster() { return cluster_; }

 private:
  Workload workload_;
  base::SystemClock clock_;
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_{clock_, random_, {.validate = false}};
  CountedIds ids_;
  std::unique_ptr<Scheduler> scheduler_;
  std::int64_t made_ = 0;
};

void Report(benchmark::State& state, Setting& setting, double took, double pods) {
  const Statistics& statistics = setting.scheduler().statistics();
  state.SetIterationTime(took);
  state.counters["pods/s"] = pods / took;
  state.counters["nodes/pod"] =
      static_cast<double>(statistics.node_evaluations) / static_cast<double>(statistics.attempts);
}

// Pods until `pods` are placed, all waiting from the start.
void Fill(benchmark::State& state, Workload workload, std::int64_t nodes, int pods, bool devices) {
  for (auto _ : state) {
    Setting setting(workload, nodes);
    setting.Create(pods, devices);
    setting.Start();
    DRAY_CHECK(setting.scheduler().ScheduleOne().has_value());
    Report(state, setting, setting.Run(), pods - 1);
    DRAY_CHECK(setting.scheduler().statistics().bound == static_cast<std::uint64_t>(pods));
  }
}

// A shape in a cluster where `there` pods are already, some pods at a time.
void Steady(benchmark::State& state, const Workload& workload, int there, int at_a_time) {
  for (auto _ : state) {
    Setting setting(workload, 500);
    setting.Create(there);
    setting.Start();
    setting.Run();
    setting.Round(1);
    double took = 0;
    int pods = 0;
    for (; pods < kRoundPods * kRounds; pods += at_a_time) took += setting.Round(at_a_time);
    Report(state, setting, took, pods);
  }
}

double BetterHalf(std::vector<double>& times) {
  std::ranges::sort(times);
  double sum = 0;
  for (std::size_t i = 0; i < times.size() / 2; ++i) sum += times[i];
  return sum;
}

// The same pods by both in turns, so that both see the same machine. The better half of the turns
// counts.
void InTurns(benchmark::State& state, Setting& with, Setting& without, bool stay) {
  std::vector<double> with_times;
  std::vector<double> without_times;
  for (Setting* setting : {&with, &without}) setting->Round(1, stay);
  for (int i = 0; i < 4 * kRounds; ++i) {
    with_times.push_back(with.Round(kRoundPods, stay));
    without_times.push_back(without.Round(kRoundPods, stay));
  }
  const double took = BetterHalf(with_times);
  Report(state, with, took, 2.0 * kRounds * kRoundPods);
  state.counters["costs_%"] = 100 * (took / BetterHalf(without_times) - 1);
}

// What a feature costs: its shape and the same without it.
void Compare(benchmark::State& state, const Workload& with, const Workload& without,
             bool observed = false) {
  for (auto _ : state) {
    metrics::Registry registry;
    Setting a(with, 500);
    Setting b(without, 500);
    plane::internal::SchedulerMetrics observer(registry, a.clock());
    a.Start(observed ? &observer : nullptr);
    b.Start();
    InTurns(state, a, b, false);
  }
}

// What the policy fragmentation costs a decision, against first-fit: the cluster fills.
void ComparePolicy(benchmark::State& state, const Workload& workload, std::int64_t nodes) {
  for (auto _ : state) {
    Setting a(workload, nodes);
    Setting b(workload, nodes);
    a.Start(nullptr, allocator::Policy::kFragmentation);
    b.Start();
    InTurns(state, a, b, true);
  }
}

// What something that concerns nobody costs the pod after it: what came before it took in the same
// run is taken off. The middle one of several.
void Aside(benchmark::State& state, std::int64_t nodes,
           const std::function<api::Object(int index)>& make) {
  for (auto _ : state) {
    Setting setting(workloads::Plain(), nodes);
    setting.Start();
    for (int i = 0; i < 3; ++i) setting.Round(1);
    std::vector<double> extra;
    std::uint64_t evaluations = 0;
    for (int i = 0; i < 21; ++i) {
      const double usual = setting.Round(1);
      const api::Object object = make(i);
      DRAY_CHECK(setting.cluster().Create(object).ok());
      const std::uint64_t before = setting.scheduler().statistics().node_evaluations;
      extra.push_back(setting.Round(1) - usual);
      evaluations = setting.scheduler().statistics().node_evaluations - before;
    }
    std::ranges::sort(extra);
    state.SetIterationTime(std::max(extra[extra.size() / 2], 0.0));
    state.counters["nodes_asked"] = static_cast<double>(evaluations);
  }
}

api::Object SpaceNumber(int index) {
  api::Namespace space;
  space.metadata.name = "space-" + std::to_string(index);
  return api::Object::Of(std::move(space));
}
api::Object ClassNumber(int index) {
  api::DeviceClass other;
  other.metadata.name = "class-" + std::to_string(index);
  return api::Object::Of(std::move(other));
}
api::Object FabricNumber(int index) {
  api::ResourceSlice slice;
  slice.metadata.name = "fabric-" + std::to_string(index);
  slice.spec.driver = "fabric.example.com";
  slice.spec.pool = {.name = slice.metadata.name, .generation = 1, .resource_slice_count = 1};
  slice.spec.all_nodes = true;
  auto& devices = slice.spec.devices.emplace();
  for (int i = 0; i < 8; ++i) devices.emplace_back().name = "port-" + std::to_string(i);
  return api::Object::Of(std::move(slice));
}

// What a scheduler keeps, beside the objects, which it shares with the cluster.
void Memory(benchmark::State& state, std::int64_t nodes, std::int64_t devices) {
  for (auto _ : state) {
    const double empty = BytesInUse();
    Setting setting(workloads::Plain(devices), nodes);
    const double loaded = BytesInUse();
    const double start = ThreadSeconds();
    setting.Start();
    // The first pod looks at every node; what is kept of that is the nodes'.
    setting.Create(1);
    setting.Run();
    const double started = BytesInUse();
    setting.Create(kPods);
    const double created = BytesInUse();
    setting.Run();
    const double placed = BytesInUse();
    state.SetIterationTime(ThreadSeconds() - start);
    const auto per = [](double bytes, std::int64_t things) {
      return bytes / static_cast<double>(things);
    };
    state.counters["B/node"] = per(started - loaded, nodes);
    state.counters["B/node_objects"] = per(loaded - empty, nodes);
    state.counters["B/pod"] = per(placed - created, kPods);
    state.counters["B/pod_objects"] = per(created - started, kPods);
  }
}

void Register(const std::string& name, std::function<void(benchmark::State&)> run) {
  benchmark::RegisterBenchmark(("BM_Scheduler_" + name).c_str(), std::move(run))
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}

const bool kRegistered = [] {
  using namespace workloads;
  const auto shape = [](const std::string& name, const Workload& workload) {
    Register("Shapes/" + name + "/nodes:500",
             [=](benchmark::State& state) { Steady(state, workload, 0, kRoundPods); });
  };
  // Ten pods at a time beside what is there, as in scheduler_perf.
  for (const auto& [name, there] : {std::pair{"empty", 0}, {"half", 2'500}, {"full", 4'990}}) {
    Register(std::string("Steady/") + name + "/nodes:500/devices:10",
             [there = there](benchmark::State& state) { Steady(state, Plain(), there, 10); });
  }
  shape("plain", Plain());
  shape("selector", Selector());
  shape("match", Match());
  shape("distinct", Distinct());
  shape("extended_resource", ExtendedResource());
  shape("consumable_capacity", ConsumableCapacity());
  shape("partitions", Partitions(false));
  shape("partitions_backtracking", Backtracking());
  shape("groups", Partitions(true));
  shape("lists_64x47", Roots(true));
  shape("derived", Derived());
  const auto costs = [](const std::string& name, const Workload& with, const Workload& without) {
    Register("Costs/" + name, [=](benchmark::State& state) { Compare(state, with, without); });
  };
  costs("derived", Derived(), Match());
  costs("groups", Partitions(true), Partitions(false));
  costs("lists", Roots(true), Roots(false));
  Register("Costs/fragmentation/nodes:5000/devices:10",
           [](benchmark::State& state) { ComparePolicy(state, Plain(), 5'000); });
  Register("Costs/fragmentation_shares/nodes:5000/devices:10",
           [](benchmark::State& state) { ComparePolicy(state, ConsumableCapacity(), 5'000); });
  Register("Costs/observed",
           [](benchmark::State& state) { Compare(state, Plain(), Plain(), /*observed=*/true); });

  const bool large = std::getenv("DRAY_BENCH_LARGE") != nullptr;
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes = {{5'000, 10}};
  if (large) sizes.emplace_back(100'000, 16);
  for (const auto& [nodes, devices] : sizes) {
    const std::string size =
        "nodes:" + std::to_string(nodes) + "/devices:" + std::to_string(devices);
    Register("Devices/" + size, [=, nodes = nodes, devices = devices](benchmark::State& state) {
      Fill(state, Plain(devices), nodes, kPods, true);
    });
    Register("Memory/" + size, [=, nodes = nodes, devices = devices](benchmark::State& state) {
      Memory(state, nodes, devices);
    });
  }
  const auto aside = [](const std::string& name, api::Object (*make)(int)) {
    Register("Aside/" + name + "/nodes:5000",
             [=](benchmark::State& state) { Aside(state, 5'000, make); });
  };
  aside("namespace", SpaceNumber);
  aside("class", ClassNumber);
  aside("all_nodes_slice", FabricNumber);
  Register("Plain/nodes:5000",
           [](benchmark::State& state) { Fill(state, {}, 5'000, kPods, false); });
  // More devices than any node has: each pod is explained.
  Register("Refused/nodes:5000/devices:10", [](benchmark::State& state) {
    for (auto _ : state) {
      Setting setting(Plain(10, 11), 5'000);
      setting.Create(kRefusedPods);
      setting.Start();
      DRAY_CHECK(setting.scheduler().ScheduleOne().has_value());
      Report(state, setting, setting.Run(), kRefusedPods - 1);
      DRAY_CHECK(setting.scheduler().statistics().unschedulable >= kRefusedPods);
    }
  });
  return true;
}();

}  // namespace
}  // namespace dray::scheduler
