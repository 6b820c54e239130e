// SPDX-License-Identifier: Apache-2.0
//
// What a call costs when it is evaluated: docs/spec/cel.md chapter 8.
#pragma once

#include <cstdint>
#include <span>

#include "cel/value.h"
#include "cel/work.h"

namespace dray::cel {

// A row of library.h names one. Another one is a case of CallCost, which the compiler asks for.
enum class CostRule : std::uint8_t {
  kOne,
  kByEvaluator,      // which charges for it step by step
  kSets,             // 1 + a * b
  kSetsTwice,        // 1 + 2 * a * b
  kListResult,       // size of the result + 11
  kFlatten,          // depth * n + 11
  kSelfCompare,      // 2 * n^2 + 11; 2.1 for texts
  kSelfCompareKeys,  // the same of the second argument
  kTraversal,
  kTenth,    // a tenth of the first argument
  kFifth,    // two tenths
  kJoin,     // two tenths of the result
  kPattern,  // text by pattern: find, findAll, matches
  kContainsIp,
  kContainsIpText,
  kContainsCidr,
  kContainsCidrText,
  kValidate,
  kTenthOfSecond,  // startsWith, endsWith
  kSizeOfSecond,   // in
  kSmaller,        // a tenth of the smaller one
  kEqual,          // the same, 1 for Kubernetes values
  kSum,            // a tenth of both
  kContains,       // product of tenths
  kAuthorize,      // somebody's roles are looked at
};

std::uint64_t CallCost(Work& work, CostRule rule, std::span<const Value> args, const Value& result);

// Code points, bytes, entries; 4 or 16 of an address; 1 of anything else.
std::uint64_t ActualSize(const Value& value);

}  // namespace dray::cel
