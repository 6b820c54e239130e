// SPDX-License-Identifier: Apache-2.0
//
// The words that the one-line summary and the tree of an explanation have in common.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "allocator/explanation.h"

namespace dray::allocator {

// One sentence, in which the smallest conflict is named.
std::string Summarize(const Explanation& explanation);

// Expressions that are longer are cut in ShortText.
inline constexpr std::size_t kShortExpression = 80;
// "4 in use", without which devices.
std::string ShortText(const Drop& drop);

// "request gpu", "claim default/c", or as they are known.
std::string Shown(const RequestReport& request);
std::string Shown(const ClaimReport& claim);

// "matchAttribute x"
std::string NameOf(const ConstraintReport& constraint);

// "counter memory of all counter sets of pool d/p: at least 40Gi needed, 30Gi left"
std::string ToText(const Shortage& shortage);

// "a, b, c and 4 more"
std::string Join(const std::vector<std::string>& items, std::size_t in_all);

}  // namespace dray::allocator
