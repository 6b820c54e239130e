// SPDX-License-Identifier: Apache-2.0
#include "base/interner.h"

#include <cstring>
#include <limits>

#include "base/check.h"

namespace dray::base {
namespace {

constexpr std::size_t kBlockBytes = 16 * 1024;
// Longer strings would waste too much of a block's end.
constexpr std::size_t kLongString = kBlockBytes / 8;

}  // namespace

Symbol Interner::Intern(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return Symbol(found->second);
  DRAY_CHECK(views_.size() < std::numeric_limits<std::uint32_t>::max(), "interner is full");
  const auto id = static_cast<std::uint32_t>(views_.size());
  const std::string_view stored = Store(text);
  views_.push_back(stored);
  ids_.emplace(stored, id);
  return Symbol(id);
}

std::optional<Symbol> Interner::Find(std::string_view text) const {
  const auto found = ids_.find(text);
  if (found == ids_.end()) return std::nullopt;
  return Symbol(found->second);
}

std::string_view Interner::View(Symbol symbol) const {
  DRAY_DCHECK(symbol.id() < views_.size(), "symbol of another interner");
  return views_[symbol.id()];
}

std::size_t Interner::MemoryBytes() const {
  // A flat_hash_map has one byte of control per slot.
  const std::size_t slot = sizeof(std::pair<std::string_view, std::uint32_t>) + 1;
  return block_bytes_ + blocks_.capacity() * sizeof(blocks_[0]) +
         views_.capacity() * sizeof(views_[0]) + ids_.capacity() * slot;
}

std::string_view Interner::Store(std::string_view text) {
  if (text.empty()) return "";
  if (text.size() > free_bytes_) {
    const std::size_t bytes = text.size() > kLongString ? text.size() : kBlockBytes;
    blocks_.emplace_back(new char[bytes]);
    block_bytes_ += bytes;
    if (bytes == text.size()) {
      std::memcpy(blocks_.back().get(), text.data(), bytes);
      return {blocks_.back().get(), bytes};
    }
    free_ = blocks_.back().get();
    free_bytes_ = bytes;
  }
  std::memcpy(free_, text.data(), text.size());
  const std::string_view stored(free_, text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return stored;
}

}  // namespace dray::base
