// SPDX-License-Identifier: Apache-2.0
//
// The rules that decide whether a device can serve an alternative, in one ordered list. Deciding
// walks the list, compiled: what depends on the slice alone is decided once per slice (Verdicts),
// what depends on the node once per attempt (Attempt), the rest whenever a device is placed
// (State). Explaining walks the same list, rule by rule, and asks for each the same function; it
// adds only words and numbers. So an explanation cannot contradict a decision.
//
// To add a rule: its Reason, an inline function here, its row in kRules, and its words in
// explain_words.cc.
//
// Spec: docs/spec/allocator.md 4.1. The order is that of explanations, where what a device is
// comes before who has it. For deciding the order matters only where to look at a device can be an
// error; that is what Candidates::faulty is for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "allocator/attempt.h"
#include "allocator/reason.h"
#include "allocator/state.h"

namespace dray::allocator {

// What a rule depends on, which says where deciding asks it.
enum class Scope : std::uint8_t {
  kSlice,       // the slice and the request: Verdicts
  kMember,      // whether it is there for the node at all; mode All means all of these: Attempt
  kInUse,       // whether somebody has it: NodeUsage::taken(), a bit set
  kUsable,      // the node and the ledger: Attempt. Like kMember it drops only devices that are
                // NodeDevice::notable(); of others nobody asks
  kState,       // what else is chosen: State::TryPlace
  kConstraint,  // the claim's constraints, of which each keeps what it has accepted:
                // State::TryPlace
};

// One device for one alternative.
struct Question {
  const Attempt& attempt;
  const Candidates& asked;
  std::uint32_t device = 0;
  // For kState and kConstraint: what is chosen so far. For explanations that is nothing.
  const State* state = nullptr;

