// SPDX-License-Identifier: Apache-2.0
//
// What happens to objects of some kinds, for deciders of this process.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "api/cluster.h"
#include "registry/objects.h"

namespace dray::registry {

// `objects` outlives it. A watch that has fallen behind the store's history finds out what is
// different and tells that: a decider never has to begin again. With a namespace, of kinds that have
// one only what is in it: what cannot be read elsewhere is no trouble of this watch.
std::unique_ptr<api::ObjectWatch> MakeLocalWatch(const Objects& objects,
                                                 std::span<const api::KindInfo* const> kinds,
                                                 std::string_view namespace_ = {});

}  // namespace dray::registry
