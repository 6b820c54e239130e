// SPDX-License-Identifier: Apache-2.0
//
// Generations: a map that forgets what nobody has asked for in a long time.
#pragma once

#include <cstddef>
#include <utility>

namespace dray::base {

// Entries are young when they are put or found. When there are `capacity` young ones they become
// the old ones, and the old ones that nobody has found meanwhile are gone. So there are never more
// than twice `capacity`, what was used among the last `capacity` different ones is still there, and
// nothing is written to remember who was used when. `Map` is a hash map; its values can be moved.
// Thread-compatible.
template <typename Map>
class Generations {
 public:
  using Value = typename Map::mapped_type;

  explicit Generations(std::size_t capacity) : capacity_(capacity) {}
  void set_capacity(std::size_t capacity) { capacity_ = capacity; }

  // Null when there is none. Valid until the next call that is not const.
  template <typename Key>
  Value* Find(const Key& key) {
    if (const auto young = young_.find(key); young != young_.end()) return &young->second;
    const auto old = old_.find(key);
    if (old == old_.end()) return nullptr;
    auto node = old_.extract(old);
    return &young_.insert(std::move(node)).position->second;
  }
  // Of a key that Find does not find. The value may be put in place later: forgetting is up to
  // Trim.
  template <typename Key>
  Value& Put(Key&& key, Value value) {
    return young_.insert_or_assign(std::forward<Key>(key), std::move(value)).first->second;
  }
  // Forgets, if there is too much. What is forgotten is destroyed here and nowhere else.
  void Trim() {
    if (young_.size() >= capacity_) Age();
  }
  void Age() { old_ = std::exchange(young_, {}); }
  void Clear() {
    young_ = {};
    old_ = {};
  }

  std::size_t size() const { return young_.size() + old_.size(); }
  // Of what the maps themselves take; not what their entries point to.
  std::size_t MemoryBytes() const {
    return (young_.capacity() + old_.capacity()) * (sizeof(typename Map::value_type) + 1);
  }
  template <typename F>
  void ForEach(F f) const {
    for (const Map* map : {&young_, &old_}) {
      for (const auto& [key, value] : *map) f(key, value);
    }
  }

 private:
  std::size_t capacity_;
  Map young_;
  Map old_;
};

}  // namespace dray::base
