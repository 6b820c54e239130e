// SPDX-License-Identifier: Apache-2.0
#include "cel/string_pool.h"

#include "base/string_map.h"

namespace dray::cel {
namespace {

constexpr std::size_t kFirstSlots = 64;

}  // namespace

StringId StringPool::Intern(std::string_view text) {
  if (2 * (pieces_.size() + 1) > slots_.size()) Grow();
  const auto hash = static_cast<std::uint32_t>(base::StringHash{}(text));
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const StringId id{slots_[slot] - 1};
    if (pieces_[id.value].hash == hash && View(id) == text) return id;
  }
  const StringId id{static_cast<std::uint32_t>(pieces_.size())};
  slots_[slot] = id.value + 1;
  pieces_.push_back({.begin = static_cast<std::uint32_t>(text_.size()),
                     .size = static_cast<std::uint32_t>(text.size()),
                     .hash = hash});
  text_.append(text);
  return id;
}

void StringPool::Grow() {
  slots_.assign(slots_.empty() ? kFirstSlots : 2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
    std::size_t slot = pieces_[i].hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = i + 1;
  }
}

void StringPool::Reserve(std::size_t strings, std::size_t bytes) {
  pieces_.reserve(strings);
  text_.reserve(bytes);
}

std::size_t StringPool::MemoryBytes() const {
  return text_.capacity() + pieces_.capacity() * sizeof(Piece) +
         slots_.capacity() * sizeof(slots_[0]);
}

}  // namespace dray::cel
