// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/eviction.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/pod_conditions.h"
#include "fmt/format.h"
#include "scheduler/plugins/pod_claims.h"

namespace dray::scheduler {
namespace {

constexpr std::string_view kPreemptionByScheduler = "PreemptionByScheduler";

// Of more victims only the first are named: events are to be read.
constexpr std::size_t kMostNamed = 3;

const api::KindInfo& PodKind() { return api::HubKind(api::TypeInfoOf<api::Pod>()); }

// " to give back device a/b/c"; empty: nothing.
std::string GivesBack(const api::Pod& victim, const World& world,
                      std::span<const DeviceHold::Leaving> leaving) {
  std::vector<std::string> devices;
  for (const DeviceHold::Leaving& one : leaving) {
    const auto claim = world.FindClaim(one.namespace_, one.name);
    if (claim == nullptr || !claim->status.allocation || !UsesClaim(victim, *claim)) continue;
    std::ranges::move(DevicesOf(*claim->status.allocation), std::back_inserter(devices));
  }
  if (devices.empty()) return {};
  return fmt::format(" to give back device{} {}", devices.size() == 1 ? "" : "s", Named(devices));
}

Status EvictOne(api::Cluster& cluster, const base::Clock& clock, const Preemptor& preemptor,
                const api::Pod& victim, std::string_view gives_back) {
  const api::ObjectMeta& meta = victim.metadata;
  DRAY_ASSIGN_OR_RETURN(const auto stored, cluster.Find(PodKind(), meta.namespace_, meta.name));
  // It may have gone by itself, or another of its name may have come.
  if (!stored.has_value() || stored->metadata().uid != meta.uid) return {};

  // The condition tells whoever waits for the pod why it ends.
  api::Object marked = *stored;
  api::SetCondition(marked.Mutable<api::Pod>()->status,
                    {.type = std::string(api::kDisruptionTargetCondition),
                     .status = "True",
                     .last_transition_time = clock.Now().TruncateToSeconds(),
                     .reason = std::string(kPreemptionByScheduler),
                     .message = fmt::format("{}: preempting to accommodate a higher priority pod",
                                            preemptor.scheduler)});
  const auto written = cluster.UpdateStatus(std::move(marked));
  if (!written.ok() && written.status().code() != StatusCode::kNotFound) return written.status();
  const Status deleted = cluster.Delete(PodKind(), meta.namespace_, meta.name, meta.uid);
  if (!deleted.ok() && deleted.code() != StatusCode::kNotFound) return deleted;

  cluster.Note({.about = *stored,
                .type = "Normal",
                .reason = "Preempted",
                .message = fmt::format("Preempted by {} on node {}{}", preemptor.who,
                                       preemptor.where, gives_back),
                .component = preemptor.scheduler,
                .action = "Preempting"});
  return {};
}

}  // namespace

Status Evict(api::Cluster& cluster, const base::Clock& clock, const World& world,
             const Preemptor& preemptor, std::span<const std::shared_ptr<const PodInfo>> victims,
             std::span<const DeviceHold::Leaving> leaving) {
  for (const auto& victim : victims) {
    if (victim->pod->metadata.deletion_timestamp.has_value()) continue;
    DRAY_RETURN_IF_ERROR(
        EvictOne(cluster, clock, preemptor, *victim->pod, GivesBack(*victim->pod, world, leaving)));
  }
  return {};
}

bool TerminatingByPreemption(const api::Pod& pod) {
  return pod.metadata.deletion_timestamp.has_value() &&
         std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& c) {
           return c.type == api::kDisruptionTargetCondition && c.status == "True" &&
                  c.reason == kPreemptionByScheduler;
         });
}

std::string Named(std::span<const std::string> names) {
  const auto some = names.first(std::min(names.size(), kMostNamed));
  const std::string more =
      names.size() > some.size() ? fmt::format(" and {} more", names.size() - some.size()) : "";
  return fmt::format("{}{}", fmt::join(some, ", "), more);
}

std::string WaitingFor(std::span<const std::string> victims, std::string_view where,
                       std::span<const std::string> devices) {
  const std::string_view space = where.empty() ? "" : " ";
  std::string text =
      victims.empty()
          ? fmt::format("waiting for devices to be given back{}{}", where.empty() ? "" : " on ",
                        where)
          : fmt::format("waiting for {} pod{} of lower priority to leave{}{}: {}", victims.size(),
                        victims.size() == 1 ? "" : "s", space, where, Named(victims));
  if (!devices.empty()) {
    text += fmt::format("; device{} {} {} kept for it", devices.size() == 1 ? "" : "s",
                        Named(devices), devices.size() == 1 ? "is" : "are");
  }
  return text + ".";
}

}  // namespace dray::scheduler
