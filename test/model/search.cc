// SPDX-License-Identifier: Apache-2.0
#include "model/search.h"

#include <algorithm>

#include "model/abort.h"

namespace dray::model {

void Search::Step() {
  if (++steps_ > max_steps_) throw OutOfSteps{};
}

std::int64_t Search::ChosenFor(std::size_t claim) const {
  return std::ranges::count(choices_, claim, &Choice::claim);
}

Search::Verdict Search::AtRequest(std::size_t claim, std::size_t request) {
  Step();
  if (claim == plans_.size()) return Verdict::kFound;
  ClaimPlan& plan = plans_[claim];
  if (request == plan.requests.size()) return AtRequest(claim + 1, 0);
  const RequestPlan& wanted = plan.requests[request];
  if (!wanted.prioritized) return AtDevice(claim, request, wanted.alternatives[0], 0, 0);
  bool all_too_many = true;
  for (std::size_t i = 0; i < wanted.alternatives.size(); ++i) {
    Step();
    const Verdict verdict = AtDevice(claim, request, wanted.alternatives[i], 0, 0);
    if (verdict == Verdict::kTooMany) continue;
    all_too_many = false;
    if (verdict == Verdict::kFound) {
      plan.chosen[request] = i;
      return Verdict::kFound;
    }
  }
  return all_too_many ? Verdict::kTooMany : Verdict::kFailed;
}

Search::Verdict Search::AtDevice(std::size_t claim, std::size_t request,
                                 const Alternative& alternative, std::int64_t done,
                                 std::size_t start) {
  const RequestView& view = alternative.view;
  const bool all = view.mode == api::kAllocationModeAll;
  if (all && alternative.all.empty()) return Verdict::kFailed;
  if (done >= alternative.need) return AtRequest(claim, request + 1);
  if (ChosenFor(claim) + alternative.need - done >
      static_cast<std::int64_t>(api::kAllocationResultsMaxSize)) {
    return Verdict::kTooMany;
  }
  Choice choice{.claim = claim, .alternative = &alternative};
  if (all) {
    choice.candidate = alternative.all[static_cast<std::size_t>(done)];
    const Candidate& candidate = candidates_[choice.candidate];
    if (InUse(claim, view, candidate) || !Usable(claim, alternative, candidate)) {
      return Verdict::kFailed;
    }
    if (features_.consumable_capacity) {
      FitResult fit = CapacityFor(view, candidate);
      if (fit.fit != Fit::kFits) return Verdict::kFailed;
      choice.consumed = std::move(fit.consumed);
    }
    return Take(std::move(choice), request, done + 1, 0);
  }
  for (std::size_t i = start; i < candidates_.size(); ++i) {
    const Candidate& candidate = candidates_[i];
    if (InUse(claim, view, candidate)) continue;
    if (!Selectable(*plans_[claim].claim, alternative, i)) continue;
    choice.candidate = i;
    if (features_.consumable_capacity) {
      FitResult fit = CapacityFor(view, candidate);
      if (fit.fit != Fit::kFits) continue;
      choice.consumed = std::move(fit.consumed);
    }
    if (!Usable(claim, alternative, candidate)) continue;
    const Verdict verdict = Take(choice, request, done + 1, i + 1);
    if (verdict != Verdict::kFailed) return verdict;
  }
  return Verdict::kFailed;
}

// Goes on with the device as if it were given away; it stays chosen only when all is found.
Search::Verdict Search::Take(Choice choice, std::size_t request, std::int64_t done,
                             std::size_t start) {
  const std::size_t claim = choice.claim;
  const Alternative& alternative = *choice.alternative;
  choice.shared = MultiAllocatable(candidates_[choice.candidate]);
  if (!choice.shared) choice.consumed.clear();
  choices_.push_back(std::move(choice));
  Step();
  const Verdict verdict = AtDevice(claim, request, alternative, done, start);
  if (verdict != Verdict::kFound) choices_.pop_back();
  return verdict;
}

Outcome Search::Run() {
  Gather();
  Prepare();
  if (AtRequest(0, 0) != Verdict::kFound) {
    if (std::ranges::any_of(pools_, &Pool::invalid)) {
      throw Abort{.text = "invalid resource pools were encountered", .node_only = true};
    }
    return {.kind = Outcome::Kind::kNotPossible};
  }
  Outcome outcome{.kind = Outcome::Kind::kAllocated};
  int shares = 0;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    std::vector<const Choice*> mine;
    for (const Choice& choice : choices_) {
      if (choice.claim == i) mine.push_back(&choice);
    }
    outcome.results.push_back(BuildResult(instance_, plans_[i], candidates_, mine, shares));
  }
  return outcome;
}

std::string_view ToString(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::kAllocated:
      return "allocated";
    case Outcome::Kind::kNotPossible:
      return "not possible";
    case Outcome::Kind::kError:
      return "error";
    case Outcome::Kind::kBudget:
      return "budget";
  }
  return "";
}

Outcome Solve(const Instance& instance, const SolveOptions& options) {
  Search search(instance, options.max_steps);
  Outcome outcome;
  try {
    outcome = search.Run();
  } catch (const Abort& abort) {
    outcome = {.kind = Outcome::Kind::kError, .node_only = abort.node_only, .error = abort.text};
  } catch (const Search::OutOfSteps&) {
    outcome = {.kind = Outcome::Kind::kBudget};
  }
  outcome.steps = std::min(search.steps(), options.max_steps);
  return outcome;
}

}  // namespace dray::model
