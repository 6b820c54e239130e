// SPDX-License-Identifier: Apache-2.0
#include "model/generator_planted.h"

#include <algorithm>
#include <iterator>

#include "fmt/format.h"
#include "model/generator_internal.h"
#include "model/generator_planted_internal.h"

namespace dray::model {
namespace planted {
namespace {

using generator::Amount;
using generator::kNuma;
using generator::kRoots;
using generator::kTier;

class Planter {
 public:
  Planter(Dice& dice, const PlantedOptions& o) : dice_(dice), o_(o) {
    Themes& t = plant_.themes;
    t.taints = dice.Chance(o.taints);
    t.multi = dice.Chance(o.multi);
    t.capacity = dice.Chance(t.multi ? o.capacity : 0.1);
    t.counters = dice.Chance(o.counters);
    t.groups = t.counters && dice.Chance(o.groups);
    t.lists = dice.Chance(o.lists);
    t.lists_off = t.lists && dice.Chance(o.lists_off);
    t.derived = dice.Chance(o.derived);
    t.names = dice.Chance(o.names);
    t.limit = dice.Chance(o.limit);
    t.same_claims = !t.limit && o.max_claims > 1 && dice.Chance(o.same_claims);
    spoiled_ = dice.Chance(o.spoiled) ? 0.5 : 0.0;
  }

  Plant Make() {
    if (themes().lists_off && dice_.Chance(0.7)) {
      PlantOrder();
    } else {
      AddThings();
      AddWishes();
    }
    for (Wish& wish : plant_.wishes) Describe(wish);
    MakeAlike();
    if (plant_.constraints.empty()) AddConstraints();
    FillCapacities();
    FillCounters();
    return std::move(plant_);
  }

 private:
  const Themes& themes() const { return plant_.themes; }
  Thing& At(int thing) { return plant_.things[static_cast<std::size_t>(thing)]; }
  Wish& WishAt(int wish) { return plant_.wishes[static_cast<std::size_t>(wish)]; }
  bool Multi(int thing) { return At(thing).device.allow_multiple_allocations.value_or(false); }

  void AddThings() {
    const int n = themes().limit ? dice_.Range(40, 50) : dice_.Range(2, o_.max_devices);
    for (int i = 0; i < n; ++i) {
      // With so many there are two kinds.
      const bool twin = i > 0 && (themes().limit ? i != n / 2 : dice_.Chance(o_.twins));
      Thing next = twin ? plant_.things.back() : AnyThing();
      if (!twin) next.twin = i;
      if (!twin && themes().limit) next.kind = i == 0 ? "a" : "b";
      next.device.name = fmt::format("dev-{:02}", i);
      plant_.things.push_back(std::move(next));
    }
    dice_.Shuffle(plant_.things);
  }

  Thing AnyThing() {
    Thing thing;
    thing.kind = dice_.Pick({"a", "a", "b", "c"});
    thing.numa = dice_.Range(0, 2);
    thing.tier = dice_.Range(0, 2);
    if (dice_.Chance(0.3)) thing.step = 2;
    if (dice_.Chance(0.3)) thing.usual = 1;
    for (int i = dice_.Range(1, 3); i > 0; --i) thing.roots.push_back(AnyRoot());
    thing.scalar = dice_.Chance(0.5);
    if (themes().taints && dice_.Chance(0.4)) {
      thing.device.taints.push_back({.key = dice_.Pick({"sick", "old"}), .effect = "NoSchedule"});
    }
    if (themes().multi && dice_.Chance(0.6)) thing.device.allow_multiple_allocations = true;
    if (!themes().counters || !dice_.Chance(0.85)) return thing;
    const int sets = dice_.Chance(0.15) ? 2 : 1;
    const int first = dice_.Range(0, 1);
    for (int i = 0; i < sets; ++i) {
      api::DeviceCounterConsumption use{.counter_set = fmt::format("set-{}", (first + i) % 2)};
      if (dice_.Chance(0.9)) use.counters["mem"].value = Amount(std::to_string(dice_.Range(1, 4)));
      if (dice_.Chance(0.4)) use.counters["sm"].value = Amount(std::to_string(dice_.Range(1, 2)));
      if (themes().groups) use.compatibility_groups = {dice_.Pick({"mig", "vgpu", "mps"})};
      thing.device.consumes_counters.push_back(std::move(use));
    }
    return thing;
  }
  std::string AnyRoot() { return dice_.Pick({"p0", "p1", "p2", "p3", "p4"}); }

