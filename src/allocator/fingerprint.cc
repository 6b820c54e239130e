// SPDX-License-Identifier: Apache-2.0
#include "allocator/fingerprint.h"

#include <xxhash.h>

namespace dray::allocator {

Fingerprint Description::Hash() const {
  const XXH128_hash_t hash = XXH3_128bits(words_.data(), words_.size() * sizeof(std::uint64_t));
  return {hash.high64, hash.low64};
}

}  // namespace dray::allocator
