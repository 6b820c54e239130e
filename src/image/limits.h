// SPDX-License-Identifier: Apache-2.0
//
// How much of somebody's image is looked at: whoever makes one does not decide how full our disk gets.
#pragma once

#include <cstdint>

namespace dray::image {

struct Limits {
  std::int64_t bytes = 16LL << 30;        // unpacked, of one image or archive
  std::int64_t entries = 2'000'000;       // files, folders and links
  std::int64_t document_bytes = 4 << 20;  // of an index, a manifest, a configuration
  // Of all of them together that are read of one layout or archive: an index may name one as often
  // as it likes.
  std::int64_t all_document_bytes = 64 << 20;
  std::int64_t layers = 128;
};

}  // namespace dray::image