  // Gives devices away: each dedicated one once, those to share as often as it comes.
  void AddWishes() {
    const int claims = dice_.Range(themes().same_claims ? 2 : 1, o_.max_claims);
    const auto count = [&] {
      if (themes().limit) return dice_.Range(8, 17);
      return dice_.Range(1, dice_.Chance(themes().lists_off ? 0.0 : 0.7) ? 1 : 2);
    };
    if (themes().same_claims) {
      // Often there is a second family, like the first but for one thing.
      std::vector<int> shapes(static_cast<std::size_t>(dice_.Range(1, 2)));
      for (int& shape : shapes) shape = count();
      const int families = dice_.Chance(0.5) ? 2 : 1;
      const int more = dice_.Range(0, 1);
      for (int c = 0; c < claims; ++c) {
        for (std::size_t s = 0; s < shapes.size(); ++s) {
          const int family = c % families;
          AddWish(c, static_cast<int>(s), family, shapes[s] + family * more);
        }
      }
    } else {
      // Seldom is anything left over.
      const int requests = dice_.Chance(0.6) ? o_.max_requests : dice_.Range(2, o_.max_requests);
      for (int r = 0; r < requests; ++r) AddWish(dice_.Range(0, claims - 1), r, 0, count());
    }
    if (plant_.wishes.empty()) AddWish(0, 0, 0, 1);
  }

  // While lists do not count only the first device of a constraint may have one, so it matters who
  // is first: most of all where devices to share are equal, but draw on what is enough for one.
  void PlantOrder() {
    Thing shared;
    shared.kind = "a";
    shared.roots = {"p0"};
    shared.scalar = true;
    shared.device.allow_multiple_allocations = true;
    api::DeviceCounterConsumption use{.counter_set = "set-0"};
    use.counters["mem"].value = Amount("1");
    shared.device.consumes_counters.push_back(std::move(use));
    plant_.themes.counters = true;
    Thing list;
    list.kind = "a";
    list.roots = {"p1", "p2"};
    list.twin = 1;
    plant_.things.assign(static_cast<std::size_t>(dice_.Range(2, 3)), shared);
    for (int i = dice_.Range(1, 2); i > 0; --i) plant_.things.push_back(list);
    if (dice_.Chance(0.3)) plant_.things.push_back(AnyThing());
    dice_.Shuffle(plant_.things);
    int at_shared = 0;
    int at_list = 0;
    for (int i = 0; i < static_cast<int>(plant_.things.size()); ++i) {
      At(i).device.name = fmt::format("dev-{:02}", i);
      if (Multi(i)) at_shared = i;
      if (At(i).roots.size() == 2) at_list = i;
    }
    At(at_shared).given = At(at_list).given = true;
    plant_.wishes.push_back({.shape = 0, .things = {at_shared}});
    plant_.wishes.push_back({.shape = 1, .things = {at_list, at_shared}});
    plant_.constraints.push_back({.attribute = kRoots, .match = false, .covers = {1}});
    if (dice_.Chance(0.2)) plant_.constraints.back().covers.push_back(0);
  }

  void AddWish(int claim, int shape, int family, int count) {
    Wish wish{.claim = claim, .shape = shape, .family = family};
    std::vector<int> order;
    for (int d = 0; d < static_cast<int>(plant_.things.size()); ++d) {
      if (themes().limit && At(d).kind != (plant_.wishes.size() % 2 == 0 ? "a" : "b")) continue;
      if (Multi(d) || !At(d).given) order.push_back(d);
    }
    if (static_cast<int>(order.size()) < count) return;
    dice_.Shuffle(order);
    order.resize(static_cast<std::size_t>(count));
    for (const int d : order) At(d).given = true;
    wish.things = std::move(order);
    plant_.wishes.push_back(std::move(wish));
  }

  // What it has to say so that it may have its devices, and a little more.
  void Describe(Wish& wish) {
    for (const int d : wish.things) {
      wish.kinds.insert(At(d).kind);
      if (themes().names) wish.names.insert(At(d).device.name);
      for (const auto& taint : At(d).device.taints) wish.tolerates.insert(taint.key);
    }
    wish.all = themes().names && dice_.Chance(o_.all) &&
               std::ranges::none_of(wish.things, [&](int d) { return Multi(d); });
    if (!wish.all && dice_.Chance(0.3)) wish.kinds.insert(dice_.Pick({"a", "b", "c"}));
    for (const Thing& thing : plant_.things) {
      if (themes().names && !wish.all && dice_.Chance(0.3)) wish.names.insert(thing.device.name);
    }
    if (themes().taints && dice_.Chance(0.2)) wish.tolerates.insert(dice_.Pick({"sick", "old"}));
    if (themes().derived && dice_.Chance(0.85)) {
      wish.derived = dice_.Pick({"'x'", "'y'", "'z'", "['x', 'y']", "device.name",
                                 "device.attributes['topo.example.com'].?numa.orValue(0)"});
    }
    if (themes().capacity && dice_.Chance(0.8)) wish.memory = dice_.Range(1, 3);
  }