  const inventory::NodeDevice& on_node() const { return attempt.devices().devices()[device]; }
  const Alternative& alternative() const { return *asked.alternative; }
};

namespace rules {

// What Judge recorded when it decided the rules of the slice.
template <Reason kReason>
bool NotRecorded(const Question& q) {
  return q.attempt.dropped(q.asked, q.device) != kReason;
}

// A device that nobody looks at raises no error.
inline bool Evaluates(const Question& q) { return !q.asked.faulty.Test(q.device); }
inline bool OnNode(const Question& q) { return q.on_node().on_node; }
inline bool GroupsOn(const Question& q) { return !q.on_node().groups_off; }

inline bool NotStillShared(const Question& q) {
  return q.alternative().admin || !q.attempt.usage().taken().Test(q.device);
}
inline bool NotInUse(const Question& q) {
  return NotStillShared(q) ||
         (q.attempt.usage().shared().Test(q.device) && !q.attempt.multi(q.device));
}

inline bool CapacityLeft(const Question& q) { return q.state->CapacityFits(q.asked, q.device); }
inline bool NodeOperations(const Question& q) { return !q.on_node().operations_missing; }
inline bool CountersOn(const Question& q) { return !q.on_node().counters_off; }
inline bool Groups(const Question& q) { return q.state->GroupsAdmit(q.device); }
inline bool Counters(const Question& q) { return q.state->CountersAdmit(q.device); }

// One overdrawn counter closes its pool to every device that draws on counters, except to further
// shares of one that has drawn already.
inline bool NotOverdrawn(const Question& q) {
  const inventory::NodeDevice& device = q.on_node();
  return device.uses == 0 || !q.attempt.usage().overdrawn(device.pool) ||
         (q.attempt.multi(q.device) && q.attempt.usage().shared().Test(q.device));
}

inline bool Tolerated(const Question& q) {
  const inventory::TaintsId taints = q.on_node().taints;
  return taints == inventory::TaintsId::kNone || !q.attempt.plan().features().device_taints ||
         Tolerates(q.alternative().tolerations, q.attempt.devices().dictionary().At(taints));
}

inline bool HasAttributes(const Question& q) {
  for (std::size_t use = 0; use < q.alternative().constraints.size(); ++use) {
    if (!q.state->AcceptsAlone(q.asked, use, q.device)) return false;
  }
  return true;
}

}  // namespace rules

struct Finding;
// What an explanation says of a device that the rule drops (explain_words.cc).
namespace words {
void Selector(const Question& q, Finding& finding);
void Error(const Question& q, Finding& finding);
void OwnCapacity(const Question& q, Finding& finding);
void CapacityInUse(const Question& q, Finding& finding);
void Groups(const Question& q, Finding& finding);
void Counters(const Question& q, Finding& finding);
void Overdrawn(const Question& q, Finding& finding);
void Taint(const Question& q, Finding& finding);
void Attribute(const Question& q, Finding& finding);
void Nothing(const Question& q, Finding& finding);
}  // namespace words

struct Rule {
  Reason reason;
  Scope scope;
  bool (*admits)(const Question& q);
  void (*explain)(const Question& q, Finding& finding);
};

// By Reason.
inline constexpr std::array kRules = std::to_array<Rule>({
    {Reason::kBindingConditionsOff, Scope::kSlice,
     rules::NotRecorded<Reason::kBindingConditionsOff>, words::Nothing},
    {Reason::kSelectorFalse, Scope::kSlice, rules::NotRecorded<Reason::kSelectorFalse>,
     words::Selector},
    {Reason::kExpressionError, Scope::kSlice, rules::Evaluates, words::Error},
    {Reason::kOtherNode, Scope::kMember, rules::OnNode, words::Nothing},
    {Reason::kCapacityMissing, Scope::kSlice, rules::NotRecorded<Reason::kCapacityMissing>,
     words::OwnCapacity},
    {Reason::kCapacityPolicy, Scope::kSlice, rules::NotRecorded<Reason::kCapacityPolicy>,
     words::OwnCapacity},
    {Reason::kCapacityTooSmall, Scope::kSlice, rules::NotRecorded<Reason::kCapacityTooSmall>,
     words::OwnCapacity},
    {Reason::kGroupsOff, Scope::kMember, rules::GroupsOn, words::Nothing},
    {Reason::kInUse, Scope::kInUse, rules::NotInUse, words::Nothing},
    {Reason::kInUseByShares, Scope::kInUse, rules::NotStillShared, words::Nothing},
    {Reason::kCapacityInUse, Scope::kState, rules::CapacityLeft, words::CapacityInUse},
    {Reason::kNodeOperations, Scope::kUsable, rules::NodeOperations, words::Nothing},
    {Reason::kCountersOff, Scope::kUsable, rules::CountersOn, words::Nothing},
    {Reason::kGroups, Scope::kState, rules::Groups, words::Groups},
    {Reason::kCounters, Scope::kState, rules::Counters, words::Counters},
    {Reason::kCountersOverdrawn, Scope::kUsable, rules::NotOverdrawn, words::Overdrawn},
    {Reason::kTaint, Scope::kUsable, rules::Tolerated, words::Taint},
    {Reason::kAttributeMissing, Scope::kConstraint, rules::HasAttributes, words::Attribute},
});

namespace internal {

constexpr bool InOrder() {
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (static_cast<std::size_t>(kRules[i].reason) != i) return false;
  }
  return true;
}
static_assert(InOrder());

template <Scope kScope, std::size_t kIndex>
bool Admits(const Question& q) {
  if constexpr (kRules[kIndex].scope == kScope) {
    constexpr auto kAdmits = kRules[kIndex].admits;  // known here, so it is inlined
    return kAdmits(q);
  } else {
    return true;
  }
}

}  // namespace internal

// Whether every rule of the scope lets the device pass: the list, compiled.
template <Scope kScope>
bool Admits(const Question& q) {
  return [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    return (internal::Admits<kScope, kIndices>(q) && ...);
  }
  (std::make_index_sequence<kRules.size()>());
}

// The first rule that drops the device, or null: the alternative could have it.
inline const Rule* FirstToDrop(const Question& q) {
  const auto found =
      std::ranges::find_if(kRules, [&](const Rule& rule) { return !rule.admits(q); });
  return found == kRules.end() ? nullptr : &*found;
}

}  // namespace dray::allocator
