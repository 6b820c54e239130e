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
  requests.ForEach([&](std::size_t r) {
    const RequestPlan& request = attempt.plan().requests()[r];
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (std::uint32_t i = request.first; i < request.first + request.count; ++i) {
      least = std::min(least, attempt.candidates(i).need);
      usable[i].ForEach([&](std::size_t device) {
        explanation.counters_drawn |= attempt.devices().devices()[device].uses > 0;
      });
    }
    explanation.needed_together += least;
  });
  explanation.room_together = FindRoom(attempt, usable, requests);
}

// `usable` and `counted` become what they are to the conflict: without the constraints that are not
// part of it, and only its requests.
void AddConflict(const Attempt& attempt, DeviceReports& reports, const ExplainOptions& options,
                 std::uint64_t decision_work, Explanation& explanation, std::vector<BitSet>& usable,
                 BitSet& counted) {
  const std::uint64_t unit =
      std::clamp(decision_work, kLeastConflictWork / kConflictTimes, kDefaultWork / kConflictTimes);
  std::uint64_t limit = kConflictTimes * unit;
  if (options.allowance != nullptr) limit = std::min(limit, options.allowance->left());
  WorkMeter work(limit);
  Conflict conflict = FindConflict(attempt.plan(), attempt.usage(), work, 2 * unit);
  if (options.allowance != nullptr) options.allowance->Spend(work.spent());
  explanation.conflict = std::move(conflict.members);
  explanation.conflict_exact = conflict.exact;
  explanation.at_most = conflict.at_most;
  explanation.groups_exclude = conflict.groups_exclude;
  counted = conflict.kept.requests;
  for (const ConflictMember& member : explanation.conflict) {
    if (member.constraint) continue;
    const auto index = static_cast<std::size_t>(member.claim);
    const ClaimPlan& claim = attempt.plan().claims()[index];
    const RequestPlan& request =
        attempt.plan().requests(claim)[static_cast<std::size_t>(member.index)];
    RequestReport& report =
        explanation.claims[index].requests[static_cast<std::size_t>(member.index)];
    report.in_conflict = true;
    for (std::uint32_t i = 0; i < request.count; ++i) {
      BitSet& fitting = usable[request.first + i];
      fitting = reports.UsableUnder(claim, request.first + i, conflict.kept.constraints);
      if (!explanation.groups_exclude) continue;
      report.alternatives[i].groups = ReportGroups(attempt.devices(), fitting);
    }
  }
  CountTogether(attempt, usable, counted, explanation);
  explanation.shortages = FindShortages(attempt, usable, counted);
}

}  // namespace

Explanation Explain(const Plan& plan, const ledger::NodeUsage& usage,
                    const ExplainOptions& options) {
  Allocator allocator;
  const Decision decision = options.decided ? allocator.Repeat(plan, usage, *options.decided)
                                            : allocator.Decide(plan, usage, options.search);
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

  const BitSet all(plan.requests().size(), true);
  BitSet counted = all;
  std::vector<BitSet> fitting = usable;
  // Invalid pools make an error of what is a refusal otherwise; the reasons are the same.
  const bool refused = decision.kind == Decision::Kind::kRefused ||
                       (decision.kind == Decision::Kind::kFault && decision.searched &&
                        decision.fault.only_this_node);
  if (refused) {
    AddConflict(attempt, reports, options, decision.work, explanation, fitting, counted);
  }
  // With errors in the plan there may be nothing to compare.
  const bool comparable = decision.kind != Decision::Kind::kFault || refused;
  for (std::size_t c = 0; c < plan.claims().size() && comparable; ++c) {
    const ClaimPlan& claim = plan.claims()[c];
    for (std::size_t i = 0; i < claim.constraints; ++i) {
      // A constraint of the conflict is about the requests of the conflict, another one about all.
      const ConflictMember member{static_cast<std::int64_t>(c), true, static_cast<std::int64_t>(i)};
      const bool in_conflict =
          std::ranges::find(explanation.conflict, member) != explanation.conflict.end();
      ConstraintReport& report = explanation.claims[c].constraints.emplace_back(
          ReportConstraint(attempt, claim, i, in_conflict ? fitting : usable,
                           in_conflict ? counted : all, options.values));
      report.in_conflict = in_conflict;
    }
  }
  explanation.summary = Summarize(explanation);
  return explanation;
}

}  // namespace dray::allocator
