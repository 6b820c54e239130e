// SPDX-License-Identifier: Apache-2.0
//
// A layer of an image, unpacked over those below it.
//
// The archive comes from strangers: no name in it leads out of the folder, whatever links there are
// (the kernel resolves them with the folder as their root), devices are refused, and there are bounds.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "image/limits.h"

namespace dray::image {

// What is left of the limits of an image while its layers are unpacked.
struct Budget {
  explicit Budget(const Limits& limits) : bytes(limits.bytes), entries(limits.entries) {}
  // How long a tar may be that stays within it, with heads and gaps; what comes behind its end
  // counts, too.
  std::int64_t TarBytes() const { return bytes + 2048 * (entries + 16); }

  std::int64_t bytes;
  std::int64_t entries;
};

struct LayerFile {
  std::string path;
  std::string digest;   // of the file; empty: not checked
  std::string diff_id;  // of the tar in it; empty: not checked
};

// Unpacks the layer into `folder`, which holds the layers below it already. Whiteouts remove what is
// below, never what the layer itself brings. After an error the folder is of no use.
Status UnpackLayer(const LayerFile& layer, const std::string& folder, Budget& budget);

}  // namespace dray::image
