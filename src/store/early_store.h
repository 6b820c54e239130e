// SPDX-License-Identifier: Apache-2.0
//
// A store as deciders of this process use it: commits are answered when they are accepted, and
// single keys are read as they will be. Ranges and watches show what is durable. Of a store without
// early writes it is the same store.
#pragma once

#include <memory>

#include "store/store.h"

namespace dray::store {

// The store outlives it. Thread-safe. See EarlyWrites for what may be done with an answer.
std::unique_ptr<Store> MakeEarlyStore(Store& store);

}  // namespace dray::store
