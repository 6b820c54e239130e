// SPDX-License-Identifier: Apache-2.0
//
// Work: what an evaluation may do besides what it pays for.
//
// Costs are Kubernetes's and leave things out: comparing two lists costs a tenth of the shorter
// one, whatever lies in its elements; a call whose overload is not known costs 1, whatever it walks
// through; a pattern costs by its length, whatever it repeats. Within the limit on cost there is
// room for hours. So everything that can be large for its cost spends work: one unit is about one
// value looked at, or 16 bytes of text, or an instruction of a pattern; a few nanoseconds. Nothing
// that a device has comes near the budget (bombs_test.cc has what does).
#pragma once

#include <cstdint>
#include <string_view>

namespace dray::cel {

// One thread.
class Work {
 public:
  // Some tenths of a second.
  static constexpr std::uint64_t kBudget = 64'000'000;

  explicit Work(std::uint64_t budget = kBudget) : left_(budget) {}

  // False when there is not so much left; then nothing is.
  bool Spend(std::uint64_t units) {
    if (units > left_) {
      left_ = 0;
      return false;
    }
    left_ -= units;
    return true;
  }
  // Short texts are free: looking at them is part of the call.
  bool SpendText(std::string_view text) { return text.size() < 128 || Spend(text.size() / 16); }

  bool used_up() const { return left_ == 0; }
  std::uint64_t left() const { return left_; }

 private:
  std::uint64_t left_;
};

}  // namespace dray::cel
