// SPDX-License-Identifier: Apache-2.0
#include "planner/internal/device_answer.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "allocator/explain_summary.h"
#include "fmt/format.h"

namespace dray::planner::internal {
namespace {

using allocator::AlternativeReport;
using allocator::ClaimReport;
using allocator::Drop;
using allocator::Explanation;
using allocator::Holding;
using allocator::RequestReport;
using Code = allocator::Reason;

constexpr std::size_t kNamedHolders = 3;

std::string Devices(std::int64_t n) { return n == 1 ? "1 device" : fmt::format("{} devices", n); }
std::string_view Is(std::int64_t n) { return n == 1 ? "is" : "are"; }

// "pod a", "pods a and b and 3 others": who really has something, or who would get it first.
std::string HoldersOf(const Drop& drop, bool planned) {
  std::vector<std::string> names;
  std::size_t more = 0;
  for (const Holding& holding : drop.holders) {
    if (holding.planned != planned) continue;
    const std::string& name = holding.who.empty() ? holding.claim : holding.who;
    if (std::ranges::find(names, name) != names.end()) continue;
    if (names.size() < kNamedHolders) {
      names.push_back(name);
    } else {
      ++more;
    }
  }
  return names.empty() ? "" : allocator::Join(names, names.size() + more);
}

std::int64_t PlannedDevices(const Drop& drop) {
  std::int64_t planned = 0;
  for (const Holding& holding : drop.holders) planned += holding.planned ? holding.devices : 0;
  return std::min(planned, drop.devices);
}

// "2 are in use by pod a, 1 would go first to pod b"
std::string InUse(const Drop& drop, std::string_view how) {
  const std::int64_t planned = PlannedDevices(drop);
  const std::int64_t now = drop.devices - planned;
  std::string text;
  if (now > 0) {
    const std::string holders = HoldersOf(drop, false);
    text = fmt::format("{} {} {}{}", now, Is(now), how, holders.empty() ? "" : " by " + holders);
  }
  if (planned > 0) {
    text += fmt::format("{}{} would go first to {}", text.empty() ? "" : ", ", planned,
                        HoldersOf(drop, true));
  }
  return text;
}

std::string By(const Drop& drop) {
  const std::string now = HoldersOf(drop, false);
  const std::string then = HoldersOf(drop, true);
  if (now.empty() && then.empty()) return "";
  return now.empty() ? ", which would go first to " + then : ", in use by " + now;
}

// What is in the way of some devices, as part of a sentence.
std::string ClauseOf(const Drop& drop) {
  const std::int64_t n = drop.devices;
  switch (drop.reason) {
    case Code::kInUse:
      return InUse(drop, "in use");
    case Code::kInUseByShares:
      return InUse(drop, "still shared");
    case Code::kSelectorFalse:
      return fmt::format("{} {} not match the selector {}", n, n == 1 ? "does" : "do",
                         drop.expression);
    case Code::kExpressionError:
      return fmt::format("an expression fails on {}: {}", n, drop.message);
    case Code::kTaint:
      return fmt::format("{} {} the taint {}", n, n == 1 ? "has" : "have", drop.subject);
    case Code::kGroups: {
      const std::string holders = HoldersOf(drop, false);
      const std::string then = HoldersOf(drop, true);
      return fmt::format("{} cannot be mixed with what {} on {}", n,
                         !holders.empty() ? holders + " has"
                         : !then.empty()  ? then + " would get first"
                                          : "is in use",
                         drop.counter_set);
    }
    case Code::kCounters:
      return fmt::format("{} {} {} of {} on {}, where {} {} left{}", n, n == 1 ? "needs" : "need",
                         drop.asked, drop.subject, drop.counter_set, drop.available, "is",
                         By(drop));
    case Code::kCapacityInUse:
      return fmt::format("{} {} {} of {} left of the {} that are asked for{}", n,
                         n == 1 ? "has" : "have", drop.available, drop.subject, drop.asked,
                         By(drop));
    case Code::kCapacityTooSmall:
      return fmt::format("{} {} {} of {} in all, and {} are asked for", n, n == 1 ? "has" : "have",
                         drop.available, drop.subject, drop.asked);
    case Code::kCapacityMissing:
      return fmt::format("{} {} no capacity {}", n, n == 1 ? "has" : "have", drop.subject);
    default:
      return allocator::ShortText(drop);
  }
}

struct DropWords {
  Code reason;
  std::string_view cause;
  std::string_view sentence;  // after "devices of class X "
};
constexpr DropWords kDrops[] = {
    {Code::kInUse, "devices_in_use", "are in use"},
    {Code::kInUseByShares, "devices_in_use", "are in use"},
    {Code::kSelectorFalse, "selector_false", "do not match the request's selectors"},
    {Code::kExpressionError, "expression_error", "make an expression fail"},
    {Code::kTaint, "device_taint", "are tainted"},
    {Code::kGroups, "incompatible_partitions",
     "cannot be mixed with the partitions in use on the same card"},
    {Code::kCounters, "counters_in_use", "need more of their card than is left"},
    {Code::kCountersOverdrawn, "counters_overdrawn",
     "are of pools that have given more than they publish"},
    {Code::kCapacityInUse, "capacity_in_use", "have too little capacity left"},
    {Code::kCapacityTooSmall, "capacity_too_small", "have less capacity than is asked for"},
    {Code::kCapacityPolicy, "capacity_policy", "cannot give the amount that is asked for"},
    {Code::kCapacityMissing, "capacity_missing", "do not have the capacity that is asked for"},
};

// Of all nodes: how many devices of the class a request finds there, and where most are.
struct Most {
  std::int64_t devices = 0;
  std::string node;
};
Most MostOfClass(const scheduler::PodExplanation& why, const std::string& claim,
                 const std::string& request) {
  Most most;
  const auto look = [&](const std::vector<scheduler::Reason>& reasons, const std::string& node) {
    for (const scheduler::Reason& reason : reasons) {
      if (reason.devices == nullptr) continue;
      for (const ClaimReport& report : reason.devices->claims) {
        if (report.name != claim) continue;
        for (const RequestReport& other : report.requests) {
          if (other.name != request || other.alternatives.empty()) continue;
          const std::int64_t n = other.alternatives.front().of_class;
          if (n > most.devices) {
            most = {n, reason.devices->node.empty() ? node : reason.devices->node};
          }
        }
      }
    }
  };
  if (why.closest) look(why.closest->reasons, why.closest->node);
  for (const scheduler::NodeGroup& group : why.groups) {
    look(group.reasons, group.examples.empty() ? "" : group.examples.front());
  }
  return most;
}

const RequestReport* FindRequest(const Explanation& devices, const std::string& claim,
                                 const std::string& request) {
  const auto of = std::ranges::find(devices.claims, claim, &ClaimReport::name);
  if (of == devices.claims.end()) return nullptr;
  const auto found = std::ranges::find(of->requests, request, &RequestReport::name);
  return found == of->requests.end() ? nullptr : &*found;
}

// No node has as many devices of the class as the request asks for, whoever has them: every group of
// nodes was looked at for its devices, and says so.
bool ExceedsEveryNode(const scheduler::PodExplanation& why, const std::string& claim,
                      const std::string& request) {
  const auto exceeds = [&](const scheduler::Reason& reason) {
    if (reason.devices == nullptr) return false;
    const RequestReport* report = FindRequest(*reason.devices, claim, request);
    // Of alternatives each could do.
    if (report == nullptr || report->prioritized || report->alternatives.size() != 1) return false;
    const AlternativeReport& only = report->alternatives.front();
    return only.error.empty() && !only.all && only.of_class < only.needed;
  };
  return !why.groups.empty() &&
         std::ranges::all_of(why.groups, [&](const scheduler::NodeGroup& group) {
           return std::ranges::any_of(group.reasons, exceeds);
         });
}

// How far a device is from being usable: 0, others have what it needs; 1, it is tainted; 2, it is not
// what is asked for.
int Distance(const Drop& drop) {
  switch (drop.reason) {
    case Code::kInUse:
    case Code::kInUseByShares:
    case Code::kGroups:
    case Code::kCounters:
    case Code::kCountersOverdrawn:
    case Code::kCapacityInUse:
      return 0;
    case Code::kTaint:
      return 1;
    default:
      return 2;
  }
}

// What is in the way of devices, the nearest to being usable first.
std::vector<const Drop*> DropsOf(const AlternativeReport& report) {
  std::vector<const Drop*> drops;
  for (const Drop& drop : report.drops) {
    // Neither what is of another kind nor what only a constraint minds that has no part in this.
    if (drop.reason == Code::kSelectorFalse && drop.of_class) continue;
    if (drop.reason == Code::kAttributeMissing) continue;
    drops.push_back(&drop);
  }
  std::ranges::stable_sort(drops, {}, [](const Drop* drop) { return Distance(*drop); });
  return drops;
}

// The one that decides: if those that only are in use were enough, it is not that others are of
// another kind. Of those that would have to be had, what keeps most devices away.
const Drop* Decisive(const AlternativeReport& report, const std::vector<const Drop*>& drops) {
  const Drop* largest = nullptr;
  std::int64_t within_reach = report.usable;
  for (std::size_t i = 0; i < drops.size(); ++i) {
    if (i > 0 && Distance(*drops[i]) != Distance(*drops[i - 1]) && within_reach >= report.needed) {
      break;
    }
    within_reach += drops[i]->devices;
    if (largest == nullptr || drops[i]->devices > largest->devices) largest = drops[i];
  }
  return largest;
}

Answer Short(const AlternativeReport& report, const std::string& request,
             const std::string& where) {
  const std::string& device_class = report.device_class;
  const std::vector<const Drop*> drops = DropsOf(report);
  std::string clauses;
  for (const Drop* drop : drops) {
    clauses.append(clauses.empty() ? "" : ", ").append(ClauseOf(*drop));
  }
  const Drop* largest = Decisive(report, drops);
  const std::string have = report.usable == 0   ? "no usable device"
                           : report.needed == 1 ? Devices(report.usable)
                                                : fmt::format("{} usable of the {}", report.usable,
                                                              Devices(report.needed));
  Answer answer;
  answer.sentence =
      report.needed == 1 || report.usable == 0
          ? fmt::format("{} has {} of class {} for {}{}", where, have, device_class, request,
                        report.needed == 1 ? "" : fmt::format(", which needs {}", report.needed))
          : fmt::format("{} has {} of class {} that {} needs", where, have, device_class, request);
  if (!clauses.empty()) answer.sentence += ": " + clauses;
  if (largest == nullptr) {
    answer.cause = "devices_short/" + device_class;
    answer.cause_sentence = fmt::format("there are too few devices of class {}", device_class);
    return answer;
  }
  if (largest->reason == Code::kInUse && PlannedDevices(*largest) == largest->devices) {
    answer.cause = "devices_go_first/" + device_class;
    answer.cause_sentence =
        fmt::format("devices of class {} would go first to other pending pods", device_class);
    return answer;
  }
  const auto words = std::ranges::find(kDrops, largest->reason, &DropWords::reason);
  answer.cause = fmt::format("{}/{}", words == std::end(kDrops) ? "devices_unusable" : words->cause,
                             device_class);
  answer.cause_sentence =
      fmt::format("devices of class {} {}", device_class,
                  words == std::end(kDrops) ? "cannot be used" : std::string(words->sentence));
  return answer;
}

Answer OneRequest(const scheduler::PodExplanation& why, const Explanation& devices,
                  const ClaimReport& claim, const RequestReport& request,
                  const std::string& where) {
  const std::string shown = allocator::Shown(request);
  if (request.prioritized || request.alternatives.size() != 1) {
    return {fmt::format("{} has none of the {} alternatives of {}", where,
                        request.alternatives.size(), shown),
            "no_alternative", "none of the alternatives of a prioritized list fits"};
  }
  const AlternativeReport& report = request.alternatives.front();
  const std::string& device_class = report.device_class;
  if (!report.error.empty()) return {report.error, "request_error", report.error};
  if (report.all && report.needed == 0) {
    return {
        fmt::format("{} asks for all matching devices of class {}, and {} has none that matches",
                    shown, device_class, where),
        "no_device_matches/" + device_class,
        fmt::format("no device of class {} matches", device_class)};
  }
  const Most most = MostOfClass(why, claim.name, request.name);
  if (ExceedsEveryNode(why, claim.name, request.name)) {
    if (most.devices == 0) {
      return {fmt::format("no node has devices of class {}, which {} needs", device_class, shown),
              "no_devices_of_class/" + device_class,
              fmt::format("no node has devices of class {}", device_class)};
    }
    const std::string largest =
        why.nodes == 1 ? fmt::format("the only node, {}, has {}", most.node, most.devices)
                       : fmt::format("no node has more than {} (node {})", most.devices, most.node);
    return {fmt::format("{} needs {} of class {} on one node, and {}", shown,
                        Devices(report.needed), device_class, largest),
            "count_exceeds_node/" + device_class,
            fmt::format("more devices of class {} are needed on one node than any node has",
                        device_class)};
  }
  if (report.usable < report.needed) return Short(report, shown, where);
  return {fmt::format("{} cannot serve it: {}", where, devices.summary),
          "devices_do_not_fit_together/" + device_class,
          fmt::format("devices of class {} do not fit together", device_class)};
}

// "2 gpu and 1 nic"
std::string NeedsOf(const Explanation& devices) {
  std::vector<std::string> needs;
  for (const ClaimReport& claim : devices.claims) {
    for (const RequestReport& request : claim.requests) {
      if (!request.in_conflict || request.alternatives.empty()) continue;
      needs.push_back(
          fmt::format("{} for {}", request.alternatives.front().needed, allocator::Shown(request)));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    text += i == 0 ? "" : i + 1 == needs.size() ? " and " : ", ";
    text += needs[i];
  }
  return text;
}

}  // namespace

Answer DeviceAnswer(const scheduler::PodExplanation& why, const Explanation& devices,
                    const std::string& where) {
  using Kind = allocator::Decision::Kind;
  if (devices.kind == Kind::kFault) {
    return {fmt::format("an expression fails on {}: {}", where.substr(0, where.size() - 1),
                        devices.fault),
            "expression_error", "an expression fails"};
  }
  if (devices.kind == Kind::kBudget) {
    return {fmt::format("on {} {}", where, devices.summary), "search_budget",
            "the search for devices was given up before it ended"};
  }
  // What no node has, whoever leaves, comes before what else is in the way.
  for (const ClaimReport& claim : devices.claims) {
    for (const RequestReport& request : claim.requests) {
      if (ExceedsEveryNode(why, claim.name, request.name)) {
        return OneRequest(why, devices, claim, request, where);
      }
    }
  }
  const allocator::ConstraintReport* constraint = nullptr;
  std::vector<std::pair<const ClaimReport*, const RequestReport*>> requests;
  for (const allocator::ConflictMember& member : devices.conflict) {
    const ClaimReport& claim = devices.claims[static_cast<std::size_t>(member.claim)];
    const auto index = static_cast<std::size_t>(member.index);
    if (member.constraint) {
      if (constraint == nullptr) constraint = &claim.constraints[index];
    } else {
      requests.emplace_back(&claim, &claim.requests[index]);
    }
  }
  if (constraint != nullptr) {
    const std::string name = allocator::NameOf(*constraint);
    return {fmt::format("{} has no devices ({}) that satisfy {}", where, NeedsOf(devices), name),
            "constraint/" + constraint->attribute,
            fmt::format("no node has free devices that satisfy {}", name)};
  }
  if (requests.size() == 1) {
    return OneRequest(why, devices, *requests.front().first, *requests.front().second, where);
  }
  return {fmt::format("{} cannot serve it: {}", where, devices.summary),
          "devices_do_not_fit_together", "the requests of a pod do not fit together on any node"};
}

}  // namespace dray::planner::internal
