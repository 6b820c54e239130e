// SPDX-License-Identifier: Apache-2.0
#include "api/strategy.h"

namespace dray::api {

void SetDefaults(Object&, base::Time) {}
void PrepareForCreate(Object&, const StrategyOptions&) {}
void PrepareForUpdate(Object&, const Object&, const StrategyOptions&) {}
void PrepareForStatusUpdate(Object&, const Object&, const StrategyOptions&) {}
std::vector<std::string> WarningsFor(const Object&) { return {}; }

}  // namespace dray::api
