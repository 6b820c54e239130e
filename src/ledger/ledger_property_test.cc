// SPDX-License-Identifier: Apache-2.0
//
// The ledger beside a slow model: a list of what each claim holds, summed up anew whenever it is
// looked at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "inventory/inventory.h"
#include "ledger/ledger.h"
#include "ledger/node_usage.h"
#include "testing/claim_builder.h"
#include "testing/slice_builder.h"

namespace dray::ledger {
namespace {

using inventory::Features;
using testing::Device;
using testing::Slice;
using Claim = testing::AllocatedClaim;

constexpr int kPools = 3;
constexpr int kDevices = 6;

// One device as the model sees it; texts throughout.
struct ModelUsage {
  std::uint32_t exclusive = 0;
  std::uint32_t shares = 0;
  std::multiset<std::string> holders;
  std::map<std::string, Amount> consumed;
  std::map<std::pair<std::string, std::set<std::string>>, std::uint32_t> groups;
  friend bool operator==(const ModelUsage&, const ModelUsage&) = default;
};
using ModelPools = std::map<std::pair<std::string, std::string>, ModelUsage>;  // pool, device

ModelPools SumUp(const std::map<std::string, Claim>& holding) {
  ModelPools pools;
  for (const auto& [name, claim] : holding) {
    for (const auto& result : claim.allocation().devices.results) {
      if (result.admin_access.value_or(false)) continue;
      ModelUsage& usage = pools[{result.pool, result.device}];
      ++(result.share_id ? usage.shares : usage.exclusive);
      usage.holders.insert("ns/" + name);
      if (result.share_id) {
        for (const auto& [capacity, amount] : result.consumed_capacity) {
          usage.consumed[capacity.str()] += inventory::ToAmount(amount);
        }
      }
      for (const auto& [set, groups] : result.compatibility_groups) {
        ++usage.groups[{set.str(), {groups.begin(), groups.end()}}];
      }
    }
  }
  for (auto& [device, usage] : pools) {
    std::erase_if(usage.consumed, [](const auto& entry) { return entry.second == 0; });
  }
  return pools;
}

ModelPools Read(const Snapshot& snapshot, const inventory::Dictionary& d) {
  ModelPools pools;
  for (std::size_t id = 1; id <= d.pools(); ++id) {
    const auto pool = static_cast<PoolId>(id);
    const PoolUsage* usage = snapshot.Find(pool);
    if (usage == nullptr) continue;
    for (const DeviceUsage& device : usage->devices) {
      ModelUsage& out =
          pools[{std::string(d.View(d.At(pool).pool)), std::string(d.View(device.device))}];
      out.exclusive = device.exclusive;
      out.shares = device.shares;
      for (const Holder holder : device.holders) out.holders.emplace(snapshot.NameOf(holder));
      for (const auto& c : device.consumed)
        out.consumed[std::string(d.View(c.capacity))] = c.amount;
      for (const GroupSnapshot& s : device.groups) {
        std::set<std::string> groups;
        for (const NameId group : d.At(s.groups)) groups.emplace(d.View(group));
        out.groups[{std::string(d.View(s.counter_set)), groups}] = s.count;
      }
    }
  }
  return pools;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int Below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool OneIn(int n) { return Below(n) == 0; }

 private:
  std::mt19937 engine_;
};

std::string PoolName(int i) { return "p" + std::to_string(i); }
std::string DeviceName(int i) { return "d" + std::to_string(i); }

// Pool i: a set with one counter on every node, devices on n1 and, the last two, on n2. Which are
// shared, what they draw and their groups is drawn by lot.
void PutSlices(inventory::Inventory& inventory, Random& random) {
  const std::vector<std::vector<std::string>> groups = {{}, {}, {"x"}, {"y"}, {"x", "y"}};
  for (int p = 0; p < kPools; ++p) {
    const std::string pool = PoolName(p);
    Slice counters = Slice(pool + "-c").Pool(pool).Of(3).OnAllNodes();
    counters.Counters("set", {{"m", "20"}}).Counters("other", {{"m", "5"}});
    inventory.Put(counters);
    Slice here = Slice(pool + "-1").Pool(pool).Of(3).OnNode("n1");
    Slice there = Slice(pool + "-2").Pool(pool).Of(3).OnNode("n2");
    for (int i = 0; i < kDevices; ++i) {
      Device device(DeviceName(i));
      // With the driver's domain or without, as drivers change their minds.
      if (random.OneIn(2)) device.Capacity("gpu.example.com/c1", "10");
      if (random.OneIn(2)) device.Capacity("c1", "10");
      device.Capacity("c2", "10");
      if (random.OneIn(2)) device.Shared();
      if (!random.OneIn(4)) {
        device.Consumes("set", {{"m", std::to_string(1 + random.Below(9))}},
                        groups[static_cast<std::size_t>(random.Below(5))]);
      }
      if (random.OneIn(4)) device.Consumes("other", {{"m", "1"}});
      if (random.OneIn(8)) continue;  // gone
      (i < kDevices - 2 ? here : there).With(device);
    }
    // A slice without devices would not be there for the node.
    here.With(Device("spare"));
    there.With(Device("spare-2"));
    inventory.Put(here);
    inventory.Put(there);
  }
}

Claim RandomClaim(const std::string& name, Random& random) {
  Claim claim(name);
  claim.Allocated();
  const int results = random.Below(4);
  for (int r = 0; r < results; ++r) {
    claim.In(PoolName(random.Below(kPools)));
    const std::string device = DeviceName(random.Below(kDevices));
    switch (random.Below(4)) {
      case 0:
        claim.Admin(device);
        break;
      case 1:
        claim.Exclusive(device);
        break;
      default:
        claim.Share(device, {{random.OneIn(3) ? "gpu.example.com/c1" : "c1",
                              std::to_string(random.Below(3))},
                             {"c2", "500m"}});
    }
    const std::vector<std::vector<std::string>> groups = {{}, {"x"}, {"y"}, {"x", "y"}};
    if (random.OneIn(3)) claim.Groups("set", groups[static_cast<std::size_t>(random.Below(4))]);
    if (random.OneIn(6)) claim.Groups("other", {"x"});
  }
  return claim;
}

// Whether the model would let it be reserved.
bool Fits(const Claim& claim, const ModelPools& pools) {
  std::map<std::pair<std::string, std::string>, ModelUsage> mine;
  for (const auto& result : claim.allocation().devices.results) {
    if (result.admin_access.value_or(false)) continue;
    const std::pair key(result.pool, result.device);
    for (const auto* side : {&pools, &std::as_const(mine)}) {
      const auto found = side->find(key);
      if (found == side->end()) continue;
      if (!result.share_id || found->second.exclusive > 0) return false;
    }
    ++(result.share_id ? mine[key].shares : mine[key].exclusive);
  }
  return true;
}

// The published name that a claim's name for a capacity stands for: itself if there is one, else
// the one with or without the driver's domain.
std::optional<NameId> Means(const std::string& name, const inventory::SliceTable& slice,
                            const inventory::DeviceRow& row, const inventory::Dictionary& d) {
  const std::string domain = std::string(d.View(slice.driver())) + "/";
  const std::string other = name.starts_with(domain) ? name.substr(domain.size()) : domain + name;
  for (const std::string& wanted : {name, other}) {
    for (const auto& entry : slice.capacities(row)) {
      if (d.View(entry.name) == wanted) return entry.name;
    }
  }
  return std::nullopt;
}

// Counters, groups and bits of one node, straight from the rules.
void ExpectNodeAgrees(const NodeUsage& usage, const ModelPools& model,
                      const inventory::Snapshot& slices) {
  const inventory::NodeDevices& node = usage.devices();
  const inventory::Dictionary& d = node.dictionary();
  const Features& features = node.features();
  std::vector<Amount> counters;
  for (const auto& counter : node.counters()) counters.push_back(counter.value);
  std::vector<GroupState> groups(node.counter_sets().size());

  for (std::uint32_t p = 0; p < node.pools().size(); ++p) {
    const inventory::PoolOnNode& pool = node.pools()[p];
    const std::string pool_name(d.View(pool.name));
    // The pool's devices in use.
    std::vector<std::pair<std::string, const inventory::DeviceRow*>> in_use;
    std::set<std::string> here;
    for (std::uint32_t i = pool.first_device; i < pool.first_device + pool.devices; ++i) {
      const inventory::NodeDevice& device = node.devices()[i];
      const std::string name(d.View(device.row->name));
      here.insert(name);
      const auto found = model.find({pool_name, name});
      const ModelUsage used = found == model.end() ? ModelUsage{} : found->second;
      const bool multi = device.row->allow_multiple_allocations && features.consumable_capacity;
      EXPECT_EQ(usage.taken().Test(i), used.exclusive > 0 || (used.shares > 0 && !multi)) << name;
      EXPECT_EQ(usage.shared().Test(i), features.consumable_capacity && used.shares > 0) << name;
      EXPECT_EQ(usage.holders(i).size(), used.exclusive + used.shares) << name;
      std::vector<Amount> consumed;
      if (features.consumable_capacity && !used.consumed.empty()) {
        for (const auto& entry : device.slice->capacities(*device.row)) {
          consumed.push_back(0);
          for (const auto& [capacity, amount] : used.consumed) {
            if (Means(capacity, *device.slice, *device.row, d) == entry.name) {
              consumed.back() += amount;
            }
          }
        }
      }
      if (std::ranges::all_of(consumed, [](Amount a) { return a == 0; })) consumed.clear();
      EXPECT_TRUE(std::ranges::equal(usage.consumed(i), consumed)) << name;
      if (found != model.end()) in_use.emplace_back(name, device.row);
    }
    for (const auto& [key, used] : model) {
      if (key.first != pool_name || here.contains(key.second)) continue;
      const inventory::DeviceRow* row = nullptr;
      for (const auto& slice : slices.OfPool(pool.id)) {
        for (const inventory::DeviceRow& r : slice->devices()) {
          if (d.View(r.name) == key.second) row = &r;
        }
      }
      in_use.emplace_back(key.second, row);
    }
    for (const auto& [name, row] : in_use) {
      const ModelUsage& used = model.at({pool_name, name});
      for (std::uint32_t s = pool.first_set; s < pool.first_set + pool.sets; ++s) {
        const inventory::CounterSetOnNode& set = node.counter_sets()[s];
        const inventory::SetConsumption* draws = nullptr;
        if (row != nullptr) {
          for (const auto& c : d.At(row->consumption)) {
            if (c.counter_set == set.name) draws = &c;
          }
        }
        if (draws != nullptr) {
          for (const auto& amount : draws->counters) {
            for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
              if (node.counters()[c].name == amount.counter) counters[c] -= amount.amount;
            }
          }
        }
        std::uint32_t recorded_here = 0;
        std::vector<std::vector<NameId>> placed;
        for (const auto& [snapshot, count] : used.groups) {
          if (snapshot.first != d.View(set.name)) continue;
          recorded_here += count;
          std::vector<NameId> names;
          for (const std::string& group : snapshot.second) names.push_back(*d.Find(group));
          std::ranges::sort(names);
          placed.push_back(names);
        }
        if (!features.compatibility_groups) {
          for (const auto& names : placed) {
            if (!names.empty()) groups[s].kind = GroupState::Kind::kClosed;
          }
          continue;
        }
        if (draws != nullptr && used.exclusive + used.shares > recorded_here) {
          const auto live = d.At(draws->groups);
          placed.emplace_back(live.begin(), live.end());
        }
        for (const auto& names : placed) groups[s].Place(names);
      }
    }
    bool overdrawn = false;
    for (std::uint32_t s = pool.first_set; s < pool.first_set + pool.sets; ++s) {
      const auto& set = node.counter_sets()[s];
      for (std::uint32_t c = set.first_counter; c < set.first_counter + set.counters; ++c) {
        overdrawn |= counters[c] < 0;
      }
    }
    EXPECT_EQ(usage.overdrawn(p), overdrawn);
  }
  EXPECT_TRUE(std::ranges::equal(usage.counters(), counters));
  EXPECT_TRUE(std::ranges::equal(usage.groups(), groups));
}

class LedgerPropertyTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(LedgerPropertyTest, AgreesWithSummingUpAnew) {
  Random random(GetParam());
  const auto dictionary = std::make_shared<inventory::Dictionary>();
  inventory::Inventory inventory(dictionary);
  Ledger ledger(dictionary);
  Features features = Features::All();
  features.compatibility_groups = GetParam() % 3 != 0;
  features.consumable_capacity = GetParam() % 4 != 0;
  std::shared_ptr<const inventory::NodeDevices> devices;
  NodeUsage usage;

