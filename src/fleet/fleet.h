// SPDX-License-Identifier: Apache-2.0
//
// Fleet: the objects of a cluster reduced to what a picture of its devices needs: a few numbers per
// device, each text once. Kept from changes; a change costs the pool that it touches, never the
// cluster. Pure.
//
// What is in use comes from the ledger and what a device draws on from the inventory, so a device
// that is called free here is one that the allocator may give away, and a blocked one is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "allocator/expressions.h"
#include "api/cluster.h"
#include "api/gates.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "base/string_map.h"
#include "fleet/state.h"
#include "fleet/strings.h"
#include "inventory/features.h"
#include "inventory/inventory.h"
#include "ledger/group_state.h"
#include "ledger/ledger.h"

namespace dray::fleet {

// Claims in this namespace, which no real one can be called, are those that may not be seen: that
// they have devices is known, and nothing else.
inline constexpr std::string_view kHidden = "(hidden)";

using Id = std::uint32_t;
inline constexpr std::int32_t kNone = -1;

struct Device {
  Id pool = 0;
  std::uint32_t name = 0;  // string
  Id shape = 0;
  std::int32_t card = kNone;
  std::int32_t node = kNone;  // the one that it is for; none: several
  State state = State::kRemoved;
  std::uint8_t fill = 0;  // per cent of the fullest capacity, of a shared one
  Marks marks = 0;
  std::uint32_t row = 0;                         // of `slice`
  const inventory::SliceTable* slice = nullptr;  // null: gone, or removed
  std::uint64_t changed = 0;                     // the revision of state, fill and marks
  std::uint64_t announced = 0;                   // the revision of everything else
};

struct Node {
  std::uint32_t name = 0;
  Id labels = 0;  // of label_sets()
  std::uint8_t flags = 0;
  std::uint32_t pools = 0;  // that are for it
  std::uint64_t changed = 0;
  std::optional<api::Object> object;
};

struct Pool {
  std::uint32_t driver = 0;
  std::uint32_t name = 0;
  std::int32_t node = kNone;
  std::uint8_t flags = 0;
  std::uint32_t slices = 0;  // of the newest generation
  std::int64_t generation = 0;
  std::string why;  // incomplete or invalid
  std::uint64_t changed = 0;
  inventory::PoolId id = inventory::PoolId::kNone;
  std::vector<Id> devices;  // all that are not removed
  std::vector<Id> nodes;    // that it is for, sorted
  absl::flat_hash_map<inventory::NameId, Id> by_name;
  std::vector<std::shared_ptr<const inventory::SliceTable>> tables;  // of the newest generation
  std::shared_ptr<const ledger::PoolUsage> usage;
};

// A counter set.
struct Card {
  Id pool = 0;
  std::uint32_t name = 0;
};

// What many devices have in common.
struct Shape {
  std::uint32_t driver = 0;
  std::vector<std::pair<std::uint32_t, std::string>> attributes;  // name; "type", value as JSON
  std::vector<std::pair<std::uint32_t, std::uint32_t>> capacity;  // name, value
  bool multiple = false;
  std::vector<std::uint32_t> classes;  // of classes(), sorted
};

struct Claim {
  std::string namespace_;
  std::string name;
  ClaimState state = ClaimState::kPending;
  std::vector<Id> devices;  // one per result, in their order
  std::vector<std::string> pods;
  std::uint64_t changed = 0;
  std::optional<api::Object> object;  // nothing: it is gone
  // Devices that its status says are unhealthy.
  std::vector<std::string> unhealthy;
};

struct Pod {
  bool pending = false;       // waits for a node
  std::uint64_t changed = 0;  // when that became true or false, or its claims others
  std::vector<std::string> claims;
  std::optional<api::Object> object;
  std::vector<std::string> unhealthy;  // devices, as it says
};

// What keeps a device from being given, and what it draws on.
struct Draw {
  struct Counter {
    std::string_view set;
    std::string_view name;
    inventory::Amount needs;
    inventory::Amount left;
    inventory::Amount all;
  };
  std::vector<Counter> counters;
  bool overdrawn = false;
  std::string why;     // one sentence; empty: nothing does
  bool whole = false;  // all that there is of its counter sets
};

struct FleetOptions {
  api::FeatureGates gates;
  // Claims may not be read: every state is unknown.
  bool claims_unknown = false;
  // Revisions begin after this one, so that those of an earlier fleet are known to be too old.
  std::uint64_t first_revision = 1;
};

// The pods of its namespace that a claim is reserved for, or was made for.
std::vector<std::string> PodsOf(const api::ResourceClaim& claim);

// One thread at a time.
class Fleet {
 public:
  explicit Fleet(FleetOptions options);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // The kinds that matter here.
  static std::span<const api::KindInfo* const> Kinds();

