// SPDX-License-Identifier: Apache-2.0
//
// Truth: whether a pod that is refused is told what is true at that moment. A scheduler that begins now, with
// nothing remembered, is asked the same question about the same picture of the cluster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/cluster.h"
#include "api/forwarding_cluster.h"
#include "api/resource_claim.h"
#include "plane/remote_scheduler.h"
#include "scheduler/scheduler.h"
#include "system/stage.h"

namespace dray::system {

// A scheduler's way to its cluster, and what the scheduler knows of it: what its watch has told, and what it
// has decided since. One thread.
class Truth final : public api::ForwardingCluster, public plane::Between {
 public:
  enum class Where : std::uint8_t {
    kHere,  // in the server's process: what is written is known at once
    // At the other end of a wire: others come in between its writes, and its watch tells late of what it has
    // written. What it knows is what it was told only when nothing of its own is left to be told.
    kFar,
  };
  // All outlive it.
  Truth(api::Cluster& cluster, Stage& stage, const base::Clock& clock, Where where)
      : ForwardingCluster(cluster), stage_(stage), clock_(clock), where_(where) {}

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override;
  StatusOr<api::Object> Create(api::Object object) override;
  StatusOr<api::Object> Update(api::Object object) override;
  StatusOr<api::Object> UpdateStatus(api::Object object) override;
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid) override;
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override;

  api::Cluster& cluster() override { return *this; }
  // Tries one pod, and looks at what it is told.
  std::optional<scheduler::Outcome> ScheduleOne(scheduler::Scheduler& scheduler) override;

 private:
  class Told;
  using Key = std::tuple<const api::TypeInfo*, std::string, std::string>;
  // What was written of an object, and the watch has yet to tell.
  struct Untold {
    std::string uid;
    std::uint64_t revision = 0;  // 0: not known
    bool bound = false;          // it is on a node
    bool going = false;          // it is gone, or about to go
  };

  static Key KeyOf(const api::Object& object);
  // Planted: the devices of a claim that is given back stay.
  void KeepDevices(api::Object& object) const;
  // Lets somebody come in between the reservation of a claim and the binding of its pod.
  void Reserved(const api::ResourceClaim& claim);
  void Put(const api::Object& object);
  void Wrote(const Key& key, const Status& status, Untold untold);
  void Wrote(const api::Object& sent, const StatusOr<api::Object>& written);
  void Tell(const api::Change& change);
  bool Knows(const scheduler::Scheduler& scheduler) const;
  void Check(const scheduler::Outcome& outcome);

  Stage& stage_;
  const base::Clock& clock_;
  const Where where_;
  std::map<Key, api::Object> picture_;
  std::map<Key, std::uint64_t> told_;  // the latest revision
  std::map<Key, Untold> untold_;
  std::set<std::string> gone_;           // uids that the watch has told to be deleted
  std::optional<Nanos> in_doubt_until_;  // of writes without an answer
  std::uint64_t acts_ = 0;               // writes that change what others may have
  std::uint64_t refusals_ = 0;           // so far
};

}  // namespace dray::system
