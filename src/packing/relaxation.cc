// SPDX-License-Identifier: Apache-2.0
#include "packing/relaxation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace dray::packing {
namespace {

constexpr double kTiny = 1e-9;

// What a device that a pod gets counts.
double GainOf(const RelaxedRequest& request) {
  return static_cast<double>(request.count) * request.parts / kRelaxedParts;
}

// The rows of the simplex method: which column each is for, the inverse of the basis, and what is
// left of each.
class Basis {
 public:
  explicit Basis(std::vector<double> limits)
      : size_(limits.size()), inverse_(size_ * size_), values_(std::move(limits)), gains_(size_) {
    for (std::size_t i = 0; i < size_; ++i) inverse_[i * size_ + i] = 1;
  }

  // What one more of each row would be worth.
  std::vector<double> Prices() const {
    std::vector<double> prices(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      if (gains_[i] == 0) continue;
      for (std::size_t j = 0; j < size_; ++j) prices[j] += gains_[i] * inverse_[i * size_ + j];
    }
    return prices;
  }

  // Takes in a column that is worth it. False: nothing limits it, which cannot be.
  bool Enter(double gain, std::span<const std::pair<std::uint32_t, double>> rows) {
    std::vector<double> column(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      for (const auto& [row, amount] : rows) column[i] += inverse_[i * size_ + row] * amount;
    }
    std::size_t leaves = size_;
    double most = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (column[i] <= kTiny) continue;
      const double ratio = std::max(values_[i], 0.0) / column[i];
      if (leaves == size_ || ratio < most || (ratio == most && column[i] > column[leaves])) {
        leaves = i;
        most = ratio;
      }
    }
    if (leaves == size_) return false;
    double* const pivot = &inverse_[leaves * size_];
    const double by = column[leaves];
    for (std::size_t j = 0; j < size_; ++j) pivot[j] /= by;
    values_[leaves] = most;
    gains_[leaves] = gain;
    for (std::size_t i = 0; i < size_; ++i) {
      if (i == leaves || column[i] == 0) continue;
      double* const row = &inverse_[i * size_];
      for (std::size_t j = 0; j < size_; ++j) row[j] -= column[i] * pivot[j];
      values_[i] -= column[i] * most;
    }
    return true;
  }

 private:
  std::size_t size_;
  std::vector<double> inverse_;
  std::vector<double> values_;
  std::vector<double> gains_;
};

}  // namespace

double RelaxedBound::For(std::span<const double> came) const {
  double bound = constant;
  for (std::size_t i = 0; i < each.size(); ++i) bound += each[i] * came[i];
  return bound;
}

Relaxation::Relaxation(std::vector<RelaxedRequest> requests, std::vector<RelaxedNodes> nodes)
    : requests_(std::move(requests)), nodes_(std::move(nodes)) {}

double Relaxation::WorthOf(const RelaxedRequest& request, std::size_t number, std::size_t group,
                           const std::vector<double>& prices) const {
  return GainOf(request) - prices[number] - prices[RowOf(group, 1)] * request.cpu -
         prices[RowOf(group, 2)] * request.memory;
}