  // Takes a change in; nobody sees it before Settle. Kinds that do not matter are ignored.
  void Apply(const api::Change& change);
  // False: nothing was there to see. True: there is a new revision.
  bool Settle();
  void SetClaimsUnknown(bool unknown);

  std::uint64_t revision() const { return revision_; }
  // Whoever has an older revision has to begin anew.
  std::uint64_t oldest() const { return oldest_; }

  const Strings& strings() const { return strings_; }
  const std::deque<Device>& devices() const { return devices_; }
  const std::deque<Node>& nodes() const { return nodes_; }
  const std::deque<Pool>& pools() const { return pools_; }
  const std::vector<Card>& cards() const { return cards_; }
  const std::vector<Shape>& shapes() const { return shapes_; }
  // Sets of labels: key, value, key, value.
  const std::vector<std::vector<std::uint32_t>>& label_sets() const { return label_sets_; }
  const std::vector<std::string>& classes() const { return class_names_; }
  bool claims_unknown() const { return options_.claims_unknown; }
  // Some claims are there without a name.
  bool any_hidden() const { return hidden_claims_ > 0; }

  using Key = std::pair<std::string, std::string>;  // namespace, name
  // Those that are gone keep their place until they are forgotten.
  const absl::btree_map<Key, Claim>& claims() const { return claims_; }
  const absl::btree_map<Key, Pod>& pods() const { return pods_; }
  const absl::btree_map<std::string, api::Object>& class_objects() const { return class_objects_; }
  const absl::btree_map<Key, api::Object>& quotas() const { return quotas_; }
  const absl::btree_map<std::string, api::Object>& namespaces() const { return namespaces_; }

  std::optional<Id> FindDevice(std::string_view driver, std::string_view pool,
                               std::string_view device) const;
  std::optional<Id> FindNode(std::string_view name) const;
  std::optional<std::uint32_t> FindClass(std::string_view name) const;
  // Why one of its expressions does not compile; empty: all do.
  std::string ClassError(std::uint32_t number) const;
  std::string NameOf(const Device& device) const;  // driver/pool/device
  // As published; null: it is gone.
  const api::Device* PublishedOf(const Device& device) const;
  // Null: it is not in use.
  const ledger::DeviceUsage* UsageOf(const Device& device) const;
  Draw DrawOf(const Device& device) const;
  // The claims that have it, admin access included.
  std::vector<const Claim*> HoldersOf(Id device) const;
  struct TaintOn {
    api::DeviceTaint taint;
    std::string source;  // "slice", "DeviceTaintRule x"
  };
  std::vector<TaintOn> TaintsOf(const Device& device) const;
  // Attributes of which most devices have a value of their own are not in shapes.
  bool IsOwn(const Device& device, inventory::NameId attribute) const;

  inventory::Dictionary& dictionary() const { return *dictionary_; }
  const inventory::Features& features() const { return features_; }
  std::size_t live_devices() const { return live_devices_; }
  // How many devices have been looked at so far: what a change costs.
  std::uint64_t looked_at() const { return looked_at_; }
  // So much of it is only there to say that it is gone that it had better be made anew.
  bool Wasteful() const;

  // Everything that it is made of.
  void ForEachObject(const std::function<void(const api::Object&)>& each) const;

  // What is another one since a revision, of the newer ones; repeats are left out.
  struct Changed {
    std::vector<Id> nodes;
    std::vector<Id> pools;
    std::vector<Id> devices;
    std::vector<Key> claims;
    std::vector<Key> pods;
    std::size_t size() const {
      return nodes.size() + pools.size() + devices.size() + claims.size() + pods.size();
    }
  };
  // Costs what has changed, where that is not long ago.
  Changed ChangedSince(std::uint64_t revision) const;

 private:
  struct PoolDraw;
  struct OwnAttribute {
    absl::flat_hash_map<inventory::ValueId, std::uint32_t> values;
    std::size_t devices = 0;
    bool own = false;
  };
  using AttributeKey = std::pair<std::uint32_t, std::uint32_t>;  // driver, name: of the dictionary

  void PutNode(const std::string& name, std::optional<api::Object> object);
  void PutSlice(const api::Object& object, bool gone);
  void PutClaim(const api::Object& object, bool gone);
  void PutPod(const api::Object& object, bool gone);
  void PutClass(const api::Object& object, bool gone);
  void PutRule(const api::Object& object, bool gone);
  void SetHealth(std::vector<std::string>& list, std::vector<std::string> now);
  std::vector<std::string> HealthOf(const api::Pod& pod) const;

