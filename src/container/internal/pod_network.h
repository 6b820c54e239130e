// SPDX-License-Identifier: Apache-2.0
//
// Connections into the network that a pod has to itself.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/status.h"
#include "files/files.h"

namespace dray::container::internal {

// To a port of the loopback interface there: 127.0.0.1, else ::1. Waits. The calling thread is in that
// network for a moment, and must end soon if it cannot go back: it is nobody else's.
StatusOr<files::Fd> ConnectIn(const files::Fd& network, std::uint16_t port,
                              std::chrono::nanoseconds timeout);

}  // namespace dray::container::internal
