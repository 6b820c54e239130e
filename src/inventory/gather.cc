// SPDX-License-Identifier: Apache-2.0
//
// Gather: from all slices of a cluster to the devices that one node can use.
#include <algorithm>
#include <array>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "fmt/format.h"
#include "inventory/internal/pool_slices.h"
#include "inventory/node_devices.h"
#include "inventory/node_matching.h"

namespace dray::inventory {

using internal::PoolSlices;
using internal::SharedSlice;

namespace {

// What a node says of itself when its kubelet can do without node operations.
constexpr std::string_view kOptionalNodeOperations = "DRAOptionalNodeOperations";

template <typename T>
std::uint32_t Count(const std::vector<T>& vector) {
  return static_cast<std::uint32_t>(vector.size());
}

}  // namespace

// One call of Gather. One thread.
class Gatherer {
 public:
  Gatherer(const Snapshot& snapshot, std::span<const api::Node* const> nodes,
           const Features& features)
      : snapshot_(snapshot),
        dictionary_(snapshot.dictionary()),
        features_(features),
        result_(std::make_shared<NodeDevices>()) {
    for (const api::Node* node : nodes) {
      matchers_.emplace_back(dictionary_, *node);
      operations_optional_ |= OperationsOptional(*node, features);
    }
    if (nodes.size() == 1) result_->node_name_ = nodes.front()->metadata.name;
    result_->features_ = features;
    result_->dictionary_ = snapshot.dictionary_;
  }

  StatusOr<std::shared_ptr<const NodeDevices>> Run() {
    DRAY_RETURN_IF_ERROR(FindRelevant());
    for (const PoolSlices& pool : PoolsInOrder()) DRAY_RETURN_IF_ERROR(AddPool(pool));
    MarkDevices();
    return std::move(result_);
  }

 private:
  struct Candidate {
    PoolId pool = PoolId::kNone;
    std::uint32_t order = 0;
    const SharedSlice* slice = nullptr;
    friend bool operator<(const Candidate& a, const Candidate& b) {
      return std::tie(a.pool, a.order) < std::tie(b.pool, b.order);
    }
  };

  // 2.1: the first pass.
  Status FindRelevant() {
    for (const NodeMatcher& matcher : matchers_) {
      if (!matcher.name().has_value()) continue;
      for (const SharedSlice& slice : snapshot_.OfNode(*matcher.name())) {
        DRAY_RETURN_IF_ERROR(AddIfRelevant(slice));
      }
    }
    for (const SharedSlice& slice : snapshot_.Unbound()) {
      DRAY_RETURN_IF_ERROR(AddIfRelevant(slice));
    }
    std::ranges::sort(candidates_, std::less<>());
    return absl::OkStatus();
  }

  // Slices with compatibility groups stay while that feature is off: only the devices that declare
  // them are not usable (KEP-5963; docs/decisions.md).
  Status AddIfRelevant(const SharedSlice& slice) {
    if (!features_.partitionable_devices &&
        (slice->mentions_per_device_node_selection() || slice->has_shared_counters())) {
      return absl::OkStatus();
    }
    DRAY_ASSIGN_OR_RETURN(const bool relevant, Relevant(*slice));
    if (relevant) candidates_.push_back({slice->pool(), Count(candidates_), &slice});
    return absl::OkStatus();
  }

  StatusOr<bool> Relevant(const SliceTable& slice) {
    const NodeChoice& choice = slice.node_choice();
    if (choice.has_node || choice.all_nodes || choice.selector != SelectionId::kNone) {
      auto matches = MatchesAny(choice);
      if (matches.ok()) return matches;
      return base::Annotate(matches.status(),
                            fmt::format("slice \"{}\": node selector", slice.object_name()));
    }
    // Nothing that is known was set: something of the future, and not for us.
    if (!slice.per_device_node_selection()) return false;
    for (const DeviceRow& row : slice.devices()) {
      DRAY_ASSIGN_OR_RETURN(const bool matches, Matches(slice, row));
      if (matches) return true;
    }
    return false;
  }

  StatusOr<bool> MatchesAny(const NodeChoice& choice) {
    for (NodeMatcher& matcher : matchers_) {
      auto matches = matcher.Matches(choice);
      if (!matches.ok() || *matches) return matches;
    }
    return false;
  }

  StatusOr<bool> Matches(const SliceTable& slice, const DeviceRow& row) {
    auto matches = MatchesAny(slice.choice(row));
    if (matches.ok()) return matches;
    return base::Annotate(matches.status(),
                          fmt::format("slice \"{}\", device \"{}\": node selector",
                                      slice.object_name(), dictionary_.View(row.name)));
  }