  void TouchUsage(const ledger::Change& change);
  void TouchDevice(std::string_view key);
  void TouchNode(Id node);
  void SetNode(Id node, std::uint8_t flags, Id labels);
  void TouchRule(const api::DeviceTaintSelector& selector);
  Id PoolOf(inventory::PoolId id);  // a new number if it has none
  Id NodeOf(std::string_view name);
  Id DeviceOf(Id pool, std::string_view name);

  void ReduceSlices(Id pool);
  void ReducePool(Id pool);
  void ReduceUsage(Id pool);
  void ReduceDevice(Id id, const PoolDraw& draw);
  PoolDraw DrawOfPool(const Pool& pool) const;
  Draw DrawOf(const Device& device, const PoolDraw& pool) const;
  std::uint8_t FillOf(const Device& device, const ledger::DeviceUsage& usage) const;
  void CountAttributes(const inventory::SliceTable& slice, const inventory::DeviceRow& row,
                       int sign);
  Id ShapeOf(const Device& device);
  std::int32_t CardOf(Id pool, const inventory::SliceTable& slice, const inventory::DeviceRow& row);
  void Announce(Id device);
  void SetDevice(Id id, State state, std::uint8_t fill, Marks marks);
  void SetPoolNodes(Pool& pool, std::vector<Id> nodes);
  void SettleClasses();
  void SettleShapes(const std::vector<Id>& pools);
  void SettleClaims();
  void Forget();
  // It is another one from the next revision on.
  std::uint64_t Stamp() {
    changed_ = true;
    return revision_ + 1;
  }
  void StampNode(Id id) {
    nodes_[id].changed = Stamp();
    now_.nodes.push_back(id);
  }
  void StampPool(Id id) {
    pools_[id].changed = Stamp();
    now_.pools.push_back(id);
  }
  void StampDevice(Id id) {
    devices_[id].changed = Stamp();
    now_.devices.push_back(id);
  }
  void KeepBatch();

  FleetOptions options_;
  inventory::Features features_;
  std::shared_ptr<inventory::Dictionary> dictionary_;
  inventory::Inventory inventory_;
  ledger::Ledger ledger_;
  allocator::Expressions expressions_;

  Strings strings_;
  std::deque<Device> devices_;
  std::deque<Node> nodes_;
  std::deque<Pool> pools_;
  std::vector<Card> cards_;
  std::vector<Shape> shapes_;
  std::vector<std::vector<std::uint32_t>> label_sets_;
  std::vector<std::string> class_names_;
  std::vector<std::vector<std::shared_ptr<const allocator::Expression>>> class_selectors_;

  base::StringMap<Id> node_ids_;
  base::StringMap<Id> pool_names_;                       // driver/pool
  absl::flat_hash_map<inventory::PoolId, Id> pool_ids_;  // of those that are not removed
  base::StringMap<Id> device_ids_;                       // driver/pool/device
  base::StringMap<Id> shape_ids_;
  base::StringMap<Id> label_ids_;
  absl::flat_hash_map<std::pair<Id, std::uint32_t>, std::int32_t> card_ids_;
  absl::flat_hash_map<AttributeKey, OwnAttribute> attributes_;
  absl::flat_hash_set<AttributeKey> flipped_;
  base::StringMap<std::uint32_t> unhealthy_;       // how many say so, by device
  base::StringMap<std::uint32_t> admin_;           // results with admin access, by device
  base::StringMap<absl::btree_set<Key>> holders_;  // by device
  absl::btree_map<Key, absl::btree_set<std::string>> users_;  // pods by claim

  absl::btree_map<std::string, api::Object> slice_objects_;
  absl::btree_map<std::string, api::Object> class_objects_;
  absl::btree_map<std::string, api::Object> rule_objects_;
  absl::btree_map<Key, Claim> claims_;
  absl::btree_map<Key, Pod> pods_;
  absl::btree_map<Key, api::Object> quotas_;
  absl::btree_map<std::string, api::Object> namespaces_;

  absl::btree_set<Id> dirty_slices_;  // pools
  absl::btree_set<Id> dirty_pools_;
  absl::btree_set<Id> dirty_usage_;
  absl::btree_set<Id> dirty_devices_;
  absl::btree_set<Key> dirty_claims_;
  absl::flat_hash_set<Id>
      per_device_pools_;  // whose devices say themselves for which node they are
  Changed now_;
  std::deque<std::pair<std::uint64_t, Changed>> batches_;  // by revision, the newest last
  std::size_t batched_ = 0;
  bool classes_changed_ = false;
  bool all_dirty_ = false;
  bool changed_ = false;

  std::uint64_t revision_;
  std::uint64_t oldest_;
  std::size_t live_devices_ = 0;
  std::size_t hidden_claims_ = 0;
  std::size_t gone_entries_ = 0;  // claims and pods that are kept only to say that they are gone
  std::uint64_t looked_at_ = 0;
};

}  // namespace dray::fleet
