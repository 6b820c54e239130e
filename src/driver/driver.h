// SPDX-License-Identifier: Apache-2.0
//
// Driver: a driver of Dynamic Resource Allocation, but for what it does with its devices. An author
// writes a DeviceHandler and says which devices there are; sockets, registration, slices, claims,
// CDI files and health are done here. README.md has one in 50 lines.
//
// Spec: docs/spec/node.md chapters 17 to 19.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cluster.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/mutex.h"
#include "client/kubeconfig.h"
#include "driver/health_board.h"
#include "driver/plugin_service.h"
#include "driver/slice_publisher.h"
#include "driver/socket_names.h"
#include "driver/wanted_pools.h"
#include "rpc/plugin_server.h"

namespace dray::driver {

struct DriverOptions {
  std::string name;  // gpu.example.com
  std::string node;  // the Node object of this machine
  std::string root = "/var/lib/kubelet";
  std::string registry;  // empty: <root>/plugins_registry
  std::string cdi_folder = "/var/run/cdi";
  // For updates without a gap: the UID of the pod that this instance runs in. Two instances share what
  // is on disk.
  std::string instance;
  bool publish = true;        // false: somebody else writes the slices
  bool registration = true;   // false: somebody else registers the driver (registrar.h)
  bool serialize = true;      // calls to the handler one after the other
  bool admin_access = false;  // the handler knows what a device with admin access is
  bool metadata = false;      // containers find out about their devices (KEP-5304)
  bool health = false;        // ReportHealth will be called
  bool v1 = true;             // versions of the services
  bool v1beta1 = true;
  // Told of everything that goes wrong in the background. None of it ends the driver.
  std::function<void(const Status&)> problem;
  std::function<void()> registered;

  std::string boot_id;          // empty: the machine's
  PublisherOptions publishing;  // times; the rest is filled in
  // Instead of the machine's sockets.
  std::function<StatusOr<std::unique_ptr<rpc::PluginServer>>(const rpc::PluginSockets&,
                                                             rpc::PluginHandler&)>
      serve;
};

// The services that a driver with these options offers, as agents are told: newest first.
std::vector<std::string> ServicesOf(const DriverOptions& options);

// Thread-safe.
class Driver {
 public:
  // All outlive it. An error: it cannot serve, and will not by itself.
  static StatusOr<std::unique_ptr<Driver>> Start(DriverOptions options, DeviceHandler& handler,
                                                 api::Cluster& cluster, const base::Clock& clock,
                                                 base::Host& host);
  // With an API server, on this machine.
  static StatusOr<std::unique_ptr<Driver>> Start(DriverOptions options, DeviceHandler& handler,
                                                 const client::ServerAccess& access);
  // The sockets go; slices and prepared claims stay, as for a restart.
  ~Driver();

  // Everything that the driver has, from now on. `elsewhere`: devices that it serves, too, and whose
  // slices somebody else publishes (cluster_pools.h).
  void Publish(WantedPools pools, const WantedPools& elsewhere = {});
  // Everything that is known of the devices' health, as often as it is looked at.
  void ReportHealth(std::vector<rpc::DeviceHealth> devices) { health_.Report(std::move(devices)); }

  const SocketNames& sockets() const { return sockets_; }
  // What an agent calls, for those who are their own agent.
  rpc::PluginHandler& service() { return *service_; }
  std::set<std::string> PreparedUids() const { return service_->PreparedUids(); }
  PublishCounts published() const;
  // Everything that was given to Publish is written.
  bool idle() const { return publisher_ == nullptr || publisher_->idle(); }

 private:
  class Connection;

  Driver(DriverOptions options, SocketNames sockets, const base::Clock& clock, base::Host& host);
  Status Serve(DeviceHandler& handler, api::Cluster& cluster);
  api::Map<api::DeviceAttribute> AttributesOf(std::string_view pool, std::string_view device) const;
  void WatchHealthReports();

  const DriverOptions options_;
  const SocketNames sockets_;
  const base::Clock& clock_;
  base::Host& host_;
  HealthBoard health_;
  mutable base::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, api::Map<api::DeviceAttribute>> attributes_
      ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::unique_ptr<base::Alarm> alarm_;
  // Last: what calls others ends first.
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<PluginService> service_;
  std::unique_ptr<PublisherThread> publisher_;
  std::unique_ptr<base::Running> monitor_;
  std::unique_ptr<rpc::PluginServer> server_;
};

}  // namespace dray::driver
