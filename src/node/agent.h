// SPDX-License-Identifier: Apache-2.0
//
// Agent: this machine as a node. It watches the pods that are bound here and has a PodWorker for
// each, keeps claims in a checkpoint, lists what the runtime runs, and reports the node.
//
// One thread, the loop's, owns all of it; whatever takes time is done elsewhere and comes back as
// mail.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/cluster.h"
#include "api/gates.h"
#include "base/status.h"
#include "container/runtime.h"
#include "logs/log.h"
#include "metrics/registry.h"
#include "node/claim_log.h"
#include "node/claim_manager.h"
#include "node/loop.h"
#include "node/node_reporter.h"
#include "node/offload.h"
#include "node/plugins.h"
#include "node/pod_worker.h"
#include "node/probes.h"
#include "node/sources.h"

namespace dray::node {

struct AgentOptions {
  std::string root = "/var/lib/kubelet";
  std::string log_root = "/var/log/pods";
  std::string cgroup_parent;
  api::FeatureGates gates;
  NodeReport node;
};

// All outlive the agent; metrics may be null.
struct AgentParts {
  Loop& loop;
  Offload& offload;
  api::Cluster& cluster;
  container::Runtime& runtime;
  Plugins& plugins;
  ProbeClient& probes;
  Sources& sources;
  logs::Logger log;
  metrics::Registry* metrics = nullptr;
};

// On the loop's thread alone, unless it says otherwise.
class Agent final : public PluginsListener, private PodHost, private ClaimSource {
 public:
  // Reads the state of an earlier life. DataLoss: it cannot be understood; the text says what an
  // operator has to do. Before the loop runs.
  static StatusOr<std::unique_ptr<Agent>> Make(AgentParts parts, AgentOptions options);
  ~Agent() override;

  // Registers the node and begins with the pods. `watch` tells of pods with spec.nodeName of this
  // node; whoever made it calls OnWatch when it has something to tell. `on_registered` is told the
  // UID of the Node object, once it is there.
  void Start(std::unique_ptr<api::ObjectWatch> watch,
             std::function<void(const std::string& uid)> on_registered = {});
  // Any thread.
  void OnWatch();

  void OnDriverReady(const std::string& driver) override;
  void OnHealthChanged(const std::vector<DeviceName>& devices) override;

  // At the end, when nothing of it is done elsewhere any more: its state is one file, which a kubelet
  // can read.
  Status Close() { return state_->Fold(); }

  // For those who answer questions about pods.
  ClaimManager& claims() override { return claims_; }
  std::vector<const PodWorker*> Pods() const;  // by UID
  const PodWorker* FindPod(std::string_view namespace_, std::string_view name) const;
  // Everything of the runtime was listed, and all pods are known.
  bool ready() const { return listed_ && pods_known_; }

 private:
  Agent(AgentParts parts, AgentOptions options, std::shared_ptr<ClaimLog> state);

  // PodHost
  Loop& loop() override { return parts_.loop; }
  Offload& offload() override { return parts_.offload; }
  api::Cluster& cluster() override { return parts_.cluster; }
  container::Runtime& runtime() override { return parts_.runtime; }
  Plugins& plugins() override { return parts_.plugins; }
  ProbeClient& probes() override { return parts_.probes; }
  Sources& sources() override { return parts_.sources; }
  const logs::Logger& log() const override { return parts_.log; }
  Enforcing enforcing() const override {
    return {.runtime = parts_.runtime.abilities(), .app_armor = options_.node.machine.app_armor};
  }
  const std::string& root() const override { return options_.root; }
  const std::string& log_root() const override { return options_.log_root; }
  const std::string& cgroup_parent() const override { return options_.cgroup_parent; }
  const std::string& runtime_name() const override { return runtime_name_; }
  const std::vector<std::string>& host_ips() const override {
    return options_.node.machine.addresses;
  }
  const api::Map<base::Quantity>& allocatable() const override { return options_.node.allocatable; }
  bool health_in_status() const override { return health_in_status_; }
  bool health_messages() const override { return health_messages_; }
  std::optional<Rejection> Admit(const api::Pod& pod) override;
  std::uint64_t RequestList() override;
  void Note(const api::Object& about, std::string_view type, std::string_view reason,
            std::string message) override;
  void Finished(const std::string& uid) override;

  // ClaimSource
  void Fetch(const std::string& namespace_, std::vector<std::string> names,
             std::function<void(StatusOr<Claims>)> done) override;
  void WriteCheckpoint(ClaimChanges changes, std::function<void(Status)> done) override;

  void DrainWatch();
  void TakeObject(const api::Change& change);
  void ListNow();
  void Listed(StatusOr<container::Inventory> inventory, std::uint64_t number);
  void FindOrphans();
  void Reconcile();
  void RemoveLeftFolders();
  void ProbeRuntime();

  const AgentParts parts_;
  const AgentOptions options_;
  const std::shared_ptr<ClaimLog> state_;
  const bool health_in_status_;
  const bool health_messages_;
  std::string runtime_name_;
  std::unique_ptr<ClaimMetrics> metrics_;
  ClaimManager claims_;
  NodeReporter reporter_;
  std::function<void(const std::string&)> on_registered_;
  std::unique_ptr<api::ObjectWatch> watch_;
  std::map<std::string, std::unique_ptr<PodWorker>, std::less<>> pods_;  // by UID
  std::map<std::string, PodInventory, std::less<>> inventory_;           // by pod's UID
  bool started_ = false;
  bool pods_known_ = false;  // everything that was there at the start has been told
  bool listed_ = false;
  bool listing_ = false;
  bool list_again_ = false;
  bool removing_ = false;           // folders that are left of pods
  std::uint64_t list_number_ = 0;   // of the last list that was begun
  std::uint64_t known_number_ = 0;  // of the last that was answered
  Loop::Timer list_timer_;
  Loop::Timer reconcile_timer_;
  Loop::Timer probe_timer_;
  Loop::Timer fold_timer_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace dray::node
