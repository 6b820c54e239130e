// SPDX-License-Identifier: Apache-2.0
//
// RemoteProcess: what every process beside the API server is told, and tells of itself, whatever it
// does there: where the server is, the lease by which one of several decides, and its port.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/gates.h"
#include "base/host.h"
#include "base/status.h"
#include "client/http_client.h"
#include "client/kubeconfig.h"
#include "client/leader_election.h"
#include "logs/log.h"
#include "plane/serving.h"

namespace dray::plane {

struct ProcessOptions {
  client::ServerAccess access;
  api::FeatureGates gates;
  // Decide only while holding a lease. One without a name is named by the process.
  bool leader_elect = true;
  client::LeaseOptions lease = {};
  std::string identity;  // in the lease; empty: this machine's name and something unique
  // So many requests a second, and so many at once; 0: as many as one likes.
  double qps = 0;
  int burst = 0;
  std::optional<ServingOptions> serving;  // none: there is no port
  logs::Log* log = nullptr;               // null: nobody reads one. Outlives it
  // What a simulation has in place of the machine: where it runs and waits, and the way to the
  // server. Null: threads and sockets. They outlive it.
  base::Host* host = nullptr;
  std::function<StatusOr<std::unique_ptr<client::HttpClient>>(client::HttpOptions)> connect =
      nullptr;
};

// Thread-safe.
class RemoteProcess {
 public:
  virtual ~RemoteProcess() = default;
  // Whether it may decide and write, by the clock; without an election always.
  virtual bool leading() const = 0;
  // Who has the lease; empty: nobody, or there is no election.
  virtual std::string leader() const = 0;
  // Not OK: it led and does not any more. The process should end, as Kubernetes's do.
  virtual Status Health() const = 0;
  // Not OK: what keeps it from seeing what happens at the moment. Nothing is decided then.
  virtual Status Connection() const = 0;
  // Not OK: why the lease can be neither taken nor renewed, such as a role that does not allow it.
  virtual Status Election() const = 0;
  // "kube-system/dray"; empty: there is no election.
  virtual std::string lease() const = 0;
  // Where it can be asked how it is: https://127.0.0.1:10259; empty: nowhere.
  virtual std::string serving() const = 0;
};

}  // namespace dray::plane
