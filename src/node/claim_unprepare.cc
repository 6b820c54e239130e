// SPDX-License-Identifier: Apache-2.0
//
// ClaimManager: unpreparing the claims of a pod. The API server is not asked: claim and pod may be
// gone long since.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "node/claim_manager.h"
#include "node/internal/claim_work.h"

namespace dray::node {

void ClaimManager::Unprepare(const std::string& pod_uid, Done done) {
  if (!Holds(pod_uid) && !dirty_) return done({});
  auto work = std::make_shared<Work>();
  work->prepares = false;
  work->uid = pod_uid;
  work->done = std::move(done);
  work->begun = clock_.Monotonic();
  Begin(work);
}

void ClaimManager::BeginUnprepare(const WorkPtr& work) {
  const auto mine = by_pod_.find(work->uid);
  const std::set<Key> keys = mine == by_pod_.end() ? std::set<Key>() : mine->second;
  for (const Key& key : keys) {
    Entry& entry = entries_.at(key);
    if (entry.state.pods.size() > 1) {
      // At once: two pods that end beside each other must not each leave it to the other.
      DropPod(key, work->uid);
      continue;
    }
    entry.unpreparing = true;
    work->keys.push_back(key);
    for (const auto& [driver, state] : entry.state.drivers) {
      if (!state.Skips(kSkipUnprepare)) work->batches[driver].emplace(entry.state.uid, key);
    }
  }
  SetBusy(*work, true);
  CallUnprepare(work);
}

void ClaimManager::CallUnprepare(const WorkPtr& work) {
  if (work->batches.empty()) return FinishUnprepare(work);
  const std::string driver = work->batches.begin()->first;
  // Where other claims of the pod were given up, that is written whatever becomes of these.
  const auto fail = [this, work](Status why) {
    Checkpoint(false, [this, work, why](const Status&) { End(work, why); });
  };
  if (Status missing = plugins_.Registered(driver); !missing.ok()) return fail(std::move(missing));
  plugins_.Unprepare(driver, work->Names(driver),
                     [this, work, driver, fail,
                      alive = std::weak_ptr(alive_)](StatusOr<rpc::UnprepareAnswer> answer) {
                       if (alive.expired()) return;
                       if (!answer.ok()) {
                         return fail(base::Annotate(answer.status(), "NodeUnprepareResources"));
                       }
                       if (Status bad = CheckUnprepared(*work, driver, *answer); !bad.ok()) {
                         return fail(std::move(bad));
                       }
                       work->batches.erase(driver);
                       CallUnprepare(work);
                     });
}

Status ClaimManager::CheckUnprepared(const Work& work, const std::string& driver,
                                     const rpc::UnprepareAnswer& answer) {
  const auto& asked = work.batches.at(driver);
  for (const auto& [uid, error] : answer) {
    const auto it = asked.find(uid);
    if (it == asked.end()) {
      return base::Internal(fmt::format(
          "NodeUnprepareResources returned result for unknown claim UID {}", Shortened(uid)));
    }
    if (!error.empty()) {
      return base::Internal(fmt::format("NodeUnprepareResources failed for ResourceClaim {}: {}",
                                        it->second.second, Shortened(error)));
    }
  }
  if (answer.size() < asked.size()) {
    return base::Internal(fmt::format("NodeUnprepareResources skipped {} ResourceClaims",
                                      asked.size() - answer.size()));
  }
  return {};
}

void ClaimManager::FinishUnprepare(const WorkPtr& work) {
  for (const Key& key : work->keys) {
    if (metrics_ != nullptr) {
      for (const auto& [driver, state] : entries_.at(key).state.drivers) {
        if (state.Skips(kSkipUnprepare)) metrics_->unprepare_skips.With({driver}).Add();
      }
    }
    DropPod(key, work->uid);
    entries_.erase(key);
  }
  work->keys.clear();
  CountInUse();
  Checkpoint(false, [this, work](Status written) { End(work, std::move(written)); });
}

void ClaimManager::Reconcile(const std::function<bool(const std::string& uid)>& active,
                             const std::function<void(const std::string& uid, Status)>& ended) {
  std::vector<std::string> gone;
  for (const auto& [uid, keys] : by_pod_) {
    if (!active(uid) && !reconciling_.contains(uid)) gone.push_back(uid);
  }
  for (const std::string& uid : gone) {
    reconciling_.insert(uid);
    Unprepare(uid, [this, uid, ended](Status status) {
      reconciling_.erase(uid);
      ended(uid, std::move(status));
    });
  }
  // What a write that has failed should have said, when nobody who wanted it is left.
  if (dirty_ && !writing_) Checkpoint(false, [](const Status&) {});
}

}  // namespace dray::node
