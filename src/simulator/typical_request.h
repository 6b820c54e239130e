// SPDX-License-Identifier: Apache-2.0
//
// What the pods of a scenario ask of a class, and what most of them do: what fragmentation is
// measured against.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/kinds.h"
#include "api/map.h"
#include "base/quantity.h"
#include "simulator/cluster_builder.h"
#include "simulator/scenario.h"

namespace dray::simulator {

// What one kind of pod asks for.
struct RequestShape {
  std::int64_t count = 1;             // devices of the class, on one node
  api::Map<base::Quantity> capacity;  // of each
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  double weight = 1;  // how many pods do
};
// More are left out, those that fewest ask for.
inline constexpr std::size_t kMostShapes = 8;

struct TypicalRequest {
  std::string device_class;
  std::int64_t count = 1;             // of the shape that most pods ask for
  api::Map<base::Quantity> capacity;  // of the same
  std::vector<RequestShape> mix;      // of all pods, most first
};

// One per class that some workload asks for, by the name of the class: of the workload that has
// most pods; of equal ones, the first. Of alternatives the first counts; requests for all devices
// and with admin access do not. `objects`: where claims, templates and classes are looked up.
std::vector<TypicalRequest> TypicalRequests(const Scenario& scenario, ClusterBuilder& builder,
                                            const std::vector<api::Object>& objects);

// The same of pods that are there: per class the request that most of them have.
std::vector<TypicalRequest> RequestsOf(const std::vector<api::Object>& pods,
                                       const std::vector<api::Object>& objects);

}  // namespace dray::simulator
