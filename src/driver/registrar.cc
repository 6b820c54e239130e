// SPDX-License-Identifier: Apache-2.0
#include "driver/registrar.h"

#include <utility>
#include <vector>

#include "files/files.h"
#include "fmt/format.h"

namespace dray::driver {

// Knows who the driver is, and nothing else.
class Registrar::Handler final : public rpc::PluginHandler {
 public:
  Handler(DriverOptions options, std::string endpoint)
      : options_(std::move(options)), endpoint_(std::move(endpoint)) {}

  StatusOr<rpc::PrepareAnswer> Prepare(const std::vector<rpc::ClaimName>&) override {
    return NotHere();
  }
  StatusOr<rpc::UnprepareAnswer> Unprepare(const std::vector<rpc::ClaimName>&) override {
    return NotHere();
  }
  Status WatchHealth(std::shared_ptr<rpc::HealthReports>) override { return NotHere(); }
  StatusOr<rpc::PluginInfo> Info() override {
    return rpc::PluginInfo{.type = "DRAPlugin",
                           .name = options_.name,
                           .endpoint = endpoint_,
                           .supported_versions = ServicesOf(options_)};
  }
  Status Registered(bool registered, const std::string& error) override {
    if (!registered && options_.problem) {
      options_.problem(
          base::FailedPrecondition(fmt::format("the agent refused to register: {}", error)));
    }
    if (registered && options_.registered) options_.registered();
    return {};
  }

 private:
  static Status NotHere() {
    return base::MakeStatus(StatusCode::kUnimplemented, "this process only registers the driver");
  }
  const DriverOptions options_;
  const std::string endpoint_;
};

Registrar::Registrar(DriverOptions options, SocketNames sockets)
    : sockets_(std::move(sockets)),
      handler_(std::make_unique<Handler>(std::move(options), sockets_.dra)) {}

Registrar::~Registrar() = default;

StatusOr<std::unique_ptr<Registrar>> Registrar::Start(DriverOptions options) {
  DRAY_ASSIGN_OR_RETURN(SocketNames names, SocketNamesFor({.root = options.root,
                                                           .registry = options.registry,
                                                           .driver = options.name,
                                                           .instance = options.instance}));
  DRAY_RETURN_IF_ERROR(files::MakeFolder(names.registry));
  auto serve = options.serve;
  std::unique_ptr<Registrar> registrar(new Registrar(std::move(options), std::move(names)));
  const rpc::PluginSockets sockets{.registration = registrar->sockets_.registration, .dra = {}};
  if (serve) {
    DRAY_ASSIGN_OR_RETURN(registrar->server_, serve(sockets, *registrar->handler_));
  } else {
    DRAY_ASSIGN_OR_RETURN(registrar->server_, rpc::ServePlugin(sockets, *registrar->handler_));
  }
  return registrar;
}

}  // namespace dray::driver
