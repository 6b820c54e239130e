// SPDX-License-Identifier: Apache-2.0
//
// Exact answers to small problems that random hard instances are made of, by means that have
// nothing to do with a search over devices.
#pragma once

#include <cstdint>
#include <vector>

namespace dray::model {

// The most of these lists (64 at most) of which no two have a value in common: a largest clique of
// the graph of lists that get along, by branch and bound with greedy colourings.
int MostDisjoint(const std::vector<std::vector<std::int64_t>>& lists);

// How many of each kind.
using KindCounts = std::vector<int>;

// Whether bins can hold `wanted` together. `options[b]` are the largest mixes that bin b can hold;
// what is less than one of them fits, too. By going through the bins with the set of all sums.
bool Packs(const std::vector<std::vector<KindCounts>>& options, const KindCounts& wanted);

}  // namespace dray::model
