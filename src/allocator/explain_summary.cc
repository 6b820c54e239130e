// SPDX-License-Identifier: Apache-2.0
#include "allocator/explain_summary.h"

#include <algorithm>

#include "fmt/format.h"

namespace dray::allocator {
namespace {

// How many requests and claims a sentence names before it counts.
constexpr std::size_t kNamed = 4;

std::string Devices(std::int64_t n) { return n == 1 ? "1 device" : fmt::format("{} devices", n); }

const ClaimReport& ClaimOf(const Explanation& explanation, const ConflictMember& member) {
  return explanation.claims[static_cast<std::size_t>(member.claim)];
}

std::string Reasons(const AlternativeReport& report) {
  std::string text;
  for (const Drop& drop : report.drops) {
    // Neither what is of another kind nor what only a constraint minds that has no part in this.
    if (drop.reason == Reason::kSelectorFalse && drop.of_class) continue;
    if (drop.reason == Reason::kAttributeMissing) continue;
    text += (text.empty() ? "" : ", ") + ShortText(drop);
  }
  return text.empty() ? text : fmt::format(" ({})", text);
}

// Why devices that can be had one by one cannot be had together, as far as that is known.
std::string WhyNotTogether(const Explanation& explanation) {
  if (explanation.room_together && *explanation.room_together < explanation.needed_together) {
    return fmt::format(": they need {}, there is room for {}", Devices(explanation.needed_together),
                       *explanation.room_together);
  }
  if (!explanation.shortages.empty()) return ": " + ToText(explanation.shortages.front());
  if (explanation.groups_exclude) {
    return ": the compatibility groups of the devices exclude each other";
  }
  if (explanation.counters_drawn) return ": the devices draw on the same counters";
  return "";
}

// The only request of a conflict, and no constraint.
std::string OneRequest(const Explanation& explanation, const RequestReport& request) {
  if (request.prioritized) {
    std::vector<std::string> names;
    for (const AlternativeReport& alternative : request.alternatives) {
      names.push_back(alternative.name);
    }
    return fmt::format("{}: none of {} can be allocated", Shown(request),
                       Join(names, names.size()));
  }
  const AlternativeReport& report = request.alternatives.front();
  if (report.all && report.needed == 0) {
    return fmt::format("{} asks for all matching devices, and none matches{}", Shown(request),
                       Reasons(report));
  }
  const std::string needs = report.all ? fmt::format("all {} that match", Devices(report.needed))
                                       : Devices(report.needed);
  const std::int64_t usable = explanation.room_together.value_or(report.usable);
  if (report.of_class == 0 && usable == 0) {
    return fmt::format("{} needs {}, this node has none of class {}", Shown(request), needs,
                       report.device_class);
  }
  if (usable < report.needed) {
    return fmt::format("{} needs {}, {} of {} usable{}", Shown(request), needs, usable,
                       report.of_class, Reasons(report));
  }
  const std::string why = WhyNotTogether(explanation);
  if (explanation.at_most) {
    return fmt::format("{} needs {}, at most {} of {} usable ones fit together{}", Shown(request),
                       needs, *explanation.at_most, usable, why);
  }
  return fmt::format("{} needs {}, which do not fit together{}", Shown(request), needs, why);
}

std::string ConstraintsOf(const Explanation& explanation, std::size_t claim) {
  std::string text;
  for (const ConstraintReport& constraint : explanation.claims[claim].constraints) {
    if (!constraint.in_conflict) continue;
    text += (text.empty() ? " with " : " and ") + NameOf(constraint);
  }
  return text;
}

// The conflict claim by claim: "claim a: requests x, y with matchAttribute z; claim b: request x".
std::string Members(const Explanation& explanation) {
  std::vector<std::string> claims;
  for (std::size_t c = 0; c < explanation.claims.size(); ++c) {
    std::vector<std::string> requests;
    for (const RequestReport& request : explanation.claims[c].requests) {
      if (request.in_conflict) {
        requests.push_back(request.who.empty() ? request.name : request.who);
      }
    }
    if (requests.empty()) continue;
    const std::size_t n = requests.size();
    requests.resize(std::min(n, kNamed));
    const ClaimReport& claim = explanation.claims[c];
    const std::string_view what = !claim.who.empty() ? "" : n == 1 ? "request " : "requests ";
    claims.push_back(fmt::format("{}: {}{}{}", Shown(claim), what, Join(requests, n),
                                 ConstraintsOf(explanation, c)));
  }
  const std::size_t n = claims.size();
  claims.resize(std::min(n, kNamed));
  std::string text;
  for (const std::string& claim : claims) text += (text.empty() ? "" : "; ") + claim;
  if (n > kNamed) text += fmt::format("; and {} more claims", n - kNamed);
  return text;
}

std::string Refused(const Explanation& explanation) {
  std::vector<ConflictMember> requests;
  std::ranges::copy_if(explanation.conflict, std::back_inserter(requests),
                       [](const ConflictMember& member) { return !member.constraint; });
  if (requests.empty()) return "the claims do not fit";
  if (requests.size() == 1) {
    const ClaimReport& claim = ClaimOf(explanation, requests.front());
    const RequestReport& request = claim.requests[static_cast<std::size_t>(requests.front().index)];
    if (explanation.conflict.size() == 1) {
      return claim.who.empty()
                 ? fmt::format("{}: {}", Shown(claim), OneRequest(explanation, request))
                 : OneRequest(explanation, request);
    }
    const std::string constraints =
        ConstraintsOf(explanation, static_cast<std::size_t>(requests.front().claim));
    if (explanation.at_most) {
      return fmt::format("{}: {} needs {}{}, at most {} can be allocated", Shown(claim),
                         Shown(request), Devices(explanation.needed_together), constraints,
                         *explanation.at_most);
    }
    return fmt::format("{}: {}{} cannot be met", Shown(claim), Shown(request), constraints);
  }
  const bool constrained = requests.size() < explanation.conflict.size();
  // Under constraints there is more to it than numbers; the tree shows the values.
  return Members(explanation) + " cannot be met together" +
         (constrained ? "" : WhyNotTogether(explanation));
}

// Of an expression as much as a sentence takes.
std::string Shortened(const std::string& expression) {
  if (expression.size() <= kShortExpression) return expression;
  std::size_t end = kShortExpression;
  while (end > 0 && (static_cast<unsigned char>(expression[end]) & 0xC0) == 0x80) --end;
  return expression.substr(0, end) + "...";
}

// "2 in use", "1 in use, 1 that would go first to other pods".
std::string InUse(const Drop& drop, std::string_view how) {
  std::int64_t planned = 0;
  for (const Holding& holding : drop.holders) planned += holding.planned ? holding.devices : 0;
  planned = std::min(planned, drop.devices);
  const std::string then = fmt::format("{} that would go first to others", planned);
  if (planned == drop.devices && planned > 0) return then;
  const std::string now = fmt::format("{} {}", drop.devices - planned, how);
  return planned == 0 ? now : fmt::format("{}, {}", now, then);
}

}  // namespace

std::string Join(const std::vector<std::string>& items, std::size_t in_all) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  if (in_all > items.size()) text += fmt::format(" and {} more", in_all - items.size());
  return text;
}

