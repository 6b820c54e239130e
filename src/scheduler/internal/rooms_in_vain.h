// SPDX-License-Identifier: Apache-2.0
//
// Pods that fail although room is kept for them: others were sent away, the pod finds its node, and then its
// claim cannot be made, say. After the second time in a row (one lost answer gives no room away) the room ends, and the pod
// sends nobody away for a while: it would for ever, and nobody would have anything of that.
//
// Spec: kube-scheduler clears the nomination of a pod whose binding cycle fails, at once, and lets it preempt
// again. docs/decisions.md #1240.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/string_map.h"
#include "scheduler/pod_info.h"

namespace dray::scheduler::internal {

// One thread.
class RoomsInVain {
 public:
  // The clock outlives it.
  RoomsInVain(const base::Clock& clock, std::chrono::nanoseconds pause)
      : clock_(clock), pause_(pause) {}

  // The pod failed, and nobody is still leaving for it. Whether its room is to end.
  bool Failed(const PodInfo& pod, std::string_view why);
  // The pod failed when it had a node, whether room had been made for it or not.
  void FailedOnNode(const PodInfo& pod);
  // It was refused instead, so that failures before do not count.
  void Refused(std::string_view pod);
  // The pod as it is now: one that has changed may preempt.
  void Take(const PodInfo& pod);
  // It is bound, or gone.
  void Forget(std::string_view pod);

  // Why the pod, whose room was given up, sends nobody away now; empty: it may.
  std::string WhyNot(const PodInfo& pod) const;
  // Whether it has failed on nodes twice lately: then it takes no room that is kept for others, even if they are less
  // important. It would have that for a moment, give it back to whoever comes, and others would be sent away anew.
  bool Yields(const PodInfo& pod) const;

 private:
  struct Entry {
    std::shared_ptr<const api::Pod> pod;  // as it was
    int failures = 0;                     // in a row
    std::optional<std::chrono::nanoseconds> until;
    std::string why;
  };

  struct Failing {
    std::string uid;
    int failures = 0;
    std::chrono::nanoseconds until{0};
  };

  const base::Clock& clock_;
  const std::chrono::nanoseconds pause_;
  base::StringMap<Failing> failing_;
  base::StringMap<Entry> pods_;
};

}  // namespace dray::scheduler::internal
