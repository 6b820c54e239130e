// SPDX-License-Identifier: Apache-2.0
//
// LocalElection: the lease of deciders that are in the API server's process. Others like them, in
// processes of their own or in other servers, take turns with them.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "client/leader_election.h"
#include "logs/log.h"

namespace dray::plane::internal {

// The lease of whoever is alone with its store: nobody else can be in its place, so it says so once,
// and others wait for as long as there is an API server at all. `name` as LeaseOptions's.
client::LeaseOptions LeaseOfTheOnlyServer(std::string name);
// Gives it back where it was left behind by a server that had these deciders, as this one has not.
void ForgetLeaseOfTheOnlyServer(api::Cluster& cluster, const base::Clock& clock, std::string name);

// Tries from its construction until it is destroyed. Thread-safe.
class LocalElection {
 public:
  // All outlive it. `cluster` is not that of the deciders: what they write needs the lease.
  LocalElection(api::Cluster& cluster, const base::Clock& clock, client::LeaseOptions options,
                logs::Logger log);
  // Nothing is decided any more: gives the lease back.
  ~LocalElection();
  LocalElection(const LocalElection&) = delete;
  LocalElection& operator=(const LocalElection&) = delete;

  bool leading() const { return elector_.leading(); }
  // Waits until it leads; false: it ends before that.
  bool Await();
  // Whoever waits need not any more: the end has begun.
  void Stop();
  // Not OK: it led and does not any more, for good.
  Status Health() const;
  // Whether somebody else has it, who is waited for.
  bool Waits() const;

 private:
  void Run();

  const client::LeaseOptions options_;
  const logs::Logger log_;
  client::LeaderElector elector_;
  mutable base::Mutex mutex_;
  mutable base::CondVar news_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool led_ ABSL_GUARDED_BY(mutex_) = false;
  std::string holder_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// The cluster for deciders: writes only while they lead. What is not written was not done.
std::unique_ptr<api::Cluster> WhileLeading(api::Cluster& cluster, const LocalElection& election);

}  // namespace dray::plane::internal
