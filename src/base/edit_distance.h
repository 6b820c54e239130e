// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean ...?": the known word that a mistyped one was probably meant to be.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dray::base {

// How many single changes lead from `a` to `b`: insert, delete or replace a byte, or swap two
// neighbours (no byte is changed twice). Answers limit + 1 as soon as it is certain to be above
// `limit`.
std::size_t EditDistance(std::string_view a, std::string_view b, std::size_t limit);

// The candidate nearest to `word`, if one is near: at most one change in three bytes, never more
// than three. A difference in case alone is always near. Of equally near ones, the nearer when case
// is ignored, then the first. An exact match is its own answer.
std::optional<std::string> ClosestMatch(std::string_view word,
                                        std::span<const std::string_view> candidates);

}  // namespace dray::base
