// SPDX-License-Identifier: Apache-2.0
//
// What durable writes cost in groups, and what watchers cost.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "fmt/format.h"
#include "store/memory/memory_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::store {
namespace {

// About what a pod is, encoded.
const std::string& PodSized() {
  static const std::string value(2048, 'x');
  return value;
}

std::string PodKey(std::int64_t i) { return fmt::format("/registry/pods/default/pod-{:08}", i); }

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::current_path() / "store-bench-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string File() const { return path_ / "store.db"; }

 private:
  std::filesystem::path path_;
};

// Lets so many callers wait at a time.
class InFlight {
 public:
  explicit InFlight(std::int64_t limit) : limit_(limit) {}
  void Begin() {
    const base::MutexLock lock(mutex_);
    while (count_ >= limit_) changed_.Wait(mutex_);
    ++count_;
  }
  void End() {
    const base::MutexLock lock(mutex_);
    if (count_-- == limit_ || count_ == 0) changed_.NotifyOne();
  }
  void Drain() {
    const base::MutexLock lock(mutex_);
    while (count_ != 0) changed_.Wait(mutex_);
  }

 private:
  const std::int64_t limit_;
  base::Mutex mutex_;
  base::CondVar changed_;
  std::int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Each key is written six times, as a pod's is on its way to being bound, its claim included.
void BM_Store_DurableWrites(benchmark::State& state) {
  const Folder folder;
  auto store = OpenSqliteStore({.path = folder.File()});
  DRAY_CHECK(store.ok());
  InFlight in_flight(state.range(0));
  std::int64_t writes = 0;
  for (auto _ : state) {
    in_flight.Begin();
    (*store)->Commit(Transaction().Put(PodKey(writes / 6), PodSized()),
                     [&](StatusOr<Outcome> outcome) {
                       DRAY_CHECK(outcome.ok() && !outcome->conflict);
                       in_flight.End();
                     });
    ++writes;
  }
  in_flight.Drain();
  state.SetItemsProcessed(writes);
}
BENCHMARK(BM_Store_DurableWrites)
    ->ArgName("callers")
    ->Arg(1)
    ->Arg(16)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(4096)
    ->UseRealTime();

// One event that `watching` watchers of one prefix are woken for and read, while `idle` others
// watch prefixes of their own.
void BM_Store_WatchFanOut(benchmark::State& state) {
  const auto store = MakeMemoryStore();
  std::int64_t woken = 0;
  std::vector<std::unique_ptr<Watch>> watches;
  const auto watch = [&](const std::string& prefix) {
    watches.push_back(*store->WatchFrom(prefix, store->revision(), [&] { ++woken; }));
    DRAY_CHECK(watches.back()->Next(1)->empty());
  };
  for (std::int64_t i = 0; i < state.range(0); ++i) watch("/registry/pods/");
  for (std::int64_t i = 0; i < state.range(1); ++i) {
    watch(fmt::format("/registry/pods/namespace-{}/", i));
  }
  std::int64_t writes = 0;
  for (auto _ : state) {
    DRAY_CHECK(store->CommitAndWait(Transaction().Put(PodKey(writes++ % 1000), PodSized())).ok());
    for (std::int64_t i = 0; i < state.range(0); ++i) {
      auto& one = *watches[static_cast<std::size_t>(i)];
      DRAY_CHECK(one.Next(100)->size() == 1 && one.Next(100)->empty());
    }
  }
  DRAY_CHECK(woken == writes * state.range(0));
  state.SetItemsProcessed(writes * std::max<std::int64_t>(1, state.range(0)));
}
BENCHMARK(BM_Store_WatchFanOut)
    ->ArgNames({"watching", "idle"})
    ->Args({0, 0})
    ->Args({0, 5000})
    ->Args({1, 0})
    ->Args({5000, 0});

void BM_Store_Range(benchmark::State& state) {
  const auto store = MakeMemoryStore();
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    DRAY_CHECK(store->CommitAndWait(Transaction().Put(PodKey(i), "x")).ok());
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(store->Range("/registry/pods/")->entries.size());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_Store_Range)->ArgName("keys")->Arg(500)->Arg(100'000);

}  // namespace
}  // namespace dray::store
