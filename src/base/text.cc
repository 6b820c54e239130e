// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <limits>
#include <new>

#include "base/check.h"

namespace dray::base {

void Text::SetLong(std::string_view text) {
  DRAY_CHECK(text.size() <= std::numeric_limits<std::uint32_t>::max(), "a text has at most 4 GiB");
  void* memory = ::operator new(sizeof(Long) + text.size());
  Long* shared = new (memory) Long{{1}, static_cast<std::uint32_t>(text.size())};
  std::memcpy(shared->characters(), text.data(), text.size());
  Clear();
  std::memcpy(bytes_, &shared, sizeof(shared));
  bytes_[kTagAt] = kLong;
}

void Text::Release() {
  Long* shared = long_text();
  if (shared->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  shared->~Long();
  ::operator delete(shared);
}

}  // namespace dray::base
