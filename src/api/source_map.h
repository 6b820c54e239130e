// SPDX-License-Identifier: Apache-2.0
//
// Places inside of a string's value: an expression is one scalar of a manifest, and a fault in it
// has a character of its own. The reader of documents keeps where a scalar begins and how it is
// written; from that and the text the way is found again, for the few scalars that are asked for.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "api/document.h"

namespace dray::api {

// One document text. Borrows it. Thread-safe: immutable.
class SourceMap {
 public:
  explicit SourceMap(std::string_view text);

  // Where byte `offset` of the scalar's value was written; the end of the value for its size. The
  // scalar's own position when the way is lost: an alias, a line break of a kind that is rare.
  // Columns are counted as the document's reader does: bytes in JSON, characters in YAML.
  Position Inside(const DocumentNode& scalar, std::size_t offset) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> lines_;  // where they begin
};

}  // namespace dray::api