  // What is held, by claim; reservations that are still open or committed are in it as well.
  std::map<std::string, Claim> holding;
  std::map<std::string, Reservation> open;
  std::set<std::string> committed;
  struct Kept {
    Snapshot snapshot;
    ModelPools model;
  };
  std::vector<Kept> kept;

  for (int step = 0; step < 400 && !HasFailure(); ++step) {
    SCOPED_TRACE(step);
    if (step % 80 == 0) {
      PutSlices(inventory, random);
      auto gathered = inventory::Gather(inventory.snapshot(), testing::Node("n1"), features);
      ASSERT_TRUE(gathered.ok()) << gathered.status();
      devices = *gathered;
    }
    const std::string name = "c" + std::to_string(random.Below(12));
    const bool in_flight = open.contains(name) || committed.contains(name);
    ASSERT_EQ(ledger.InFlight("uid-" + name), in_flight);
    switch (random.Below(7)) {
      case 0:
      case 1: {  // stored as allocated: ends whatever was reserved
        const Claim claim = RandomClaim(name, random);
        ledger.Put(claim);
        holding.insert_or_assign(name, claim);
        committed.erase(name);
        // The reservation object lives on and must not do anything any more.
        if (const auto r = open.find(name); r != open.end()) {
          if (random.OneIn(2)) r->second.Commit();
          r->second.Release();
          open.erase(r);
        }
        break;
      }
      case 2:  // stored as not allocated
        ledger.Put(Claim(name).Pending());
        if (!in_flight) holding.erase(name);
        break;
      case 3:
        ledger.Remove("uid-" + name);
        holding.erase(name);
        open.erase(name);
        committed.erase(name);
        break;
      case 4: {
        const Claim claim = RandomClaim(name, random);
        StatusOr<Reservation> reservation = ledger.Reserve(claim.Pending(), claim.allocation());
        ASSERT_EQ(reservation.ok(), !holding.contains(name) && Fits(claim, SumUp(holding)));
        if (!reservation.ok()) break;
        open.insert_or_assign(name, *std::move(reservation));
        holding.insert_or_assign(name, claim);
        break;
      }
      case 5:
        if (const auto r = open.find(name); r != open.end()) {
          r->second.Commit();
          open.erase(r);
          committed.insert(name);
        }
        break;
      default:
        if (open.erase(name) > 0) holding.erase(name);
    }

    const ModelPools model = SumUp(holding);
    EXPECT_EQ(Read(ledger.snapshot(), *dictionary), model);
    if (random.OneIn(2)) {
      usage.Update(devices, ledger.snapshot());
      ExpectNodeAgrees(usage, model, inventory.snapshot());
    }
    if (random.OneIn(20)) kept.push_back({ledger.snapshot(), model});
  }
  for (const Kept& k : kept) EXPECT_EQ(Read(k.snapshot, *dictionary), k.model);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LedgerPropertyTest, ::testing::Range(1u, 25u));

// For the thread sanitizer: snapshots are read while the writer goes on.
TEST(LedgerThreads, SnapshotsAreReadWhileTheLedgerChanges) {
  const auto dictionary = std::make_shared<inventory::Dictionary>();
  inventory::Inventory inventory(dictionary);
  Random random(7);
  PutSlices(inventory, random);
  const auto devices =
      inventory::Gather(inventory.snapshot(), testing::Node("n1"), Features::All());
  ASSERT_TRUE(devices.ok());
  Ledger ledger(dictionary);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::jthread> readers;
    for (int r = 0; r < 2; ++r) {
      readers.emplace_back([snapshot = ledger.snapshot(), devices = *devices] {
        NodeUsage mine;
        mine.Update(devices, snapshot);
        for (std::size_t i = 0; i < devices->devices().size(); ++i) {
          if (mine.taken().Test(i) && mine.holders(i).empty()) ADD_FAILURE();
        }
      });
    }
    for (int i = 0; i < 20; ++i) {
      ledger.Put(RandomClaim("c" + std::to_string(random.Below(12)), random));
    }
  }
}

}  // namespace
}  // namespace dray::ledger
