// SPDX-License-Identifier: Apache-2.0
//
// A simulation while it runs: the loop (simulation.cc), pods that come and go (simulation_pods.cc),
// devices and nodes that do (simulation_churn.cc), and what is counted (simulation_counts.cc).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "api/memory_cluster.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "controllers/controller.h"
#include "scheduler/scheduler.h"
#include "simulator/cluster_builder.h"
#include "simulator/event_queue.h"
#include "simulator/meter.h"
#include "simulator/random_stream.h"
#include "simulator/result.h"
#include "simulator/simulation.h"

namespace dray::simulator::internal {

class CountedIds final : public scheduler::Ids {
 public:
  std::string Uid() override;

 private:
  std::uint64_t next_ = 1;
};

// One thread. The scenario and the options outlive it.
class Simulation {
 public:
  Simulation(const Scenario& scenario, const SimulationOptions& options);
  Status Load(std::vector<api::Object> dump);
  Result Run();

 private:
  static constexpr std::size_t kNoWorkload = static_cast<std::size_t>(-1);
  enum class Going : std::uint8_t { kNo, kDeparting, kLost };
  struct PodRecord {
    std::size_t workload = kNoWorkload;
    Duration created{0};
    std::string uid;
    std::string node;  // empty: none yet
    bool warm_up = false;
    bool refused = false;
    bool binding = false;  // reserved, and waits for something
    Going going = Going::kNo;
    std::vector<std::uint16_t> reasons;  // that it has been counted for
  };
  // Group and number of a node, and a driver of the group.
  struct Pool {
    std::size_t group = 0;
    std::int64_t node = 0;
    std::size_t driver = 0;
    friend auto operator<=>(const Pool&, const Pool&) = default;
  };
  struct DeviceChange {
    std::string device;
    std::size_t churn = 0;
  };

  Duration now() const { return clock_.Monotonic(); }

  // The loop.
  void Loop();
  bool Step();
  std::size_t Sync();
  void RunDueEvents();
  void Tick();
  std::optional<Duration> NextDue() const;
  void MoveTo(Duration time);
  void Report();

  // Pods.
  void WarmUp(std::size_t workload);
  void ScheduleArrivals(std::size_t workload);
  void Arrive(std::size_t workload);
  void CreatePod(std::size_t workload, bool warm_up);
  void ScheduleDeparture(const std::string& key, bool warm_up);
  void DeletePod(const std::string& key, Going why);
  void TakePodChanges();
  void PodIsGone(const std::string& key);
  std::size_t GroupOf(std::string_view node) const;
  // In Result::workloads.
  std::size_t RowOf(const PodRecord& pod) const {
    return std::min(pod.workload, scenario_.workloads.size());
  }

  // Devices and nodes.
  void ScheduleChurn(std::size_t churn);
  void ChangeDevices(std::size_t churn);
  std::optional<Pool> PickPool(const Churn& churn);
  void WriteSlices(const Pool& pool);
  std::vector<api::ResourceSlice> SlicesOf(const Pool& pool);
  void ScheduleNodeFailure(std::size_t failure);
  void FailNode(std::size_t failure);
  void ReturnNode(std::size_t group, std::int64_t node);

  // Counting.
  void Take(const scheduler::Outcome& outcome);
  void CountReasons(PodRecord& pod, const scheduler::PodExplanation& explanation);
  void SampleUpTo(Duration time);
  void AddSample(Duration at);
  void CountWaiting(Result& made);
  Result Finish();

  // Runs `work` and adds what it took of the processor.
  template <typename Work>
  auto Timed(Duration& sum, Work work);

  const Scenario& scenario_;
  const SimulationOptions& options_;
  const std::uint64_t seed_;
  const std::optional<Duration> end_;
  ClusterBuilder builder_;
  base::ManualClock clock_;
  base::SeededRandomSource uids_;
  api::MemoryCluster cluster_;
  CountedIds ids_;
  std::unique_ptr<api::ObjectWatch> pod_watch_;
  std::vector<std::unique_ptr<controllers::Controller>> controllers_;
  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::unique_ptr<Meter> meter_;
  EventQueue events_;

  bool failing_ = false;  // whether writes may fail: those of the simulation itself do not
  RandomStream write_failures_;
  std::vector<RandomStream> arrivals_;
  std::vector<RandomStream> lifetimes_;
  std::vector<RandomStream> churns_;
  std::vector<RandomStream> node_failures_;

  std::map<std::string, PodRecord> pods_;  // by "namespace/name"
  std::vector<std::int64_t> next_index_;   // by workload
  std::vector<std::int64_t> arrived_;      // by workload
  std::map<Pool, std::vector<DeviceChange>> changes_;
  std::map<Pool, std::int64_t> generations_;
  std::set<std::pair<std::size_t, std::int64_t>> down_;  // nodes
  std::map<std::string, std::size_t, std::less<>> groups_;

  bool stale_ = true;  // something has happened that nobody has taken in
  std::size_t since_sync_ = 0;
  std::int64_t bindings_waiting_ = 0;
  std::int64_t waiting_ = 0;
  std::int64_t settled_ = 0;
  scheduler::Statistics before_;  // when time began
  Result result_;
  std::vector<Duration> decision_times_;
  std::vector<std::vector<Duration>> waiting_times_;  // by workload, a dump's last
  std::map<std::tuple<std::string, std::string, std::string>, std::uint16_t> reason_numbers_;
  std::vector<Sample> samples_;
  Duration sample_interval_{0};
  Duration next_sample_{0};
  std::uint64_t steps_ = 0;
};

// While one lives, writes do not fail.
class OwnWrites {
 public:
  explicit OwnWrites(bool& failing) : failing_(failing), before_(std::exchange(failing, false)) {}
  ~OwnWrites() { failing_ = before_; }
  OwnWrites(const OwnWrites&) = delete;
  OwnWrites& operator=(const OwnWrites&) = delete;

 private:
  bool& failing_;
  const bool before_;
};

}  // namespace dray::simulator::internal
