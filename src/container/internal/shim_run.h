// SPDX-License-Identifier: Apache-2.0
//
// The shim of a container, from `runc create` to the end of its process.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace dray::container::internal {

inline constexpr int kReadyFd = 3;  // where it says what came of it
inline constexpr int kLockFd = 4;   // held while it lives

// In the container's folder. Says "ok" once the container is made, and returns when it has ended and
// that is written down; an error, if it could not be made, has not been said.
Status RunContainer(const std::function<void(const std::string&)>& say);

}  // namespace dray::container::internal
