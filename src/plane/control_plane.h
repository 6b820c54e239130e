// SPDX-License-Identifier: Apache-2.0
//
// ControlPlane: everything in one process. A store, the API over HTTP, the scheduler, the
// controllers and hollow nodes, each decider on a thread of its own and woken by what is stored.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/authorization.h"
#include "api/cluster.h"
#include "api/gates.h"
#include "api/kinds.h"
#include "apiserver/http.h"
#include "audit/policy.h"
#include "base/clock.h"
#include "base/status.h"
#include "logs/log.h"
#include "plane/store_address.h"
#include "scheduler/config.h"
#include "store/etcd/etcd_store.h"
#include "store/store.h"

namespace dray::plane {

// The audit log: who has done what.
struct AuditOptions {
  std::string path;  // empty: there is none; -: standard output
  audit::Policy policy = audit::DefaultPolicy();
  std::uint64_t max_bytes = 100u << 20;  // of a file before it is put aside; 0: it grows
  std::size_t max_backups = 0;           // 0: all files are kept
};

// From when on /healthz says that something should be looked at; 0: never.
struct HealthLimits {
  // A commit; a sync of a healthy disk takes some milliseconds.
  std::chrono::nanoseconds slow_commit = std::chrono::seconds(1);
  // A piece of work of the scheduler or the controllers.
  std::chrono::nanoseconds stuck_loop = std::chrono::seconds(30);
  // A request that waits for a thread.
  std::chrono::nanoseconds stuck_request = std::chrono::seconds(10);
};

struct PlaneOptions {
  // Where keys, kubeconfigs and the database are; made if it is not there.
  std::string data;
  StoreAddress store;
  // How a store in etcd is used: who we are to it, and whether others may use it meanwhile (`alone`:
  // not). Where it is, the address says.
  store::EtcdOptions etcd;
  // In place of the address, for tests: several servers in one process. Called once.
  std::function<StatusOr<std::unique_ptr<store::Store>>()> open_store = nullptr;
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;  // 0: a free one
  // How clients call it: in its certificate, and the first one in the kubeconfigs. Empty: the address.
  std::vector<std::string> advertise;
  bool http2 = true;
  std::size_t max_streams = 250;  // of a connection of HTTP/2
  // Bearer tokens as apiserver/authentication.h reads them; empty: none.
  std::string tokens;
  api::FeatureGates gates;
  scheduler::Config config;
  // Parts that this process has; others may run elsewhere.
  bool scheduler = true;
  bool controllers = true;
  bool nodes = true;  // hollow ones
  // Made at start unless they are there: nodes, slices, workloads.
  std::vector<api::Object> objects;
  std::chrono::milliseconds drain{5'000};  // how long requests under way get at the end
  logs::Log* log = nullptr;                // null: nobody reads one. Outlives it
  // What takes longer is logged, with its steps; 0: nothing is.
  std::chrono::nanoseconds slow_request = std::chrono::milliseconds(500);
  std::chrono::nanoseconds slow_decision = std::chrono::milliseconds(100);
  HealthLimits health;
  AuditOptions audit;
  // Stands before the API, and hands on what is not its own: /console. It ends before what it was
  // given. Null: nobody does.
  std::function<std::unique_ptr<apiserver::Handler>(
      api::Cluster& cluster, const api::Authorizer& authorizer, apiserver::Handler& api)>
      front = nullptr;
};

// A part of it, in a line for people.
struct Component {
  std::string name;
  std::string text;
};

// Runs from Start until it is destroyed. Thread-safe.
class ControlPlane {
 public:
  virtual ~ControlPlane() = default;
  // The clock outlives it. kFailedPrecondition: another process uses the data. kUnavailable: the
  // address cannot be had, or the audit log not be opened. kInvalidArgument: an object is refused.
  static StatusOr<std::unique_ptr<ControlPlane>> Start(PlaneOptions options,
                                                       const base::Clock& clock);

  virtual const std::string& url() const = 0;
  // Of the administrator.
  virtual const std::string& kubeconfig() const = 0;
  virtual std::vector<Component> components() const = 0;
  // The objects, for others in this process; writes are waited for until they are durable.
  virtual api::Cluster& cluster() = 0;
  // As /metrics shows them.
  virtual std::string Metrics() const = 0;
  // Not OK: what was decided can no longer be stored, and the process should end.
  virtual Status Health() const = 0;
};

}  // namespace dray::plane
