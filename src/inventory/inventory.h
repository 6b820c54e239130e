// SPDX-License-Identifier: Apache-2.0
//
// Inventory: the devices of a cluster, from its ResourceSlices and DeviceTaintRules. One writer
// takes changes; everybody else reads snapshots, which are values that never change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/device_class.h"
#include "api/resource_slice.h"
#include "base/persistent_array.h"
#include "inventory/dictionary.h"
#include "inventory/slice_table.h"
#include "inventory/slices.h"

namespace dray::inventory {

struct TaintRule {
  std::string name;
  api::DeviceTaintSelector selector;
  api::DeviceTaint taint;
};
using TaintRules = std::vector<TaintRule>;  // by name

// What was known at one moment. Copying costs a few counted pointers. Thread-safe.
class Snapshot {
 public:
  Snapshot();  // nothing is known, not even a dictionary

  Dictionary& dictionary() const { return *dictionary_; }
  // Slices whose nodeName is `node`; empty when there are none.
  const Slices& OfNode(NameId node) const;
  // Slices without a node name.
  const Slices& Unbound() const;
  // All slices of a pool, of any generation.
  const Slices& OfPool(PoolId pool) const;
  const TaintRules& taint_rules() const { return *taint_rules_; }

  std::size_t devices() const { return devices_; }

 private:
  friend class Gatherer;
  friend class Inventory;
  std::shared_ptr<Dictionary> dictionary_;
  base::PersistentArray<std::shared_ptr<const Slices>> by_node_;  // by NameId
  base::PersistentArray<std::shared_ptr<const Slices>> by_pool_;  // by PoolId
  std::shared_ptr<const Slices> unbound_;
  std::shared_ptr<const TaintRules> taint_rules_;
  std::size_t devices_ = 0;
};

// What a change touched, for those who keep something per pool or per node.
struct Change {
  std::vector<PoolId> pools;
  std::vector<NameId> nodes;  // whose own slices changed
  bool unbound = false;       // slices without a node, or taint rules
};

// One thread.
class Inventory {
 public:
  explicit Inventory(std::shared_ptr<Dictionary> dictionary = std::make_shared<Dictionary>());
  ~Inventory();
  Inventory(const Inventory&) = delete;
  Inventory& operator=(const Inventory&) = delete;

  // A slice that is new or has changed, by its object name. One that says what it said before
  // touches nothing.
  Change Put(const api::ResourceSlice& slice);
  Change Remove(std::string_view slice_name);
  // A rule without a selector matches nothing and is not kept (docs/decisions.md).
  Change PutTaintRule(const api::DeviceTaintRule& rule);
  Change RemoveTaintRule(std::string_view name);

  const Snapshot& snapshot() const { return current_; }
  // Every number that the current snapshot has. Older ones are not to be used after a collection.
  void Mark(Marker& marker) const;
  // Walks everything.
  std::size_t MemoryBytes() const;

 private:
  struct Known;
  void Enter(const Known& slice, Change& change);
  void Leave(const Known& slice, Change& change);
  void SetRules(TaintRules rules);

  Snapshot current_;
  // By object name, to find what a change replaces.
  struct Index;
  std::unique_ptr<Index> index_;
};

}  // namespace dray::inventory
