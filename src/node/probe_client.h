// SPDX-License-Identifier: Apache-2.0
//
// Probes over the network, by sockets of this machine.
#pragma once

#include <memory>

#include "node/offload.h"
#include "node/probes.h"

namespace dray::node {

// It waits in `offload`, which outlives it.
std::unique_ptr<ProbeClient> MakeProbeClient(Offload& offload);

}  // namespace dray::node
