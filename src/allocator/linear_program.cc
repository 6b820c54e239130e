// SPDX-License-Identifier: Apache-2.0
#include "allocator/linear_program.h"

#include <algorithm>
#include <cmath>

#include "absl/numeric/int128.h"

namespace dray::allocator {
namespace {

constexpr double kZero = 1e-9;

// Differs from row to row, so that few rows are at their limit at once: where many are, the simplex
// method can walk in circles. Proofs use the true limits.
double Loosened(std::int64_t most, std::size_t row) {
  constexpr double kLoose = 1e-6;
  constexpr std::size_t kPrime = 7919;
  constexpr std::size_t kSteps = 1009;
  const auto some = static_cast<double>(row * kPrime % kSteps) / static_cast<double>(kSteps);
  return static_cast<double>(most) + kLoose * (1 + some);
}

}  // namespace

void LinearProgram::Reset() {
  gain_.clear();
  bonus_.clear();
  most_.clear();
  entries_.clear();
}

std::uint32_t LinearProgram::AddColumn(std::int64_t gain, double bonus) {
  gain_.push_back(gain);
  bonus_.push_back(bonus);
  return static_cast<std::uint32_t>(gain_.size() - 1);
}

std::uint32_t LinearProgram::AddRow(std::int64_t most) {
  most_.push_back(most);
  return static_cast<std::uint32_t>(most_.size() - 1);
}

void LinearProgram::Set(std::uint32_t row, std::uint32_t column, std::int64_t number) {
  if (number != 0) entries_.push_back({row, column, number});
}

bool LinearProgram::Maximise(std::uint64_t limit) {
  const std::size_t m = rows();
  const std::size_t n = columns();
  spent_ = 0;
  value_.assign(n, 0);
  multiplier_.assign(m, 0);
  // It takes as many exchanges as there are rows, about, and these touch part of the cells.
  if (m * n > kMostCells || m * n * 2 > limit) return false;
  cells_.assign(m * n, 0);
  for (const Entry& entry : entries_) {
    cells_[entry.row * n + entry.column] += static_cast<double>(entry.number);
  }
  right_.resize(m);
  basic_.resize(m);
  for (std::size_t i = 0; i < m; ++i) {
    right_[i] = Loosened(most_[i], i);
    basic_[i] = static_cast<std::uint32_t>(n + i);
  }
  reduced_.resize(n);
  other_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    reduced_[j] = static_cast<double>(gain_[j]) + bonus_[j];
    other_[j] = static_cast<std::uint32_t>(j);
  }
  spent_ = m * n / 8 + entries_.size();
  bool open = true;
  while (open && spent_ <= limit) open = Pivot();
  ReadSolution();
  return !open;
}

// False: nothing is to be gained any more.
bool LinearProgram::Pivot() {
  const std::size_t m = rows();
  const std::size_t n = columns();
  spent_ += n / 8 + m / 4 + 1;
  std::size_t enters = n;
  double best = kZero;
  for (std::size_t j = 0; j < n; ++j) {
    if (reduced_[j] > best) {
      best = reduced_[j];
      enters = j;
    }
  }
  if (enters == n) return false;
  std::size_t leaves = m;
  double least = 0;
  for (std::size_t i = 0; i < m; ++i) {
    const double cell = cells_[i * n + enters];
    if (cell <= kZero) continue;
    const double ratio = std::max(right_[i], 0.0) / cell;
    if (leaves == m || ratio < least - kZero ||
        (ratio <= least + kZero && cell > cells_[leaves * n + enters])) {
      leaves = i;
      least = ratio;
    }
  }
  // Without a limit: cannot be, since each column has a number above zero; floating point may lie.
  if (leaves == m) {
    reduced_[enters] = 0;
    return true;
  }
  Exchange(leaves, enters);
  return true;
}

