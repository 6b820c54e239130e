// SPDX-License-Identifier: Apache-2.0
//
// The store, the doors, and what is stored, as metrics.
#pragma once

#include <functional>
#include <string>

#include "api/gates.h"
#include "apiserver/server.h"
#include "metrics/registry.h"
#include "plane/internal/census.h"
#include "registry/objects.h"
#include "store/etcd/etcd_store.h"
#include "store/sqlite/sqlite_store.h"

namespace dray::plane::internal {

// What the store's writer tells of itself.
class StoreMetrics {
 public:
  // Outlives it.
  explicit StoreMetrics(metrics::Registry& registry);
  // From the thread that writes.
  void OnCommit(const store::CommitReport& report);
  // For one in etcd, which counts by itself.
  store::EtcdCounts& etcd() { return etcd_; }

 private:
  metrics::Family<metrics::Counter>& commits_;
  metrics::Histogram& transactions_;
  metrics::Counter& changes_;
  metrics::Histogram& wrote_;
  metrics::Gauge& waiting_;
  store::EtcdCounts etcd_;
};

// Revisions, objects by resource, and the size of the file; none with an empty path. The store is
// there whenever the registry is asked.
void AddObjectMetrics(metrics::Registry& registry, const registry::Objects& objects,
                      const std::string& path);
// Claims and devices. The census is there whenever the registry is asked.
void AddCensusMetrics(metrics::Registry& registry, Census& census);
// Connections; `stats` is called whenever the registry is asked.
void AddConnectionMetrics(metrics::Registry& registry,
                          std::function<apiserver::ServerStats()> stats);
// Versions and feature gates.
void AddVersionMetrics(metrics::Registry& registry, const std::string& kubernetes_version,
                       const api::FeatureGates& gates);

// kube_pod_resource_request and kube_pod_resource_limit: what each pod asks for. A page of its own,
// as in Kubernetes, because it grows with the number of pods.
std::string PodResourcesText(const registry::Objects& objects);

}  // namespace dray::plane::internal
