// SPDX-License-Identifier: Apache-2.0
//
// Pods on nodes with NoExecute taints that they do not tolerate are deleted: at once, or when the
// time is over for which they do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "api/cluster.h"
#include "api/node.h"
#include "api/pod.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/string_map.h"
#include "base/time.h"
#include "controllers/pods_on_nodes.h"
#include "controllers/reconciler.h"

namespace dray::controllers {

// One thread. Time counts from the stored time of the taint, so that a restart lengthens nothing; for
// a pod that came later, from its coming; for a taint without a time, from when it was seen here.
class TaintEviction final : public Reconciler {
 public:
  // Cluster and clock outlive it.
  TaintEviction(const Source& source, const base::Clock& clock);

  std::string_view name() const override { return "taint-eviction-controller"; }

 private:
  void OnChange(const api::Object* before, const api::Object* after) override;
  Status Reconcile(const ObjectKey& key) override;
  Status Evict(const api::Object& pod);

  PodsOnNodes pods_;
  base::StringSet tainted_;  // nodes with taints that evict
  // By uid, pods whose time is set: since when they are seen with taints that evict.
  absl::flat_hash_map<std::string, base::Time> waiting_;
};

}  // namespace dray::controllers
