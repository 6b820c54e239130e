// SPDX-License-Identifier: Apache-2.0
//
// Registrar: the registration of a driver whose DRA service is another process, as where a small
// program of the platform's registers the drivers of others.
//
// Spec: docs/spec/node.md 17.1, "split".
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "driver/driver.h"
#include "driver/socket_names.h"
#include "rpc/plugin_server.h"

namespace dray::driver {

// Thread-safe.
class Registrar {
 public:
  // Of the options: name, root, registry, instance, services, problem, registered, serve. It says what
  // the other process serves, health too, and touches neither claims nor slices.
  static StatusOr<std::unique_ptr<Registrar>> Start(DriverOptions options);
  ~Registrar();

  const SocketNames& sockets() const { return sockets_; }

 private:
  class Handler;
  Registrar(DriverOptions options, SocketNames sockets);

  const SocketNames sockets_;
  const std::unique_ptr<Handler> handler_;
  std::unique_ptr<rpc::PluginServer> server_;
};

}  // namespace dray::driver
