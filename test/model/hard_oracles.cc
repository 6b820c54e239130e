// SPDX-License-Identifier: Apache-2.0
#include "model/hard_oracles.h"

#include <algorithm>
#include <bit>
#include <set>

namespace dray::model {
namespace {

// Bits are lists. `friends[i]` are those that have nothing in common with list i.
class Clique {
 public:
  explicit Clique(std::vector<std::uint64_t> friends) : friends_(std::move(friends)) {}

  int Largest() {
    Expand(friends_.size() == 64 ? ~0ULL : (1ULL << friends_.size()) - 1, 0);
    return best_;
  }

 private:
  struct Coloured {
    std::size_t list = 0;
    int colours = 0;  // that it and those before it need
  };

  // Lists of one colour are all at odds, so that a clique has one of each colour at most.
  std::vector<Coloured> Colour(std::uint64_t left) const {
    std::vector<Coloured> order;
    for (int colours = 1; left != 0; ++colours) {
      std::uint64_t candidates = left;
      while (candidates != 0) {
        const auto list = static_cast<std::size_t>(std::countr_zero(candidates));
        candidates &= ~(1ULL << list) & ~friends_[list];
        left &= ~(1ULL << list);
        order.push_back({list, colours});
      }
    }
    return order;
  }

  void Expand(std::uint64_t candidates, int size) {
    best_ = std::max(best_, size);
    const std::vector<Coloured> order = Colour(candidates);
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (size + it->colours <= best_) return;
      Expand(candidates & friends_[it->list], size + 1);
      candidates &= ~(1ULL << it->list);
    }
  }

  const std::vector<std::uint64_t> friends_;
  int best_ = 0;
};

}  // namespace

int MostDisjoint(const std::vector<std::vector<std::int64_t>>& lists) {
  std::vector<std::uint64_t> friends(lists.size(), 0);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (std::size_t k = 0; k < lists.size(); ++k) {
      const bool meet = std::ranges::any_of(lists[i], [&](std::int64_t value) {
        return std::ranges::find(lists[k], value) != lists[k].end();
      });
      if (i != k && !meet) friends[i] |= 1ULL << k;
    }
  }
  return Clique(std::move(friends)).Largest();
}

bool Packs(const std::vector<std::vector<KindCounts>>& options, const KindCounts& wanted) {
  std::set<KindCounts> sums{KindCounts(wanted.size(), 0)};
  for (const auto& bin : options) {
    std::set<KindCounts> next = sums;
    for (const KindCounts& sum : sums) {
      for (const KindCounts& mix : bin) {
        KindCounts more = sum;
        for (std::size_t k = 0; k < more.size(); ++k) {
          more[k] = std::min(wanted[k], more[k] + mix[k]);
        }
        next.insert(std::move(more));
      }
    }
    sums = std::move(next);
  }
  return sums.contains(wanted);
}

}  // namespace dray::model
