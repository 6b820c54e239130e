// SPDX-License-Identifier: Apache-2.0
//
// What an agent says to a container's shim (internal/shim_frames.h).
#pragma once

#include <string>

#include "base/status.h"
#include "files/files.h"

namespace dray::container::internal {

// To the shim in that folder.
StatusOr<files::Fd> ConnectToShim(const std::string& folder);

// Has it start the container that it made, which takes no process of runc's. Whoever asks may be
// killed at any moment: the shim goes on. Unimplemented: it is one that does not know how, of an
// older agent. Waits.
Status StartByShim(const std::string& folder);

}  // namespace dray::container::internal
