// SPDX-License-Identifier: Apache-2.0
//
// What a second worker brings for pods that no memory helps with: each has a selector of its own,
// so that every filter and every score of every node is computed for it. One worker and two in
// turns, so that both see the same machine.
//
//   speedup_wall  time of one worker / time of two: true only while nothing else wants the cores
//   speedup_path  processor time of one worker / that of the longest path through the work of two:
//                 what the scheduling thread does alone, and of each part that is shared what the
//                 busier worker did. What else the machine does moves it only as far as it keeps a
//                 worker from its share.
//   more_cpu_%    processor time of two workers together beyond that of one
//   alone_%       how much of that path is the scheduling thread's alone
//
// The better half of the turns counts.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "api/memory_cluster.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "scheduler/scheduler.h"
#include "scheduler_workloads.h"
#include "threads/thread_pool.h"

namespace dray::scheduler {
namespace {

using workloads::Workload;

constexpr int kTurns = 12;
constexpr int kPodsPerTurn = 4;

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class CountedIds final : public Ids {
 public:
  std::string Uid() override { return "00000000-0000-4000-8000-" + std::to_string(next_++); }

 private:
  std::uint64_t next_ = 100'000'000'000;
};

// Notes what each worker did, as processor time.
class MeasuredPool final : public base::Executor {
 public:
  explicit MeasuredPool(std::size_t workers) : pool_(workers) {}

  std::size_t workers() const override { return pool_.workers(); }
  void Run(const std::function<void(std::size_t)>& work) override {
    std::vector<double> took(workers());
    pool_.Run([&](std::size_t worker) {
      const double start = ThreadSeconds();
      work(worker);
      took[worker] = ThreadSeconds() - start;
    });
    caller += took[0];
    busiest += std::ranges::max(took);
    all += std::accumulate(took.begin(), took.end(), 0.0);
  }

  double caller = 0;   // of worker 0
  double busiest = 0;  // of the busiest of each work
  double all = 0;

 private:
  threads::ThreadPool pool_;
};

struct Took {
  double wall = 0;
  double path = 0;
  double cpu = 0;
  double alone = 0;  // of the scheduling thread, outside of what is shared
};

class Setting {
 public:
  Setting(const std::function<void(api::DeviceClaim&, std::int64_t)>& asks, std::size_t workers,
          std::int64_t nodes)
      : asks_(asks), pool_(workers) {
    const Workload workload = workloads::Plain(10);
    std::vector<api::Object> objects;
    objects.push_back(api::Object::Of(workloads::MakeClass()));
    for (std::int64_t i = 0; i < nodes; ++i) {
      objects.push_back(api::Object::Of(workloads::MakeNode(i)));
      for (api::ResourceSlice& slice : workloads::SlicesOf(workload, i)) {
        objects.push_back(api::Object::Of(std::move(slice)));
      }
    }
    DRAY_CHECK(cluster_.Load(std::move(objects)).ok());
    SchedulerOptions options;
    options.executor = &pool_;
    scheduler_ = std::make_unique<Scheduler>(cluster_, clock_, ids_, std::move(options));
    scheduler_->Sync();
  }
  // Some pods from the queue to the node, or to the reason why there is none.
  Took Turn(int pods) {
    std::vector<api::Object> objects;
    for (int i = 0; i < pods; ++i) {
      const std::int64_t number = made_++;
      const std::string name = "pod-" + std::to_string(number);
      Workload workload;
      workload.asks = [&](api::DeviceClaim& claim) { asks_(claim, number); };
      objects.push_back(api::Object::Of(workloads::MakeClaim(workload, name)));
      objects.push_back(api::Object::Of(workloads::MakePod(name, true)));
    }
    DRAY_CHECK(cluster_.Load(std::move(objects)).ok());
    pool_.caller = pool_.busiest = pool_.all = 0;
    const std::uint64_t before = scheduler_->statistics().attempts;
    const double wall = WallSeconds();
    const double cpu = ThreadSeconds();
    scheduler_->Sync();
    for (int i = 0; i < pods; ++i) DRAY_CHECK(scheduler_->ScheduleOne().has_value());
    const double alone = ThreadSeconds() - cpu - pool_.caller;
    DRAY_CHECK(scheduler_->statistics().attempts == before + static_cast<std::uint64_t>(pods));
    return {WallSeconds() - wall, alone + pool_.busiest, alone + pool_.all, alone};
  }

