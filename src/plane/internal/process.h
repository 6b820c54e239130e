// SPDX-License-Identifier: Apache-2.0
//
// Process: what a process beside the API server has, whatever it decides: its connection, the lease by
// which one of several decides, and its port.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/mutex.h"
#include "base/status.h"
#include "client/http_client.h"
#include "client/leader_election.h"
#include "client/remote_cluster.h"
#include "logs/log.h"
#include "metrics/registry.h"
#include "plane/internal/process_door.h"
#include "plane/remote_process.h"
#include "registry/health.h"

namespace dray::plane::internal {

// Whoever has been made up: this machine's name and something unique.
std::string MadeUpIdentity();

// Opened by one thread, then thread-safe.
class Process {
 public:
  struct Hooks {
    // Of requests that are not about the election; may be empty.
    std::function<void(const client::HttpRequest&, int status, std::chrono::nanoseconds took)>
        on_answer;
    // After every try to take or keep the lease, and at its end; may be empty.
    std::function<void(bool leading)> on_election;
  };

  // Options and clock outlive it. `component` is who writes, and how the lease is called that has no
  // name.
  Process(const ProcessOptions& options, std::string component, const base::Clock& clock,
          logs::Logger log, Hooks hooks);
  // Gives the lease back. What it was asked for is over by then.
  ~Process();

  // Finds the server. The version that it says it is, as v1.38.0; empty: it does not.
  StatusOr<std::string> Reach();
  // Makes ready to take the lease, if there is one to be taken.
  Status OpenElection();
  // Begins to take it.
  void Elect();
  // Opens the port, if there is one. Health is answered for by /readyz: that what happens is followed,
  // or, of who waits for its turn, that it could take it. The metrics outlive the port.
  Status OpenDoor(std::string sync_check, std::function<Status()> connection,
                  const metrics::Registry& metrics, std::string config);
  // What it decided it has not decided as the leader: nothing is written any more.
  void Lose() { lost_ = true; }
  // The end begins: /readyz says so.
  void Stop() { stopping_ = true; }
  void CloseDoor() { door_ = nullptr; }
  // Nothing is decided any more: somebody else may.
  void Resign();

  // A client whose writes are sent only while this process leads.
  client::HttpClient& http() { return *http_; }
  StatusOr<std::unique_ptr<client::HttpClient>> Connect(client::HttpOptions http) const;

  // Never again once it does not.
  bool leading() const { return !options_.leader_elect || (!lost_ && elector_->leading()); }
  bool lost() const { return lost_; }
  bool stopping() const { return stopping_; }
  std::string leader() const;
  Status Election() const;
  // Not OK: it led and does not any more.
  Status Health() const;
  // "kube-system/dray"; empty: there is no election.
  std::string lease() const;
  const client::LeaseOptions& lease_options() const { return lease_; }
  std::string serving() const { return door_ == nullptr ? "" : door_->url(); }
  const std::string& component() const { return component_; }
  // As Kubernetes's components tell it.
  void TellLeading(api::Cluster& cluster) const;
  // Woken whenever something is new: the lease, or whatever rings it.
  base::Alarm& news() { return *news_; }
  base::Host& host() { return host_; }

 private:
  Status NameLease();
  void Run();
  void SetLeading(bool leading) const;
  std::vector<registry::HealthCheck> Checks(std::string sync_check,
                                            std::function<Status()> connection) const;

  const ProcessOptions& options_;
  const std::string component_;
  const base::Clock& clock_;
  const logs::Logger log_;
  const Hooks hooks_;
  base::Host& host_;
  client::LeaseOptions lease_;
  std::unique_ptr<client::HttpClient> http_;
  std::unique_ptr<client::HttpClient> election_http_;
  std::unique_ptr<client::RemoteCluster> election_cluster_;
  std::unique_ptr<client::LeaderElector> elector_;
  std::unique_ptr<client::HttpClient> authentication_http_;
  std::unique_ptr<client::HttpClient> authorization_http_;
  std::unique_ptr<registry::Health> health_;
  std::unique_ptr<ProcessDoor> door_;
  const std::unique_ptr<base::Alarm> news_;
  const std::unique_ptr<base::Alarm> election_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> lost_ = false;     // it led, and does not any more
  std::atomic<bool> decided_ = false;  // nothing is decided any more
  mutable base::Mutex mutex_;
  std::string leader_ ABSL_GUARDED_BY(mutex_);
  Status election_trouble_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<base::Running> electing_;
};

}  // namespace dray::plane::internal
