// SPDX-License-Identifier: Apache-2.0
//
// A store that lives as long as the process: for tests, simulations and demonstrations.
#pragma once

#include <memory>

#include "store/store.h"

namespace dray::store {

std::unique_ptr<Store> MakeMemoryStore(HistoryOptions history = {});

}  // namespace dray::store
