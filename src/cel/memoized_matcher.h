// SPDX-License-Identifier: Apache-2.0
//
// One selector on many devices. Devices in a cluster are alike: of what a selector reads, thousands
// of them have the same few values. So an answer is kept under what was read (DeviceView::Project),
// and evaluated once for each different projection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "cel/arena.h"
#include "cel/device_results.h"
#include "cel/device_view.h"
#include "cel/evaluator.h"
#include "cel/program.h"

namespace dray::cel {

// An answer depends on nothing but the program's reads and the limits, so it stays true as long as
// the numbers that views project to mean the same values: use one matcher per table. Programs that
// use `device` in another way than by reads, or that read its name, which no other device has, are
// evaluated each time; and so are devices whose view has no numbers. One thread.
class MemoizedMatcher {
 public:
  struct Options {
    EvaluationLimits limits;
    // Past this many answers it starts again with none.
    std::size_t max_answers = 4096;
  };
  // As MatchOutcome. Why it failed depends on more than was read (the message lists what the device
  // has instead), so who wants to know asks Explain.
  struct Answer {
    Verdict verdict = Verdict::kNo;
    std::uint32_t cost = 0;
  };

  explicit MemoizedMatcher(std::shared_ptr<const Program> program)
      : MemoizedMatcher(std::move(program), Options()) {}
  MemoizedMatcher(std::shared_ptr<const Program> program, const Options& options);

  // `view` is bound to the program.
  Answer Match(const DeviceView& view);
  // Evaluates again: OK when it does not fail.
  Status Explain(const DeviceView& view);

  bool memoizes() const { return memoizes_; }
  const Program& program() const { return *program_; }
  // Since it was made.
  std::uint64_t evaluations() const { return evaluations_; }
  std::uint64_t hits() const { return hits_; }

 private:
  struct Slot {
    std::uint32_t entry = 0;  // of answers_, + 1; 0: free
    std::uint32_t hash = 0;
  };

  Answer Evaluate(const DeviceView& view);
  bool SameKey(std::size_t entry) const;
  void Insert(std::uint32_t hash, const Answer& answer);
  void Clear();

  const std::shared_ptr<const Program> program_;
  const Options options_;
  const std::size_t reads_;
  const bool memoizes_;
  Arena arena_;
  std::vector<std::uint32_t> key_;   // of the device that is being looked at
  std::vector<std::uint32_t> keys_;  // reads_ for each of answers_
  std::vector<Answer> answers_;
  std::vector<Slot> slots_;  // a power of two, at most half full; probed one after the other
  std::uint64_t evaluations_ = 0;
  std::uint64_t hits_ = 0;
};

}  // namespace dray::cel
