// SPDX-License-Identifier: Apache-2.0
//
// HollowNodes: kubelets without machines. They report nodes as ready and let pods that are bound to
// them run and end, so that the whole life of a claim can be watched on a laptop.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/container/btree_set.h"
#include "api/cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_map.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::hollow {

// A node with this label and the value "false" has a kubelet of its own.
inline constexpr std::string_view kHollowLabel = "dray/hollow";

struct HollowOptions {
  // How often a node's status is written when nothing happens, and how often its lease is renewed
  // at most: as often as a kubelet does. All nodes together do either ten times a second and not more
  // often, and their leases last accordingly, so that thousands of them cost a laptop little.
  std::chrono::seconds heartbeat{300};
  std::chrono::seconds renewal{10};
  std::string version = "v1.38.0";  // of the kubelet
};

// One thread.
class HollowNodes final : public controllers::Reconciler {
 public:
  // Cluster and clock outlive it.
  HollowNodes(const controllers::Source& source, const base::Clock& clock,
              HollowOptions options = {});

  std::string_view name() const override { return "hollow-nodes"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const controllers::ObjectKey& key) override;
  bool MayOverlap() const override { return true; }
  Status ReconcileNode(const api::Object& node);
  Status ReconcileStatus(const api::Object& node);
  Status ReconcileLease(const api::Object& node);
  Status ReconcilePod(const api::Object& pod);
  Status Terminate(const api::Object& pod);
  Status SetStatus(const api::Object& pod, void (*change)(api::Pod&, base::Time));
  static std::chrono::seconds Spread(std::chrono::seconds every, const std::string& name);
  // Not more often than all together may.
  std::chrono::seconds AtMost(std::chrono::seconds every) const;
  bool RunsHere(const api::Pod& pod) const;
  // Nothing is started before its devices are the pod's.
  bool HasItsClaims(const api::Pod& pod) const;

  const HollowOptions options_;
  std::size_t nodes_ = 0;           // that there are
  controllers::Index pods_on_;      // by node
  controllers::Index waiting_for_;  // by claim: pods that are on a node and may wait for it
};

}  // namespace dray::hollow