double Relaxation::BestColumn(std::size_t group, const std::vector<double>& prices,
                              Column* column) const {
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  const RelaxedNodes& nodes = nodes_[group];
  // Of requests for as much of a device the one that is worth most is all that matters.
  std::array<std::uint32_t, kRelaxedParts + 1> of_size;
  of_size.fill(kNobody);
  std::array<double, kRelaxedParts + 1> worth{};
  double best = 0;
  std::uint32_t several = kNobody;
  for (std::uint32_t r = 0; r < requests_.size(); ++r) {
    const RelaxedRequest& request = requests_[r];
    if ((request.kinds & KindBit(nodes.kind)) == 0 || request.count > nodes.devices) continue;
    if (request.cpu > nodes.cpu || request.memory > nodes.memory) continue;
    const double value = WorthOf(request, r, group, prices);
    if (request.count > 1) {
      if (value / request.count > best) {
        best = value / request.count;
        several = r;
      }
      continue;
    }
    const auto size = static_cast<std::size_t>(request.parts);
    if (value <= 0 || (of_size[size] != kNobody && value <= worth[size])) continue;
    of_size[size] = r;
    worth[size] = value;
  }
  std::vector<std::int32_t> sizes;
  for (std::int32_t size = 1; size <= kRelaxedParts; ++size) {
    if (of_size[static_cast<std::size_t>(size)] != kNobody) sizes.push_back(size);
  }
  // What the first so many parts of a device can be worth, and the last size of that.
  std::array<double, kRelaxedParts + 1> filled{};
  std::array<std::int32_t, kRelaxedParts + 1> last{};
  for (std::int32_t up_to = 1; up_to <= kRelaxedParts; ++up_to) {
    const auto at = static_cast<std::size_t>(up_to);
    filled[at] = filled[at - 1];
    for (const std::int32_t size : sizes) {
      if (size > up_to) break;
      const double value =
          filled[static_cast<std::size_t>(up_to - size)] + worth[static_cast<std::size_t>(size)];
      if (value <= filled[at]) continue;
      filled[at] = value;
      last[at] = size;
    }
  }
  const bool parts = filled[kRelaxedParts] >= best;
  best = std::max(best, filled[kRelaxedParts]);
  if (column == nullptr) return best - prices[RowOf(group, 0)];
  std::vector<std::pair<std::uint32_t, double>> taken;
  if (parts) {
    for (std::int32_t left = kRelaxedParts; left > 0;) {
      const std::int32_t size = last[static_cast<std::size_t>(left)];
      if (size == 0) {
        --left;
        continue;
      }
      taken.emplace_back(of_size[static_cast<std::size_t>(size)], 1);
      left -= size;
    }
  } else if (several != kNobody) {
    taken.emplace_back(several, 1.0 / requests_[several].count);
  }
  *column = {};
  double cpu = 0;
  double memory = 0;
  std::ranges::sort(taken);
  for (const auto& [request, share] : taken) {
    column->gain += share * GainOf(requests_[request]);
    cpu += share * requests_[request].cpu;
    memory += share * requests_[request].memory;
    if (!column->rows.empty() && column->rows.back().first == request) {
      column->rows.back().second += share;
    } else {
      column->rows.emplace_back(request, share);
    }
  }
  column->rows.emplace_back(RowOf(group, 0), 1);
  column->rows.emplace_back(RowOf(group, 1), cpu);
  column->rows.emplace_back(RowOf(group, 2), memory);
  return best - prices[RowOf(group, 0)];
}

RelaxedBound Relaxation::Solve(int steps) {
  std::vector<double> limits;
  for (const RelaxedRequest& request : requests_) limits.push_back(request.came);
  for (const RelaxedNodes& nodes : nodes_) {
    limits.push_back(nodes.nodes * nodes.devices);
    limits.push_back(nodes.nodes * nodes.cpu);
    limits.push_back(nodes.nodes * nodes.memory);
  }
  // Of all prices on the way the best bound is kept: any that are not negative give one.
  RelaxedBound best;
  double least = 0;
  const auto look = [&](std::vector<double> prices, bool first) {
    for (double& price : prices) price = std::max(price, 0.0);
    RelaxedBound bound;
    bound.each.assign(prices.begin(),
                      prices.begin() + static_cast<std::ptrdiff_t>(requests_.size()));
    for (std::size_t g = 0; g < nodes_.size(); ++g) {
      double& device = prices[RowOf(g, 0)];
      device = std::max(device + BestColumn(g, prices, nullptr), 0.0);
      for (std::uint32_t which = 0; which < 3; ++which) {
        bound.constant += prices[RowOf(g, which)] * limits[RowOf(g, which)];
      }
    }
    std::vector<double> came(limits.begin(),
                             limits.begin() + static_cast<std::ptrdiff_t>(requests_.size()));
    const double value = bound.For(came);
    if (!first && value >= least) return;
    least = value;
    best = std::move(bound);
  };
  Basis basis(limits);
  look(basis.Prices(), true);
  constexpr double kEnough = 1e-6;  // devices, of each one
  for (bool found = true; found && steps_ < steps;) {
    found = false;
    for (std::size_t g = 0; g < nodes_.size() && steps_ < steps; ++g) {
      Column column;
      if (BestColumn(g, basis.Prices(), &column) <= kEnough) continue;
      if (!basis.Enter(column.gain, column.rows)) continue;
      found = true;
      ++steps_;
    }
    // What is not used up has no price: its slack comes back.
    const std::vector<double> prices = basis.Prices();
    const auto cheapest = std::ranges::min_element(prices);
    if (cheapest != prices.end() && *cheapest < -kEnough) {
      const std::pair<std::uint32_t, double> slack(
          static_cast<std::uint32_t>(cheapest - prices.begin()), 1);
      found |= basis.Enter(0, std::span(&slack, 1));
      ++steps_;
    }
    look(basis.Prices(), false);
  }
  return best;
}

}  // namespace dray::packing
