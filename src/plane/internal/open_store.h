// SPDX-License-Identifier: Apache-2.0
//
// A store by its address.
#pragma once

#include <memory>

#include "base/status.h"
#include "logs/log.h"
#include "plane/control_plane.h"
#include "plane/internal/commit_watch.h"
#include "plane/internal/server_metrics.h"
#include "store/store.h"

namespace dray::plane::internal {

// The data folder is there. Metrics and watch outlive the store.
StatusOr<std::unique_ptr<store::Store>> OpenStore(const PlaneOptions& options,
                                                  StoreMetrics& metrics, CommitWatch& watch,
                                                  logs::Logger log);

// Whether nobody else writes to the store that these options open: what is decided here nobody else
// decides.
bool HasStoreAlone(const PlaneOptions& options, const store::Store& store);

}  // namespace dray::plane::internal
