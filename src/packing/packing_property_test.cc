// SPDX-License-Identifier: Apache-2.0
//
// Packing against a slow model that remembers nothing and is written as the rule is told, on random
// clusters with shares, sets, groups, dimensions and several kinds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "packing/fragmentation.h"
#include "packing/packer.h"
#include "packing/relaxation.h"

namespace dray::packing {
namespace {

using Random = std::mt19937_64;

std::uint32_t Below(Random& random, std::uint32_t n) {
  return static_cast<std::uint32_t>(random() % n);
}

struct Profile {
  bool plain = false;  // one dimension, no groups, one demand: what the fast way takes
  std::uint32_t kinds = 2;
  std::uint32_t units = 6;  // of a node, at most
};

// How many dimensions a kind has.
std::size_t Dims(const Profile& profile, std::size_t kind) {
  return profile.plain ? 1 : 1 + kind % 2;
}

NodeState RandomNode(Random& random, const Profile& profile) {
  NodeState node{.left = {static_cast<std::int32_t>(Below(random, 64)),
                          static_cast<std::int32_t>(Below(random, 64)), 8}};
  const std::uint32_t units = Below(random, profile.units + 1);
  const std::uint32_t only = Below(random, profile.kinds);
  const bool mixed = Below(random, 3) == 0;
  for (std::uint32_t u = 0; u < units; ++u) {
    const auto kind = static_cast<std::uint16_t>(mixed ? Below(random, profile.kinds) : only);
    const auto group = static_cast<std::uint16_t>(profile.plain ? 0 : Below(random, 3));
    const bool whole = Below(random, 2) == 0;
    std::vector<Amount> free;
    for (std::size_t d = 0; d < Dims(profile, kind); ++d) {
      free.push_back(whole ? kWhole : static_cast<Amount>(Below(random, 11)) * 100'000);
    }
    node.units.push_back({kind, group, static_cast<std::uint16_t>(node.free.size()),
                          static_cast<std::uint16_t>(free.size())});
    node.free.insert(node.free.end(), free.begin(), free.end());
  }
  return node;
}

Request RandomRequest(Random& random, const Profile& profile) {
  Request request{.needs = {static_cast<std::int32_t>(Below(random, 12)),
                            static_cast<std::int32_t>(Below(random, 12)), 1}};
  const std::uint32_t demands = profile.plain ? Below(random, 4) != 0 : Below(random, 3);
  for (std::uint32_t i = 0; i < demands; ++i) {
    Demand demand;
    const bool whole = Below(random, 2) == 0;
    demand.count = whole || !profile.plain ? 1 + Below(random, 3) : 1;
    demand.match = static_cast<std::int8_t>(profile.plain || Below(random, 2) == 0 ? -1 : 0);
    const auto amount = static_cast<Amount>(1 + Below(random, 9)) * 100'000;
    for (std::uint16_t kind = 0; kind < profile.kinds; ++kind) {
      if (Below(random, 3) == 0 && !(demand.options.empty() && kind + 1u == profile.kinds))
        continue;
      Option option{.kind = kind, .whole = whole};
      for (std::size_t d = 0; d < Dims(profile, kind); ++d) {
        option.amounts.push_back(whole              ? kWhole
                                 : profile.plain    ? amount
                                 : Below(random, 2) ? amount
                                                    : amount / 2);
      }
      demand.options.push_back(option);
    }
    request.demands.push_back(demand);
  }
  return request;
}

int Instances(int usual) {
  const char* const wanted = std::getenv("DRAY_INSTANCES");
  return wanted != nullptr ? std::atoi(wanted) : usual;
}

TEST(SequencesProperty, FastAndSlowPlaceTheSame) {
  for (int seed = 1; seed <= Instances(60); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const bool large = seed % 10 == 1;
    const Profile profile{.plain = seed % 3 != 0,
                          .kinds = 1 + Below(random, 4),
                          .units = large ? std::uint32_t{kMaxUnits} : 6};
    History history;
    for (int i = 0; i < 12; ++i) {
      history.Learn(RandomRequest(random, profile), 1 + Below(random, 4));
    }
    const SequenceOptions options{.count = 1 + Below(random, 20), .longest = 40};
    Sequences lanes(history, options, 1);
    Sequences one_by_one(history, options, 1);
    one_by_one.WithoutLanes();
    for (int i = 0; i < 20; ++i) {
      NodeState node = RandomNode(random, profile);
      if (large) node.left = {400, 400, 300};
      Normalize(node);
      const std::int64_t slow = lanes.SlowValueOf(node);
      ASSERT_EQ(lanes.ValueOf(node), slow);
      ASSERT_EQ(one_by_one.ValueOf(node), slow);
      ASSERT_LE(slow, FreeOf(node) * options.count);
      // Told early: never below what is asked about when it is that.
      const std::int64_t bound = Below(random, 2) ? slow : slow + 1;
      PartialValue partial;
      lanes.Continue(node, bound, partial);
      const std::int64_t most = partial.placed + FreeOf(node) * (options.count - partial.done);
      ASSERT_GE(most, slow);
      if (bound <= slow) {
        ASSERT_EQ(most, slow);
      }
    }
  }
}

// The rule as it is told, for a cluster of states.
class Model {
 public:
  Model(const History& history, const std::vector<NodeState>& nodes, Sequences& sequences,
        double unseen)
      : history_(history), nodes_(nodes), sequences_(sequences), unseen_(unseen) {}

  double Worth(const NodeState& node) {
    double worth = static_cast<double>(sequences_.SlowValueOf(node));
    std::map<std::vector<std::uint64_t>, std::pair<DemandClass, double>> classes;
    double total = 0;
    for (const History::Entry& entry : history_.entries()) {
      for (const Demand& demand : entry.request.demands) {
        const DemandClass of = ClassOf(demand);
        const double asked = history_.SeenOf(entry) * static_cast<double>(WeightOf(demand));
        auto& at = classes[{of.kinds, of.count, of.whole, of.matched}];
        at.first = of;
        at.second += asked;
        total += asked;
      }
    }
    for (const auto& [key, value] : classes) {
      const auto& [of, asked] = value;
      Kinds among = of.kinds;
      for (std::size_t i = 0; i < classes.size(); ++i) {
        for (const auto& [other_key, other] : classes) {
          if ((other.first.kinds & among) != 0) among |= other.first.kinds;
        }
      }
      double room = 0;
      double rest = 0;
      for (const NodeState& other : nodes_) {
        room += static_cast<double>(RoomFor(of, other));
        rest += static_cast<double>(RoomOf(among, of.whole, other));
      }
      if (room <= 0) continue;
      const double price = asked / total * std::max(0.0, rest / room - 1);
      worth += price * static_cast<double>(RoomFor(of, node)) * sequences_.count();
    }
    for (const std::uint32_t size : {1, 2, 4, 8}) {
      const DemandClass set{.kinds = ~Kinds{0}, .count = size, .whole = true};
      worth += unseen_ * static_cast<double>(RoomFor(set, node)) * sequences_.count();
    }
    return worth;
  }

  // The least cost of putting it there; nothing: it does not fit.
  std::optional<double> Cost(const NodeState& node, const Request& request) {
    std::optional<double> least;
    for (const Successor& next : Successors(node, request)) {
      const double cost = Worth(node) - Worth(next.state);
      if (!least || cost < *least) least = cost;
    }
    return least;
  }

 private:
  const History& history_;
  const std::vector<NodeState>& nodes_;
  Sequences& sequences_;
  double unseen_;
};

TEST(PackerProperty, CostsAreThoseOfTheRule) {
  for (int seed = 1; seed <= Instances(12); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Profile profile{.plain = seed % 2 == 0, .kinds = 1 + Below(random, 3)};
    PackerOptions options{.price_every = 1};
    options.sequences = {.count = 9, .longest = 30, .seed = static_cast<std::uint64_t>(seed)};
    options.states = 64;  // so that much is forgotten
    Packer packer(options);
    std::vector<NodeState> nodes;
    for (std::uint32_t n = 0; n < 8; ++n) {
      nodes.push_back(RandomNode(random, profile));
      Normalize(nodes.back());
      packer.Set(n, nodes.back());
    }
    std::vector<Request> requests;
    for (int i = 0; i < 6; ++i) requests.push_back(RandomRequest(random, profile));
    // A round of the sequences is what the packer draws first.
    for (const Request& request : requests) packer.Learn(request, 3);
    Sequences sequences(packer.history(), options.sequences, 1);
    for (int step = 0; step < 8; ++step) {
      const Request& request = requests[Below(random, 6)];
      // More that comes lets fall what is kept for the unseen, and bounds with it.
      const auto number = step % 2 == 0 ? packer.Find(request) : packer.Learn(request);
      packer.epoch();
      Model model(packer.history(), nodes, sequences, packer.unseen());
      std::optional<std::int64_t> best;
      for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        const auto want = model.Cost(nodes[n], request);
        const std::int64_t bound = packer.LowerBounds(number)[packer.SlotOf(n)];
        if (best) {  // what is dearer may be told too low, but not as low as the best
          const auto hurried = packer.CostOf(n, number, *best);
          ASSERT_EQ(hurried.has_value(), want.has_value());
          if (hurried && *want > static_cast<double>(*best) + 2) {
            ASSERT_GT(hurried->cost, *best);
          }
        }
        const auto got = packer.CostOf(n, number);
        ASSERT_EQ(got.has_value(), want.has_value());
        ASSERT_EQ(packer.LowerBounds(number)[packer.SlotOf(n)] == Packer::kNever, !got);
        if (!got) continue;
        ASSERT_NEAR(static_cast<double>(got->cost), *want, 2);
        ASSERT_LE(bound, got->cost);
        best = best ? std::min(*best, got->cost) : got->cost;
      }
      // Something changes. Prices follow at the next request, so one that is not counted here makes
      // the model's and the packer's those of the same moment.
      const std::uint32_t n = Below(random, 8);
      nodes[n] = RandomNode(random, profile);
      Normalize(nodes[n]);
      packer.Set(n, nodes[n]);
      packer.RenewPrices();
    }
  }
}

TEST(PackerProperty, WhatIsRememberedChangesNothing) {
  for (int seed = 1; seed <= Instances(15); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Profile profile{.plain = seed % 2 == 0, .kinds = 2};
    PackerOptions options{.grown_by = 5, .price_every = 7};
    options.history = {.capacity = 6, .half_life = 40};
    options.sequences.count = 10;
    PackerOptions forgets = options;
    forgets.memory = false;
    options.states = 128;
    Packer one(options);
    Packer other(forgets);
    for (int step = 0; step < 150; ++step) {
      const std::uint32_t n = Below(random, 6);
      if (Below(random, 10) == 0) {
        one.Remove(n);
        other.Remove(n);
      } else {
        const NodeState node = RandomNode(random, profile);
        one.Set(n, node);
        other.Set(n, node);
      }
      const Request request = RandomRequest(random, profile);
      const auto number = one.Learn(request);
      ASSERT_EQ(other.Learn(request), number);
      for (std::uint32_t i = 0; i < 6; ++i) {
        const auto got = one.CostOf(i, number);
        const auto want = other.CostOf(i, number);
        ASSERT_EQ(got.has_value(), want.has_value());
        if (!got) continue;
        ASSERT_EQ(got->cost, want->cost);
        ASSERT_EQ(got->ease, want->ease);
      }
    }
  }
}

TEST(PackerProperty, TheNumbersOfNodesDoNotMatter) {
  for (int seed = 1; seed <= Instances(15); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Profile profile{.plain = seed % 2 == 0, .kinds = 2};
    std::vector<std::uint32_t> numbers(12);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::ranges::shuffle(numbers, random);
    Packer straight;
    Packer shuffled;
    std::vector<NodeState> nodes;
    for (std::uint32_t n = 0; n < numbers.size(); ++n) nodes.push_back(RandomNode(random, profile));
    for (std::uint32_t n = 0; n < numbers.size(); ++n) straight.Set(n, nodes[n]);
    for (std::uint32_t n = 0; n < numbers.size(); ++n) {
      shuffled.Set(numbers[n], nodes[n]);
    }
    for (int i = 0; i < 8; ++i) {
      const Request request = RandomRequest(random, profile);
      const auto a = straight.Learn(request);
      const auto b = shuffled.Learn(request);
      for (std::uint32_t n = 0; n < numbers.size(); ++n) {
        const auto one = straight.CostOf(n, a);
        const auto two = shuffled.CostOf(numbers[n], b);
        ASSERT_EQ(one.has_value(), two.has_value());
        if (!one) continue;
        ASSERT_EQ(one->cost, two->cost);
        ASSERT_EQ(one->ease, two->ease);
      }
    }
  }
}

TEST(FragmentationProperty, WhatIsRememberedChangesNothing) {
  for (int seed = 1; seed <= Instances(10); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const Profile profile{.plain = seed % 2 == 0, .kinds = 2};
    History history({.capacity = 7, .half_life = 30});
    FragmentationMemory memory;
    std::vector<NodeState> nodes;
    for (int n = 0; n < 6; ++n) nodes.push_back(RandomNode(random, profile));
    std::uint64_t anew = 0;
    for (int step = 0; step < 30; ++step) {
      // Requests come, and push others out; some nodes change.
      if (step % 3 == 0) history.Learn(RandomRequest(random, profile));
      nodes[Below(random, 6)] = RandomNode(random, profile);
      FragmentationMeter with(history, &memory);
      FragmentationMeter without(history);
      for (NodeState node : nodes) {
        Normalize(node);
        with.Add(node, 2);
        without.Add(node, 2);
        anew += history.entries().size();
      }
      ASSERT_EQ(with.sum().all.free, without.sum().all.free);
      ASSERT_DOUBLE_EQ(with.sum().all.unusable, without.sum().all.unusable);
      for (std::size_t kind = 0; kind < 2; ++kind) {
        ASSERT_DOUBLE_EQ(with.sum().kinds[kind].unusable, without.sum().kinds[kind].unusable);
      }
    }
    EXPECT_LT(memory.computed(), anew / 2);
  }
}

// Whatever is placed, in whatever order and place, is no more than the bound.
TEST(RelaxationProperty, NothingExceedsIt) {
  for (int seed = 1; seed <= Instances(40); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    std::vector<RelaxedNodes> groups;
    double devices = 0;
    for (std::uint32_t g = 0; g <= Below(random, 3); ++g) {
      groups.push_back({.nodes = 1.0 + Below(random, 3),
                        .cpu = 2.0 + Below(random, 8),
                        .memory = 4.0 + Below(random, 8),
                        .devices = static_cast<std::int32_t>(1 + Below(random, 4)),
                        .kind = static_cast<std::uint16_t>(Below(random, 2))});
      devices += groups.back().nodes * groups.back().devices;
    }
    std::vector<RelaxedRequest> requests;
    for (std::uint32_t r = 0; r < 1 + Below(random, 6); ++r) {
      const bool part = Below(random, 2) == 0;
      requests.push_back(
          {.cpu = static_cast<double>(Below(random, 3)),
           .memory = static_cast<double>(Below(random, 3)),
           .count = part ? 1 : static_cast<std::int32_t>(1 + Below(random, 3)),
           .parts = part ? static_cast<std::int32_t>(100 + Below(random, 900)) : 1000,
           .kinds = Kinds{1 + Below(random, 3)},
           .came = static_cast<double>(Below(random, 12))});
    }
    std::vector<double> came;
    for (const RelaxedRequest& request : requests) came.push_back(request.came);
    const RelaxedBound bound = Relaxation(requests, groups).Solve();
    ASSERT_LE(bound.For(came), devices + 1e-6);
    // Some other arrivals, placed at random.
    for (int attempt = 0; attempt < 5; ++attempt) {
      std::vector<NodeState> nodes;
      for (const RelaxedNodes& group : groups) {
        for (int n = 0; n < group.nodes; ++n) {
          NodeState& node = nodes.emplace_back();
          node.left = {static_cast<std::int32_t>(group.cpu),
                       static_cast<std::int32_t>(group.memory), 1000};
          for (int d = 0; d < group.devices; ++d) node.Add(group.kind, 0, {kWhole});
        }
      }
      std::vector<double> others;
      std::vector<std::size_t> order;
      for (std::size_t r = 0; r < requests.size(); ++r) {
        others.push_back(attempt == 0 ? came[r] : Below(random, 15));
        order.insert(order.end(), static_cast<std::size_t>(others[r]), r);
      }
      std::shuffle(order.begin(), order.end(), random);
      double given = 0;
      for (const std::size_t r : order) {
        Request request{.needs = {static_cast<std::int32_t>(requests[r].cpu),
                                  static_cast<std::int32_t>(requests[r].memory), 1}};
        Demand demand{.count = static_cast<std::uint32_t>(requests[r].count)};
        for (std::uint16_t kind = 0; kind < 2; ++kind) {
          if ((requests[r].kinds & KindBit(kind)) == 0) continue;
          demand.options.push_back({.kind = kind,
                                    .whole = requests[r].parts == 1000,
                                    .amounts = {requests[r].parts * 1000}});
        }
        request.demands.push_back(demand);
        for (NodeState& node : nodes) {
          NodeState after = node;
          if (!Place(after, request)) continue;
          node = after;
          given += requests[r].count * requests[r].parts / 1000.0;
          break;
        }
      }
      ASSERT_LE(given, bound.For(others) + 1e-6);
    }
  }
}

}  // namespace
}  // namespace dray::packing
