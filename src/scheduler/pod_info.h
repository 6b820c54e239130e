// SPDX-License-Identifier: Apache-2.0
//
// A pod as scheduling sees it: its object, and what is computed from it once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/pod.h"
#include "base/time.h"
#include "scheduler/resources.h"

namespace dray::scheduler {

struct HostPort {
  std::string ip;        // empty and 0.0.0.0: any
  std::string protocol;  // TCP, UDP, SCTP
  std::int32_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

// Immutable; made anew when the pod's object changes.
struct PodInfo {
  std::shared_ptr<const api::Pod> pod;
  std::string key;  // "namespace/name"
  std::int32_t priority = 0;
  Resources requests;       // incl. init and sidecar containers, overhead, pod-level amounts
  Resources non_zero;       // the same for scoring: 100m cpu and 200Mi where a container asks nothing
  std::vector<HostPort> host_ports;
  // Equal for pods that ask for the same of a node: requests, selectors, affinity, tolerations,
  // ports, spread, claims by content of their specs, labels as far as any term looks at them.
  std::uint64_t shape = 0;

  static std::shared_ptr<const PodInfo> From(std::shared_ptr<const api::Pod> pod,
                                             ResourceNames& names);
};

}  // namespace dray::scheduler
