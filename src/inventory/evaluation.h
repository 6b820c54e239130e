// SPDX-License-Identifier: Apache-2.0
//
// Expressions on rows. A program is bound to a dictionary once: the attributes it reads become
// numbers. Then what it reads of a row is a few numbers too, and rows with equal numbers give equal
// results, so that each is computed once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "cel/program.h"
#include "cel/verdict.h"
#include "inventory/dictionary.h"
#include "inventory/slice_table.h"

namespace dray::inventory {

// What evaluating has taken so far.
struct EvaluationStatistics {
  std::uint64_t evaluations = 0;  // that were done: remembered results cost none
  std::uint64_t errors = 0;       // of these, those that failed
  std::uint64_t cost = 0;         // in the language's units
};

using cel::Verdict;

// A selector or a derived attribute, ready for rows of one dictionary. Remembers results by
// projection; remembering is bounded. Results do not depend on what is remembered. An expression
// that uses `device` other than by fixed names is evaluated each time. Thread-safe.
class BoundProgram {
 public:
  BoundProgram(std::shared_ptr<const cel::Program> program, std::shared_ptr<Dictionary> dictionary);
  ~BoundProgram();
  BoundProgram(const BoundProgram&) = delete;
  BoundProgram& operator=(const BoundProgram&) = delete;

  // As a selector. `error` (may be null) gets the message of a kError, made only when asked for.
  Verdict Match(const SliceTable& slice, const DeviceRow& row, std::string* error) const;
  // As a derived attribute: an interned value.
  StatusOr<ValueId> Derive(const SliceTable& slice, const DeviceRow& row) const;

  EvaluationStatistics statistics() const;
  // What is remembered.
  std::size_t MemoryBytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dray::inventory