  // 2.3 to 2.7: pools that exist for the node, in search order.
  std::vector<PoolSlices> PoolsInOrder() {
    std::vector<PoolSlices> pools;
    std::vector<const SharedSlice*> relevant;
    for (auto it = candidates_.begin(); it != candidates_.end();) {
      const PoolId id = it->pool;
      relevant.clear();
      for (; it != candidates_.end() && it->pool == id; ++it) relevant.push_back(it->slice);
      PoolSlices pool = internal::Assess(snapshot_, id, relevant, features_);
      if (!pool.obsolete) pools.push_back(std::move(pool));
    }
    if (pools.size() > 1) {
      const auto key = [this](const PoolSlices& pool) {
        const PoolName name = dictionary_.At(pool.id);
        return std::tuple(pool.WaitsForBinding(), dictionary_.View(name.driver),
                          dictionary_.View(name.pool));
      };
      std::ranges::sort(pools, {}, key);
    }
    return pools;
  }

  void MarkDevices() {
    NodeDevices& out = *result_;
    out.notable_ = base::BitSet(out.devices_.size());
    out.shareable_ = base::BitSet(out.devices_.size());
    for (std::size_t i = 0; i < out.devices_.size(); ++i) {
      if (out.devices_[i].notable()) out.notable_.Set(i);
      if (out.devices_[i].row->allow_multiple_allocations) out.shareable_.Set(i);
    }
  }

  Status AddPool(const PoolSlices& slices) {
    NodeDevices& out = *result_;
    const PoolName name = dictionary_.At(slices.id);
    PoolOnNode pool{.id = slices.id,
                    .driver = name.driver,
                    .name = name.pool,
                    .state = slices.state,
                    .why = slices.why,
                    .first_device = Count(out.devices_),
                    .first_set = Count(out.counter_sets_)};
    out.any_incomplete_ |= slices.state == PoolState::kIncomplete;
    out.any_invalid_ |= slices.state == PoolState::kInvalid;
    out.shared_.emplace_back();
    out.pools_.push_back(pool);
    if (slices.state != PoolState::kComplete) return absl::OkStatus();

    if (slices.shared != nullptr) {
      out.shared_.back() = {snapshot_.by_pool_.At(static_cast<std::size_t>(slices.id)),
                            slices.shared};
    }
    AddCounterSets(slices);
    SelectRules(pool);
    for (const SharedSlice* slice : slices.devices) DRAY_RETURN_IF_ERROR(AddSlice(*slice));
    out.pools_.back().devices = Count(out.devices_) - pool.first_device;
    SortByName(out.devices_by_name_, pool.first_device, Count(out.devices_),
               [&](std::uint32_t i) { return out.devices_[i].row->name; });
    return absl::OkStatus();
  }

  void AddCounterSets(const PoolSlices& slices) {
    NodeDevices& out = *result_;
    const std::uint32_t first = Count(out.counter_sets_);
    for (const CounterSetRow* row : CounterSetsOf(slices)) {
      const std::uint32_t set = Count(out.counter_sets_);
      out.counter_sets_.push_back({.name = row->name,
                                   .pool = Count(out.pools_) - 1,
                                   .first_counter = Count(out.counters_),
                                   .counters = static_cast<std::uint32_t>(row->counters.size())});
      for (const CounterAmount& counter : row->counters) {
        out.counters_.push_back({counter.counter, set, counter.amount});
      }
    }
    out.pools_.back().sets = Count(out.counter_sets_) - first;
    SortByName(out.sets_by_name_, first, Count(out.counter_sets_),
               [&](std::uint32_t i) { return out.counter_sets_[i].name; });
  }

