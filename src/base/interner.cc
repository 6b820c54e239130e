// SPDX-License-Identifier: Apache-2.0
#include "base/interner.h"

#include <limits>

#include "base/check.h"
#include "base/string_map.h"

namespace dray::base {
namespace {

constexpr std::size_t kFirstSlots = 64;

std::uint32_t HashOf(std::string_view text) {
  return static_cast<std::uint32_t>(StringHash{}(text));
}

}  // namespace

std::size_t Interner::SlotOf(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Symbol symbol(slots_[slot] - 1);
    if (pieces_[symbol.id()].hash == hash && View(symbol) == text) break;
  }
  return slot;
}

Symbol Interner::Intern(std::string_view text) {
  if (2 * (pieces_.size() + 1) > slots_.size()) Grow();
  const std::uint32_t hash = HashOf(text);
  const std::size_t slot = SlotOf(text, hash);
  if (slots_[slot] != 0) return Symbol(slots_[slot] - 1);
  DRAY_CHECK(text_.size() + text.size() <= std::numeric_limits<std::uint32_t>::max(),
             "interner is full");
  const Symbol symbol(static_cast<std::uint32_t>(pieces_.size()));
  slots_[slot] = symbol.id() + 1;
  pieces_.push_back({.begin = static_cast<std::uint32_t>(text_.size()),
                     .size = static_cast<std::uint32_t>(text.size()),
                     .hash = hash});
  text_.append(text);
  return symbol;
}

std::optional<Symbol> Interner::Find(std::string_view text) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t found = slots_[SlotOf(text, HashOf(text))];
  return found == 0 ? std::nullopt : std::optional(Symbol(found - 1));
}

void Interner::Grow() {
  slots_.assign(slots_.empty() ? kFirstSlots : 2 * slots_.size(), 0);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
    std::size_t slot = pieces_[i].hash & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = i + 1;
  }
}

void Interner::Reserve(std::size_t strings, std::size_t bytes) {
  pieces_.reserve(strings);
  text_.reserve(bytes);
}

std::size_t Interner::MemoryBytes() const {
  return text_.capacity() + pieces_.capacity() * sizeof(Piece) +
         slots_.capacity() * sizeof(slots_[0]);
}

}  // namespace dray::base
