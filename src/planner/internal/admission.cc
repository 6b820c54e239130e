// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/admission.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "api/cron_job.h"
#include "api/daemon_set.h"
#include "api/event.h"
#include "api/job.h"
#include "api/label_selector.h"
#include "api/node.h"
#include "api/pod.h"
#include "api/stateful_set.h"
#include "api/strategy.h"
#include "api/workloads.h"
#include "fmt/format.h"
#include "scheduler/pod_info.h"

namespace dray::planner::internal {
namespace {

std::string Shown(const api::Object& object) {
  const api::ObjectMeta& metadata = object.metadata();
  const std::string& name = metadata.name.empty() ? metadata.generate_name : metadata.name;
  return object.kind().namespaced
             ? fmt::format("{} {}/{}", object.kind().kind, metadata.namespace_, name)
             : fmt::format("{} {}", object.kind().kind, name);
}

Status Named(const api::Object& object, const Status& status) {
  return Status(status.code(), fmt::format("{}: {}", Shown(object), base::Message(status)));
}

Status Create(const api::Object& object, api::MemoryCluster& cluster) {
  const auto created = cluster.Create(object);
  if (!created.ok()) return Named(object, created.status());
  if (!api::CarriesStatus(object)) return {};
  api::Object with_status = object;
  with_status.MutableMetadata() = created->metadata();
  const auto updated = cluster.UpdateStatus(std::move(with_status));
  return updated.ok() ? Status() : Named(object, updated.status());
}

bool IsOfDump(const api::Object& object) {
  return !object.metadata().uid.empty() || !object.metadata().resource_version.empty();
}

// How many of each kind of thing an owner has, by its uid.
struct Owned {
  std::map<std::string, std::int32_t, std::less<>> pods;  // that have not ended
  std::set<std::string, std::less<>> with_replica_sets;
  std::set<std::string, std::less<>> with_jobs;
};

Owned OwnedBy(const std::vector<api::Object>& objects) {
  Owned owned;
  for (const api::Object& object : objects) {
    const api::OwnerReference* owner = api::FindController(object.metadata());
    if (owner == nullptr) continue;
    if (const auto* pod = object.As<api::Pod>()) {
      if (!scheduler::IsTerminated(*pod) && !pod->metadata.deletion_timestamp) {
        ++owned.pods[owner->uid];
      }
    } else if (object.As<api::ReplicaSet>() != nullptr) {
      owned.with_replica_sets.insert(owner->uid);
    } else if (object.As<api::Job>() != nullptr) {
      owned.with_jobs.insert(owner->uid);
    }
  }
  return owned;
}

bool IsHalfGiven(const api::Object& object, const Owned& owned) {
  const std::string& uid = object.metadata().uid;
  const auto pods = owned.pods.find(uid);
  const std::int32_t given = pods == owned.pods.end() ? 0 : pods->second;
  if (const auto* set = object.As<api::ReplicaSet>()) return set->status.replicas != given;
  if (const auto* job = object.As<api::Job>()) return job->status.active != given;
  if (const auto* deployment = object.As<api::Deployment>()) {
    const api::DeploymentStatus& status = deployment->status;
    return (status.observed_generation > 0 || status.replicas > 0) &&
           !owned.with_replica_sets.contains(uid);
  }
  // A plan writes no status of these, so that there may be more pods than it tells of.
  if (const auto* daemons = object.As<api::DaemonSet>()) {
    return daemons->status.current_number_scheduled > given;
  }
  if (const auto* stateful = object.As<api::StatefulSet>()) {
    return stateful->status.replicas > given;
  }
  if (const auto* cron = object.As<api::CronJob>()) {
    return !cron->status.active.empty() && !owned.with_jobs.contains(uid);
  }
  return false;
}

// Pods that a workload asks for beyond those that it has, and the field that says so.
struct Wanted {
  std::int64_t pods = 0;
  std::string_view field;
};
Wanted WantedBy(const api::Object& object, std::int64_t nodes) {
  if (const auto* deployment = object.As<api::Deployment>()) {
    return {deployment->spec.replicas.value_or(1) - deployment->status.replicas, "spec.replicas"};
  }
  if (const auto* set = object.As<api::ReplicaSet>()) {
    return {set->spec.replicas.value_or(1) - set->status.replicas, "spec.replicas"};
  }
  if (const auto* job = object.As<api::Job>()) {
    return {job->spec.parallelism.value_or(1) - job->status.active, "spec.parallelism"};
  }
  if (const auto* daemons = object.As<api::DaemonSet>()) {
    return {nodes - daemons->status.current_number_scheduled, "the number of nodes"};
  }
  if (const auto* stateful = object.As<api::StatefulSet>()) {
    return {stateful->spec.replicas.value_or(1) - stateful->status.replicas, "spec.replicas"};
  }
  if (const auto* cron = object.As<api::CronJob>()) {
    return {cron->spec.job_template.spec.parallelism.value_or(1),
            "spec.jobTemplate.spec.parallelism"};
  }
  return {};
}

}  // namespace

StatusOr<std::size_t> CheckPodCount(const std::vector<api::Object>& objects, std::size_t limit) {
  const std::int64_t nodes = std::ranges::count_if(
      objects, [](const api::Object& object) { return object.As<api::Node>() != nullptr; });
  std::size_t pods = 0;
  for (const api::Object& object : objects) {
    const Wanted wanted = WantedBy(object, nodes);
    pods += static_cast<std::size_t>(std::max<std::int64_t>(wanted.pods, 0));
    if (pods <= limit) continue;
    return base::InvalidArgument(
        fmt::format("{}: {} asks for {} more pods: a plan makes at most {} in all", Shown(object),
                    wanted.field, wanted.pods, limit));
  }
  return pods;
}

Status CheckSelectors(const std::vector<api::Object>& objects) {
  const auto check = [](const api::Object& object, const auto& spec) -> Status {
    if (!spec.selector) return {};  // controllers leave it alone
    const auto matcher = api::LabelMatcher::From(*spec.selector);
    if (!matcher.ok()) {
      return base::Annotate(matcher.status(), Shown(object) + ": spec.selector");
    }
    if (matcher->Matches(spec.template_.metadata.labels)) return {};
    return base::InvalidArgument(
        fmt::format("{}: spec.template.metadata.labels: `selector` does not match template "
                    "`labels`: its controller would create pods forever without finding them",
                    Shown(object)));
  };
  for (const api::Object& object : objects) {
    if (const auto* deployment = object.As<api::Deployment>()) {
      DRAY_RETURN_IF_ERROR(check(object, deployment->spec));
    } else if (const auto* set = object.As<api::ReplicaSet>()) {
      DRAY_RETURN_IF_ERROR(check(object, set->spec));
    }
  }
  return {};
}

void Arrange(std::vector<api::Object>& objects) {
  std::erase_if(objects,
                [](const api::Object& object) { return object.As<api::Event>() != nullptr; });
  for (api::Object& object : objects) {
    // What the request, not the file, says on a real cluster.
    if (object.kind().namespaced && object.metadata().namespace_.empty()) {
      object.MutableMetadata().namespace_ = "default";
    }
  }
  std::map<const api::TypeInfo*, std::size_t> ranks;
  for (const api::KindInfo& kind : api::Kinds()) ranks.emplace(kind.hub, ranks.size());
  const auto key = [&](const api::Object& object) {
    const api::ObjectMeta& metadata = object.metadata();
    return std::tuple(ranks.at(object.kind().hub), std::string_view(metadata.namespace_),
                      std::string_view(metadata.name));
  };
  std::ranges::stable_sort(objects, [&](const api::Object& a, const api::Object& b) {
    if (key(a) != key(b)) return key(a) < key(b);
    // Two whose names are to be made up.
    return a.metadata().name.empty() && a.ToJson() < b.ToJson();
  });
}

std::uint64_t SeedOf(const std::vector<api::Object>& objects) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const api::Object& object : objects) {
    const api::ObjectMeta& metadata = object.metadata();
    for (const char c :
         fmt::format("{}\n{}\n{}\n", Shown(object), metadata.uid, metadata.resource_version)) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  return hash;
}

