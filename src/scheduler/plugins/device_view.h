// SPDX-License-Identifier: Apache-2.0
//
// DeviceView: what is in use of devices as one pod has to see it: without pods that would be sent
// away for it, and with what is held for others (World::holds).
//
// A claim is given back when nobody uses it any more, so it leaves the view with the last of its users
// that may go, and not at all where one stays. Users that are ending anyway and could not be sent away
// do not keep it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "api/resource_claim.h"
#include "base/string_map.h"
#include "ledger/node_usage.h"
#include "ledger/variation.h"
#include "scheduler/cycle_data.h"
#include "scheduler/device_holds.h"
#include "scheduler/node_info.h"
#include "scheduler/pod_info.h"

namespace dray::scheduler {

class World;

// For one cycle, in which neither the world nor its ledger changes. One thread.
class DeviceView {
 public:
  using ClaimPointer = std::shared_ptr<const api::ResourceClaim>;

  // As this pod sees it. Both outlive it.
  DeviceView(World& world, const PodInfo& pod);
  ~DeviceView();

  // The pod is not there, and is there again. Idempotent; PutBack of one that was not taken is
  // nothing.
  void Take(const PodInfo& other);
  void PutBack(const PodInfo& other);
  // Claims with devices of the node that nobody uses are given back.
  void TakeIdle(const NodeInfo& known);
  bool changed() const { return !gone_.empty() || idle_; }

  // Of a node whose devices are up to date. Valid until this view changes.
  const ledger::NodeUsage& UsageOf(const NodeInfo& known, HeldDevices::View view);
  // The ledger in that view. Valid until this view changes.
  const ledger::Snapshot& SnapshotOf(HeldDevices::View view);
  // The claims that are given back, by name.
  std::vector<ClaimPointer> Released() const;
  // The holds that count, oldest first.
  const std::vector<const DeviceHold*>& before() const { return before_; }

 private:
  // A claim that somebody who was taken uses.
  struct Claim {
    ClaimPointer claim;
    std::string key;  // the ledger's
    base::StringSet users;
    std::size_t staying = 0;
    bool kept = false;  // somebody stays, whoever goes
    bool out = false;
  };
  struct Sheet;

  std::vector<Claim*> ClaimsOf(const PodInfo& other);
  Claim& ClaimOf(const ClaimPointer& claim);
  void SetOut(Claim& claim, bool out);
  Sheet& SheetOf(HeldDevices::View view);

  World& world_;
  const PodInfo& pod_;
  std::vector<const DeviceHold*> before_;
  base::StringMap<std::unique_ptr<Claim>> claims_;  // by the ledger's key
  base::StringSet gone_;                            // uids
  bool idle_ = false;
  base::StringSet leaving_;  // the ledger's keys of claims that leave for `before_`
  std::unique_ptr<Sheet> plain_;
  std::unique_ptr<Sheet> taken_;
  std::unique_ptr<Sheet> afterwards_;
};

}  // namespace dray::scheduler
