// SPDX-License-Identifier: Apache-2.0
//
// For tests of the rooms above: an empty store, in memory or in etcd as the program was linked with
// memory/any_store_for_test.cc or etcd/any_store_for_test.cc.
#pragma once

#include <memory>

#include "store/store.h"

namespace dray::store {

std::unique_ptr<Store> MakeAnyStore();

}  // namespace dray::store
