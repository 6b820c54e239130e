// SPDX-License-Identifier: Apache-2.0
//
// ClusterPools: publishes the pools of a description that belong to no node: devices that several
// nodes reach (`nodeSelector`, `allNodes`). One process of a cluster does that; where several could,
// the one that has the lease. The drivers on the nodes prepare such devices, and leave their slices
// alone.
//
// Spec: docs/spec/node.md section 18.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/cluster.h"
#include "base/clock.h"
#include "client/leader_election.h"
#include "driver/described_driver.h"
#include "driver/slice_publisher.h"

namespace dray::driver {

struct ClusterPoolOptions {
  std::string driver;  // empty: the description says
  DescriptionSource::Reader description;
  // None: nobody else publishes them.
  std::optional<client::LeaseOptions> lease;
  PublisherOptions publishing;                              // times; the rest is filled in
  std::chrono::nanoseconds look = std::chrono::seconds(1);  // at the description
  std::function<void(const Status&)> problem;
  std::function<void(bool leads)> leading;  // told when it changes
};

// One thread.
class ClusterPools {
 public:
  // All outlive it. An error: the description cannot be read, or it has no such pool.
  static StatusOr<std::unique_ptr<ClusterPools>> Start(ClusterPoolOptions options,
                                                       api::Cluster& cluster,
                                                       const base::Clock& clock);
  // Gives the lease back; slices stay.
  ~ClusterPools();

  // Does what is due. Called several times a second.
  void Tick();

  bool leads() const { return publisher_ != nullptr; }
  PublishCounts counts() const { return publisher_ ? publisher_->counts() : PublishCounts{}; }

 private:
  class Guarded;  // the cluster, for who leads

  ClusterPools(ClusterPoolOptions options, api::Cluster& cluster, const base::Clock& clock);
  Status Read();
  void Elect();
  void Look();

  ClusterPoolOptions options_;
  const base::Clock& clock_;
  DescriptionSource source_;
  WantedPools pools_;
  std::optional<client::LeaderElector> elector_;
  std::unique_ptr<Guarded> cluster_;
  std::unique_ptr<SlicePublisher> publisher_;  // of who leads
  std::optional<std::chrono::nanoseconds> tried_;
  std::chrono::nanoseconds looked_{0};
  std::string trouble_;
};

}  // namespace dray::driver
