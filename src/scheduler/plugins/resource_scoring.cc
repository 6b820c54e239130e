// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/resource_scoring.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/numeric/int128.h"
#include "scheduler/framework.h"

namespace dray::scheduler {
namespace {

constexpr std::int64_t kMaxUtilization = 100;
constexpr std::int64_t kMaxShapeScore = 10;

// 100 * part / whole, rounded down. Amounts of memory may be so large that the product does not
// fit.
std::int64_t Percent(std::int64_t part, std::int64_t whole) {
  if (part <= std::numeric_limits<std::int64_t>::max() / 100) return part * 100 / whole;
  return static_cast<std::int64_t>(absl::int128(part) * 100 / whole);
}

template <typename ScoreOf>
std::int64_t WeightedMean(std::span<const ResourceLoad> loads, ScoreOf score_of) {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const ResourceLoad& load : loads) {
    if (load.allocatable == 0) continue;
    sum += score_of(load) * load.weight;
    weights += load.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

std::int64_t OnShape(std::span<const ShapePoint> shape, std::int64_t utilization) {
  constexpr std::int64_t kScale = kMaxNodeScore / kMaxShapeScore;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (utilization > shape[i].utilization) continue;
    const std::int64_t score = shape[i].score * kScale;
    if (i == 0) return score;
    const std::int64_t from = shape[i - 1].score * kScale;
    return from + (score - from) * (utilization - shape[i - 1].utilization) /
                      (shape[i].utilization - shape[i - 1].utilization);
  }
  return shape.empty() ? 0 : shape.back().score * kScale;
}

// 100 when all shares are the same.
std::int64_t Evenness(std::span<const ResourceLoad> loads, bool with_pod) {
  absl::InlinedVector<double, 4> shares;
  double sum = 0;
  for (const ResourceLoad& load : loads) {
    if (load.allocatable == 0) continue;
    const auto used = static_cast<double>(with_pod ? load.total() : load.used);
    const double share = std::min(1.0, used / static_cast<double>(load.allocatable));
    shares.push_back(share);
    sum += share;
  }
  double deviation = 0;
  if (shares.size() == 2) {
    deviation = std::abs(shares[0] - shares[1]) / 2;
  } else if (shares.size() > 2) {
    const auto count = static_cast<double>(shares.size());
    double squares = 0;
    for (const double share : shares) squares += (share - sum / count) * (share - sum / count);
    deviation = std::sqrt(squares / count);
  }
  return static_cast<std::int64_t>((1 - deviation) * static_cast<double>(kMaxNodeScore));
}

}  // namespace

std::int64_t LeastAllocated(std::span<const ResourceLoad> loads) {
  return WeightedMean(loads, [](const ResourceLoad& load) {
    const std::int64_t left = load.allocatable - load.total();
    return left < 0 ? 0 : Percent(left, load.allocatable);
  });
}

std::int64_t MostAllocated(std::span<const ResourceLoad> loads) {
  return WeightedMean(loads, [](const ResourceLoad& load) {
    return Percent(std::min(load.total(), load.allocatable), load.allocatable);
  });
}

std::int64_t RequestedToCapacityRatio(std::span<const ResourceLoad> loads,
                                      std::span<const ShapePoint> shape) {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const ResourceLoad& load : loads) {
    if (load.allocatable == 0) continue;
    const bool full = load.total() > load.allocatable;
    const std::int64_t score =
        OnShape(shape, full ? kMaxUtilization : Percent(load.total(), load.allocatable));
    if (score <= 0) continue;
    sum += score * load.weight;
    weights += load.weight;
  }
  if (weights == 0) return 0;
  return static_cast<std::int64_t>(
      std::round(static_cast<double>(sum) / static_cast<double>(weights)));
}

std::int64_t BalancedAllocation(std::span<const ResourceLoad> loads) {
  constexpr std::int64_t kHalf = kMaxNodeScore / 2;
  return kHalf + (kHalf + Evenness(loads, true) - Evenness(loads, false)) / 2;
}

}  // namespace dray::scheduler
