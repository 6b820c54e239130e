// SPDX-License-Identifier: Apache-2.0
//
// ClaimManager: preparing the claims of a pod.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "node/claim_manager.h"
#include "node/internal/claim_work.h"

namespace dray::node {
namespace {

// Of what a driver says about a claim: more is not kept, in memory nor on the disk.
constexpr std::size_t kMostAnswer = 1u << 20;

// A device that the claim was not allocated would be somebody else's, and a request that it does not
// have would leave a container without its device, in silence.
Status CheckDevices(const rpc::PreparedClaim& prepared, const std::string& driver,
                    const api::ResourceClaim& claim) {
  const auto& results = claim.status.allocation->devices.results;
  std::size_t bytes = 0;
  for (const rpc::PreparedDevice& device : prepared.devices) {
    const bool named = !device.pool.empty() || !device.device.empty();
    const bool allocated = std::ranges::any_of(results, [&](const auto& result) {
      return result.driver == driver && result.pool == device.pool &&
             result.device == device.device;
    });
    if (named && !allocated) {
      return base::Internal(
          fmt::format("NodePrepareResources returned device {}/{} for ResourceClaim {}, which was "
                      "not allocated to it",
                      Shortened(device.pool), Shortened(device.device), claim.metadata.name));
    }
    for (const std::string& request : device.requests) {
      const bool known = std::ranges::any_of(results, [&](const auto& result) {
        return result.driver == driver && BaseRequest(result.request) == BaseRequest(request);
      });
      if (!known) {
        return base::Internal(
            fmt::format("NodePrepareResources returned request \"{}\" for ResourceClaim {}, for "
                        "which the driver was allocated nothing",
                        Shortened(request), claim.metadata.name));
      }
      bytes += sizeof(std::string) + request.size();
    }
    for (const std::string& id : device.cdi_ids) bytes += sizeof(std::string) + id.size();
    bytes += sizeof(DeviceState) + device.pool.size() + device.device.size();
  }
  if (bytes > kMostAnswer) {
    return base::Internal(
        fmt::format("NodePrepareResources returned {} devices with {} bytes for ResourceClaim {}: "
                    "at most {} bytes are kept",
                    prepared.devices.size(), bytes, claim.metadata.name, kMostAnswer));
  }
  return {};
}

}  // namespace

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

bool ClaimManager::Outdated(const Entry& entry, const api::ResourceClaim& claim) {
  if (entry.allocation) return *entry.allocation != AllocationHash(claim);
  return !FitsAllocation(entry.state, claim);
}

Status ClaimManager::CheckEntry(const Entry& entry, const api::ResourceClaim& claim) const {
  const std::string& name = claim.metadata.name;
  if (entry.state.uid != claim.metadata.uid) {
    return base::FailedPrecondition(
        fmt::format("old ResourceClaim with same name {} and different UID {} still exists "
                    "(previous pod force-deleted?!)",
                    name, entry.state.uid));
  }
  if (entry.unpreparing) {
    return base::FailedPrecondition(fmt::format("ResourceClaim {} is being unprepared", name));
  }
  return {};
}

void ClaimManager::BeginPrepare(const WorkPtr& work) {
  bool let_go = false;
  for (const api::ResourceClaim& claim : work->claims) {
    const Entry* entry = Find(claim.metadata.namespace_, claim.metadata.name);
    if (entry == nullptr) continue;
    const bool own = entry->state.pods.size() == 1 && entry->state.pods.contains(work->uid);
    if (own && entry->unpreparing && entry->state.uid == claim.metadata.uid) {
      let_go = true;  // it has tried before
      continue;
    }
    if (Status refused = CheckEntry(*entry, claim); !refused.ok()) {
      return End(work, std::move(refused));
    }
    if (!Outdated(*entry, claim)) continue;
    // A claim is allocated anew only when nobody has it reserved, so whoever has it here is on his way
    // out; what he was given is let go before anybody gets what the claim has now.
    if (!own) {
      return End(work, base::FailedPrecondition(fmt::format(
                           "ResourceClaim {} was allocated anew, and what it was allocated before "
                           "is still prepared on this node (previous pod force-deleted?!)",
                           claim.metadata.name)));
    }
    let_go = true;
  }
  if (let_go) return LetGoFirst(work);
  RememberPod(*work);
  SetBusy(*work, true);
  if (work->added.empty() && !dirty_) return CallPrepare(work);
  Checkpoint(true, [this, work](Status written) {
    if (written.ok()) return CallPrepare(work);
    ForgetPod(*work);
    End(work, std::move(written));
  });
}

// The pod itself has it of before, and nothing of the pod runs: a sandbox is only now to be made.
void ClaimManager::LetGoFirst(const WorkPtr& work) {
  Unprepare(work->uid, [this, work, alive = std::weak_ptr(alive_)](Status done) {
    if (alive.expired()) return;
    if (!done.ok()) return End(work, std::move(done));
    Begin(work);
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
    entry.allocation = AllocationHash(claim);
    if (entry.state.pods.insert(work.uid).second) {
      work.added.push_back(key);
      MarkChanged(key);
    }
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
  for (const Key& key : work.made) {
    MarkChanged(key);
    entries_.erase(key);
  }
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
      return base::Internal(fmt::format(
          "NodePrepareResources returned result for unknown claim UID {}", Shortened(uid)));
    }
    const Key& key = it->second;
    if (!prepared.error.empty()) {
      return base::Internal(fmt::format("NodePrepareResources failed for ResourceClaim {}: {}",
                                        key.second, Shortened(prepared.error)));
    }
    const auto claim = std::ranges::find(
        work.claims, uid, [](const api::ResourceClaim& one) { return one.metadata.uid; });
    DRAY_RETURN_IF_ERROR(CheckDevices(prepared, driver, *claim));
    DriverState& state = entries_.at(key).state.drivers[driver];
    MarkChanged(key);
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
  Checkpoint(false, [this, work](Status written) { End(work, std::move(written)); });
}

}  // namespace dray::node