  // Requests that may have the same devices, but for what they tolerate: some pairs, or those in
  // the same place of claims that are to be the same.
  void MakeAlike() {
    const bool like = dice_.Chance(0.85);  // the families
    for (std::size_t i = 1; i < plant_.wishes.size(); ++i) {
      Wish& wish = plant_.wishes[i];
      if (themes().same_claims) {
        for (std::size_t j = 0; j < i; ++j) {
          const Wish& other = plant_.wishes[j];
          if (other.shape != wish.shape || (other.family != wish.family && !like)) continue;
          Merge(plant_.wishes[j], wish, true);
        }
      } else if (dice_.Chance(o_.alike)) {
        Merge(plant_.wishes[static_cast<std::size_t>(dice_.Range(0, static_cast<int>(i) - 1))],
              wish, false);
      }
    }
  }
  void Merge(Wish& a, Wish& b, bool wholly) {
    if (a.all || b.all) return;
    b.kinds.merge(std::set(a.kinds));
    b.names.merge(std::set(a.names));
    a.kinds = b.kinds;
    a.names = b.names;
    if (wholly || dice_.Chance(0.8)) b.memory = a.memory;
    if (wholly || dice_.Chance(0.4)) b.derived = a.derived;
    if (!wholly || dice_.Chance(0.3)) return;
    b.tolerates.merge(std::set(a.tolerates));
    a.tolerates = b.tolerates;
  }

  void AddConstraints() {
    std::vector<Constraint> wanted;
    const int rounds = dice_.Chance(0.3) ? 2 : 1;
    for (int i = 0; i < rounds; ++i) {
      // Claims of one family are under the same constraint, which covers the same requests.
      std::vector<std::pair<Constraint, std::vector<bool>>> families;
      for (int claim = 0; claim < o_.max_claims; ++claim) {
        const bool same = themes().same_claims;
        if (!same && !dice_.Chance(o_.constraints)) continue;
        if (!same) families.clear();
        while (families.size() < 2) families.push_back(AnyConstraint(families));
        for (int family = 0; family < 2; ++family) {
          auto [constraint, shapes] = families[static_cast<std::size_t>(family)];
          constraint.claim = claim;
          Cover(family, shapes, constraint);
          if (constraint.covers.empty()) continue;
          if (!dice_.Chance(spoiled_)) Arrange(constraint);
          wanted.push_back(std::move(constraint));
        }
      }
    }
    for (Constraint& constraint : wanted) {
      const bool unsure = themes().lists_off && constraint.attribute == kRoots;
      if (unsure || spoiled_ > 0 || Holds(constraint)) {
        plant_.constraints.push_back(std::move(constraint));
      }
    }
    RestoreTwins();
  }
  // Values were given to the devices of the solution; those that were like one of them are so again.
  void RestoreTwins() {
    for (Thing& thing : plant_.things) {
      if (thing.given || !dice_.Chance(0.7)) continue;
      for (const Thing& other : plant_.things) {
        if (!other.given || other.twin != thing.twin) continue;
        thing.numa = other.numa;
        thing.tier = other.tier;
        thing.roots = other.roots;
        thing.scalar = other.scalar;
      }
    }
  }
  void Cover(int family, const std::vector<bool>& shapes, Constraint& constraint) {
    for (std::size_t w = 0; w < plant_.wishes.size(); ++w) {
      const Wish& wish = plant_.wishes[w];
      if (wish.claim != constraint.claim || wish.family != family) continue;
      if (!shapes[static_cast<std::size_t>(wish.shape)]) continue;
      if (constraint.attribute == kHalf && wish.derived.empty()) continue;
      constraint.covers.push_back(static_cast<int>(w));
    }
  }
  // What it is, and which requests of a claim it covers. A second one is like the first but for one
  // thing.
  std::pair<Constraint, std::vector<bool>> AnyConstraint(
      const std::vector<std::pair<Constraint, std::vector<bool>>>& before) {
    Constraint constraint{.match = dice_.Chance(themes().same_claims ? 0.8
                                                : themes().lists_off ? 0.2
                                                                     : 0.55)};
    const double often = themes().lists_off ? 0.5 : 0.85;
    constraint.attribute = themes().lists && dice_.Chance(0.7) ? kRoots : AnyNumber();
    if (themes().derived && dice_.Chance(0.7)) constraint.attribute = kHalf;
    std::vector<bool> shapes;
    for (int s = 0; s < o_.max_requests + 2; ++s) shapes.push_back(dice_.Chance(often));
    if (before.empty() || dice_.Chance(0.3)) return {constraint, shapes};
    auto like = before.front();
    switch (dice_.Range(0, 3)) {
      case 0:
        like.first.match = !like.first.match;
        break;
      case 1:
        like.second = shapes;
        break;
      case 2:
        like.first.attribute = AnyNumber();
        break;
      default:
        break;
    }
    return like;
  }
  const char* AnyNumber() { return dice_.Chance(0.65) ? kNuma : kTier; }

