// SPDX-License-Identifier: Apache-2.0
//
// What is counted.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "allocator/explanation.h"
#include "api/device_class.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "simulator/internal/simulation.h"

namespace dray::simulator::internal {
namespace {

// More than a chart can show; beyond that every second sample goes.
constexpr std::size_t kMostSamples = 512;

template <typename T>
void Append(const api::MemoryCluster& cluster, std::vector<api::Object>& objects) {
  std::ranges::move(cluster.All(api::HubKind(api::TypeInfoOf<T>())), std::back_inserter(objects));
}

// Of pods that have no node.
std::vector<TypicalRequest> WaitingRequests(const api::MemoryCluster& cluster) {
  std::vector<api::Object> pods;
  Append<api::Pod>(cluster, pods);
  std::erase_if(pods, [](const api::Object& object) {
    const auto& pod = *object.As<api::Pod>();
    return !pod.spec.node_name.empty() || pod.status.phase == api::kPodSucceeded ||
           pod.status.phase == api::kPodFailed;
  });
  if (pods.empty()) return {};
  std::vector<api::Object> objects;
  Append<api::ResourceClaim>(cluster, objects);
  Append<api::ResourceClaimTemplate>(cluster, objects);
  Append<api::DeviceClass>(cluster, objects);
  return RequestsOf(pods, objects);
}

// ": devices of class a, b": the classes of which devices are missing.
std::string ClassesOf(const scheduler::Reason& reason) {
  std::string text;
  if (reason.devices == nullptr) return text;
  std::set<std::string> classes;
  for (const allocator::ConflictMember& member : reason.devices->conflict) {
    if (member.constraint) continue;
    const auto& request = reason.devices->claims[static_cast<std::size_t>(member.claim)]
                              .requests[static_cast<std::size_t>(member.index)];
    for (const auto& alternative : request.alternatives) classes.insert(alternative.device_class);
  }
  for (const std::string& name : classes) {
    text.append(text.empty() ? ": devices of class " : ", ").append(name);
  }
  return text;
}

}  // namespace

void Simulation::Take(const scheduler::Outcome& outcome) {
  using Kind = scheduler::Outcome::Kind;
  const auto found = pods_.find(outcome.pod);
  if (found == pods_.end()) return;  // its deletion has been seen here first
  PodRecord& pod = found->second;
  const bool binds = outcome.kind == Kind::kWaiting;
  bindings_waiting_ += int{binds} - int{pod.binding};
  pod.binding = binds;
  if (outcome.kind == Kind::kError) ++result_.errors;
  if (outcome.kind == Kind::kUnschedulable) {
    if (!pod.refused) {
      ++settled_;
      ++result_.pods.refused;
    }
    pod.refused = true;
    const scheduler::PodExplanation* why = scheduler_->Explain(outcome.pod);
    if (why != nullptr) CountReasons(pod, *why);
  }
  if (outcome.kind != Kind::kBound) return;
  if (pod.refused) {
    --result_.pods.refused;
  } else {
    ++settled_;
  }
  pod.refused = false;
  pod.node = outcome.node;
  --waiting_;
  ++result_.pods.running;
  if (pod.warm_up) {
    ++result_.pods.warm_up;
  } else {
    ++result_.pods.placed;
    ++result_.workloads[RowOf(pod)].placed;
    waiting_times_[RowOf(pod)].push_back(now() - pod.created);
  }
  ++result_.groups[GroupOf(outcome.node)].placed;
  ScheduleDeparture(outcome.pod, pod.warm_up);
}

void Simulation::CountReasons(PodRecord& pod, const scheduler::PodExplanation& explanation) {
  std::set<std::uint16_t> counted;
  const auto count = [&](const scheduler::Reason& reason) {
    const std::string classes = ClassesOf(reason);
    const auto [at, added] = reason_numbers_.try_emplace(
        {reason.plugin, reason.code, classes}, static_cast<std::uint16_t>(result_.reasons.size()));
    if (added) {
      result_.reasons.push_back(
          {.plugin = reason.plugin, .code = reason.code, .text = reason.text + classes});
    }
    if (!counted.insert(at->second).second) return;
    ReasonCount& row = result_.reasons[at->second];
    ++row.attempts;
    if (std::ranges::find(pod.reasons, at->second) != pod.reasons.end()) return;
    pod.reasons.push_back(at->second);
    ++row.pods;
  };
  for (const scheduler::Reason& reason : explanation.before) count(reason);
  for (const scheduler::NodeGroup& group : explanation.groups) {
    for (const scheduler::Reason& reason : group.reasons) count(reason);
  }
}

void Simulation::AddSample(Duration at) {
  samples_.push_back({.at = at,
                      .waiting = waiting_,
                      .running = result_.pods.running,
                      .classes = meter_->Measure()});
  if (options_.inspect) options_.inspect(cluster_);
}

void Simulation::SampleUpTo(Duration time) {
  bool looked = false;
  while (next_sample_ <= time) {
    // Nothing has changed since: one look is enough.
    if (looked) {
      samples_.push_back(samples_.back());
      samples_.back().at = next_sample_;
    } else {
      AddSample(next_sample_);
    }
    looked = true;
    if (samples_.size() >= kMostSamples) {
      std::size_t kept = 0;
      for (std::size_t i = 0; i < samples_.size(); i += 2) {
        std::swap(samples_[kept++], samples_[i]);
      }
      samples_.resize(kept);
      sample_interval_ *= 2;
    }
    next_sample_ = samples_.back().at + sample_interval_;
  }
}

void Simulation::CountWaiting(Result& made) {
  for (const auto& [key, pod] : pods_) {
    if (!pod.node.empty() || pod.warm_up) continue;
    ++made.still_waiting;
    ++made.workloads[RowOf(pod)].waiting;
    waiting_times_[RowOf(pod)].push_back(now() - pod.created);
  }
  std::vector<Duration> all;
  for (std::size_t w = 0; w < made.workloads.size(); ++w) {
    all.insert(all.end(), waiting_times_[w].begin(), waiting_times_[w].end());
    made.workloads[w].times = PercentilesOf(std::move(waiting_times_[w]));
  }
  if (made.workloads.back().created == 0) made.workloads.pop_back();
  made.waiting = PercentilesOf(std::move(all));
}

Result Simulation::Finish() {
  // The end is always looked at, also when a sample was taken just before.
  if (!samples_.empty() && samples_.back().at == now()) samples_.pop_back();
  AddSample(now());
  Result made = std::move(result_);
  made.title = scenario_.title;
  made.seed = seed_;
  made.policy = allocator::RowOf(options_.policy.value_or(scenario_.policy)).name;
  made.simulated = now();
  const scheduler::Statistics& after = scheduler_->statistics();
  made.attempts = static_cast<std::int64_t>(after.attempts - before_.attempts);
  made.node_evaluations = after.node_evaluations - before_.node_evaluations;
  made.allocator_steps = after.allocator_steps - before_.allocator_steps;
  made.pods.pending = waiting_ - made.pods.refused;
  CountWaiting(made);
  if (options_.processor_time) {
    made.decision_histogram = HistogramOf(decision_times_);
    made.decisions = PercentilesOf(std::move(decision_times_));
  }
  const std::vector<TypicalRequest> wanted = WaitingRequests(cluster_);
  Meter for_waiting(scheduler_->world(), wanted);
  const std::vector<ClassUse>& against = for_waiting.Measure();
  for (std::size_t c = 0; c < meter_->requests().size(); ++c) {
    ClassResult row;
    row.name = meter_->requests()[c].device_class;
    row.typical_count = meter_->requests()[c].count;
    row.end = samples_.back().classes[c];
    for (const Sample& sample : samples_) {
      const ClassUse& use = sample.classes[c];
      row.mean_utilisation += use.Utilisation();
      row.mean_fragmentation += use.Fragmentation();
      row.peak_utilisation = std::max(row.peak_utilisation, use.Utilisation());
    }
    row.mean_utilisation /= static_cast<double>(samples_.size());
    row.mean_fragmentation /= static_cast<double>(samples_.size());
    const auto waits = std::ranges::find(wanted, row.name, &TypicalRequest::device_class);
    if (waits != wanted.end()) {
      row.waiting_count = waits->count;
      row.waiting_fragmentation =
          against[static_cast<std::size_t>(waits - wanted.begin())].Fragmentation();
    }
    made.classes.push_back(std::move(row));
  }
  std::ranges::stable_sort(made.reasons, std::ranges::greater(), &ReasonCount::attempts);
  made.samples = std::move(samples_);
  return made;
}

}  // namespace dray::simulator::internal
