// SPDX-License-Identifier: Apache-2.0
//
// ClaimManager: preparing the claims of a pod.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "node/claim_manager.h"
#include "node/internal/claim_work.h"

namespace dray::node {

void ClaimManager::Prepare(const api::Pod& pod, Done done) {
  auto work = std::make_shared<Work>();
  work->uid = pod.metadata.uid;
  work->pod = pod;
  work->done = std::move(done);
  work->begun = clock_.Monotonic();
  auto claims = ClaimsOf(pod);
  if (claims.ok() && claims->empty()) return work->done({});
  if (!claims.ok()) return End(work, claims.status());
  work->names = *std::move(claims);
  std::vector<std::string> names;
  for (const PodClaim& claim : work->names) names.push_back(claim.name);
  source_.Fetch(pod.metadata.namespace_, std::move(names),
                [this, work, alive = std::weak_ptr(alive_)](StatusOr<ClaimSource::Claims> fetched) {
                  if (!alive.expired()) Fetched(work, std::move(fetched));
                });
}

void ClaimManager::Fetched(const WorkPtr& work, StatusOr<ClaimSource::Claims> claims) {
  if (!claims.ok()) return End(work, claims.status());
  work->claims = *std::move(claims);
  if (Status refused = CheckFetched(*work); !refused.ok()) return End(work, std::move(refused));
  Begin(work);
}

// Everything that can be said before anything is remembered.
Status ClaimManager::CheckFetched(const Work& work) const {
  for (std::size_t i = 0; i < work.claims.size(); ++i) {
    const api::ResourceClaim& claim = work.claims[i];
    DRAY_RETURN_IF_ERROR(CheckUse(work.pod, work.names[i], claim, for_groups_));
    for (const auto& [name, driver] : DriversOf(claim)) {
      if (!driver.skips.empty() && !may_skip_) {
        return base::FailedPrecondition(
            fmt::format("ResourceClaim {}: DRAOptionalNodeOperations feature gate is disabled on "
                        "kubelet",
                        claim.metadata.name));
      }
      if (!driver.Skips(kSkipPrepare)) DRAY_RETURN_IF_ERROR(plugins_.Registered(name));
    }
  }
  return {};
}

void ClaimManager::BeginPrepare(const WorkPtr& work) {
  for (const api::ResourceClaim& claim : work->claims) {
    const Entry* entry = Find(claim.metadata.namespace_, claim.metadata.name);
    if (entry == nullptr) continue;
    if (entry->state.uid != claim.metadata.uid) {
      return End(work, base::FailedPrecondition(fmt::format(
                           "old ResourceClaim with same name {} and different UID {} still exists "
                           "(previous pod force-deleted?!)",
                           claim.metadata.name, entry->state.uid)));
    }
    if (entry->unpreparing) {
      return End(work, base::FailedPrecondition(fmt::format("ResourceClaim {} is being unprepared",
                                                            claim.metadata.name)));
    }
  }
  RememberPod(*work);
  SetBusy(*work, true);
  if (work->added.empty() && !dirty_) return CallPrepare(work);
  Checkpoint([this, work](Status written) {
    if (written.ok()) return CallPrepare(work);
    ForgetPod(*work);
    End(work, std::move(written));
  });
}

void ClaimManager::RememberPod(Work& work) {
  for (const api::ResourceClaim& claim : work.claims) {
    const Key key(claim.metadata.namespace_, claim.metadata.name);
    const auto [it, made] = entries_.try_emplace(key);
    Entry& entry = it->second;
    if (made) {
      work.made.push_back(key);
      entry.state.uid = claim.metadata.uid;
      entry.state.name = claim.metadata.name;
      entry.state.namespace_ = claim.metadata.namespace_;
      entry.state.drivers = DriversOf(claim);
    }
    if (entry.state.pods.insert(work.uid).second) work.added.push_back(key);
    by_pod_[work.uid].insert(key);
    work.keys.push_back(key);
    if (entry.prepared) continue;
    for (const auto& [driver, state] : entry.state.drivers) {
      if (!state.Skips(kSkipPrepare)) work.batches[driver].emplace(entry.state.uid, key);
    }
  }
}

// Nothing was written of it, so nothing may be known of it.
void ClaimManager::ForgetPod(Work& work) {
  for (const Key& key : work.added) DropPod(key, work.uid);
  for (const Key& key : work.made) entries_.erase(key);
}

void ClaimManager::CallPrepare(const WorkPtr& work) {
  if (work->batches.empty()) return FinishPrepare(work);
  const std::string driver = work->batches.begin()->first;
  plugins_.Prepare(
      driver, work->Names(driver),
      [this, work, driver, alive = std::weak_ptr(alive_)](StatusOr<rpc::PrepareAnswer> answer) {
        if (alive.expired()) return;
        if (!answer.ok()) {
          return End(work, base::Annotate(answer.status(), "NodePrepareResources"));
        }
        if (Status bad = TakePrepared(*work, driver, *answer); !bad.ok()) {
          return End(work, std::move(bad));
        }
        work->batches.erase(driver);
        CallPrepare(work);
      });
}

Status ClaimManager::TakePrepared(Work& work, const std::string& driver,
                                  rpc::PrepareAnswer& answer) {
  const auto& asked = work.batches.at(driver);
  for (auto& [uid, prepared] : answer) {
    const auto it = asked.find(uid);
    if (it == asked.end()) {
      return base::Internal(
          fmt::format("NodePrepareResources returned result for unknown claim UID {}", uid));
    }
    const Key& key = it->second;
    if (!prepared.error.empty()) {
      return base::Internal(fmt::format("NodePrepareResources failed for ResourceClaim {}: {}",
                                        key.second, prepared.error));
    }
    DriverState& state = entries_.at(key).state.drivers[driver];
    state.devices.clear();
    for (rpc::PreparedDevice& device : prepared.devices) {
      state.devices.push_back({std::move(device.pool), std::move(device.device),
                               std::move(device.share_id), std::move(device.requests),
                               std::move(device.cdi_ids)});
    }
  }
  if (answer.size() < asked.size()) {
    return base::Internal(fmt::format("NodePrepareResources skipped {} ResourceClaims",
                                      asked.size() - answer.size()));
  }
  return {};
}

void ClaimManager::FinishPrepare(const WorkPtr& work) {
  bool changed = false;
  for (const Key& key : work->keys) {
    Entry& entry = entries_.at(key);
    if (entry.prepared) continue;
    entry.prepared = true;
    changed = true;
    if (metrics_ == nullptr) continue;
    for (const auto& [driver, state] : entry.state.drivers) {
      if (state.Skips(kSkipPrepare)) metrics_->prepare_skips.With({driver}).Add();
    }
  }
  if (!changed) return End(work, {});
  CountInUse();
  Checkpoint([this, work](Status written) { End(work, std::move(written)); });
}

}  // namespace dray::node