Status Admit(std::vector<api::Object> objects, api::MemoryCluster& cluster, WriteGuard& guard,
             std::vector<TurnedAway>& away) {
  std::vector<api::Object> stored;
  std::vector<api::Object> written;
  for (api::Object& object : objects) {
    (IsOfDump(object) ? stored : written).push_back(std::move(object));
  }
  DRAY_RETURN_IF_ERROR(cluster.Load(std::move(stored)));
  // What quotas count comes when the quotas are there.
  const auto counted = std::ranges::stable_partition(written, [](const api::Object& object) {
    return object.As<api::Pod>() == nullptr && object.As<api::ResourceClaim>() == nullptr;
  });
  for (auto it = written.begin(); it != counted.begin(); ++it) {
    DRAY_RETURN_IF_ERROR(Create(*it, cluster));
  }
  guard.quotas().Read(cluster);
  guard.Watch(cluster);
  for (const api::Object& object : counted) {
    const Status created = Create(object, cluster);
    if (created.code() == StatusCode::kFailedPrecondition) {
      // Without the object's name: whoever tells of it says that.
      away.push_back(
          {object, std::string(base::Message(created).substr(Shown(object).size() + 2))});
      continue;
    }
    DRAY_RETURN_IF_ERROR(created);
  }
  return {};
}

std::vector<api::Object> TakeHalfGiven(std::vector<api::Object>& objects,
                                       std::vector<std::string>& notes) {
  const Owned owned = OwnedBy(objects);
  std::set<std::string, std::less<>> owners;  // of such, by uid
  for (const api::Object& object : objects) {
    const api::OwnerReference* owner = api::FindController(object.metadata());
    if (owner != nullptr && IsHalfGiven(object, owned)) owners.insert(owner->uid);
  }
  const auto rest = std::ranges::stable_partition(objects, [&](const api::Object& object) {
    return !IsHalfGiven(object, owned) && !owners.contains(object.metadata().uid);
  });
  std::vector<api::Object> taken(std::make_move_iterator(rest.begin()),
                                 std::make_move_iterator(rest.end()));
  objects.erase(rest.begin(), rest.end());
  for (const api::Object& object : taken) {
    notes.push_back(fmt::format(
        "{}: its status counts pods that are not in the input; no pods are created for it",
        Shown(object)));
  }
  return taken;
}

}  // namespace dray::planner::internal