 private:
  std::function<void(api::DeviceClaim&, std::int64_t)> asks_;
  base::SystemClock clock_;
  base::SeededRandomSource random_{1};
  api::MemoryCluster cluster_{clock_, random_, {.validate = false}};
  CountedIds ids_;
  MeasuredPool pool_;
  std::unique_ptr<Scheduler> scheduler_;
  std::int64_t made_ = 0;
};

double BetterHalf(const std::vector<Took>& turns, double Took::*what) {
  std::vector<double> times;
  for (const Took& turn : turns) times.push_back(turn.*what);
  std::ranges::sort(times);
  return std::accumulate(times.begin(),
                         times.begin() + static_cast<std::ptrdiff_t>(times.size()) / 2, 0.0);
}

void Unremembered(benchmark::State& state, std::int64_t nodes,
                  const std::function<void(api::DeviceClaim&, std::int64_t)>& asks) {
  for (auto _ : state) {
    Setting one(asks, 1, nodes);
    Setting two(asks, 2, nodes);
    // The first pod gathers devices, which is not done again.
    for (Setting* setting : {&one, &two}) setting->Turn(1);
    std::vector<Took> of_one;
    std::vector<Took> of_two;
    for (int i = 0; i < kTurns; ++i) {
      of_one.push_back(one.Turn(kPodsPerTurn));
      of_two.push_back(two.Turn(kPodsPerTurn));
    }
    const double serial = BetterHalf(of_one, &Took::cpu);
    state.SetIterationTime(BetterHalf(of_two, &Took::wall));
    state.counters["ms/pod"] = 1e3 * serial / (kTurns / 2 * kPodsPerTurn);
    state.counters["speedup_wall"] =
        BetterHalf(of_one, &Took::wall) / BetterHalf(of_two, &Took::wall);
    state.counters["speedup_path"] = serial / BetterHalf(of_two, &Took::path);
    state.counters["alone_%"] =
        100 * BetterHalf(of_two, &Took::alone) / BetterHalf(of_two, &Took::path);
    state.counters["more_cpu_%"] = 100 * (BetterHalf(of_two, &Took::cpu) / serial - 1);
  }
}

void Register(const std::string& name, std::function<void(api::DeviceClaim&, std::int64_t)> asks) {
  for (const std::int64_t nodes : {500, 5'000}) {
    benchmark::RegisterBenchmark(
        ("BM_Scheduler_Unremembered/" + name + "/nodes:" + std::to_string(nodes) + "/devices:10")
            .c_str(),
        [=](benchmark::State& state) { Unremembered(state, nodes, asks); })
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

const bool kRegistered = [] {
  using workloads::Ask;
  const auto own = [](std::int64_t number) {
    return "device.attributes['gpu.example.com'].index != -" + std::to_string(number + 1);
  };
  Register("selector", [=](api::DeviceClaim& claim, std::int64_t number) {
    Ask(claim, "gpu", 1, own(number));
  });
  // Two devices of one NUMA node.
  Register("match", [=](api::DeviceClaim& claim, std::int64_t number) {
    Ask(claim, "gpus", 2, own(number));
    claim.constraints.emplace_back().match_attribute = "gpu.example.com/numa";
  });
  // More than any node has: each pod is explained, too.
  Register("refused", [=](api::DeviceClaim& claim, std::int64_t number) {
    Ask(claim, "gpus", 11, own(number));
  });
  return true;
}();

}  // namespace
}  // namespace dray::scheduler
