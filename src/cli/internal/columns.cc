// SPDX-License-Identifier: Apache-2.0
#include "cli/internal/columns.h"

#include <algorithm>

namespace dray::cli::internal {

std::string Columns(const std::vector<Row>& rows, const Painter& paint) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], Printable(row[i].text).size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string shown = Printable(row[i].text);
      text += row[i].color.empty() ? shown : paint.Paint(row[i].color, shown);
      if (i + 1 < row.size()) text.append(widths[i] - shown.size() + 2, ' ');
    }
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  }
  return text;
}

}  // namespace dray::cli::internal
