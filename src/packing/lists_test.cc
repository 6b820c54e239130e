// SPDX-License-Identifier: Apache-2.0
//
// The rule on lists that nobody has seen: random clusters and mixes of requests, against a slow
// model of FGD, which knows in advance what will be asked for. Pods come one by one; one that fits
// nowhere is dropped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "packing/fgd_for_test.h"
#include "packing/packer.h"
#include "packing/place.h"

namespace dray::packing {
namespace {

using Random = std::mt19937_64;
std::uint32_t Below(Random& random, std::uint32_t limit) {
  return static_cast<std::uint32_t>(random() % limit);
}

struct List {
  std::vector<NodeState> nodes;
  std::vector<Request> shapes;
  std::vector<std::uint32_t> arrivals;  // of shapes
  double devices = 0;
};

// A few models of nodes; shapes of parts, whole devices, several, none; some want a model.
List RandomList(std::uint64_t seed, double fill) {
  Random random(seed);
  List list;
  const std::uint32_t models = 1 + Below(random, 3);
  for (std::uint32_t n = 0; n < 70; ++n) {
    NodeState& node = list.nodes.emplace_back();
    const auto kind = static_cast<std::uint16_t>(n % 7 == 0 ? models - 1 : Below(random, models));
    const std::uint32_t devices = std::uint32_t{2} << (kind % 3);
    node.left = {static_cast<std::int32_t>(devices * (8'000 + 4'000 * kind)),
                 static_cast<std::int32_t>(devices * 65'536), 1'000};
    for (std::uint32_t d = 0; d < devices; ++d) node.Add(kind, 0, {kWhole});
    Normalize(node);
    list.devices += devices;
  }
  std::vector<double> weights;
  const std::uint32_t shapes = 8 + Below(random, 40);
  const std::uint32_t parts = 1 + Below(random, 9);
  for (std::uint32_t s = 0; s < shapes; ++s) {
    Request& shape = list.shapes.emplace_back();
    const std::uint32_t what = Below(random, 20);
    weights.push_back(1 + Below(random, 20));
    shape.needs = {static_cast<std::int32_t>(1'000 * (1 + Below(random, 12))),
                   static_cast<std::int32_t>(1'024 * (1 + Below(random, 64))), 1};
    if (what < 2) continue;  // no device
    Demand demand;
    const bool part = what < 2 + parts;
    demand.count = part || Below(random, 4) > 0 ? 1 : 2 + 2 * Below(random, 2);
    shape.needs[kCpu] *= static_cast<std::int32_t>(demand.count);
    const Amount amount = part ? static_cast<Amount>(10'000 * (5 + Below(random, 90))) : kWhole;
    const bool any = Below(random, 5) > 0;
    const auto model = static_cast<std::uint16_t>(Below(random, models));
    for (std::uint16_t kind = 0; kind < models; ++kind) {
      if (any || kind == model) {
        demand.options.push_back({.kind = kind, .whole = !part, .amounts = {amount}});
      }
    }
    shape.demands.push_back(std::move(demand));
  }
  std::discrete_distribution<std::uint32_t> draw(weights.begin(), weights.end());
  for (double asked = 0; asked < fill * list.devices * kWhole;) {
    list.arrivals.push_back(draw(random));
    const std::int64_t weight = WeightOf(list.shapes[list.arrivals.back()]);
    asked += static_cast<double>(weight);
    // A mix without devices would never end.
    if (list.arrivals.size() > 20'000) break;
  }
  return list;
}

// Chooses a node and says what is left of it.
class Chooser {
 public:
  virtual ~Chooser() = default;
  virtual std::optional<std::pair<std::uint32_t, NodeState>> Choose(
      const std::vector<NodeState>& nodes, const Request& request) = 0;
  virtual void Changed(std::uint32_t node, const NodeState& state) = 0;
};

class Rule final : public Chooser {
 public:
  // `told`: what will come is known from the beginning, and nothing is learned.
  Rule(const List& list, bool told) : told_(told) {
    for (std::uint32_t n = 0; n < list.nodes.size(); ++n) packer_.Set(n, list.nodes[n]);
    if (!told) return;
    for (const std::uint32_t shape : list.arrivals) packer_.Learn(list.shapes[shape]);
  }
  std::optional<std::pair<std::uint32_t, NodeState>> Choose(const std::vector<NodeState>& nodes,
                                                            const Request& request) override {
    const auto number = told_ ? packer_.Find(request) : packer_.Learn(request);
    std::optional<Cost> best;
    std::uint32_t chosen = 0;
    std::uint64_t luck = 0;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      const auto cost = packer_.CostOf(n, number);
      if (!cost) continue;
      const auto key = [](const Cost& of) { return std::pair(of.cost, of.ease); };
      const std::uint64_t dice = random_();
      if (best && std::pair(key(*cost), dice) >= std::pair(key(*best), luck)) continue;
      best = cost;
      chosen = n;
      luck = dice;
    }
    if (!best) return std::nullopt;
    NodeState after = *packer_.Find(chosen);
    Place(after, request, best->start);
    Normalize(after);
    return std::pair(chosen, after);
  }
  void Changed(std::uint32_t node, const NodeState& state) override { packer_.Set(node, state); }

 private:
  bool told_;
  Packer packer_;
  Random random_{1};
};

class Fgd final : public Chooser {
 public:
  explicit Fgd(const List& list) {
    for (const std::uint32_t shape : list.arrivals) model_.WillCome(list.shapes[shape]);
    for (std::uint32_t n = 0; n < list.nodes.size(); ++n) model_.Set(n, list.nodes[n]);
  }
  std::optional<std::pair<std::uint32_t, NodeState>> Choose(const std::vector<NodeState>&,
                                                            const Request& request) override {
    auto choice = model_.Choose(request);
    if (!choice) return std::nullopt;
    return std::pair(choice->node, std::move(choice->after));
  }
  void Changed(std::uint32_t node, const NodeState& state) override { model_.Set(node, state); }

 private:
  FgdForTest model_;
};

// Of the devices, the share that is given when everybody has come.
double Filled(const List& list, Chooser& chooser) {
  std::vector<NodeState> nodes = list.nodes;
  double given = 0;
  for (const std::uint32_t shape : list.arrivals) {
    auto chosen = chooser.Choose(nodes, list.shapes[shape]);
    if (!chosen) continue;
    nodes[chosen->first] = chosen->second;
    chooser.Changed(chosen->first, chosen->second);
    given += static_cast<double>(WeightOf(list.shapes[shape])) / kWhole;
  }
  return given / list.devices;
}

std::uint64_t Seeds(std::uint64_t usual) {
  const char* const set = std::getenv("DRAY_INSTANCES");
  return set == nullptr ? usual : std::strtoull(set, nullptr, 10);
}

struct Sum {
  double rule = 0;
  double fgd = 0;
};
void Compare(Sum& sum, const List& list, bool told = false) {
  Rule rule(list, told);
  Fgd fgd(list);
  sum.rule += Filled(list, rule);
  sum.fgd += Filled(list, fgd);
}

TEST(UnseenLists, AreFilledBetterThanByAModelOfFgd) {
  Sum sum;
  const std::uint64_t seeds = Seeds(4);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) Compare(sum, RandomList(seed, 1.3));
  RecordProperty("rule", std::to_string(sum.rule));
  RecordProperty("fgd", std::to_string(sum.fgd));
  EXPECT_GT(sum.rule, sum.fgd);
}

// As in files that are sorted by kind of work: nothing is known of devices until all pods without
// any have come.
TEST(UnseenLists, AreFilledAsWellWhenPodsWithoutDevicesComeFirst) {
  Sum sum;
  // Of 80 lists the rule gives 0.3 points more; of four it may be less by chance.
  const std::uint64_t seeds = Seeds(8);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    List list = RandomList(seed, 1.3);
    std::ranges::stable_partition(
        list.arrivals, [&](std::uint32_t shape) { return list.shapes[shape].demands.empty(); });
    Compare(sum, list);
  }
  RecordProperty("rule", std::to_string(sum.rule));
  RecordProperty("fgd", std::to_string(sum.fgd));
  EXPECT_GT(sum.rule, sum.fgd);
}

// Nothing that was learned says that large ones will come; who knows it says so.
TEST(UnseenLists, AreFilledBetterWhenSmallPodsComeFirstAndTheMixIsSaid) {
  Sum told;
  Sum learned;
  const std::uint64_t seeds = Seeds(4);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    List list = RandomList(seed, 1.3);
    std::ranges::stable_sort(list.arrivals, {},
                             [&](std::uint32_t shape) { return WeightOf(list.shapes[shape]); });
    Compare(told, list, true);
    Rule rule(list, false);
    learned.rule += Filled(list, rule);
  }
  const auto percent = [&](double sum) { return 100 * sum / static_cast<double>(seeds); };
  std::printf("told %.1f, learned %.1f, FGD %.1f\n", percent(told.rule), percent(learned.rule),
              percent(told.fgd));
  EXPECT_GT(told.rule, told.fgd);
  EXPECT_GT(told.rule, learned.rule);
  // What is kept for the unseen: without it three to six points more are missing.
  EXPECT_GT(percent(learned.rule), percent(told.fgd) - 4);
}

}  // namespace
}  // namespace dray::packing
