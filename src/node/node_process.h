// SPDX-License-Identifier: Apache-2.0
//
// NodeProcess: an agent with everything around it: a connection to the API server, threads, the
// sockets of drivers, and the socket on which it is asked for devices. What `dray node` runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/gates.h"
#include "api/map.h"
#include "api/node.h"
#include "base/clock.h"
#include "base/status.h"
#include "client/kubeconfig.h"
#include "container/runtime.h"
#include "logs/log.h"
#include "metrics/registry.h"
#include "node/agent.h"

namespace dray::node {

struct NodeProcessOptions {
  client::ServerAccess access;
  std::string name;
  std::string root = "/var/lib/kubelet";
  std::string log_root = "/var/log/pods";
  std::string cgroup_parent;
  api::FeatureGates gates;
  std::vector<std::pair<std::string, std::string>> labels;
  std::vector<api::Taint> taints;
  // Of what the machine has, kept from pods.
  api::Map<base::Quantity> reserved;
  std::int64_t max_pods = 110;
  // Where the API server asks for logs and processes, with the certificate of `access`, which must
  // then be one for servers, too. 0: a free one; negative: nobody is asked.
  std::int32_t port = -1;
  std::string address = "0.0.0.0";
  logs::Log* log = nullptr;  // outlives it
};

// Thread-safe.
class NodeProcess {
 public:
  // Returns when the node's state is read and the agent runs; the node is registered as soon as the
  // server takes it. Not OK: it cannot be started, and why. All outlive it.
  static StatusOr<std::unique_ptr<NodeProcess>> Start(NodeProcessOptions options,
                                                      container::Runtime& runtime,
                                                      const base::Clock& clock);
  // Ends the agent; containers go on.
  virtual ~NodeProcess() = default;

  // What keeps it from hearing of its pods.
  virtual Status Connection() const = 0;
  virtual metrics::Registry& metrics() = 0;
  // Does this on the loop's thread, with the agent. Not after the end.
  virtual void OnLoop(std::function<void(Agent&)> work) = 0;
};

}  // namespace dray::node
