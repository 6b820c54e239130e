// SPDX-License-Identifier: Apache-2.0
//
// How many values a body would become, before it does: a value of one byte takes a hundred as a
// tree, and three megabytes of them keep a thread busy for a second.
#pragma once

#include <cstddef>
#include <string_view>

namespace dray::rest::internal {

inline constexpr std::size_t kMaxBodyValues = 500'000;

// Looks at nothing but what separates values, so it says the same of text that is not well-formed.
bool HasTooManyValues(std::string_view text, bool yaml);

}  // namespace dray::rest::internal
