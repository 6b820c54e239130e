// SPDX-License-Identifier: Apache-2.0
#include "store/any_store_for_test.h"

#include "store/memory/memory_store.h"

namespace dray::store {

std::unique_ptr<Store> MakeAnyStore() { return MakeMemoryStore(); }

}  // namespace dray::store
