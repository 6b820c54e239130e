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
  Resources requests;  // incl. init and sidecar containers, overhead, pod-level amounts
  Resources non_zero;  // the same for scoring: 100m cpu and 200Mi where a container asks nothing
  ResourceNames::Pins names;  // of both
  std::vector<HostPort> host_ports;
  bool has_affinity = false;                // to other pods, or away from them, of any kind
  bool has_required_anti_affinity = false;  // to other pods
  // A hash that is equal for pods that ask for the same of a node by themselves (SameShape). What
  // their claims ask for is said by the plugin that knows claims: FilterPlugin::ClassOf.
  std::uint64_t shape = 0;

  // `priority`: as a priority class says it, for a pod that does not carry the number.
  // `node_allocatable`: what the pod's status says that its claims take of the node counts, too.
  static std::shared_ptr<const PodInfo> From(std::shared_ptr<const api::Pod> pod,
                                             ResourceNames& names, std::int32_t priority = 0,
                                             bool node_allocatable = false);
};

// Whether a filter that looks at nothing but the pod's spec and the node says the same for both:
// requests, selectors, affinity, tolerations, ports and spread are the same.
bool SameShape(const PodInfo& a, const PodInfo& b);

std::string KeyOf(const api::Pod& pod);  // "namespace/name"
// Has ended: it takes nothing from its node any more.
bool IsTerminated(const api::Pod& pod);

}  // namespace dray::scheduler