std::string Shown(const RequestReport& request) {
  return request.who.empty() ? "request " + request.name : request.who;
}
std::string Shown(const ClaimReport& claim) {
  return claim.who.empty() ? "claim " + claim.name : claim.who;
}

std::string NameOf(const ConstraintReport& constraint) {
  return fmt::format("{} {}", constraint.type->field(), constraint.attribute);
}

std::string ToText(const Shortage& shortage) {
  std::string what;
  if (shortage.capacity) {
    what = fmt::format("capacity {}", shortage.name);
  } else if (shortage.counter_set.empty()) {
    what = fmt::format("counter {} of all counter sets of pool {}", shortage.name, shortage.pool);
  } else {
    what = fmt::format("counter {} of counter set {}", shortage.name, shortage.counter_set);
  }
  return fmt::format("{}: at least {} needed, {} left", what, shortage.needed, shortage.left);
}

std::string ShortText(const Drop& drop) {
  const std::int64_t n = drop.devices;
  switch (drop.reason) {
    case Reason::kBindingConditionsOff:
      return fmt::format("{} with binding conditions while DRADeviceBindingConditions is off", n);
    case Reason::kSelectorFalse:
      return drop.of_class ? fmt::format("{} not of the class", n)
                           : fmt::format("{} that {} not match the selector {}", n,
                                         n == 1 ? "does" : "do", Shortened(drop.expression));
    case Reason::kExpressionError:
      return fmt::format("{} on which an expression fails", n);
    case Reason::kOtherNode:
      return fmt::format("{} for other nodes", n);
    case Reason::kCapacityMissing:
      return fmt::format("{} without capacity {}", n, drop.subject);
    case Reason::kCapacityPolicy:
      return drop.allowed.empty()
                 ? fmt::format("{} that cannot give {} of {}", n, drop.asked, drop.subject)
                 : fmt::format("{} that cannot give {} of {}, only {}", n, drop.asked, drop.subject,
                               drop.allowed);
    case Reason::kCapacityTooSmall:
      return fmt::format("{} too small: {} of {} asked, {} is all there is", n, drop.asked,
                         drop.subject, drop.available);
    case Reason::kGroupsOff:
      return fmt::format("{} with groups while DRADeviceCompatibilityGroups is off", n);
    case Reason::kInUse:
      return InUse(drop, "in use");
    case Reason::kInUseByShares:
      return InUse(drop, "still shared");
    case Reason::kCapacityInUse:
      return fmt::format("{} too full: {} of {} asked, {} free", n, drop.asked, drop.subject,
                         drop.available);
    case Reason::kNodeOperations:
      return fmt::format("{} that skip node operations, which this node does not support", n);
    case Reason::kCountersOff:
      return fmt::format("{} with counters while DRAPartitionableDevices is off", n);
    case Reason::kGroups:
      return fmt::format("{} that cannot be mixed with what is in use on {}", n, drop.counter_set);
    case Reason::kCounters:
      return fmt::format("{} short of counter {} in {}: {} needed, {} left", n, drop.subject,
                         drop.counter_set, drop.asked, drop.available);
    case Reason::kCountersOverdrawn:
      return fmt::format("{} in pool {}, whose counter {} in {} is overdrawn by {}", n, drop.pool,
                         drop.subject, drop.counter_set, drop.short_by);
    case Reason::kTaint:
      return fmt::format("{} tainted {}", n, drop.subject);
    case Reason::kAttributeMissing:
      return fmt::format("{} without attribute {}", n, drop.subject);
  }
  return {};
}

std::string Summarize(const Explanation& explanation) {
  switch (explanation.kind) {
    case Decision::Kind::kFits:
      return "the claims fit";
    case Decision::Kind::kFault:
      return explanation.conflict.empty()
                 ? explanation.fault
                 : fmt::format("{}: {}", explanation.fault, Refused(explanation));
    case Decision::Kind::kBudget:
      return "the search was given up because it took too much work; whether they fit is not known";
    case Decision::Kind::kRefused:
      break;
  }
  return Refused(explanation);
}

}  // namespace dray::allocator
