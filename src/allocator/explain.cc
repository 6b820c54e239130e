// SPDX-License-Identifier: Apache-2.0
#include "allocator/explain.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "allocator/explain_amounts.h"
#include "allocator/explain_conflict.h"
#include "allocator/explain_devices.h"
#include "allocator/explain_summary.h"
#include "fmt/format.h"

namespace dray::allocator {
namespace {

using base::BitSet;

void ReportPools(const inventory::NodeDevices& devices, Explanation& explanation) {
  for (const inventory::PoolOnNode& pool : devices.pools()) {
    if (pool.state == inventory::PoolState::kComplete) continue;
    explanation.pools.push_back({.driver = std::string(devices.dictionary().View(pool.driver)),
                                 .pool = std::string(devices.dictionary().View(pool.name)),
                                 .invalid = pool.state == inventory::PoolState::kInvalid,
                                 .why = pool.why});
  }
}

// What the devices are to every alternative. `usable` is by Plan::alternatives().
void ReportRequests(const Plan& plan, DeviceReports& reports, Explanation& explanation,
                    std::vector<BitSet>& usable) {
  usable.resize(plan.alternatives().size());
  for (const ClaimPlan& claim : plan.claims()) {
    const api::ObjectMeta& meta = claim.claim->metadata;
    ClaimReport& report = explanation.claims.emplace_back();
    report.name = fmt::format("{}/{}", meta.namespace_, meta.name);
    for (const RequestPlan& request : plan.requests(claim)) {
      RequestReport& asked = report.requests.emplace_back();
      asked.name = request.request->name;
      asked.prioritized = request.prioritized;
      for (std::uint32_t i = request.first; i < request.first + request.count; ++i) {
        asked.alternatives.push_back(reports.Report(claim, i, usable[i]));
      }
    }
  }
}

void CountTogether(const Attempt& attempt, const std::vector<BitSet>& usable,
                   const BitSet& requests, Explanation& explanation) {
  BitSet any(attempt.device_count());
  bool exclusive = true;
  requests.ForEach([&](std::size_t r) {
    const RequestPlan& request = attempt.plan().requests()[r];
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t i = request.first; i < request.first + request.count; ++i) {
      least = std::min(least, attempt.choices(i).need);
      exclusive &= !attempt.choices(i).alternative->admin;
      any |= usable[i];
    }
    explanation.needed_together += least;
  });
  if (exclusive && !any.Intersects(attempt.multi())) {
    explanation.usable_together = static_cast<std::int64_t>(any.Count());
  }
}

void AddConflict(const Attempt& attempt, const std::vector<BitSet>& usable,
                 const ExplainOptions& options, Explanation& explanation, BitSet& counted) {
  Conflict conflict = FindConflict(attempt.plan(), attempt.usage(), options.conflict_steps);
  explanation.conflict = std::move(conflict.members);
  explanation.conflict_exact = conflict.exact;
  explanation.at_most = conflict.at_most;
  counted = conflict.kept.requests;
  CountTogether(attempt, usable, counted, explanation);
  explanation.shortages = FindShortages(attempt, usable, counted);
}

}  // namespace

Explanation Explain(const Plan& plan, const ledger::NodeUsage& usage,
                    const ExplainOptions& options) {
  Allocator allocator;
  const Decision decision = allocator.Decide(plan, usage, options.search);
  Explanation explanation{.kind = decision.kind,
                          .node = std::string(usage.devices().node_name()),
                          .fault = std::string(base::Message(decision.fault.status)),
                          .only_this_node = decision.fault.only_this_node,
                          .steps = static_cast<std::int64_t>(decision.steps)};
  if (decision.kind == Decision::Kind::kFits) {
    explanation.summary = Summarize(explanation);
    return explanation;
  }
  ReportPools(usage.devices(), explanation);
  const Attempt& attempt = allocator.attempt();
  DeviceReports reports(attempt, options.examples);
  std::vector<BitSet> usable;
  ReportRequests(plan, reports, explanation, usable);

  BitSet counted(plan.requests().size(), true);
  // Invalid pools make an error of what is a refusal otherwise; the reasons are the same.
  const bool refused = decision.kind == Decision::Kind::kRefused ||
                       (decision.kind == Decision::Kind::kFault && decision.searched &&
                        decision.fault.only_this_node);
  if (refused) AddConflict(attempt, usable, options, explanation, counted);
  // With errors in the plan there may be nothing to compare.
  const bool comparable = decision.kind != Decision::Kind::kFault || refused;
  for (std::size_t c = 0; c < plan.claims().size(); ++c) {
    const ClaimPlan& claim = plan.claims()[c];
    for (std::size_t i = 0; i < claim.constraints && comparable; ++i) {
      // A constraint of the conflict is about the requests of the conflict, another one about all.
      const ConflictMember member{static_cast<std::int64_t>(c), true, static_cast<std::int64_t>(i)};
      const bool in_conflict =
          std::ranges::find(explanation.conflict, member) != explanation.conflict.end();
      const BitSet all(plan.requests().size(), true);
      explanation.claims[c].constraints.push_back(
          ReportConstraint(attempt, claim, i, usable, in_conflict ? counted : all, options.values));
      explanation.claims[c].constraints.back().in_conflict = in_conflict;
    }
  }
  for (const ConflictMember& member : explanation.conflict) {
    if (member.constraint) continue;
    ClaimReport& claim = explanation.claims[static_cast<std::size_t>(member.claim)];
    claim.requests[static_cast<std::size_t>(member.index)].in_conflict = true;
  }
  explanation.summary = Summarize(explanation);
  return explanation;
}

}  // namespace dray::allocator
