// SPDX-License-Identifier: Apache-2.0
#include "node/claim_manager.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"
#include "node/internal/claim_work.h"

namespace dray::node {
namespace {

constexpr std::string_view kAnyDriver = "<any>";

}  // namespace

ClaimMetrics::ClaimMetrics(metrics::Registry& registry)
    : operations(registry.Histograms(
          {"dra_operations_duration_seconds",
           "Duration in seconds of preparing or unpreparing all claims of a pod.",
           {"operation_name", "is_error"}},
          metrics::ExponentialBounds(0.1, std::pow(400.0, 1.0 / 14), 15))),
      in_use(registry.Gauges({"dra_resource_claims_in_use",
                              "ResourceClaims that are prepared on this node, by driver.",
                              {"driver_name"}})),
      prepare_skips(
          registry.Counters({"dra_node_prepare_skips_total",
                             "Times that preparing was left out because the allocation says so.",
                             {"driver_name"}})),
      unprepare_skips(
          registry.Counters({"dra_node_unprepare_skips_total",
                             "Times that unpreparing was left out because the allocation says so.",
                             {"driver_name"}})) {}

ClaimManager::ClaimManager(ClaimSource& source, Plugins& plugins, const base::Clock& clock,
                           const api::FeatureGates& gates, ClaimMetrics* metrics)
    : source_(source),
      plugins_(plugins),
      clock_(clock),
      may_skip_(gates.Enabled(api::Gate::kDRAOptionalNodeOperations)),
      for_groups_(gates.Enabled(api::Gate::kDRAWorkloadResourceClaims)),
      metrics_(metrics) {}

ClaimManager::~ClaimManager() = default;

void ClaimManager::Restore(std::vector<ClaimState> claims) {
  for (ClaimState& claim : claims) {
    const Key key(claim.namespace_, claim.name);
    for (const std::string& pod : claim.pods) by_pod_[pod].insert(key);
    Entry& entry = entries_[key];
    // Written before drivers were called, it has their names only.
    entry.restored = std::ranges::all_of(claim.drivers, [](const auto& driver) {
      return !driver.second.devices.empty() || driver.second.Skips(kSkipPrepare);
    });
    entry.state = std::move(claim);
  }
  CountInUse();
}

ClaimManager::Entry* ClaimManager::Find(const std::string& namespace_, const std::string& name) {
  const auto it = entries_.find(Key(namespace_, name));
  return it == entries_.end() ? nullptr : &it->second;
}

const ClaimManager::Entry* ClaimManager::Find(const std::string& namespace_,
                                              const std::string& name) const {
  const auto it = entries_.find(Key(namespace_, name));
  return it == entries_.end() ? nullptr : &it->second;
}

std::vector<ClaimState> ClaimManager::States() const {
  std::vector<ClaimState> states;
  for (const auto& [key, entry] : entries_) states.push_back(entry.state);
  return states;
}

std::set<std::string> ClaimManager::PodsUsing(const std::vector<DeviceName>& devices) const {
  const std::set<DeviceName> wanted(devices.begin(), devices.end());
  std::set<std::string> pods;
  for (const auto& [key, entry] : entries_) {
    for (const auto& [driver, state] : entry.state.drivers) {
      const bool uses =
          std::ranges::any_of(state.devices, [&, &driver = driver](const DeviceState& device) {
            return wanted.contains(DeviceName{driver, device.pool, device.device});
          });
      if (uses) pods.insert(entry.state.pods.begin(), entry.state.pods.end());
    }
  }
  return pods;
}

// ---- One thing at a time for each claim ----

bool ClaimManager::MustWait(const Work& work) const {
  const auto busy = [&](const Key& key) {
    const auto it = entries_.find(key);
    return it != entries_.end() && it->second.busy;
  };
  if (!work.prepares) {
    const auto it = by_pod_.find(work.uid);
    return it != by_pod_.end() && std::ranges::any_of(it->second, busy);
  }
  return std::ranges::any_of(work.claims, [&](const api::ResourceClaim& claim) {
    const Key key(claim.metadata.namespace_, claim.metadata.name);
    const auto it = entries_.find(key);
    // Who would be refused need not wait for that.
    return busy(key) && !it->second.unpreparing && it->second.state.uid == claim.metadata.uid;
  });
}

void ClaimManager::Begin(const WorkPtr& work) {
  if (MustWait(*work)) {
    waiting_.push_back(work);
    return;
  }
  work->prepares ? BeginPrepare(work) : BeginUnprepare(work);
}

void ClaimManager::SetBusy(Work& work, bool busy) {
  for (const Key& key : work.keys) {
    if (const auto it = entries_.find(key); it != entries_.end()) it->second.busy = busy;
  }
}

void ClaimManager::End(const WorkPtr& work, Status status) {
  SetBusy(*work, false);
  if (metrics_ != nullptr) {
    const std::chrono::duration<double> took = clock_.Monotonic() - work->begun;
    metrics_->operations
        .With({work->prepares ? "PrepareResources" : "UnprepareResources",
               status.ok() ? "false" : "true"})
        .Observe(took.count());
  }
  const std::weak_ptr<int> alive = alive_;
  work->done(std::move(status));
  if (alive.expired()) return;
  for (const WorkPtr& next : std::exchange(waiting_, {})) Begin(next);
}

// ---- The checkpoint ----

void ClaimManager::MarkChanged(const Key& key) {
  changed_.insert_or_assign(entries_.at(key).state.uid, key);
}

void ClaimManager::Checkpoint(bool must_last, Done done) {
  waiting_for_write_.push_back(std::move(done));
  next_must_last_ = next_must_last_ || must_last;
  if (!writing_) WriteNow();
}

void ClaimManager::WriteNow() {
  writing_ = true;
  dirty_ = false;
  auto served = std::make_shared<std::vector<Done>>(std::exchange(waiting_for_write_, {}));
  auto sent = std::make_shared<std::map<std::string, Key>>(std::exchange(changed_, {}));
  ClaimChanges changes;
  changes.must_last = std::exchange(next_must_last_, false);
  for (const auto& [uid, key] : *sent) {
    const auto it = entries_.find(key);
    if (it != entries_.end() && it->second.state.uid == uid) {
      changes.now.push_back(it->second.state);
    } else {
      changes.gone.push_back(uid);
    }
  }
  source_.WriteCheckpoint(
      std::move(changes), [this, served, sent, alive = std::weak_ptr(alive_)](Status status) {
        if (alive.expired()) return;
        if (!status.ok()) {
          dirty_ = true;
          changed_.merge(*sent);
        }
        const Status told = base::Annotate(status, "failed to checkpoint claims");
        // What they want written next is one write again.
        for (const Done& done : *served) {
          done(told);
          if (alive.expired()) return;
        }
        writing_ = false;
        if (!waiting_for_write_.empty()) WriteNow();
      });
}

void ClaimManager::CountInUse() {
  if (metrics_ == nullptr) return;
  std::map<std::string, int> counts;
  counts[std::string(kAnyDriver)] = 0;
  for (const std::string& driver : counted_drivers_) counts[driver] = 0;
  for (const auto& [key, entry] : entries_) {
    if (!entry.prepared && !entry.restored) continue;
    ++counts[std::string(kAnyDriver)];
    for (const auto& [driver, state] : entry.state.drivers) {
      ++counts[driver];
      counted_drivers_.insert(driver);
    }
  }
  for (const auto& [driver, count] : counts) metrics_->in_use.With({driver}).Set(count);
}

void ClaimManager::DropPod(const Key& key, const std::string& uid) {
  MarkChanged(key);
  entries_.at(key).state.pods.erase(uid);
  const auto it = by_pod_.find(uid);
  if (it == by_pod_.end()) return;
  it->second.erase(key);
  if (it->second.empty()) by_pod_.erase(it);
}

// ---- What containers get ----

StatusOr<std::vector<ContainerClaim>> ClaimManager::ClaimsFor(
    const api::Pod& pod, const api::Container& container) const {
  std::vector<ContainerClaim> found;
  const auto add = [&](std::string label, const std::string& name, std::string_view request) {
    const Entry* entry = Find(pod.metadata.namespace_, name);
    if (entry == nullptr || !entry->state.pods.contains(pod.metadata.uid)) {
      return base::Internal(fmt::format("ResourceClaim {} is not prepared on this node for pod {}",
                                        name, pod.metadata.name));
    }
    ContainerClaim& claim = found.emplace_back();
    claim.label = std::move(label);
    claim.claim = name;
    claim.namespace_ = pod.metadata.namespace_;
    for (const auto& [driver, state] : entry->state.drivers) {
      for (const DeviceState& device : state.devices) {
        const bool meant = request.empty() || device.requests.empty() ||
                           std::ranges::any_of(device.requests, [&](const std::string& of) {
                             return BaseRequest(of) == BaseRequest(request);
                           });
        if (meant) claim.devices.push_back({driver, device});
      }
    }
    return Status();
  };
  std::vector<PodClaim> claims;
  if (!container.resources.claims.empty()) {
    DRAY_ASSIGN_OR_RETURN(claims, ClaimsOf(pod));
  }
  for (const api::ContainerResourceClaim& used : container.resources.claims) {
    const auto it = std::ranges::find_if(claims, [&](const PodClaim& claim) {
      return !used.name.empty() && claim.entry == used.name;
    });
    // An entry behind which there is no claim on purpose.
    if (it == claims.end()) continue;
    std::string label = "claim:" + used.name;
    if (!used.request.empty()) label += "/" + used.request;
    DRAY_RETURN_IF_ERROR(add(std::move(label), it->name, used.request));
  }
  if (const auto& extended = pod.status.extended_resource_claim_status) {
    for (const auto& mapping : extended->request_mappings) {
      if (mapping.container_name != container.name) continue;
      const base::Quantity* amount = container.resources.requests.Find(mapping.resource_name);
      if (amount == nullptr) amount = container.resources.limits.Find(mapping.resource_name);
      if (amount == nullptr || amount->IsZero()) continue;
      DRAY_RETURN_IF_ERROR(
          add(fmt::format("claim:{}/{}", extended->resource_claim_name, mapping.request_name),
              extended->resource_claim_name, mapping.request_name));
    }
  }
  return found;
}

StatusOr<std::vector<std::string>> ClaimManager::CdiNamesFor(
    const api::Pod& pod, const api::Container& container) const {
  DRAY_ASSIGN_OR_RETURN(const std::vector<ContainerClaim> claims, ClaimsFor(pod, container));
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const ContainerClaim& claim : claims) {
    for (const UsedDevice& used : claim.devices) {
      for (const std::string& name : used.device.cdi_ids) {
        if (seen.insert(name).second) names.push_back(name);
      }
    }
  }
  return names;
}

}  // namespace dray::node
