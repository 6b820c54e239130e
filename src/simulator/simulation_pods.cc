// SPDX-License-Identifier: Apache-2.0
//
// Pods that come and go.
#include <algorithm>
#include <cmath>
#include <utility>

#include "api/pod.h"
#include "base/check.h"
#include "simulator/internal/simulation.h"

namespace dray::simulator::internal {
namespace {

constexpr std::int64_t kLargestBatch = 4096;

const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

std::string KeyOf(const api::ObjectMeta& metadata) {
  return metadata.namespace_ + "/" + metadata.name;
}

}  // namespace

void Simulation::CreatePod(std::size_t workload, bool warm_up) {
  api::Pod pod = builder_.Pod(workload, next_index_[workload]++);
  const auto created = cluster_.Create(api::Object::Of(std::move(pod)));
  // A name that is in use already (a dump's) is not a pod of ours.
  if (!created.ok()) return;
  const api::ObjectMeta& metadata = created->metadata();
  pods_[KeyOf(metadata)] = {
      .workload = workload, .created = now(), .uid = metadata.uid, .warm_up = warm_up};
  ++waiting_;
  if (!warm_up) {
    ++result_.pods.created;
    ++result_.workloads[workload].created;
  }
  stale_ = true;
}

// In batches that are as large as the first pods say is safe.
void Simulation::WarmUp(std::size_t workload) {
  const auto& wanted = *scenario_.workloads[workload].warm_up;
  const auto& requests = meter_->requests();
  const auto number = static_cast<std::size_t>(
      std::ranges::find(requests, wanted.device_class, &TypicalRequest::device_class) -
      requests.begin());
  std::int64_t batch = 1;
  while (true) {
    const ClassUse before = meter_->Measure()[number];
    const double target = wanted.utilisation * static_cast<double>(before.used + before.free);
    // Half a millionth of a device is a rounding error, not a device.
    if (static_cast<double>(before.used) + 0.5 >= target) break;
    for (std::int64_t i = 0; i < batch; ++i) CreatePod(workload, true);
    while (Step()) {
    }
    if (waiting_ > 0) break;
    const std::int64_t each = (meter_->Measure()[number].used - before.used) / batch;
    if (each <= 0) break;
    const double missing = target - static_cast<double>(before.used + each * batch);
    batch = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(std::floor(missing / static_cast<double>(each))), 1,
        kLargestBatch);
  }
  std::vector<std::string> unplaced;
  for (const auto& [key, pod] : pods_) {
    if (pod.warm_up && pod.node.empty()) unplaced.push_back(key);
  }
  for (const std::string& key : unplaced) DeletePod(key, Going::kDeparting);
  Sync();
}

void Simulation::ScheduleArrivals(std::size_t workload) {
  const Workload& from = scenario_.workloads[workload];
  if (from.count == 0) return;
  if (from.arrival) {
    events_.At(from.start + arrivals_[workload].Draw(*from.arrival),
               [this, workload] { Arrive(workload); });
    return;
  }
  events_.At(from.start, [this, workload] {
    for (std::int64_t i = 0; i < scenario_.workloads[workload].count.value_or(0); ++i) {
      CreatePod(workload, false);
    }
  });
}

void Simulation::Arrive(std::size_t workload) {
  CreatePod(workload, false);
  const Workload& from = scenario_.workloads[workload];
  if (from.count && ++arrived_[workload] >= *from.count) return;
  events_.At(now() + arrivals_[workload].Draw(*from.arrival),
             [this, workload] { Arrive(workload); });
}

void Simulation::ScheduleDeparture(const std::string& key, bool warm_up) {
  const PodRecord& pod = pods_.at(key);
  if (pod.workload == kNoWorkload || !scenario_.workloads[pod.workload].lifetime) return;
  RandomStream& chance = lifetimes_[pod.workload];
  Duration lasts = chance.Draw(*scenario_.workloads[pod.workload].lifetime);
  // Pods that were there before have lived for a part of their time already.
  if (warm_up) {
    lasts =
        Duration(static_cast<std::int64_t>(static_cast<double>(lasts.count()) * chance.Uniform()));
  }
  events_.At(now() + lasts, [this, key, uid = pod.uid] {
    const auto found = pods_.find(key);
    if (found != pods_.end() && found->second.uid == uid) DeletePod(key, Going::kDeparting);
  });
}

void Simulation::DeletePod(const std::string& key, Going why) {
  PodRecord& pod = pods_.at(key);
  if (pod.going != Going::kNo) return;
  pod.going = why;
  const OwnWrites own(failing_);
  const std::size_t slash = key.find('/');
  // Somebody else may have deleted it meanwhile: then it is gone, which is all that is wanted.
  const Status ignored =
      cluster_.Delete(PodKind(), key.substr(0, slash), key.substr(slash + 1), pod.uid);
  (void)ignored;
  stale_ = true;
}

void Simulation::TakePodChanges() {
  while (const auto change = pod_watch_->Next()) {
    const api::Pod& pod = *change->object.As<api::Pod>();
    const std::string key = KeyOf(pod.metadata);
    const auto found = pods_.find(key);
    if (change->kind == api::Change::Kind::kDeleted) {
      if (found != pods_.end() && found->second.uid == pod.metadata.uid) PodIsGone(key);
      continue;
    }
    if (found != pods_.end()) continue;
    // A dump's; one that is over takes no part.
    if (pod.status.phase == api::kPodSucceeded || pod.status.phase == api::kPodFailed) continue;
    pods_[key] = {.created = now(), .uid = pod.metadata.uid, .node = pod.spec.node_name};
    if (pod.spec.node_name.empty()) {
      ++waiting_;
      ++result_.pods.created;
      ++result_.workloads.back().created;
    } else {
      ++result_.pods.running;
    }
  }
}

void Simulation::PodIsGone(const std::string& key) {
  const PodRecord pod = std::move(pods_.at(key));
  pods_.erase(key);
  if (pod.binding) --bindings_waiting_;
  if (pod.node.empty()) {
    --waiting_;
    if (pod.refused) --result_.pods.refused;
  } else {
    --result_.pods.running;
  }
  if (pod.going == Going::kDeparting) {
    if (!pod.warm_up) ++result_.pods.departed;
    return;
  }
  if (pod.going == Going::kLost) {
    ++result_.pods.lost;
  } else {
    ++result_.pods.preempted;
  }
  if (pod.workload == kNoWorkload || !scenario_.workloads[pod.workload].replace_lost) return;
  const OwnWrites own(failing_);
  CreatePod(pod.workload, false);
}

std::size_t Simulation::GroupOf(std::string_view node) const {
  const auto found = groups_.find(node.substr(0, node.rfind('-')));
  return found == groups_.end() ? result_.groups.size() - 1 : found->second;
}

}  // namespace dray::simulator::internal
