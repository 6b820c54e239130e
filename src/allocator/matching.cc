// SPDX-License-Identifier: Apache-2.0
#include "allocator/matching.h"

#include <algorithm>

namespace dray::allocator {

using base::BitSet;

void Matching::Reset(std::size_t vertices) { joined_.assign(vertices, BitSet(vertices)); }

void Matching::Join(const BitSet& clique) {
  clique.ForEach([&](std::size_t v) {
    joined_[v] |= clique;
    joined_[v].Reset(v);
  });
}

// The first vertex that the ways back from both to the start have in common.
std::uint32_t Matching::Meet(std::uint32_t a, std::uint32_t b) {
  on_way_.assign(joined_.size(), false);
  spent_ += joined_.size() / 16;
  while (true) {
    a = base_[a];
    on_way_[a] = true;
    ++spent_;
    if (partner_[a] == kNone) break;
    a = came_from_[partner_[a]];
  }
  while (true) {
    b = base_[b];
    ++spent_;
    if (on_way_[b]) return b;
    b = came_from_[partner_[b]];
  }
}

void Matching::MarkWay(std::uint32_t from, std::uint32_t base, std::uint32_t child) {
  while (base_[from] != base) {
    ++spent_;
    in_circle_[base_[from]] = true;
    in_circle_[base_[partner_[from]]] = true;
    came_from_[from] = child;
    child = partner_[from];
    from = came_from_[partner_[from]];
  }
}

std::uint32_t Matching::FindWay(std::uint32_t start, const BitSet& among) {
  const std::size_t n = joined_.size();
  seen_.assign(n, false);
  came_from_.assign(n, kNone);
  base_.resize(n);
  for (std::uint32_t v = 0; v < n; ++v) base_[v] = v;
  queue_.assign(1, start);
  seen_[start] = true;
  spent_ += n;
  for (std::size_t at = 0; at < queue_.size(); ++at) {
    const std::uint32_t v = queue_[at];
    next_ = joined_[v];
    next_ &= among;
    spent_ += n / 32 + 1;
    for (std::size_t u = next_.First(); u != BitSet::kNone; u = next_.Next(u)) {
      const auto to = static_cast<std::uint32_t>(u);
      ++spent_;
      if (base_[v] == base_[to] || partner_[v] == to) continue;
      if (to == start || (partner_[to] != kNone && came_from_[partner_[to]] != kNone)) {
        // A circle of odd length: all of it can be reached both ways.
        const std::uint32_t base = Meet(v, to);
        in_circle_.assign(n, false);
        MarkWay(v, base, to);
        MarkWay(to, base, v);
        spent_ += n;
        for (std::uint32_t w = 0; w < n; ++w) {
          if (!in_circle_[base_[w]]) continue;
          base_[w] = base;
          if (seen_[w]) continue;
          seen_[w] = true;
          queue_.push_back(w);
        }
      } else if (came_from_[to] == kNone) {
        came_from_[to] = v;
        if (partner_[to] == kNone) return to;
        seen_[partner_[to]] = true;
        queue_.push_back(partner_[to]);
      }
    }
  }
  return kNone;
}

bool Matching::AtLeast(const BitSet& among, std::size_t pairs, std::uint64_t limit,
                       WorkMeter& work) {
  const std::size_t n = joined_.size();
  partner_.assign(n, kNone);
  spent_ = n;
  std::size_t found = 0;
  // Whoever finds somebody at once.
  among.ForEach([&](std::size_t v) {
    if (partner_[v] != kNone) return;
    spent_ += 1 + n / 32;
    for (std::size_t u = joined_[v].First(); u != BitSet::kNone; u = joined_[v].Next(u)) {
      ++spent_;
      if (!among.Test(u) || partner_[u] != kNone) continue;
      partner_[v] = static_cast<std::uint32_t>(u);
      partner_[u] = static_cast<std::uint32_t>(v);
      ++found;
      return;
    }
  });
  for (std::size_t v = among.First(); v != BitSet::kNone && found < pairs; v = among.Next(v)) {
    if (partner_[v] != kNone) continue;
    if (spent_ > limit) break;
    std::uint32_t end = FindWay(static_cast<std::uint32_t>(v), among);
    if (end == kNone) continue;
    ++found;
    while (end != kNone) {
      const std::uint32_t before = came_from_[end];
      const std::uint32_t next = partner_[before];
      partner_[end] = before;
      partner_[before] = end;
      end = next;
    }
  }
  work.Spend(spent_);
  return found >= pairs || spent_ > limit;
}

}  // namespace dray::allocator
