// SPDX-License-Identifier: Apache-2.0
//
// The loop.
#include "simulator/simulation.h"

#include <algorithm>

#include "api/pod.h"
#include "base/check.h"
#include "controllers/resource_claim_controller.h"
#include "fmt/format.h"
#include "scheduler/assumed_profiles.h"
#include "simulator/internal/simulation.h"

namespace dray::simulator {
namespace internal {
namespace {

// So many decisions between two looks at what has changed.
constexpr std::size_t kDecisionsPerSync = 256;
constexpr std::uint64_t kStepsPerReport = 512;
constexpr Duration kFirstSampleInterval = std::chrono::milliseconds(10);
constexpr std::int64_t kSamplesOfADuration = 256;
constexpr Duration kShortestPause = std::chrono::microseconds(1);
// What a run without a duration must end by, whatever goes wrong.
constexpr Duration kLastResort = std::chrono::hours(1000);

}  // namespace

std::string CountedIds::Uid() { return fmt::format("00000000-0000-4000-8000-{:012}", next_++); }

Simulation::Simulation(const Scenario& scenario, const SimulationOptions& options)
    : scenario_(scenario),
      options_(options),
      seed_(options.seed.value_or(scenario.seed)),
      end_(options.duration ? options.duration : scenario.duration),
      builder_(scenario),
      clock_(base::Time::FromUnix(1'800'000'000)),
      uids_(seed_),
      cluster_(clock_, uids_, {.gates = options.gates, .validate = false}),
      write_failures_(seed_, "writes"),
      next_index_(scenario.workloads.size()),
      arrived_(scenario.workloads.size()) {
  for (const Workload& workload : scenario.workloads) {
    arrivals_.emplace_back(seed_, "arrivals of " + workload.name);
    lifetimes_.emplace_back(seed_, "lifetimes of " + workload.name);
    result_.workloads.push_back({.name = workload.name});
  }
  result_.workloads.push_back({});  // of a dump
  waiting_times_.resize(result_.workloads.size());
  for (std::size_t i = 0; i < scenario.churn.size(); ++i) {
    churns_.emplace_back(seed_, fmt::format("churn {}", i));
  }
  for (std::size_t i = 0; i < scenario.node_failures.size(); ++i) {
    node_failures_.emplace_back(seed_, fmt::format("node failures {}", i));
  }
  for (const NodeGroup& group : scenario.node_groups) {
    groups_.emplace(group.name, result_.groups.size());
    result_.groups.push_back({.name = group.name, .nodes = group.count});
  }
  sample_interval_ =
      end_ ? std::max(*end_ / kSamplesOfADuration, Duration(1)) : kFirstSampleInterval;
}

Status Simulation::Load(std::vector<api::Object> dump) {
  std::vector<api::Object> objects = std::move(dump);
  const std::size_t given = objects.size();
  std::int64_t foreign_nodes = 0;
  for (const api::Object& object : objects) {
    if (object.As<api::Node>() != nullptr) ++foreign_nodes;
  }
  if (foreign_nodes > 0) result_.groups.push_back({.name = "", .nodes = foreign_nodes});
  // In a cluster somebody answers to the names that its pods have for their schedulers.
  scheduler::Config config = scheduler::WithProfilesFor(objects, options_.config);
  for (api::Object& object : builder_.Everything()) objects.push_back(std::move(object));
  std::vector<TypicalRequest> requests = TypicalRequests(scenario_, builder_, objects);
  const auto measured = [&](std::string_view name) {
    return std::ranges::find(requests, name, &TypicalRequest::device_class) != requests.end();
  };
  // What nobody here asks for is still of interest when it is somebody's own cluster.
  for (std::size_t i = 0; i < given; ++i) {
    const auto* device_class = objects[i].As<api::DeviceClass>();
    if (device_class != nullptr && !measured(device_class->metadata.name)) {
      requests.push_back({.device_class = device_class->metadata.name});
    }
  }
  for (const Workload& workload : scenario_.workloads) {
    if (workload.warm_up && !measured(workload.warm_up->device_class)) {
      requests.push_back({.device_class = workload.warm_up->device_class});
    }
  }
  DRAY_RETURN_IF_ERROR(cluster_.Load(std::move(objects)));

  cluster_.SetWriteHook([this](api::Verb, const api::Object&) {
    if (!failing_ || write_failures_.Uniform() >= scenario_.failing_writes) return Status();
    ++result_.failed_writes;
    return base::Unavailable("the write was made to fail");
  });
  const api::KindInfo* const kinds[] = {&api::HubKind(api::TypeInfoOf<api::Pod>())};
  pod_watch_ = cluster_.Watch(kinds);
  controllers_.push_back(
      std::make_unique<controllers::ResourceClaimController>(cluster_, clock_, options_.gates));
  scheduler_ = std::make_unique<scheduler::Scheduler>(
      cluster_, clock_, ids_,
      scheduler::SchedulerOptions{.config = std::move(config),
                                  .gates = options_.gates,
                                  .policy = options_.policy.value_or(scenario_.policy),
                                  .executor = options_.executor});
  meter_ = std::make_unique<Meter>(scheduler_->world(), std::move(requests));
  return {};
}

template <typename Work>
auto Simulation::Timed(Duration& sum, Work work) {
  if (!options_.processor_time) return work();
  const Duration before = options_.processor_time();
  auto done = work();
  sum += options_.processor_time() - before;
  return done;
}

std::size_t Simulation::Sync() {
  since_sync_ = 0;
  stale_ = false;
  std::size_t changes = 0;
  for (const auto& controller : controllers_) {
    changes += Timed(result_.controller_time, [&] { return controller->Sync(); });
  }
  changes += Timed(result_.scheduler_time, [&] { return scheduler_->Sync(); });
  TakePodChanges();
  return changes;
}

void Simulation::RunDueEvents() {
  while (const auto event = events_.TakeDue(now())) {
    const OwnWrites own(failing_);
    event();
    stale_ = true;
  }
}

void Simulation::Tick() {
  const auto due = scheduler_->NextDue();
  if (!due || *due > now()) return;
  const auto outcomes = Timed(result_.scheduler_time, [&] { return scheduler_->Tick(); });
  for (const scheduler::Outcome& outcome : outcomes) Take(outcome);
}

// One decision. False: there is nothing to decide now.
bool Simulation::Step() {
  if (stale_ || since_sync_ >= kDecisionsPerSync) Sync();
  while (true) {
    Duration took{0};
    const auto outcome = Timed(took, [&] { return scheduler_->ScheduleOne(); });
    result_.scheduler_time += took;
    if (outcome) {
      ++since_sync_;
      decision_times_.push_back(took);
      Take(*outcome);
      return true;
    }
    if (Sync() == 0 && !stale_) return false;
  }
}

std::optional<Duration> Simulation::NextDue() const {
  std::optional<Duration> next = events_.Next();
  const auto consider = [&](std::optional<Duration> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  for (const auto& controller : controllers_) consider(controller->NextDue());
  const scheduler::Queue& queue = scheduler_->queue();
  // Pods that wait for a change are tried again from time to time; without an end, that would go
  // on for ever.
  const bool busy = queue.size(scheduler::QueueName::kActive) > 0 ||
                    queue.size(scheduler::QueueName::kBackoff) > 0 || bindings_waiting_ > 0;
  if (end_ || next || busy) consider(scheduler_->NextDue());
  return next;
}

void Simulation::MoveTo(Duration time) {
  SampleUpTo(time);
  if (time > now()) clock_.Advance(time - now());
}

void Simulation::Loop() {
  const Duration last = end_.value_or(kLastResort);
  while (true) {
    if (++steps_ % kStepsPerReport == 0) {
      Report();
      if (options_.cancelled && options_.cancelled()) break;
    }
    RunDueEvents();
    Tick();
    if (Step()) {
      const Duration next = now() + scenario_.decision_time;
      if (next >= last) break;
      MoveTo(next);
      continue;
    }
    const std::optional<Duration> due = NextDue();
    if (!due || *due >= last) break;
    // Something that is due and yet does nothing must not stop time.
    MoveTo(std::max(*due, now() + kShortestPause));
  }
  Sync();
  if (end_) MoveTo(*end_);
}

void Simulation::Report() {
  if (!options_.progress) return;
  Progress progress{
      .now = now(), .end = end_, .created = result_.pods.created, .settled = settled_};
  for (const Workload& workload : scenario_.workloads)
    progress.expected += workload.count.value_or(0);
  options_.progress(progress);
}

Result Simulation::Run() {
  Sync();
  result_.nodes = static_cast<std::int64_t>(scheduler_->world().nodes().size());
  result_.devices = static_cast<std::int64_t>(scheduler_->world().inventory().snapshot().devices());
  for (std::size_t w = 0; w < scenario_.workloads.size(); ++w) {
    if (scenario_.workloads[w].warm_up) WarmUp(w);
  }
  // Time begins: what has been done so far does not count.
  before_ = scheduler_->statistics();
  decision_times_.clear();
  waiting_times_.clear();
  result_.scheduler_time = result_.controller_time = Duration(0);
  for (GroupResult& group : result_.groups) group.placed = 0;
  AddSample(Duration(0));
  next_sample_ = sample_interval_;
  failing_ = scenario_.failing_writes > 0;
  for (std::size_t w = 0; w < scenario_.workloads.size(); ++w) ScheduleArrivals(w);
  for (std::size_t c = 0; c < scenario_.churn.size(); ++c) ScheduleChurn(c);
  for (std::size_t f = 0; f < scenario_.node_failures.size(); ++f) ScheduleNodeFailure(f);
  Loop();
  return Finish();
}

}  // namespace internal

StatusOr<Result> Simulate(const Scenario& scenario, std::vector<api::Object> dump,
                          const SimulationOptions& options) {
  internal::Simulation simulation(scenario, options);
  DRAY_RETURN_IF_ERROR(simulation.Load(std::move(dump)));
  Result result = simulation.Run();
  if (options.cancelled && options.cancelled()) {
    return base::MakeStatus(StatusCode::kCancelled, "the simulation was stopped early");
  }
  return result;
}

}  // namespace dray::simulator
