// SPDX-License-Identifier: Apache-2.0
//
// Holders: who holds devices, as numbers. Claims come and go all the time, so their names are kept
// apart from those of devices and their memory is used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/append_store.h"

namespace dray::ledger {

// A claim that holds something, by a number of its ledger. Means nothing in another ledger.
enum class Holder : std::uint32_t {};

// One thread adds and removes; any thread asks for the name of a holder that a snapshot shows it.
// A name that was removed stays, for those who still have a snapshot, until Reclaim.
class Holders {
 public:
  Holder Add(std::string name) {
    heap_bytes_ += HeapBytes(name);
    if (free_.empty()) return Holder{names_.Append(std::move(name))};
    const Holder holder = free_.back();
    free_.pop_back();
    names_.Mutable(static_cast<std::size_t>(holder)) = std::move(name);
    return holder;
  }
  void Remove(Holder holder) { removed_.push_back(holder); }
  // Numbers that were removed may be given again. Nobody looks at older snapshots any more.
  void Reclaim() {
    for (const Holder holder : removed_) {
      std::string& name = names_.Mutable(static_cast<std::size_t>(holder));
      heap_bytes_ -= HeapBytes(name);
      name = std::string();
      free_.push_back(holder);
    }
    removed_.clear();
  }

  // "namespace/name" of the claim.
  std::string_view NameOf(Holder holder) const { return names_[static_cast<std::size_t>(holder)]; }

  std::size_t MemoryBytes() const {
    return names_.MemoryBytes() + heap_bytes_ +
           (removed_.capacity() + free_.capacity()) * sizeof(Holder);
  }

 private:
  static std::size_t HeapBytes(const std::string& name) {
    return name.capacity() > 15 ? name.capacity() + 1 : 0;
  }

  base::AppendArray<std::string> names_;
  std::vector<Holder> removed_;
  std::vector<Holder> free_;
  std::size_t heap_bytes_ = 0;
};

}  // namespace dray::ledger
