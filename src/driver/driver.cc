// SPDX-License-Identifier: Apache-2.0
#include "driver/driver.h"

#include <chrono>
#include <utility>

#include "client/http_client.h"
#include "client/remote_cluster.h"
#include "files/files.h"
#include "fmt/format.h"
#include "threads/system_host.h"

namespace dray::driver {
namespace {

constexpr std::chrono::seconds kHealthLook{10};

std::string BootId() {
  const auto text = files::ReadWhole("/proc/sys/kernel/random/boot_id");
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

const base::Clock& TheSystemClock() {
  static const base::SystemClock clock;
  return clock;
}

}  // namespace

std::vector<std::string> ServicesOf(const DriverOptions& options) {
  std::vector<std::string> services;
  if (options.v1) services.emplace_back("v1.DRAPlugin");
  if (options.v1beta1) services.emplace_back("v1beta1.DRAPlugin");
  if (options.health) {
    services.emplace_back("v1.DRAResourceHealth");
    services.emplace_back("v1alpha1.DRAResourceHealth");
  }
  return services;
}

// To an API server; only what was started with one has it.
class Driver::Connection {
 public:
  Connection(std::unique_ptr<client::HttpClient> http, const std::string& name)
      : http_(std::move(http)),
        cluster_(*http_, TheSystemClock(),
                 {.component = name, .on_change = [this] { Changed(); }, .note_writers = 1}) {}
  ~Connection() { Close(); }
  // Whoever waits for the server does so no longer.
  void Close() { http_->Close(); }

  api::Cluster& cluster() { return cluster_; }
  void Tell(PublisherThread* publisher) {
    const base::MutexLock lock(mutex_);
    publisher_ = publisher;
  }

 private:
  void Changed() {
    const base::MutexLock lock(mutex_);
    if (publisher_ != nullptr) publisher_->Ring();
  }

