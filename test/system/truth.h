// SPDX-License-Identifier: Apache-2.0
//
// Truth: whether a pod that is refused is told what is true at that moment. A scheduler that begins now, with
// nothing remembered, is asked the same question about the same picture of the cluster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/cluster.h"
#include "api/forwarding_cluster.h"
#include "scheduler/scheduler.h"
#include "system/stage.h"

namespace dray::system {

// A scheduler's way to its cluster, and what the scheduler knows of it: what its watch has told, and what it
// has decided since. One thread.
class Truth final : public api::ForwardingCluster {
 public:
  // All outlive it.
  Truth(api::Cluster& cluster, Stage& stage, const base::Clock& clock)
      : ForwardingCluster(cluster), stage_(stage), clock_(clock) {}

  std::unique_ptr<api::ObjectWatch> Watch(std::span<const api::KindInfo* const> kinds,
                                          const api::Selection& selection = {}) override;
  StatusOr<api::Object> Create(api::Object object) override;
  StatusOr<api::Object> UpdateStatus(api::Object object) override;
  Status Delete(const api::KindInfo& kind, std::string_view namespace_, std::string_view name,
                std::string_view uid) override;
  Status Bind(std::string_view namespace_, std::string_view pod, std::string_view uid,
              std::string_view node) override;

  // Tries one pod, and looks at what it is told.
  std::optional<scheduler::Outcome> ScheduleOne(scheduler::Scheduler& scheduler);

 private:
  class Told;
  using Key = std::tuple<const api::TypeInfo*, std::string, std::string>;

  static Key KeyOf(const api::Object& object);
  void Put(const api::Object& object);
  void Check(const scheduler::Outcome& outcome);

  Stage& stage_;
  const base::Clock& clock_;
  std::map<Key, api::Object> picture_;
  std::uint64_t acts_ = 0;      // writes that change what others may have
  std::uint64_t refusals_ = 0;  // so far
};

}  // namespace dray::system
