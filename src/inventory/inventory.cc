// SPDX-License-Identifier: Apache-2.0
#include "inventory/inventory.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/string_map.h"

namespace dray::inventory {
namespace {

using SharedSlices = std::shared_ptr<const Slices>;

const Slices& OrEmpty(const SharedSlices& slices) {
  static const Slices kEmpty;
  return slices == nullptr ? kEmpty : *slices;
}

// No list at all instead of an empty one.
SharedSlices Share(Slices slices) {
  return slices.empty() ? nullptr : std::make_shared<const Slices>(std::move(slices));
}

std::size_t IndexOf(PoolId pool) { return static_cast<std::size_t>(pool); }

void SetAt(base::PersistentArray<SharedSlices>& lists, std::size_t i, Slices slices) {
  lists.Set(i, Share(std::move(slices)));
}

template <typename T>
void AddOnce(std::vector<T>& list, T item) {
  if (std::ranges::find(list, item) == list.end()) list.push_back(item);
}

}  // namespace

// The arrival of a slice is when its object was first seen: it keeps its place in every list, also
// in those that it enters later because its node or pool changed. So a list never depends on how
// often slices were written.
struct Inventory::Known {
  std::shared_ptr<const SliceTable> slice;
  std::uint64_t arrival = 0;

  std::string_view name() const { return slice->object_name(); }
};

struct Inventory::Index {
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return base::StringHash{}(name); }
    std::size_t operator()(const Known& known) const { return (*this)(known.name()); }
  };
  struct Equal {
    using is_transparent = void;
    static std::string_view NameOf(std::string_view name) { return name; }
    static std::string_view NameOf(const Known& known) { return known.name(); }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return NameOf(a) == NameOf(b);
    }
  };
  absl::flat_hash_set<Known, Hash, Equal> slices;
  std::uint64_t next_arrival = 1;
};

Snapshot::Snapshot() : taint_rules_(std::make_shared<const TaintRules>()) {}

const Slices& Snapshot::OfNode(NameId node) const { return OrEmpty(by_node_.At(node.id())); }
const Slices& Snapshot::Unbound() const { return OrEmpty(unbound_); }
const Slices& Snapshot::OfPool(PoolId pool) const { return OrEmpty(by_pool_.At(IndexOf(pool))); }

Inventory::Inventory(std::shared_ptr<Dictionary> dictionary) : index_(std::make_unique<Index>()) {
  current_.dictionary_ = std::move(dictionary);
}

Inventory::~Inventory() = default;

Change Inventory::Put(const api::ResourceSlice& slice) {
  std::shared_ptr<const SliceTable> table = SliceTable::Create(slice, *current_.dictionary_);
  Change change;
  const auto known = index_->slices.find(table->object_name());
  if (known == index_->slices.end()) {
    const Known added{std::move(table), index_->next_arrival++};
    index_->slices.insert(added);
    Enter(added, change);
    return change;
  }
  const Known before = *known;
  if (before.slice->SameContent(*table)) return change;
  const Known after{std::move(table), before.arrival};
  // The key lies in the table that goes.
  index_->slices.erase(known);
  index_->slices.insert(after);
  const NodeChoice& from = before.slice->node_choice();
  const NodeChoice& to = after.slice->node_choice();
  const bool same_lists = before.slice->pool() == after.slice->pool() &&
                          from.has_node == to.has_node && from.node == to.node;
  // Entering the same lists replaces; only others have to be left.
  if (same_lists) {
    current_.devices_ -= before.slice->devices().size();
  } else {
    Leave(before, change);
  }
  Enter(after, change);
  return change;
}

Change Inventory::Remove(std::string_view slice_name) {
  Change change;
  const auto known = index_->slices.find(slice_name);
  if (known == index_->slices.end()) return change;
  const Known gone = *known;
  index_->slices.erase(known);
  Leave(gone, change);
  return change;
}

void Inventory::Enter(const Known& known, Change& change) {
  const SliceTable& slice = *known.slice;
  const PoolId pool = slice.pool();
  SetAt(current_.by_pool_, IndexOf(pool), current_.OfPool(pool).With(known.arrival, known.slice));
  AddOnce(change.pools, pool);
  if (slice.node_choice().has_node) {
    const NameId node = slice.node_choice().node;
    SetAt(current_.by_node_, node.id(), current_.OfNode(node).With(known.arrival, known.slice));
    AddOnce(change.nodes, node);
  } else {
    current_.unbound_ = Share(current_.Unbound().With(known.arrival, known.slice));
    change.unbound = true;
  }
  current_.devices_ += slice.devices().size();
}

void Inventory::Leave(const Known& known, Change& change) {
  const SliceTable& slice = *known.slice;
  const PoolId pool = slice.pool();
  SetAt(current_.by_pool_, IndexOf(pool), current_.OfPool(pool).Without(known.arrival));
  AddOnce(change.pools, pool);
  if (slice.node_choice().has_node) {
    const NameId node = slice.node_choice().node;
    SetAt(current_.by_node_, node.id(), current_.OfNode(node).Without(known.arrival));
    AddOnce(change.nodes, node);
  } else {
    current_.unbound_ = Share(current_.Unbound().Without(known.arrival));
    change.unbound = true;
  }
  current_.devices_ -= slice.devices().size();
}

Change Inventory::PutTaintRule(const api::DeviceTaintRule& rule) {
  const std::string& name = rule.metadata.name;
  if (!rule.spec.device_selector.has_value()) return RemoveTaintRule(name);
  const TaintRule added{name, *rule.spec.device_selector, rule.spec.taint};
  TaintRules rules = *current_.taint_rules_;
  const auto place = std::ranges::lower_bound(rules, name, {}, &TaintRule::name);
  if (place == rules.end() || place->name != name) {
    rules.insert(place, added);
  } else if (place->selector == added.selector && place->taint == added.taint) {
    return {};
  } else {
    *place = added;
  }
  SetRules(std::move(rules));
  return {.unbound = true};
}

Change Inventory::RemoveTaintRule(std::string_view name) {
  TaintRules rules = *current_.taint_rules_;
  if (std::erase_if(rules, [&](const TaintRule& rule) { return rule.name == name; }) == 0) {
    return {};
  }
  SetRules(std::move(rules));
  return {.unbound = true};
}

void Inventory::SetRules(TaintRules rules) {
  current_.taint_rules_ = std::make_shared<const TaintRules>(std::move(rules));
}

void Inventory::Mark(Marker& marker) const {
  for (const Known& known : index_->slices) known.slice->Mark(marker);
}

std::size_t Inventory::MemoryBytes() const {
  std::size_t bytes = sizeof(*this) + sizeof(*index_) +
                      index_->slices.capacity() * (sizeof(Known) + 1) +
                      current_.dictionary_->MemoryBytes() + current_.by_node_.MemoryBytes() +
                      current_.by_pool_.MemoryBytes() + current_.Unbound().MemoryBytes();
  for (const auto& known : index_->slices) bytes += known.slice->MemoryBytes();
  for (const auto* lists : {&current_.by_node_, &current_.by_pool_}) {
    for (std::size_t i = 0; i < lists->size(); ++i) {
      if (const auto& list = lists->At(i); list != nullptr) bytes += list->MemoryBytes();
    }
  }
  for (const TaintRule& rule : *current_.taint_rules_) bytes += sizeof(rule) + rule.name.size();
  return bytes;
}

}  // namespace dray::inventory