  // Those of slices for the node first, then the others in the order of slices. A pool that spans
  // nodes may have sets for each of them: of those only the ones that a device of this node needs.
  std::vector<const CounterSetRow*> CounterSetsOf(const PoolSlices& slices) const {
    std::vector<const CounterSetRow*> sets;
    if (slices.shared == nullptr) {
      for (const SharedSlice* slice : slices.counters) {
        for (const CounterSetRow& row : (*slice)->counter_sets()) sets.push_back(&row);
      }
      return sets;
    }
    std::vector<NameId> names;
    for (const SharedSlice* slice : slices.devices) {
      for (const DeviceRow& row : (*slice)->devices()) {
        for (const SetConsumption& use : dictionary_.At(row.consumption)) {
          names.push_back(use.counter_set);
        }
      }
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::vector<const PoolCounters::Set*> used;
    // All of them exist, or the pool would be invalid.
    for (const NameId name : names) {
      used.push_back(&slices.shared->sets()[*slices.shared->FindSet(name)]);
    }
    for (const SharedSlice* slice : slices.counters) {
      for (const CounterSetRow& row : (*slice)->counter_sets()) {
        if (std::erase_if(used, [&](const auto* set) { return set->row == &row; }) > 0) {
          sets.push_back(&row);
        }
      }
    }
    std::ranges::sort(used, {}, &PoolCounters::Set::arrival);
    for (const PoolCounters::Set* set : used) sets.push_back(set->row);
    return sets;
  }

  // Appends the numbers from `first` to before `end`, sorted by the names behind them.
  template <typename NameOf>
  static void SortByName(std::vector<std::uint32_t>& by_name, std::uint32_t first,
                         std::uint32_t end, NameOf name_of) {
    for (std::uint32_t i = first; i < end; ++i) by_name.push_back(i);
    std::ranges::sort(by_name.begin() + first, by_name.end(), {}, name_of);
  }

  Status AddSlice(const SharedSlice& slice) {
    if (slice->devices().empty()) return absl::OkStatus();
    NodeDevices& out = *result_;
    out.keep_.push_back(slice);
    out.slices_.push_back({slice.get(), Count(out.devices_)});
    const bool operations_missing = !slice->skip_node_operations().empty() && !operations_optional_;
    for (const DeviceRow& row : slice->devices()) {
      NodeDevice device{.slice = slice.get(), .row = &row, .pool = Count(out.pools_) - 1};
      device.range = Count(out.slices_) - 1;
      // Every device is asked here, so a selector that is not well-formed is an error even behind
      // devices that are enough for the allocation.
      if (slice->per_device_node_selection()) {
        DRAY_ASSIGN_OR_RETURN(const bool matches, Matches(*slice, row));
        device.on_node = matches;
      }
      device.operations_missing = operations_missing;
      device.groups_off = row.has_groups && !features_.compatibility_groups;
      device.taints = TaintsOf(row);
      AddUses(row, device);
      out.devices_.push_back(device);
    }
    return absl::OkStatus();
  }

  void AddUses(const DeviceRow& row, NodeDevice& device) {
    NodeDevices& out = *result_;
    device.first_use = Count(out.counter_uses_);
    device.first_set = Count(out.set_uses_);
    if (row.consumption == ConsumptionId::kNone) return;
    device.counters_off = !features_.partitionable_devices;
    if (device.counters_off) return;
    for (const SetConsumption& use : dictionary_.At(row.consumption)) {
      // All of them exist, or the pool would be invalid.
      const std::uint32_t set = *out.FindSet(device.pool, use.counter_set);
      out.set_uses_.push_back({set, use.groups});
      for (const CounterAmount& counter : use.counters) {
        out.counter_uses_.push_back({*out.FindCounter(set, counter.counter), counter.amount});
      }
    }
    device.uses = Count(out.counter_uses_) - device.first_use;
    device.sets = Count(out.set_uses_) - device.first_set;
  }

  // The taint rules that may match devices of the pool.
  void SelectRules(const PoolOnNode& pool) {
    rules_.clear();
    tainted_.clear();
    for (const TaintRule& rule : snapshot_.taint_rules()) {
      const auto allows = [&](const std::optional<std::string>& wanted, NameId name) {
        return !wanted.has_value() || *wanted == dictionary_.View(name);
      };
      if (allows(rule.selector.driver, pool.driver) && allows(rule.selector.pool, pool.name)) {
        rules_.push_back(&rule);
      }
    }
  }

  TaintsId TaintsOf(const DeviceRow& row) {
    if (rules_.empty()) return row.taints;
    std::vector<const TaintRule*> matching;
    for (const TaintRule* rule : rules_) {
      const auto& device = rule->selector.device;
      if (!device.has_value() || *device == dictionary_.View(row.name)) matching.push_back(rule);
    }
    if (matching.empty()) return row.taints;
    // Most devices of a pool have the same taints and match the same rules.
    for (const Tainted& known : tainted_) {
      if (known.own == row.taints && known.rules == matching) return known.all;
    }
    std::vector<api::DeviceTaint> taints;
    if (row.taints != TaintsId::kNone) {
      const auto own = dictionary_.At(row.taints);
      taints.assign(own.begin(), own.end());
    }
    for (const TaintRule* rule : matching) taints.push_back(rule->taint);
    const TaintsId all = dictionary_.Intern(std::span<const api::DeviceTaint>(taints));
    tainted_.push_back({row.taints, std::move(matching), all});
    return all;
  }

  struct Tainted {
    TaintsId own = TaintsId::kNone;
    std::vector<const TaintRule*> rules;
    TaintsId all = TaintsId::kNone;
  };

  const Snapshot& snapshot_;
  Dictionary& dictionary_;
  const Features features_;
  absl::InlinedVector<NodeMatcher, 1> matchers_;
  bool operations_optional_ = false;
  std::shared_ptr<NodeDevices> result_;
  std::vector<Candidate> candidates_;
  std::vector<const TaintRule*> rules_;  // of the pool that is being added
  std::vector<Tainted> tainted_;         // of that pool
};

bool OperationsOptional(const api::Node& node, const Features& features) {
  const auto& declared = node.status.declared_features;
  return features.optional_node_operations &&
         std::ranges::find(declared, kOptionalNodeOperations) != declared.end();
}

StatusOr<std::shared_ptr<const NodeDevices>> Gather(const Snapshot& snapshot, const api::Node& node,
                                                    const Features& features) {
  return Gatherer(snapshot, std::array{&node}, features).Run();
}

StatusOr<std::shared_ptr<const NodeDevices>> GatherTogether(const Snapshot& snapshot,
                                                            std::span<const api::Node* const> nodes,
                                                            const Features& features) {
  return Gatherer(snapshot, nodes, features).Run();
}

}  // namespace dray::inventory
