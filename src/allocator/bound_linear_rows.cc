// SPDX-License-Identifier: Apache-2.0
//
// The rows of the linear bound that are added when a solution breaks them.
#include <algorithm>

#include "allocator/bound_linear.h"

namespace dray::allocator {
namespace {

// A solution breaks a row when it is above it by this.
constexpr double kAbove = 1e-4;

}  // namespace

// Adds rows that the solution breaks. Returns how many.
std::size_t LinearBound::Separate() {
  std::size_t added = 0;
  work_->Spend(uses_.size());
  for (std::size_t u = 0; u < uses_.size(); ++u) {
    const Use& use = uses_[u];
    if (use.column == kNone || linked_[u]) continue;
    const Choice& choice = choices_[use.choice];
    const std::uint32_t most = std::min(choice.need, groups_[use.group].size);
    if (program_.value(use.column) <= most * program_.value(choice.column) + kAbove) continue;
    const std::uint32_t row = program_.AddRow(0);
    program_.Set(row, use.column, 1);
    program_.Set(row, choice.column, -std::int64_t{most});
    linked_[u] = true;
    ++added;
  }
  for (const Knapsack& knapsack : knapsacks_) added += SeparateRounded(knapsack);
  return added + SeparateCliques();
}

std::size_t LinearBound::SeparateRounded(const Knapsack& knapsack) {
  constexpr int kMost = 8;
  std::size_t added = 0;
  for (int n = 1; n <= kMost && knapsack.left >= n; ++n) {
    const auto rounded = [&](const Drawn& drawn) {
      const Amount amount = std::min(drawn.amount, knapsack.left);
      return static_cast<std::int64_t>(amount * (n + 1) / (knapsack.left + 1));
    };
    double sum = 0;
    for (const Drawn& drawn : knapsack.drawn) {
      sum += static_cast<double>(rounded(drawn)) * program_.value(drawn.column);
    }
    work_->Spend(knapsack.drawn.size());
    const std::int64_t most = std::int64_t{n} * knapsack.times;
    if (sum <= static_cast<double>(most) + kAbove) continue;
    const std::uint32_t row = program_.AddRow(most);
    for (const Drawn& drawn : knapsack.drawn) program_.Set(row, drawn.column, rounded(drawn));
    ++added;
  }
  return added;
}

// Devices of one claim of which any two have a value in common that must be distinct.
std::size_t LinearBound::SeparateCliques() {
  constexpr std::size_t kMostUsers = 600;
  constexpr std::size_t kStarts = 48;
  const Plan& plan = attempt_->plan();
  std::size_t added = 0;
  for (const ClaimPlan& claim : plan.claims()) {
    // By column: everything that it must not meet, constraint and element.
    absl::flat_hash_map<std::uint32_t, std::vector<std::uint64_t>> met;
    std::size_t several = 0;
    for (std::uint32_t c = claim.first_constraint; c < claim.first_constraint + claim.constraints;
         ++c) {
      for (const auto& [element, users] : limits_[c].users) {
        for (const std::uint32_t column : users) {
          auto& has = met[column];
          has.push_back(std::uint64_t{c} << 32 | static_cast<std::uint32_t>(element));
          several += static_cast<std::size_t>(has.size() > 1);
        }
        work_->Spend(users.size() * 2);
      }
    }
    if (several == 0 || met.size() > kMostUsers) continue;
    std::vector<std::uint32_t> order;
    for (auto& [column, has] : met) {
      std::ranges::sort(has);
      order.push_back(column);
    }
    std::ranges::sort(order, [&](std::uint32_t x, std::uint32_t y) {
      const double vx = program_.value(x);
      const double vy = program_.value(y);
      return vx != vy ? vx > vy : x < y;
    });
    const auto meets = [&](std::uint32_t x, std::uint32_t y) {
      const auto& a = met[x];
      const auto& b = met[y];
      work_->Spend(2 + (a.size() + b.size()) / 4);
      for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
        if (*i == *j) return true;
        *i < *j ? ++i : ++j;
      }
      return false;
    };
    for (std::size_t start = 0; start < std::min(order.size(), kStarts); ++start) {
      if (program_.value(order[start]) < kAbove) break;
      std::vector<std::uint32_t> clique = {order[start]};
      double sum = program_.value(order[start]);
      for (const std::uint32_t column : order) {
        // What has no value yet only makes a broken row stronger.
        if (program_.value(column) < kAbove && sum <= 1 + kAbove) break;
        if (column == order[start]) continue;
        if (!std::ranges::all_of(clique, [&](std::uint32_t x) { return meets(x, column); })) {
          continue;
        }
        clique.push_back(column);
        sum += program_.value(column);
      }
      if (sum <= 1 + kAbove) continue;
      std::ranges::sort(clique);
      description_.Clear();
      for (const std::uint32_t column : clique) description_.Add(column);
      if (!rows_known_.try_emplace(description_.Hash(), true).second) continue;
      const std::uint32_t row = program_.AddRow(1);
      for (const std::uint32_t column : clique) program_.Set(row, column, 1);
      ++added;
    }
  }
  return added;
}

}  // namespace dray::allocator
