// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/explain_summary.h"
#include "allocator/explanation.h"
#include "fmt/format.h"

namespace dray::allocator {
namespace {

struct Branch {
  std::string text;
  std::vector<Branch> branches;
};

void Write(const std::vector<Branch>& branches, const std::string& indent, std::string& out) {
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const bool last = i + 1 == branches.size();
    out += fmt::format("{}{}{}\n", indent, last ? "└─ " : "├─ ", branches[i].text);
    Write(branches[i].branches, indent + (last ? "   " : "│  "), out);
  }
}

std::string Names(const std::vector<DeviceName>& examples, std::int64_t in_all) {
  std::vector<std::string> labels;
  for (const DeviceName& name : examples) labels.push_back(name.label);
  return Join(labels, static_cast<std::size_t>(in_all));
}

std::string Groups(const std::vector<std::string>& groups) {
  return groups.empty() ? "none" : Join(groups, groups.size());
}

// "gpu-0 by pod a; gpu-1 would go first to pod b". Where all would, the line has said so.
std::string HoldersOf(const Drop& drop) {
  const bool all = std::ranges::all_of(drop.holders, &Holding::planned) &&
                   (drop.reason == Reason::kInUse || drop.reason == Reason::kInUseByShares);
  std::string text;
  for (const Holding& holder : drop.holders) {
    text +=
        fmt::format("{}{} {} {}", text.empty() ? "" : "; ", Names(holder.examples, holder.devices),
                    !holder.planned ? "by"
                    : all           ? "to"
                                    : "would go first to",
                    holder.who.empty() ? holder.claim : holder.who);
    if (!holder.about.empty()) text += fmt::format(" ({})", holder.about);
  }
  return text;
}

std::string LineOf(const Drop& drop) {
  std::string line = ShortText(drop);
  std::string below;  // who is in the way, after the devices
  switch (drop.reason) {
    case Reason::kInUse:
    case Reason::kInUseByShares:
    case Reason::kCapacityInUse: {
      if (drop.holders.empty()) break;
      return fmt::format("{}: {}", line, HoldersOf(drop));
    }
    case Reason::kSelectorFalse:
      // The short text has it unless it is long, or the class's.
      if (drop.of_class || drop.expression.size() > kShortExpression) {
        line += fmt::format(": {}", drop.expression);
      }
      break;
    case Reason::kExpressionError:
      line += fmt::format(": {}", drop.message);
      break;
    case Reason::kGroups:
      line += fmt::format(" ({} against {}: {})", Groups(drop.declared), Groups(drop.placed),
                          drop.message);
      if (!drop.holders.empty()) below = fmt::format("; in use there: {}", HoldersOf(drop));
      break;
    case Reason::kCounters:
      if (!drop.holders.empty()) below = fmt::format("; drawn on: {}", HoldersOf(drop));
      break;
    default:
      break;
  }
  // Which devices are of another class is nobody's question.
  if (drop.reason == Reason::kSelectorFalse && drop.of_class) return line;
  return fmt::format("{}: {}{}", line, Names(drop.examples, drop.devices), below);
}

// `what` is how its request, or its place in one, is called.
Branch BranchOf(const AlternativeReport& report, const std::string& what, bool drops) {
  if (!report.error.empty()) return {report.error, {}};
  std::string needs = fmt::format("needs {}", report.needed);
  if (report.all) {
    needs = report.needed == 0 ? "needs all that match, and none does"
                               : fmt::format("needs all {} that match", report.needed);
  }
  std::string usable = ", this node has none";
  if (report.of_class > 0) {
    usable = fmt::format(", {} of {} {} usable", report.usable, report.of_class,
                         report.of_class == 1 ? "device" : "devices");
  } else if (report.all && report.needed == 0) {
    usable.clear();
  }
  Branch branch{fmt::format("{} (class {}{}): {}{}", what, report.device_class,
                            report.admin_access ? ", admin access" : "", needs, usable),
                {}};
  if (!drops) return branch;
  for (const GroupReport& group : report.groups) {
    branch.branches.push_back(
        {group.groups.empty() ? fmt::format("{} usable without compatibility groups", group.devices)
                              : fmt::format("{} usable with compatibility groups {}", group.devices,
                                            Groups(group.groups)),
         {}});
  }
  for (const Drop& drop : report.drops) branch.branches.push_back({LineOf(drop), {}});
  return branch;
}

Branch BranchOf(const RequestReport& request, bool drops) {
  if (!request.prioritized && request.alternatives.size() == 1) {
    return BranchOf(request.alternatives.front(), Shown(request), drops);
  }
  Branch branch{fmt::format("request {}: the first available of {}", request.name,
                            request.alternatives.size()),
                {}};
  for (const AlternativeReport& alternative : request.alternatives) {
    branch.branches.push_back(BranchOf(alternative, "subrequest " + alternative.name, drops));
  }
  return branch;
}

// Whether every value of a constraint that wants one in common is short of devices for some
// request. Where requests have alternatives or values are left out this is not said.
bool NoValueHasEnough(const ConstraintReport& constraint, const ClaimReport& claim) {
  const auto shown = static_cast<std::int64_t>(constraint.values.size());
  if (constraint.type->promise() != Promise::kCommonElement) return false;
  if (shown < constraint.values_in_all) return false;
  std::vector<std::int64_t> needed;
  for (const RequestReport& request : claim.requests) {
    const AlternativeReport& report = request.alternatives.front();
    if (std::ranges::find(constraint.covers, report.name) == constraint.covers.end()) continue;
    needed.push_back(report.needed);
  }
  if (needed.size() != constraint.covers.size()) return false;
  return std::ranges::none_of(constraint.values, [&](const ValueReport& value) {
    return std::ranges::equal(value.devices, needed, std::ranges::greater_equal());
  });
}

Branch BranchOf(const ConstraintReport& constraint, const ClaimReport& claim) {
  std::string values = fmt::format("{} {}", constraint.values_in_all,
                                   constraint.values_in_all == 1 ? "value" : "values");
  if (NoValueHasEnough(constraint, claim)) {
    values = constraint.covers.size() == 1 ? "no value has enough" : "no value has enough of each";
  }
  Branch branch{fmt::format("constraint {} over {}: {}", NameOf(constraint),
                            Join(constraint.covers, constraint.covers.size()), values),
                {}};
  for (const ValueReport& value : constraint.values) {
    std::string counts;
    for (std::size_t i = 0; i < value.devices.size(); ++i) {
      counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", value.devices[i],
                            constraint.covers[i]);
    }
    branch.branches.push_back({fmt::format("{}: {}", value.value, counts), {}});
  }
  const auto shown = static_cast<std::int64_t>(constraint.values.size());
  if (constraint.values_in_all > shown) {
    branch.branches.push_back({fmt::format("{} more", constraint.values_in_all - shown), {}});
  }
  return branch;
}

