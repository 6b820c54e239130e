// SPDX-License-Identifier: Apache-2.0
//
// LocalConsole: the console for one person on one machine, on a loopback port, with what a
// kubeconfig gives access to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/gates.h"
#include "base/clock.h"
#include "base/status.h"
#include "console/desk.h"
#include "console/hub.h"
#include "console/source.h"

namespace dray::console {

struct LocalOptions {
  std::string address = "127.0.0.1";  // or ::1
  std::uint16_t port = 0;             // 0: a free one
  std::string version;
  // For people.
  std::string cluster;
  std::string server;
  std::string user;
  std::string namespace_ = "default";
};

// Runs until it is destroyed. Thread-safe.
class LocalConsole {
 public:
  // The desk and the clock outlive it. InvalidArgument: the address is no loopback address.
  static StatusOr<std::unique_ptr<LocalConsole>> Start(LocalOptions options,
                                                       std::unique_ptr<Source> source, Desk& desk,
                                                       const base::Clock& clock);
  virtual ~LocalConsole() = default;
  // http://127.0.0.1:PORT/console/
  virtual const std::string& url() const = 0;
  virtual const std::string& token() const = 0;
  // The two together, as a browser takes them: the token is behind the '#', which is never sent.
  virtual std::string address() const = 0;
  virtual Connection connection() const = 0;
};

}  // namespace dray::console
