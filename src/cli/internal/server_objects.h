// SPDX-License-Identifier: Apache-2.0
//
// What a server has, and what it would have after some manifests were applied.
#pragma once

#include <string>
#include <vector>

#include "api/kinds.h"
#include "base/status.h"
#include "cli/manifests.h"
#include "client/kubeconfig.h"

namespace dray::cli::internal {

// The kinds that decisions depend on.
std::vector<const api::KindInfo*> DecidingKinds();

// Everything that decisions depend on, in all namespaces. Reads only. Kinds that the user may not
// read are told in `notes` and taken as absent, but for those without which nothing can be decided.
StatusOr<std::vector<api::Object>> ReadServer(const client::ServerAccess& access,
                                              std::vector<std::string>& notes);

// `stored` with the manifests applied as kubectl does it: what is there already is patched and
// keeps its status. Objects that name no namespace are in `namespace_`. The error names the object.
StatusOr<std::vector<api::Object>> Applied(std::vector<api::Object> stored,
                                           const Manifests& manifests,
                                           const std::string& namespace_);

}  // namespace dray::cli::internal
