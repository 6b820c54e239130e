// SPDX-License-Identifier: Apache-2.0
//
// A watch of everything made into one of what a selection means, for clusters that have nobody to
// leave the choice to.
#pragma once

#include <memory>

#include "api/cluster.h"

namespace dray::api {

// `watch` itself when everything is meant. Keeps what matches in memory, to tell it as it last was
// when it no longer does.
std::unique_ptr<ObjectWatch> SelectedWatch(std::unique_ptr<ObjectWatch> watch,
                                           const Selection& selection);

}  // namespace dray::api