// Whether a claim has a part in the conflict. Without any conflict everything is of interest.
bool Concerned(const ClaimReport& claim, bool any_conflict) {
  if (!any_conflict) return true;
  for (const RequestReport& request : claim.requests) {
    if (request.in_conflict) return true;
  }
  return false;
}

}  // namespace

std::string ToText(const Explanation& explanation) {
  if (explanation.kind == Decision::Kind::kFits) return explanation.summary + "\n";
  std::string out = fmt::format("cannot allocate all claims: {}\n", explanation.summary);
  const bool any_conflict = !explanation.conflict.empty();
  if (any_conflict && !explanation.conflict_exact) {
    out += "the conflict may have parts that are not needed: looking further was given up\n";
  }
  if (explanation.shortages.size() > 1) {
    for (const Shortage& shortage : explanation.shortages) out += ToText(shortage) + "\n";
  }
  for (const ClaimReport& claim : explanation.claims) {
    if (!Concerned(claim, any_conflict)) continue;
    std::vector<Branch> branches;
    for (const RequestReport& request : claim.requests) {
      branches.push_back(BranchOf(request, request.in_conflict || !any_conflict));
    }
    for (const ConstraintReport& constraint : claim.constraints) {
      if (constraint.in_conflict) branches.push_back(BranchOf(constraint, claim));
    }
    out += Shown(claim) + "\n";
    Write(branches, "", out);
  }
  for (const PoolReport& pool : explanation.pools) {
    out += fmt::format("pool {}/{} is {}: {}\n", pool.driver, pool.pool,
                       pool.invalid ? "invalid" : "incomplete", pool.why);
  }
  return out;
}

}  // namespace dray::allocator
