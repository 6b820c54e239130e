// SPDX-License-Identifier: Apache-2.0
//
// Probes over the network, by sockets of this machine, or of a pod's own network.
#pragma once

#include <memory>

#include "container/runtime.h"
#include "node/actions.h"
#include "node/offload.h"

namespace dray::node {

// It waits in `offload`, for as long as probes say: not where anything else has to be done in time.
// When it goes, what is asked ends soon. Both outlive it.
std::unique_ptr<ProbeClient> MakeProbeClient(Offload& offload, container::Runtime& runtime);

}  // namespace dray::node
