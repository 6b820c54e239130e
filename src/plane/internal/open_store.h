// SPDX-License-Identifier: Apache-2.0
//
// A store by its address.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "plane/internal/commit_watch.h"
#include "plane/internal/server_metrics.h"
#include "plane/store_address.h"
#include "store/store.h"

namespace dray::plane::internal {

// `data` is the data folder, which is there. Metrics and watch outlive the store.
StatusOr<std::unique_ptr<store::Store>> OpenStore(const StoreAddress& address,
                                                  const std::string& data, StoreMetrics& metrics,
                                                  CommitWatch& watch);

}  // namespace dray::plane::internal
