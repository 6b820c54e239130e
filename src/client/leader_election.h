// SPDX-License-Identifier: Apache-2.0
//
// LeaderElector: of several processes that could do the same work, one does. Who that is says a
// Lease, in the way of Kubernetes's components, so that they can take turns with ours.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "api/cluster.h"
#include "api/lease.h"
#include "base/clock.h"

namespace dray::client {

struct LeaseOptions {
  std::string namespace_ = "kube-system";
  std::string name;      // that of kube-scheduler is kube-scheduler
  std::string identity;  // who we are; nobody else says the same
  // How long others wait for a holder that says nothing. The object has it in seconds.
  std::chrono::nanoseconds duration = std::chrono::seconds(15);
  // How long we lead without having been able to say so.
  std::chrono::nanoseconds renew_deadline = std::chrono::seconds(10);
  std::chrono::nanoseconds retry = std::chrono::seconds(2);  // how often to call Try
};
// kInvalidArgument: with these there could be two who lead, or nobody for long. By Kubernetes's rules.
Status CheckLease(const LeaseOptions& options);

// One thread, but for leading().
class LeaderElector {
 public:
  // Both outlive it. Requests to the cluster that do not come back keep Try from returning; they
  // do not keep anybody leading.
  LeaderElector(api::Cluster& cluster, const base::Clock& clock, LeaseOptions options);

  // Takes the lease if it is free, or if its holder has not renewed it for as long as it lasts;
  // renews it if it is ours. Whether we lead then.
  bool Try();
  // For who has led and acts by what he has learned since: as Try while the lease is ours. One that has been
  // another's since, or may have been, is not taken again, even if it is free.
  bool Renew();
  // Whether we may act as the leader now: well before anybody else may. By the monotonic clock, and
  // from any thread: to be asked whenever something is about to be written.
  bool leading() const;
  // What kept the last Try or Renew from taking or renewing the lease, other than that somebody has it.
  const Status& trouble() const { return trouble_; }
  // Gives the lease back, so that others need not wait.
  void Release();
  // Who has it, as far as was seen.
  const std::string& holder() const { return holder_; }

 private:
  StatusOr<std::optional<api::Lease>> Stored() const;
  Status Attempt(bool take);
  Status Write(api::Lease lease, bool create);

  api::Cluster& cluster_;
  const base::Clock& clock_;
  const LeaseOptions options_;
  std::string holder_;
  // The lease as it was last seen to change, and when that was: clocks of others are not trusted.
  std::string seen_revision_;
  std::chrono::nanoseconds seen_at_{};
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  std::atomic<std::int64_t> renewed_at_ = kNever;  // ours: before it was written, in nanoseconds
  Status trouble_;
};

}  // namespace dray::client
