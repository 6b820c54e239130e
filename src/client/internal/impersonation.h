// SPDX-License-Identifier: Apache-2.0
//
// The headers by which a client asks to be somebody else.
#pragma once

#include <string>

#include "client/kubeconfig.h"

namespace dray::client::internal {

// As client-go writes them, each with its line end; empty when nobody else is meant. The values are
// single lines, which LoadAccess has seen to.
std::string ImpersonationHeaders(const Impersonation& as);

}  // namespace dray::client::internal
