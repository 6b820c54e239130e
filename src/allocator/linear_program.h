// SPDX-License-Identifier: Apache-2.0
//
// LinearProgram: the most that a linear objective can reach under linear limits, and exact proofs
// that it cannot reach something.
//
//   maximise the sum of gain(j) * x(j), where for each row the sum of a(i, j) * x(j) <= most(i), x >= 0
//
// All numbers are whole and no limit is below zero, so x = 0 is a solution to start from. The simplex
// method computes in floating point, which proves nothing; what it leaves are multipliers of the rows.
// ProvedBelow rounds these to whole numbers p(i) >= 0 over one denominator D and checks, in whole
// numbers, that the sum of p(i) * a(i, j) >= D * gain(j) for each column: then every solution has
//   D * objective <= sum of p(i) * a(i, j) * x(j) over all i, j <= sum of p(i) * most(i),
// whatever the floating point did. A column for which rounding left too little is mended by raising
// the multiplier of one of its rows that has no negative number anywhere, which makes no other column
// worse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dray::allocator {

// Reused: Reset starts another one. One thread.
class LinearProgram {
 public:
  void Reset();
  // `bonus` is added to the gain for choosing between solutions, never for a proof; very small.
  std::uint32_t AddColumn(std::int64_t gain, double bonus = 0);
  std::uint32_t AddRow(std::int64_t most);
  // Added to what is there. A column must have a number above zero in some row that has none below.
  void Set(std::uint32_t row, std::uint32_t column, std::int64_t number);

  std::size_t rows() const { return most_.size(); }
  std::size_t columns() const { return gain_.size(); }

  // False: `limit` units of work (work.h) were not enough, or it is too large.
  bool Maximise(std::uint64_t limit);
  std::uint64_t spent() const { return spent_; }

  // After Maximise, whether it came to its end or not.
  double value(std::uint32_t column) const { return value_[column]; }
  double multiplier(std::uint32_t row) const { return multiplier_[row]; }
  double objective() const;
  // No solution has an objective of `target`. False: not proved.
  bool ProvedBelow(std::int64_t target) const;

 private:
  struct Entry {
    std::uint32_t row;
    std::uint32_t column;
    std::int64_t number;
  };
  // More would cost more than it could save.
  static constexpr std::size_t kMostCells = 2'000'000;

  bool Pivot();
  void Exchange(std::size_t row, std::size_t column);
  void ReadSolution();

  std::vector<std::int64_t> gain_;
  std::vector<double> bonus_;
  std::vector<std::int64_t> most_;
  std::vector<Entry> entries_;

  // The dictionary: what is basic (by row) in terms of what is not (by column). Numbers below
  // columns() are columns, the others rows.
  std::vector<double> cells_;
  std::vector<double> right_;
  std::vector<double> reduced_;
  std::vector<std::uint32_t> basic_;
  std::vector<std::uint32_t> other_;
  std::vector<std::uint32_t> nonzero_;
  std::vector<double> value_;
  std::vector<double> multiplier_;
  std::uint64_t spent_ = 0;
};

}  // namespace dray::allocator
