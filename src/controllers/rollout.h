// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a roll-out: how many pods more, and how many fewer.
#pragma once

#include <cstdint>
#include <string>

#include "api/kinds.h"
#include "api/workloads.h"

namespace dray::controllers {

struct RolloutLimits {
  std::int32_t surge = 0;        // pods beyond the wanted number
  std::int32_t unavailable = 0;  // pods below it
};
// 25 % each unless said otherwise; of percentages the surge is rounded up, the other down. Never
// both zero: there would be no way.
RolloutLimits LimitsOf(const api::DeploymentSpec& spec);

std::int32_t ReplicasOf(const api::Object& set);
std::int32_t AvailableOf(const api::Object& set);

// A label value that tells templates apart; another one for every number of collisions.
std::string HashOf(const api::PodTemplateSpec& made_from, std::int32_t collisions);
// Apart from the label that says which set they are of.
bool SameTemplate(const api::PodTemplateSpec& a, const api::PodTemplateSpec& b);

// The deployment's revision that a set is of, or that a deployment is at. Zero: none yet.
std::int64_t RevisionOf(const api::ObjectMeta& metadata);

}  // namespace dray::controllers
