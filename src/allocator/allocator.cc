// SPDX-License-Identifier: Apache-2.0
#include "allocator/allocator.h"

#include "allocator/result.h"
#include "base/check.h"

namespace dray::allocator {

Decision Allocator::Decide(const Plan& plan, const ledger::NodeUsage& usage,
                           const SearchOptions& options, VerdictCache& verdicts,
                           std::span<const ClaimScope> scopes) {
  Decision decision;
  decision.fault = attempt_.Prepare(plan, usage, verdicts, scopes);
  if (!decision.fault.status.ok()) {
    decision.kind = Decision::Kind::kFault;
    return decision;
  }
  const SearchResult result = search_.Run(attempt_, options);
  decision.searched = true;
  decision.steps = search_.steps();
  decision.work = search_.work();
  switch (result) {
    case SearchResult::kFound:
      decision.kind = Decision::Kind::kFits;
      break;
    case SearchResult::kBudget:
      decision.kind = Decision::Kind::kBudget;
      break;
    case SearchResult::kNone:
      decision.kind = Decision::Kind::kRefused;
      if (usage.devices().any_invalid()) {
        decision.kind = Decision::Kind::kFault;
        decision.fault = {base::FailedPrecondition("invalid resource pools were encountered"),
                          true};
      }
      break;
    case SearchResult::kFault: {
      decision.kind = Decision::Kind::kFault;
      const PlacedDevice& where = search_.faulty();
      const inventory::NodeDevice& device = usage.devices().devices()[where.device];
      decision.fault = {ErrorOf(plan.alternatives()[where.alternative], *device.slice, *device.row,
                                usage.devices().dictionary()),
                        false};
      break;
    }
  }
  return decision;
}

Decision Allocator::Repeat(const Plan& plan, const ledger::NodeUsage& usage, Decision::Kind decided,
                           VerdictCache& verdicts) {
  Decision decision{.kind = decided, .fault = attempt_.Prepare(plan, usage, verdicts)};
  decision.searched = decision.fault.status.ok();
  if (!decision.searched) decision.kind = Decision::Kind::kFault;
  return decision;
}

StatusOr<std::vector<api::AllocationResult>> Allocator::Build(ShareIds& share_ids) const {
  return BuildResults(attempt_, search_.placed(), search_.chosen_alternatives(), share_ids);
}

}  // namespace dray::allocator
