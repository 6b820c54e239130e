// SPDX-License-Identifier: Apache-2.0
//
// DaemonSets: a pod on every node that fits, bound to it by its name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "api/cluster.h"
#include "api/daemon_set.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/clock.h"
#include "base/status.h"
#include "controllers/children.h"
#include "controllers/index.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// What a node is to a daemon set: whether it should get a pod, and whether one that is there may
// stay.
struct DaemonFit {
  bool should_run = false;
  bool may_stay = false;
};
// By the name, the node selector and the node affinity of the template, and the node's taints.
DaemonFit DaemonFitOf(const api::PodSpec& spec, const api::Node& node);

// A pod of the set for a node: an affinity to the node's name, the tolerations that daemons have,
// and the label that says which template it is of.
api::Pod DaemonPod(const api::Object& set, std::string_view node, std::string_view hash);

// The node that a pod of a set was made for, whether or not it is there already.
std::string_view DaemonNodeOf(const api::Pod& pod);

// One thread.
class DaemonSetController final : public Reconciler {
 public:
  // Both outlive it.
  DaemonSetController(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "daemonset-controller"; }

 private:
  using ByNode = absl::btree_map<std::string, std::vector<api::Object>>;
  // What there is, node by node, and what is to be done.
  struct Plan {
    ByNode pods;  // that have not ended
    std::vector<std::string> missing;
    std::vector<api::Object> surplus;
    std::int32_t desired = 0;
    std::int32_t misscheduled = 0;
  };

  void OnChange(const api::Object* before, const api::Object* after) override;
  void OnNode(const api::Object* before, const api::Object* after);
  void QueueSelecting(const api::ObjectMeta& orphan);
  Status Reconcile(const ObjectKey& key) override;
  Plan PlanOf(const api::Object& set, const std::vector<api::Object>& pods) const;
  Status Manage(const api::Object& set, const Plan& plan, std::string_view hash);
  Status RollOut(const api::Object& set, const Plan& plan, std::string_view hash);
  Status WriteStatus(const api::Object& set, const Plan& plan, std::string_view hash);
  // The template is kept as it is now, and of those before as many as are wanted.
  Status KeepRevisions(const api::Object& set, std::string_view hash);
  bool IsAvailable(const api::Object& set, const api::Pod& pod) const;

  Children pods_;
  Children revisions_;
  absl::btree_map<std::string, api::Object> nodes_;  // by name
  absl::btree_set<ObjectKey> sets_;
};

}  // namespace dray::controllers