  // Gives the devices values that meet it; what was arranged before may be spoiled.
  void Arrange(const Constraint& constraint) {
    const std::string common = dice_.Pick({"p0", "p1", "p2"});
    const int numa = dice_.Range(0, 2);
    int next = 0;
    for (const int w : constraint.covers) {
      for (const int d : WishAt(w).things) {
        Thing& thing = At(d);
        if (constraint.attribute == kNuma || constraint.attribute == kTier) {
          int& number = constraint.attribute == kNuma ? thing.numa : thing.tier;
          number = constraint.match ? numa : next++;
        } else if (themes().lists_off) {
          // As they are.
        } else if (constraint.attribute == kRoots && constraint.match) {
          thing.roots = {common};
          for (int i = dice_.Range(0, 2); i > 0; --i) thing.roots.push_back(AnyRoot());
        } else if (constraint.attribute == kRoots) {
          thing.roots.clear();
          for (int i = dice_.Range(1, 2); i > 0; --i) {
            thing.roots.push_back(fmt::format("p{}", next++));
          }
        }
      }
    }
  }

  // The values that a constraint sees, as texts.
  std::set<std::string> ValuesOf(const Wish& wish, int d, const std::string& attribute) {
    if (attribute == kRoots) return {At(d).roots.begin(), At(d).roots.end()};
    if (attribute == kTier) return {std::to_string(At(d).tier)};
    if (attribute == kHalf && wish.derived.empty()) return {};
    if (attribute == kHalf && wish.derived == "device.name") return {At(d).device.name};
    if (attribute == kHalf && wish.derived.starts_with("[")) return {"'x'", "'y'"};
    if (attribute == kHalf && wish.derived.starts_with("'")) return {wish.derived};
    return {std::to_string(At(d).numa)};
  }

  bool Holds(const Constraint& constraint) {
    std::set<std::string> so_far;  // what all have in common, or what any of them has
    bool first = true;
    for (const int w : constraint.covers) {
      for (const int d : WishAt(w).things) {
        std::set<std::string> values = ValuesOf(WishAt(w), d, constraint.attribute);
        std::set<std::string> both;
        std::ranges::set_intersection(so_far, values, std::inserter(both, both.end()));
        if (values.empty() || (!first && both.empty() == constraint.match)) return false;
        if (first || !constraint.match) {
          so_far.merge(values);
        } else {
          so_far = std::move(both);
        }
        first = false;
      }
    }
    return true;
  }

  static int Takes(const Thing& thing, const Wish& wish) {
    if (wish.memory == 0) return thing.usual;
    return 1 + (wish.memory - 1 + thing.step - 1) / thing.step * thing.step;
  }
  void FillCapacities() {
    for (const Wish& wish : plant_.wishes) {
      for (const int d : wish.things) At(d).memory += Takes(At(d), wish);
    }
  }

  // All that is given away and draws on a set has a group in common there, or none has any.
  void FillCounters() {
    std::map<std::string, std::string> group;  // by set
    for (Thing& thing : plant_.things) {
      if (!thing.given) continue;
      for (auto& use : thing.device.consumes_counters) {
        for (const auto& [name, counter] : use.counters) {
          plant_.drawn[use.counter_set][name.str()] +=
              static_cast<int>(counter.value.ExactInt64().value_or(0));
        }
        if (!themes().groups) continue;
        const auto [it, fresh] = group.try_emplace(use.counter_set, "");
        if (fresh && dice_.Chance(0.9)) it->second = dice_.Pick({"mig", "vgpu"});
        std::vector<std::string>& groups = use.compatibility_groups;
        if (it->second.empty() || dice_.Chance(0.4)) groups.clear();
        if (it->second.empty() || std::ranges::find(groups, it->second) != groups.end()) continue;
        groups.push_back(it->second);
      }
    }
  }

  Dice& dice_;
  const PlantedOptions& o_;
  double spoiled_ = 0;  // how often a constraint is not met
  Plant plant_;
};

}  // namespace

Plant MakePlant(Dice& dice, const PlantedOptions& options) { return Planter(dice, options).Make(); }

}  // namespace planted

Instance PlantedInstance(Dice& dice, const PlantedOptions& options) {
  return planted::WritePlant(dice, options, planted::MakePlant(dice, options));
}

}  // namespace dray::model
