// SPDX-License-Identifier: Apache-2.0
//
// The bound of packing. All kinds of requests together, exactly, as far as one place goes at a
// time: what one takes of a counter set, of a device's capacities or of the free devices is gone
// for the others.
//
// Requests that see devices alike are a kind. A place is a device to share, a counter set with the
// dedicated devices that draw on it (sets that one device draws on together are one place), or a
// dedicated device that draws on nothing. Every completion gives each place a collection of kinds
// that it can take (capacities per share, counters, groups), and all collections together have what
// is needed. That is the relaxation: constraints and which request has which device are left out.
// Of several alternatives a request takes the smallest number of devices and the least of each
// capacity, which only makes it easier. Kinds may be left out when there are too many.
#pragma once

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "allocator/bound.h"
#include "allocator/fingerprint.h"
#include "allocator/packing.h"

namespace dray::allocator {

class PackingBound final : public Bound {
 public:
  void Reset(const BoundInput& input) override;
  bool Hopeless(const State& state, Demands& demands) override;

 private:
  using Options = std::vector<std::uint32_t>;  // collections, one after the other
  // Requests that see devices alike.
  struct Kind {
    const Demand* demand = nullptr;  // one of them
    std::uint32_t need = 0;
    std::uint32_t requests = 0;
    base::BitSet mask;
  };
  // Devices of a counter set that are the same in every respect.
  struct Group {
    std::vector<std::uint32_t> devices;
    std::uint64_t kinds = 0;  // bits
  };

  void FindKinds(std::span<const Demand> demands);
  bool Pack(const State& state);
  std::uint64_t KindsOf(std::uint32_t device) const;
  const Options& OfShared(const State& state, std::uint32_t device);
  const Options& OfSets(const State& state, std::span<const std::uint32_t> devices);
  void FillSets(const State& state, std::size_t group, std::size_t kind, std::size_t used);
  void Keep(std::span<const std::uint32_t> taken);
  void KeepLargest();

  // More than this is not looked at: it would cost more than it saves.
  static constexpr std::size_t kMostKinds = 8;
  static constexpr std::size_t kMostStates = 60'000;
  static constexpr std::size_t kMostOptions = 4'000;
  static constexpr std::uint64_t kMostWork = 8'000'000;

  const Attempt* attempt_ = nullptr;
  WorkMeter* work_ = nullptr;
  // Dedicated devices by place; those that draw on nothing are in loose_.
  std::vector<std::vector<std::uint32_t>> places_;
  base::BitSet loose_;
  std::vector<Kind> kinds_;
  std::size_t kind_count_ = 0;
  Packing packing_;
  absl::flat_hash_map<Fingerprint, Options> known_;  // by everything that options depend on
  Description description_;

  // While the options of one place are found.
  Options options_;
  bool complete_ = true;
  std::vector<Amount> wanted_;  // by kind and capacity
  std::size_t capacities_ = 0;
  std::vector<Group> groups_;
  std::vector<Amount> counters_;                   // left, by counter of the attempt
  std::vector<ledger::GroupState> placed_groups_;  // by counter set
  std::vector<std::uint32_t> taken_;               // by kind
  std::size_t tried_ = 0;
};

}  // namespace dray::allocator
