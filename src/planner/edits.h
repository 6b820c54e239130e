// SPDX-License-Identifier: Apache-2.0
//
// Edits of a cluster's objects, as people say them: this pod is gone, that workload has more
// replicas, there is one more node of that sort. Nothing is decided here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/status.h"

namespace dray::planner {

// The kind that people mean by "pod", "claim", "resourceclaims", "Deployment"; null: there is none.
const api::KindInfo* KindCalled(std::string_view word);

// The object and what it owns are gone; claims that only pods among them used are free again.
// NotFound.
Status RemoveObject(std::vector<api::Object>& objects, const api::KindInfo& kind,
                    std::string_view namespace_, std::string_view name);

// So many replicas of a workload, so many pods of a job at once; workloads that have too many pods
// lose the youngest. NotFound; InvalidArgument: its kind has no number.
Status ScaleObject(std::vector<api::Object>& objects, const api::KindInfo& kind,
                   std::string_view namespace_, std::string_view name, std::int64_t count);

// Nodes with the devices of one that is there, all free, and none of its pods; their names.
// NotFound.
StatusOr<std::vector<std::string>> AddNodesLike(std::vector<api::Object>& objects,
                                                std::string_view like, std::int64_t count);

}  // namespace dray::planner
