// SPDX-License-Identifier: Apache-2.0
//
// Whether a driver answers on its own sockets: what its liveness probe is told.
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"
#include "rpc/plugin_client.h"

namespace dray::driver {

// Empty: that one is not served here.
struct OwnSockets {
  std::string registration;
  std::string dra;
  bool v1 = true;  // else v1beta1
};

// Asks as an agent does: GetInfo, and a preparation of no claims.
Status CheckSelf(rpc::PluginConnector& connector, const OwnSockets& sockets,
                 std::chrono::nanoseconds patience);

}  // namespace dray::driver