void LinearProgram::Exchange(std::size_t row, std::size_t column) {
  const std::size_t m = rows();
  const std::size_t n = columns();
  double* const pivot = &cells_[row * n];
  const double by = 1 / pivot[column];
  nonzero_.clear();
  for (std::size_t j = 0; j < n; ++j) {
    if (j == column || pivot[j] == 0) continue;
    pivot[j] *= by;
    if (std::abs(pivot[j]) < kZero) {
      pivot[j] = 0;
    } else {
      nonzero_.push_back(static_cast<std::uint32_t>(j));
    }
  }
  pivot[column] = by;
  right_[row] *= by;
  std::uint64_t touched = n;
  const auto subtract = [&](double* cells, double& right) {
    const double factor = cells[column];
    if (factor == 0) return;
    for (const std::uint32_t j : nonzero_) cells[j] -= factor * pivot[j];
    cells[column] = -factor * by;
    right -= factor * right_[row];
    touched += nonzero_.size();
  };
  for (std::size_t i = 0; i < m; ++i) {
    if (i != row) subtract(&cells_[i * n], right_[i]);
  }
  double unused = 0;
  subtract(reduced_.data(), unused);
  std::swap(basic_[row], other_[column]);
  spent_ += touched / 4 + m / 4;
}

void LinearProgram::ReadSolution() {
  const std::size_t n = columns();
  for (std::size_t i = 0; i < rows(); ++i) {
    if (basic_[i] < n) value_[basic_[i]] = std::max(right_[i], 0.0);
  }
  for (std::size_t j = 0; j < n; ++j) {
    if (other_[j] >= n) multiplier_[other_[j] - n] = std::max(-reduced_[j], 0.0);
  }
}

double LinearProgram::objective() const {
  double sum = 0;
  for (std::size_t j = 0; j < columns(); ++j) sum += static_cast<double>(gain_[j]) * value_[j];
  return sum;
}

bool LinearProgram::ProvedBelow(std::int64_t target) const {
  // Multipliers are below 2^24 or so, numbers below 2^16, rows below 2^20: far from 2^127.
  constexpr double kDenominator = 4294967296.0;
  constexpr double kLargest = 16777216.0;
  std::vector<absl::int128> multiplier(rows());
  for (std::size_t i = 0; i < rows(); ++i) {
    if (!(multiplier_[i] <= kLargest)) return false;
    multiplier[i] = static_cast<std::int64_t>(std::llround(multiplier_[i] * kDenominator));
  }
  std::vector<bool> pure(rows(), true);
  for (const Entry& entry : entries_) {
    if (entry.number < 0) pure[entry.row] = false;
  }
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::vector<absl::int128> has(columns(), 0);
  std::vector<std::size_t> mend(columns(), kNone);  // an entry
  for (std::size_t e = 0; e < entries_.size(); ++e) {
    const Entry& entry = entries_[e];
    has[entry.column] += multiplier[entry.row] * entry.number;
    if (!pure[entry.row] || entry.number < 0) continue;
    const auto cost = [&](const Entry& of) {
      return static_cast<double>(most_[of.row]) / static_cast<double>(of.number);
    };
    std::size_t& best = mend[entry.column];
    if (best == kNone || cost(entry) < cost(entries_[best])) best = e;
  }
  const auto denominator = static_cast<std::int64_t>(kDenominator);
  for (std::size_t j = 0; j < columns(); ++j) {
    const absl::int128 missing = absl::int128(denominator) * gain_[j] - has[j];
    if (missing <= 0) continue;
    if (mend[j] == kNone) return false;
    // What this gives to the columns behind is not counted, which only wastes a little.
    const Entry& entry = entries_[mend[j]];
    multiplier[entry.row] += (missing + entry.number - 1) / entry.number;
  }
  absl::int128 sum = 0;
  for (std::size_t i = 0; i < rows(); ++i) sum += multiplier[i] * most_[i];
  return sum < absl::int128(denominator) * target;
}

}  // namespace dray::allocator
