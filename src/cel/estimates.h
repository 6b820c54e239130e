// SPDX-License-Identifier: Apache-2.0
//
// What a call is estimated to cost by itself: the rules that rows of library.h name. They are
// upstream's, odd ones included. Spec: docs/spec/cel.md chapter 7, "Own cost".
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "cel/cost_range.h"
#include "cel/type.h"

namespace dray::cel {

// What the estimator knows about a receiver or an argument.
struct CostNode {
  Type type;
  std::optional<CostRange> known_size;
  // By path alone: what a list's elements have at most. Of receivers.
  CostRange element_size = CostRange::Unknown();
  std::optional<std::int64_t> constant;  // an int literal

  CostRange size() const { return known_size.value_or(CostRange::Unknown()); }
};

// A call as a rule sees it: as many arguments as the overload has parameters, a receiver if it is a
// member.
struct CallSite {
  const CostNode* receiver = nullptr;
  std::span<const CostNode> args;
  std::span<const CostRange> arg_costs;
};

struct CallEstimate {
  CostRange cost;
  std::optional<CostRange> result_size;
  // The cost has in it what of the arguments is paid for: logic need not look at all of them.
  bool with_arguments = false;
};

using EstimateRule = CallEstimate (*)(const CallSite& call);

namespace estimate {

CallEstimate Unit(const CallSite& call);
CallEstimate Authorize(const CallSite& call);

// The language's operators.
CallEstimate Logic(const CallSite& call);
CallEstimate Conditional(const CallSite& call);
CallEstimate Equality(const CallSite& call);    // of library values by their type
CallEstimate Comparison(const CallSite& call);  // of texts
CallEstimate InList(const CallSite& call);
CallEstimate AddLists(const CallSite& call);
CallEstimate Concatenate(const CallSite& call);

// Texts: a tenth of what is read.
CallEstimate ReadReceiver(const CallSite& call);
CallEstimate ReadArgument(const CallSite& call);
CallEstimate ReadArgumentTwice(const CallSite& call);
CallEstimate CopyReceiver(const CallSite& call);
CallEstimate CopyArgument(const CallSite& call);
CallEstimate Contains(const CallSite& call);
CallEstimate ToBytes(const CallSite& call);
CallEstimate BytesToText(const CallSite& call);
CallEstimate Quote(const CallSite& call);
CallEstimate Replace(const CallSite& call);
CallEstimate Split(const CallSite& call);
CallEstimate Join(const CallSite& call);

// Text by pattern.
CallEstimate Matches(const CallSite& call);
CallEstimate FindAll(const CallSite& call);
CallEstimate ValidateFormat(const CallSite& call);

// Lists.
CallEstimate Elements(const CallSite& call);        // isSorted, sum, indexOf ...
CallEstimate ElementsOrSelf(const CallSite& call);  // includes
CallEstimate Slice(const CallSite& call);
CallEstimate Range(const CallSite& call);
CallEstimate CopyList(const CallSite& call);
CallEstimate Flatten(const CallSite& call);
CallEstimate Distinct(const CallSite& call);
CallEstimate Sort(const CallSite& call);
CallEstimate SortTexts(const CallSite& call);
CallEstimate SortBy(const CallSite& call);
CallEstimate SortByTexts(const CallSite& call);
CallEstimate Sets(const CallSite& call);
CallEstimate SetsTwice(const CallSite& call);

// Addresses.
CallEstimate ContainsIp(const CallSite& call);
CallEstimate ContainsIpText(const CallSite& call);
CallEstimate ContainsCidr(const CallSite& call);
CallEstimate ContainsCidrText(const CallSite& call);

// The size of what replace() returns. Only for its own test visible.
CostRange ReplacedSize(const CostRange& text, const CostRange& searched,
                       const CostRange& replacement);

}  // namespace estimate
}  // namespace dray::cel
