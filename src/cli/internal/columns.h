// SPDX-License-Identifier: Apache-2.0
//
// Tables as kubectl prints them: columns under each other, two blanks between them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/internal/paint.h"

namespace dray::cli::internal {

struct Cell {
  std::string text;
  std::string_view color = {};  // none: as it is
};
using Row = std::vector<Cell>;

// All rows have as many cells. The last column is as wide as each of its cells; text that a
// terminal would obey is made harmless.
std::string Columns(const std::vector<Row>& rows, const Painter& paint);

}  // namespace dray::cli::internal
