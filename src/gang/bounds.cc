// SPDX-License-Identifier: Apache-2.0
#include "gang/bounds.h"

#include <algorithm>
#include <numeric>

namespace dray::gang {
namespace {

constexpr int kRounds = 60;
constexpr std::uint64_t kUnit = 1 << 16;
constexpr std::uint64_t kMostWeight = std::uint64_t{1} << 32;

const Counts* Heaviest(const Weights& weights, const PlaceClass& row) {
  const Counts* best = nullptr;
  std::uint64_t most = 0;
  for (const Counts& load : row.loads) {
    const std::uint64_t weight = WeightOf(weights, load);
    if (best == nullptr || weight > most) best = &load, most = weight;
  }
  return best;
}

bool Proves(const Weights& weights, const std::vector<PlaceClass>& classes,
            std::span<const std::uint32_t> wanted, std::uint64_t slack) {
  std::uint64_t room = 0;
  for (const PlaceClass& row : classes) room += row.members.size() * MostWeight(weights, row);
  return LeastWeight(weights, wanted, slack) > room;
}

}  // namespace

std::uint64_t WeightOf(const Weights& weights, const Counts& counts) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) sum += weights[i] * counts[i];
  return sum;
}

std::uint64_t LeastWeight(const Weights& weights, std::span<const std::uint32_t> wanted,
                          std::uint64_t slack) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> rows;  // weight, pods
  rows.reserve(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) rows.emplace_back(weights[i], wanted[i]);
  if (slack > 0) std::ranges::sort(rows, std::greater<>());
  std::uint64_t sum = 0;
  for (const auto& [weight, pods] : rows) {
    const std::uint64_t left_out = std::min(slack, pods);
    slack -= left_out;
    sum += weight * (pods - left_out);
  }
  return sum;
}

std::uint64_t MostWeight(const Weights& weights, const PlaceClass& row) {
  const Counts* best = Heaviest(weights, row);
  return best == nullptr ? 0 : WeightOf(weights, *best);
}

Bounds MakeBounds(const std::vector<PlaceClass>& classes, std::span<const std::uint32_t> wanted,
                  std::uint64_t slack, Budget& budget) {
  Bounds bounds;
  const std::size_t kinds = wanted.size();
  const auto add = [&](Weights weights) {
    bounds.proved = Proves(weights, classes, wanted, slack);
    bounds.weights.push_back(std::move(weights));
    return bounds.proved;
  };
  if (add(Weights(kinds, 1))) return bounds;
  if (kinds == 1) return bounds;
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    Weights alone(kinds, 0);
    alone[kind] = 1;
    if (add(std::move(alone))) return bounds;
  }
  // A pod weighs what it takes of a place that holds so many of its kind at most.
  Weights weights(kinds, kUnit);
  for (std::size_t kind = 0; kind < kinds; ++kind) {
    std::uint32_t most = 1;
    for (const PlaceClass& row : classes) most = std::max(most, row.caps[kind]);
    weights[kind] = kUnit / most;
  }
  Weights learned = weights;
  for (int round = 0; round < kRounds; ++round) {
    if (Proves(learned, classes, wanted, slack)) {
      add(std::move(learned));
      return bounds;
    }
    if (!budget.Spend(classes.size())) break;
    // What the heaviest loads offer of each kind, against what is wanted.
    std::vector<std::uint64_t> offered(kinds, 0);
    for (const PlaceClass& row : classes) {
      const Counts* best = Heaviest(learned, row);
      if (best == nullptr) continue;
      for (std::size_t kind = 0; kind < kinds; ++kind) {
        offered[kind] += row.members.size() * (*best)[kind];
      }
    }
    // Smaller and smaller steps.
    const std::uint64_t part = 2 + static_cast<std::uint64_t>(round) / 4;
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      if (offered[kind] < wanted[kind]) {
        learned[kind] = std::min(kMostWeight, learned[kind] + learned[kind] / part + 1);
      } else if (offered[kind] > wanted[kind]) {
        learned[kind] -= learned[kind] / (part + 2);
      }
    }
  }
  bounds.weights.push_back(std::move(weights));
  bounds.weights.push_back(std::move(learned));
  return bounds;
}

}  // namespace dray::gang