  base::Mutex mutex_;
  PublisherThread* publisher_ ABSL_GUARDED_BY(mutex_) = nullptr;
  const std::unique_ptr<client::HttpClient> http_;
  client::RemoteCluster cluster_;
};

Driver::Driver(DriverOptions options, SocketNames sockets, const base::Clock& clock,
               base::Host& host)
    : options_(std::move(options)),
      sockets_(std::move(sockets)),
      clock_(clock),
      host_(host),
      health_(clock),
      alarm_(host.MakeAlarm()) {}

StatusOr<std::unique_ptr<Driver>> Driver::Start(DriverOptions options, DeviceHandler& handler,
                                                api::Cluster& cluster, const base::Clock& clock,
                                                base::Host& host) {
  DRAY_ASSIGN_OR_RETURN(SocketNames sockets, SocketNamesFor({.root = options.root,
                                                             .registry = options.registry,
                                                             .driver = options.name,
                                                             .instance = options.instance}));
  std::unique_ptr<Driver> driver(new Driver(std::move(options), std::move(sockets), clock, host));
  DRAY_RETURN_IF_ERROR(driver->Serve(handler, cluster));
  return driver;
}

StatusOr<std::unique_ptr<Driver>> Driver::Start(DriverOptions options, DeviceHandler& handler,
                                                const client::ServerAccess& access) {
  DRAY_ASSIGN_OR_RETURN(SocketNames sockets, SocketNamesFor({.root = options.root,
                                                             .registry = options.registry,
                                                             .driver = options.name,
                                                             .instance = options.instance}));
  DRAY_ASSIGN_OR_RETURN(auto http, client::HttpClient::Create(access));
  auto connection = std::make_unique<Connection>(std::move(http), options.name);
  std::unique_ptr<Driver> driver(new Driver(std::move(options), std::move(sockets),
                                            TheSystemClock(), threads::TheSystemHost()));
  driver->connection_ = std::move(connection);
  DRAY_RETURN_IF_ERROR(driver->Serve(handler, driver->connection_->cluster()));
  driver->connection_->Tell(driver->publisher_.get());
  return driver;
}

Status Driver::Serve(DeviceHandler& handler, api::Cluster& cluster) {
  DRAY_RETURN_IF_ERROR(files::MakeFolder(sockets_.folder, 0750));
  DRAY_RETURN_IF_ERROR(files::MakeFolder(sockets_.registry));
  ServiceOptions service;
  service.driver = options_.name;
  service.endpoint = sockets_.dra;
  service.services = ServicesOf(options_);
  service.folder = sockets_.folder;
  service.cdi_folder = options_.cdi_folder;
  service.boot_id = options_.boot_id.empty() ? BootId() : options_.boot_id;
  service.serialize = options_.serialize;
  service.shared_folder = !options_.instance.empty();
  service.admin_access = options_.admin_access;
  service.metadata = options_.metadata;
  service.health = options_.health;
  service.attributes = [this](std::string_view pool, std::string_view device) {
    return AttributesOf(pool, device);
  };
  service.problem = options_.problem;
  service.registered = options_.registered;
  DRAY_ASSIGN_OR_RETURN(service_,
                        PluginService::Open(std::move(service), handler, cluster, health_));
  const rpc::PluginSockets sockets{
      .registration = options_.registration ? sockets_.registration : "",
      .dra = sockets_.dra,
      .v1 = options_.v1,
      .v1beta1 = options_.v1beta1,
      .health_v1 = options_.health,
      .health_v1alpha1 = options_.health};
  if (options_.serve) {
    DRAY_ASSIGN_OR_RETURN(server_, options_.serve(sockets, *service_));
  } else {
    DRAY_ASSIGN_OR_RETURN(server_, rpc::ServePlugin(sockets, *service_));
  }
  if (options_.publish) {
    PublisherOptions publishing = options_.publishing;
    publishing.driver = options_.name;
    publishing.node = options_.node;
    publishing.problem = options_.problem;
    publisher_ = std::make_unique<PublisherThread>(cluster, clock_, std::move(publishing), host_);
  }
  if (options_.health) monitor_ = host_.Start([this] { WatchHealthReports(); });
  return {};
}

Driver::~Driver() {
  // Streams end before the server does, which would wait for them.
  health_.Close();
  server_.reset();
  if (connection_ != nullptr) {
    connection_->Tell(nullptr);
    connection_->Close();
  }
  {
    const base::MutexLock lock(mutex_);
    ending_ = true;
  }
  alarm_->Ring();
}

void Driver::Publish(WantedPools pools, const WantedPools& elsewhere) {
  {
    const base::MutexLock lock(mutex_);
    attributes_.clear();
    for (const WantedPools* both : {&elsewhere, static_cast<const WantedPools*>(&pools)}) {
      for (const auto& [name, pool] : *both) {
        for (const WantedSlice& slice : pool.slices) {
          for (const api::Device& device : slice.devices) {
            attributes_[{name, device.name}] = device.attributes;
          }
        }
      }
    }
  }
  if (publisher_ != nullptr) publisher_->Publish(std::move(pools));
}

PublishCounts Driver::published() const {
  return publisher_ == nullptr ? PublishCounts{} : publisher_->counts();
}

api::Map<api::DeviceAttribute> Driver::AttributesOf(std::string_view pool,
                                                    std::string_view device) const {
  const base::MutexLock lock(mutex_);
  const auto it = attributes_.find({std::string(pool), std::string(device)});
  return it == attributes_.end() ? api::Map<api::DeviceAttribute>() : it->second;
}

// Tells once when reports stop coming: a monitor that hangs is no fault of the agent's.
void Driver::WatchHealthReports() {
  bool told = false;
  for (;;) {
    alarm_->Sleep(kHealthLook);
    {
      const base::MutexLock lock(mutex_);
      if (ending_) return;
    }
    const auto overdue = health_.Overdue();
    if (overdue && !told && options_.problem) {
      options_.problem(base::FailedPrecondition(fmt::format(
          "no health was reported for {} longer than the reports themselves promise: "
          "agents take the devices for Unknown",
          base::GoDurationToString(std::chrono::duration_cast<std::chrono::seconds>(*overdue)))));
    }
    told = overdue.has_value();
  }
}

}  // namespace dray::driver
