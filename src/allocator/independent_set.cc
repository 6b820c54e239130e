// SPDX-License-Identifier: Apache-2.0
#include "allocator/independent_set.h"

#include <algorithm>

namespace dray::allocator {

using base::BitSet;

void IndependentSet::Reset(std::size_t vertices) { edges_.assign(vertices, BitSet(vertices)); }

void IndependentSet::Join(const BitSet& clique) {
  clique.ForEach([&](std::size_t v) {
    edges_[v] |= clique;
    edges_[v].Reset(v);
  });
}

void IndependentSet::Order(const BitSet& among, std::uint64_t& spent) {
  order_.clear();
  among.ForEach([&](std::size_t v) { order_.push_back(static_cast<std::uint32_t>(v)); });
  std::vector<std::size_t> neighbours(edges_.size(), 0);
  for (const std::uint32_t v : order_) neighbours[v] = edges_[v].IntersectionCount(among);
  std::ranges::stable_sort(order_, {}, [&](std::uint32_t v) { return neighbours[v]; });
  const std::size_t n = order_.size();
  joined_.assign(n, BitSet(n));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = a + 1; b < n; ++b) {
      if (!edges_[order_[a]].Test(order_[b])) continue;
      joined_[a].Set(b);
      joined_[b].Set(a);
    }
  }
  spent += n * n + n * (1 + among.size() / 64);
}

std::size_t IndependentSet::TakeSimplicial(BitSet& among, std::uint64_t& spent) {
  // With more neighbours it is rare, and costs more to see.
  constexpr std::size_t kMostNeighbours = 8;
  std::size_t taken = 0;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t v = among.First(); v != BitSet::kNone; v = among.Next(v)) {
      neighbours_ = joined_[v];
      neighbours_ &= among;
      spent += 2 + among.size() / 32;
      const std::size_t count = neighbours_.Count();
      if (count > kMostNeighbours) continue;
      bool clique = true;
      for (std::size_t u = neighbours_.First(); u != BitSet::kNone && clique;
           u = neighbours_.Next(u)) {
        clique = neighbours_.IntersectionCount(joined_[u]) == count - 1;
        spent += 1 + among.size() / 64;
      }
      if (!clique) continue;
      ++taken;
      among.AndNot(neighbours_);
      among.Reset(v);
      again |= count > 0;
    }
  }
  return taken;
}

std::size_t IndependentSet::Cover(const BitSet& among, std::size_t size, std::uint64_t& spent) {
  left_ = among;
  rest_ = among;
  rest_.ResetAll();
  std::size_t cliques = 0;
  for (std::size_t v = left_.First(); v != BitSet::kNone; v = left_.First()) {
    ++cliques;
    clique_ = joined_[v];
    clique_ &= left_;
    left_.Reset(v);
    if (cliques >= size) rest_.Set(v);
    spent += 2 + among.size() / 32;
    for (std::size_t u = clique_.First(); u != BitSet::kNone; u = clique_.First()) {
      left_.Reset(u);
      if (cliques >= size) rest_.Set(u);
      clique_ &= joined_[u];
      spent += 1 + among.size() / 64;
    }
  }
  return cliques;
}

IndependentSet::Answer IndependentSet::AtLeast(const BitSet& among, std::size_t size,
                                               std::uint64_t limit, WorkMeter& work) {
  const auto push = [&]() -> Node& {
    if (depth_ == stack_.size()) stack_.emplace_back();
    return stack_[depth_++];
  };
  depth_ = 0;
  std::uint64_t spent = 0;
  Order(among, spent);
  {
    Node& root = push();
    root.among = BitSet(order_.size(), true);
    root.size = size;
  }
  Answer answer = Answer::kNo;
  BitSet here;
  while (depth_ > 0) {
    if (spent > limit) {
      answer = Answer::kUnknown;
      break;
    }
    here = stack_[--depth_].among;
    std::size_t need = stack_[depth_].size;
    const std::size_t taken = TakeSimplicial(here, spent);
    if (taken >= need) {
      answer = Answer::kYes;
      break;
    }
    need -= taken;
    if (here.Count() < need || Cover(here, need, spent) < need) continue;
    // Each without those before it: the last one pushed is tried first, and has all others gone.
    for (std::size_t v = rest_.First(); v != BitSet::kNone; v = rest_.Next(v)) {
      here.Reset(v);
      Node& node = push();
      node.among = here;
      node.among.AndNot(joined_[v]);
      node.size = need - 1;
      spent += 2 + order_.size() / 32;
      if (node.size == 0) {
        answer = Answer::kYes;
        depth_ = 0;
        break;
      }
    }
    if (answer == Answer::kYes) break;
  }
  work.Spend(spent);
  return answer;
}

}  // namespace dray::allocator
