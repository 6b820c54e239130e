// SPDX-License-Identifier: Apache-2.0
#include "driver/driver_program.h"

#include <utility>

#include "fmt/format.h"
#include "threads/system_host.h"

namespace dray::driver {
namespace {

// With itself, for a probe: agents wait longer, probes do not.
constexpr std::chrono::seconds kSelfPatience{2};

const base::Clock& TheSystemClock() {
  static const base::SystemClock clock;
  return clock;
}

// Calls to the driver go through the controls.
std::function<StatusOr<std::unique_ptr<rpc::PluginServer>>(const rpc::PluginSockets&,
                                                           rpc::PluginHandler&)>
ThroughControls(TestControls& controls, decltype(DriverOptions::serve) serve) {
  return [&controls, serve = std::move(serve)](const rpc::PluginSockets& sockets,
                                               rpc::PluginHandler& inner) {
    controls.SetInner(inner);
    return serve ? serve(sockets, controls) : rpc::ServePlugin(sockets, controls);
  };
}

// Pools without a name have the node's, which a file does not know.
DescriptionSource::Reader WithOwnNames(DescriptionSource::Reader reader, const std::string& node) {
  return [reader = std::move(reader), node]() -> StatusOr<DeviceFile> {
    DRAY_ASSIGN_OR_RETURN(DeviceFile file, reader());
    WantedPools all = PoolsOf(file, node);
    all.merge(ClusterPoolsOf(file));
    if (all.size() != file.pools.size()) {
      return base::InvalidArgument(
          fmt::format("two pools are called \"{}\": one has no name, which is the node's", node));
    }
    return file;
  };
}

}  // namespace

DriverProgram::DriverProgram(ProgramOptions options, const base::Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      source_(WithOwnNames(options_.description, options_.driver.node)),
      devices_(options_.driver.node, {}),
      controls_(clock, {.set_health =
                            [this](const std::string& pool, const std::string& device,
                                   rpc::Health health, const std::string& message) {
                              return SetHealth(pool, device, health, message);
                            },
                        .prepared = [this] { return driver_->PreparedUids(); }}) {
  options_.driver.health = true;
  options_.driver.serve = ThroughControls(controls_, std::move(options_.driver.serve));
}

DriverProgram::~DriverProgram() {
  socket_.reset();
  liveness_.reset();
  // A call that the controls hold would keep the server from ending.
  controls_.Release();
  driver_.reset();
}

Status DriverProgram::Prepare() {
  DRAY_ASSIGN_OR_RETURN(DeviceFile file, source_.Read());
  if (options_.driver.name.empty()) options_.driver.name = file.driver;
  if (options_.driver.name.empty()) {
    return base::InvalidArgument("the driver has no name: neither --name nor `driver:` says one");
  }
  devices_.Set(std::move(file));
  return {};
}

StatusOr<std::unique_ptr<DriverProgram>> DriverProgram::Start(ProgramOptions options,
                                                              const client::ServerAccess& access) {
  std::unique_ptr<DriverProgram> program(new DriverProgram(std::move(options), TheSystemClock()));
  DRAY_RETURN_IF_ERROR(program->Prepare());
  DRAY_ASSIGN_OR_RETURN(program->driver_,
                        Driver::Start(program->options_.driver, program->devices_, access));
  DRAY_RETURN_IF_ERROR(program->Begin());
  return program;
}

StatusOr<std::unique_ptr<DriverProgram>> DriverProgram::Start(ProgramOptions options,
                                                              api::Cluster& cluster,
                                                              const base::Clock& clock,
                                                              base::Host& host) {
  std::unique_ptr<DriverProgram> program(new DriverProgram(std::move(options), clock));
  DRAY_RETURN_IF_ERROR(program->Prepare());
  DRAY_ASSIGN_OR_RETURN(program->driver_, Driver::Start(program->options_.driver, program->devices_,
                                                        cluster, clock, host));
  DRAY_RETURN_IF_ERROR(program->Begin());
  return program;
}

Status DriverProgram::Begin() {
  driver_->Publish(devices_.Pools(), ClusterPoolsOf(*devices_.file()));
  driver_->ReportHealth(Health());
  looked_ = reported_ = clock_.Monotonic();
  if (options_.health_port) {
    if (options_.connector == nullptr) {
      connector_ = rpc::SocketConnector();
      options_.connector = connector_.get();
    }
    const OwnSockets own{
        .registration = options_.driver.registration ? driver_->sockets().registration : "",
        .dra = driver_->sockets().dra,
        .v1 = options_.driver.v1};
    DRAY_ASSIGN_OR_RETURN(
        liveness_, rpc::ServeLiveness({.port = *options_.health_port, .check = [this, own] {
                                         return CheckSelf(*options_.connector, own, kSelfPatience);
                                       }}));
  }
  if (!options_.controls.empty()) {
    DRAY_ASSIGN_OR_RETURN(socket_, ServeControls(options_.controls, controls_));
  }
  return {};
}

void DriverProgram::Tick() {
  const std::chrono::nanoseconds now = clock_.Monotonic();
  bool changed = false;
  if (now - looked_ >= options_.look) {
    looked_ = now;
    auto file = source_.ReadIfChanged();
    if (!file.ok()) {
      if (options_.driver.problem) {
        options_.driver.problem(base::Annotate(file.status(), "the devices are as before"));
      }
    } else if (file->has_value()) {
      devices_.Set(**std::move(file));
      driver_->Publish(devices_.Pools(), ClusterPoolsOf(*devices_.file()));
      changed = true;
    }
  }
  if (changed || now - reported_ >= options_.report) {
    reported_ = now;
    driver_->ReportHealth(Health());
  }
}

std::vector<rpc::DeviceHealth> DriverProgram::Health() const {
  std::vector<rpc::DeviceHealth> reports = devices_.Health();
  const base::MutexLock lock(mutex_);
  for (rpc::DeviceHealth& report : reports) {
    const auto told = told_.find({report.pool, report.device});
    if (told == told_.end()) continue;
    report.health = told->second.first;
    report.message = told->second.second;
  }
  return reports;
}

Status DriverProgram::SetHealth(const std::string& pool, const std::string& device,
                                rpc::Health health, const std::string& message) {
  if (FindDevice(*devices_.file(), options_.driver.node, pool, device) == nullptr) {
    return base::NotFound(fmt::format("there is no device {}/{}", pool, device));
  }
  {
    const base::MutexLock lock(mutex_);
    told_[{pool, device}] = {health, message};
  }
  driver_->ReportHealth(Health());
  return {};
}

}  // namespace dray::driver
