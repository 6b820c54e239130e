// SPDX-License-Identifier: Apache-2.0
//
// Text that fits the terminal it is read on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dray::cli::internal {

// Of a terminal that is narrower, lines are broken as if it had so many columns.
inline constexpr std::size_t kLeastColumns = 40;

// A text of several lines: those that are wider than so many columns go on below, what is said
// about a flag under its beginning, prose at the left. Command lines stay whole, to be copied.
// 0 columns: nothing is broken.
std::string WrapHelp(std::string_view text, std::size_t columns);

// One line, perhaps of a tree: where it is wider it goes on below, where it began.
std::string Wrapped(std::string_view line, std::size_t columns);

// One paragraph, set off from the left by so many blanks; with its line end.
std::string Paragraph(std::string_view text, std::size_t indent, std::size_t columns);

}  // namespace dray::cli::internal
