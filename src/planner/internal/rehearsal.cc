// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/rehearsal.h"

#include <algorithm>
#include <utility>

#include "controllers/deployment_controller.h"
#include "controllers/job_controller.h"
#include "controllers/replica_set_controller.h"
#include "controllers/resource_claim_controller.h"
#include "scheduler/assumed_profiles.h"

namespace dray::planner::internal {
namespace {

using std::chrono::nanoseconds;

// Bounds on what goes back and forth for ever: controllers and scheduler that undo each other's
// work, errors that come again with every attempt.
constexpr std::size_t kMaxRounds = 1000;
constexpr std::size_t kMaxLooks = 8;

}  // namespace

std::vector<std::unique_ptr<controllers::Controller>> MakeControllers(
    api::Cluster& cluster, const base::Clock& clock, const api::FeatureGates& gates) {
  std::vector<std::unique_ptr<controllers::Controller>> made;
  // Those that make something. Others clean up, and for a dump of some kinds of objects what others
  // belong to is gone.
  made.push_back(std::make_unique<controllers::DeploymentController>(cluster, clock));
  made.push_back(std::make_unique<controllers::ReplicaSetController>(cluster, clock));
  made.push_back(std::make_unique<controllers::JobController>(cluster, clock));
  made.push_back(std::make_unique<controllers::ResourceClaimController>(cluster, clock, gates));
  return made;
}

std::size_t Settle(const std::vector<std::unique_ptr<controllers::Controller>>& controllers) {
  std::size_t writes = 0;
  for (std::size_t round = 0; round < kMaxRounds; ++round) {
    std::size_t now = 0;
    for (const auto& controller : controllers) now += controller->Sync();
    if (now == 0) break;
    writes += now;
  }
  return writes;
}

PlanOptions WithSchedulersOf(const std::vector<api::Object>& objects, PlanOptions options) {
  if (options.assume_schedulers) {
    options.config = scheduler::WithProfilesFor(objects, std::move(options.config));
  }
  return options;
}

Rehearsal::Rehearsal(const PlanOptions& options, std::uint64_t seed, WriteGuard& guard)
    : options_(options),
      clock_(options.now),
      random_(seed),
      cluster_(clock_, random_,
               {.gates = options.gates, .validate = false, .name_suffix = PlannedNames()}),
      controllers_(MakeControllers(cluster_, clock_, options.gates)),
      scheduler_(std::make_unique<scheduler::Scheduler>(
          cluster_, clock_, ids_,
          scheduler::SchedulerOptions{.config = options.config,
                                      .gates = options.gates,
                                      .policy = options.policy,
                                      .work_budget = options.work_budget,
                                      .executor = options.executor})) {
  guard.Watch(cluster_);
}

std::string_view Rehearsal::WaitsFor(std::string_view pod_key) const {
  const auto found = waiting_.find(pod_key);
  return found == waiting_.end() ? std::string_view() : std::string_view(found->second);
}

void Rehearsal::Record(const std::vector<scheduler::Outcome>& outcomes) {
  using Kind = scheduler::Outcome::Kind;
  for (const scheduler::Outcome& outcome : outcomes) {
    if (outcome.kind == Kind::kBound) ++bound_;
    if (outcome.kind == Kind::kWaiting) {
      waiting_[outcome.pod] = outcome.node;
    } else {
      waiting_.erase(outcome.pod);
    }
  }
}

bool Rehearsal::Expired() const { return options_.expired && options_.expired(); }

// As the scheduler runs by itself, but for that somebody may have it end between two pods.
void Rehearsal::RunWhileInTime() {
  constexpr std::size_t kPodsPerLook = 16;
  while (options_.expired) {
    scheduler_->Sync();
    std::vector<scheduler::Outcome> outcomes;
    while (outcomes.size() < kPodsPerLook) {
      auto outcome = scheduler_->ScheduleOne();
      if (!outcome) break;
      outcomes.push_back(*std::move(outcome));
    }
    const bool more = !outcomes.empty();
    Record(outcomes);
    if (Expired()) return;
    if (!more) break;
  }
  Record(scheduler_->Run());
}

bool Rehearsal::Step(bool controllers) {
  const std::uint64_t before = cluster_.revision();
  for (std::size_t round = 0; round < kMaxRounds; ++round) {
    const std::uint64_t start = cluster_.revision();
    if (controllers) Settle(controllers_);
    RunWhileInTime();
    if (cluster_.revision() == start || Expired()) break;
  }
  return cluster_.revision() != before;
}

void Rehearsal::Advance(nanoseconds to) {
  const nanoseconds now = clock_.Monotonic();
  if (to > now) clock_.Advance(to - now);
  Record(scheduler_->Tick());
}

std::optional<nanoseconds> Rehearsal::NextRetry(nanoseconds changed) const {
  const scheduler::Queue& queue = scheduler_->queue();
  if (queue.size(scheduler::QueueName::kBackoff) == 0) return std::nullopt;
  const std::optional<nanoseconds> due = queue.NextDue();
  // Every pod has been tried since then, with the same result.
  if (!due || *due > changed + 2 * options_.config.max_backoff) return std::nullopt;
  return due;
}

void Rehearsal::RunWith(bool controllers) {
  nanoseconds changed = clock_.Monotonic();
  std::size_t looks = 0;
  std::size_t bound = bound_;
  for (std::size_t round = 0; round < kMaxRounds && !Expired(); ++round) {
    // A last look is not life going on: controllers would act on deadlines that have gone by.
    if (Step(controllers && looks == 0)) changed = clock_.Monotonic();
    if (const auto retry = NextRetry(changed)) {
      Advance(*retry);
      continue;
    }
    const bool news = looks == 0 || bound_ > bound;
    // Those that wait for their devices would be sent away after a while.
    if (!news || looks == kMaxLooks || (looks > 0 && !waiting_.empty())) return;
    if (scheduler_->queue().size(scheduler::QueueName::kUnschedulable) == 0) return;
    bound = bound_;
    ++looks;
    // Until every refused pod is tried again although nothing has happened.
    Advance(clock_.Monotonic() + scheduler::QueueOptions().unschedulable_timeout);
    changed = clock_.Monotonic();
  }
}

void Rehearsal::Run() { RunWith(/*controllers=*/true); }
void Rehearsal::RunScheduler() { RunWith(/*controllers=*/false); }

}  // namespace dray::planner::internal
