// SPDX-License-Identifier: Apache-2.0
//
// Reports: what pods that wait are told in their status, until that is written. A pod that is refused
// may not be tried again for minutes, so what could not be said is not left to the next attempt.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/string_map.h"
#include "scheduler/background.h"
#include "scheduler/pod_info.h"

namespace dray::scheduler::internal {

struct Report {
  std::string reason;  // of the condition
  std::string message;
  std::optional<std::string> nominated;  // nothing: stays as it is
};

// One thread, as the scheduler; with a background also works of it, which have their turn.
class Reports {
 public:
  // All outlive it. Without a background each report is written at once.
  Reports(api::Cluster& cluster, const base::Clock& clock, Background* background)
      : cluster_(cluster), clock_(clock), background_(background) {}

  // In place of what was to be told before. Of that, only the newest is ever written.
  void Tell(std::shared_ptr<const PodInfo> pod, Report report);
  // Nobody has to be told any more: the pod has a node, or is gone.
  void Forget(std::string_view pod) {
    open_.erase(pod);
    written_.erase(pod);
  }
  // Whether a node that the pod was promised is still to be written.
  bool Nominates(std::string_view pod) const;

  // Tries what could not be written once more, a few at a time.
  void Tick();
  // When Tick has something to do.
  std::optional<std::chrono::nanoseconds> NextDue() const;
  // Pods that have not been told yet.
  std::size_t size() const { return open_.size(); }

 private:
  struct Open {
    std::shared_ptr<const PodInfo> pod;
    Report report;
    std::uint64_t number = 0;  // which report it is: one that was replaced is not written any more
    int failed = 0;            // times
  };
  struct Due {
    std::chrono::nanoseconds when;
    std::string pod;
    std::uint64_t number;
    auto operator<=>(const Due&) const = default;
  };

  // Null: written, replaced, or not needed any more.
  Open* FindOpen(std::string_view pod, std::uint64_t number);
  void Write(const std::string& pod, std::uint64_t number);
  // OK: nothing is left to be done. `read`: the pod as it is stored, not as it is known.
  Status TryOnce(const PodInfo& pod, std::uint64_t number, const Report& report, bool read);
  // The newest that is known of the pod: the watch's, or what the last write here was answered. Null: which of
  // them it is cannot be told.
  const api::Pod* Newest(const PodInfo& pod) const;

  api::Cluster& cluster_;
  const base::Clock& clock_;
  Background* const background_;
  base::StringMap<Open> open_;            // by pod
  std::set<Due> due_;                     // also some that are not open any more
  base::StringMap<api::Object> written_;  // by pod: as the server has stored the last report
  std::uint64_t numbers_ = 0;
  std::size_t again_ = 0;  // that are being tried once more in the background
};

}  // namespace dray::scheduler::internal
