// SPDX-License-Identifier: Apache-2.0
//
// NodeReporter: the Node object and the lease of this machine. It registers the node, renews the
// lease every 10 s, and writes the status every 5 min or when something has changed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster.h"
#include "api/node.h"
#include "base/status.h"
#include "logs/log.h"
#include "node/loop.h"
#include "node/machine.h"
#include "node/offload.h"

namespace dray::node {

inline constexpr std::chrono::seconds kLeaseRenewal{10};
inline constexpr std::chrono::seconds kLeaseDuration{40};
inline constexpr std::chrono::minutes kStatusInterval{5};
inline constexpr std::chrono::seconds kStatusLook{10};
inline constexpr const char* kLeaseNamespace = "kube-node-lease";

struct NodeReport {
  std::string name;
  Machine machine;
  api::Map<base::Quantity> allocatable;
  std::vector<std::string> declared_features;               // sorted
  std::vector<std::pair<std::string, std::string>> labels;  // beside the usual ones
  std::vector<api::Taint> taints;                           // of a node that is made
  std::int32_t port = 0;                                    // where the agent is asked; 0: nowhere
};

// What the runtime says of itself.
struct RuntimeReport {
  Status health = base::Unavailable("container runtime status check may not have completed yet");
  std::string version;  // containerd://2.1.9
  std::string network;  // why pods can have no network of their own; empty: they can
};

// On the loop's thread alone.
class NodeReporter {
 public:
  // All outlive it. `registered` is called when the object is there for the first time, with its UID.
  NodeReporter(Loop& loop, Offload& offload, api::Cluster& cluster, const logs::Logger& log,
               NodeReport report, std::function<void(const std::string& uid)> registered);
  ~NodeReporter();

  void Start();
  void SetRuntime(RuntimeReport runtime);
  bool registered() const { return !uid_.empty(); }

 private:
  void Register();
  void Renew();
  void Look();
  // The status as it should be, over what is there.
  void Fill(api::Node& node) const;
  bool NeedsWrite(const api::Node& node) const;

  Loop& loop_;
  Offload& offload_;
  api::Cluster& cluster_;
  const logs::Logger& log_;
  const NodeReport report_;
  const std::function<void(const std::string&)> on_registered_;
  RuntimeReport runtime_;
  std::string uid_;
  std::chrono::nanoseconds delay_{0};
  bool looking_ = false;
  bool renewing_ = false;
  Loop::Timer register_timer_;
  Loop::Timer lease_timer_;
  Loop::Timer look_timer_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace dray::node
