// SPDX-License-Identifier: Apache-2.0
#include "allocator/explain_conflict.h"

#include <algorithm>
#include <utility>

#include "allocator/attempt.h"
#include "allocator/search.h"

namespace dray::allocator {
namespace {

using base::BitSet;

class Finder {
 public:
  Finder(const Plan& plan, const ledger::NodeUsage& usage, WorkMeter& work,
         std::uint64_t per_question)
      : plan_(plan), usage_(usage), subsets_(plan), work_(work), per_question_(per_question) {}

  Conflict Find() {
    std::optional<Kept> kept = OneRequest();
    bool exact = true;
    if (!kept) {
      kept = Everything();
      unsure_ = false;
      Shrink(*kept, /*from_the_end=*/false);
      exact = !unsure_;
      if (Size(*kept) > 2) {
        Kept other = Everything();
        unsure_ = false;
        Shrink(other, /*from_the_end=*/true);
        if ((!unsure_ && !exact) || (Size(other) < Size(*kept) && !unsure_ == exact)) {
          kept = std::move(other);
          exact = !unsure_;
        }
      }
    }
    Conflict conflict{.kept = *std::move(kept), .members = {}, .exact = exact, .at_most = {}};
    conflict.members = MembersOf(conflict.kept);
    conflict.at_most = AtMost(conflict.kept);
    conflict.groups_exclude = GroupsExclude(conflict.kept);
    return conflict;
  }

 private:
  enum class Answer : std::uint8_t { kRefused, kFits, kUnknown };
  // What it takes to judge a device for an alternative, roughly.
  static constexpr std::uint64_t kPerDevice = 16;

  Kept Everything() const {
    return {.requests = BitSet(plan_.requests().size(), true),
            .constraints = BitSet(plan_.constraints().size(), true),
            .count = {}};
  }
  Kept Nothing() const {
    return {.requests = BitSet(plan_.requests().size()),
            .constraints = BitSet(plan_.constraints().size()),
            .count = {}};
  }
  static std::size_t Size(const Kept& kept) {
    return kept.requests.Count() + kept.constraints.Count();
  }

  // The order of trying is no part of the question, so it is always the plain one. An expression
  // that fails somewhere leaves it open what would have been found; so does a question that is much
  // harder than the decision was: others may still be easy.
  Answer Ask(const Kept& kept) {
    if (work_.left() == 0) return Answer::kUnknown;
    const std::shared_ptr<const Plan> subset = subsets_.Make(kept);
    const Fault fault = attempt_.Prepare(*subset, usage_, cache_);
    // Preparing takes time too, also where the search ends at once.
    work_.Spend(kPerDevice * (1 + subset->alternatives().size()) * (1 + attempt_.device_count()));
    if (!fault.status.ok()) return Answer::kUnknown;
    const SearchResult result =
        search_.Run(attempt_, {.work_budget = std::min(work_.left(), per_question_)});
    work_.Spend(search_.work());
    switch (result) {
      case SearchResult::kNone:
        return Answer::kRefused;
      case SearchResult::kFound:
        return Answer::kFits;
      case SearchResult::kFault:
      case SearchResult::kBudget:
        break;
    }
    return Answer::kUnknown;
  }

  // A request that cannot be met even if it were the only one.
  std::optional<Kept> OneRequest() {
    for (std::size_t i = 0; i < plan_.requests().size(); ++i) {
      Kept kept = Nothing();
      kept.requests.Set(i);
      if (Ask(kept) == Answer::kRefused) return kept;
    }
    return std::nullopt;
  }

  // Leaves out what is not needed. Whole claims first, so that a hundred of them do not cost a
  // hundred questions for each of their parts; then constraints, because what remains without them
  // is easier to understand; then requests.
  void Shrink(Kept& kept, bool from_the_end) {
    const auto each = [&](std::size_t n, auto visit) {
      for (std::size_t i = 0; i < n; ++i) visit(from_the_end ? n - 1 - i : i);
    };
    const auto leave_out = [&](Kept without) {
      switch (Ask(without)) {
        case Answer::kRefused:
          kept = std::move(without);
          return;
        case Answer::kFits:
          return;
        case Answer::kUnknown:
          unsure_ = true;
          return;
      }
    };
    each(plan_.claims().size(), [&](std::size_t i) {
      const ClaimPlan& claim = plan_.claims()[i];
      if (plan_.claims().size() == 1 || claim.requests + claim.constraints < 2) return;
      Kept without = kept;
      for (std::uint32_t r = 0; r < claim.requests; ++r) {
        without.requests.Reset(claim.first_request + r);
      }
      for (std::uint32_t c = 0; c < claim.constraints; ++c) {
        without.constraints.Reset(claim.first_constraint + c);
      }
      // Not being able to tell is no loss here: its parts are asked about one by one.
      if (Ask(without) == Answer::kRefused) kept = std::move(without);
    });
    each(plan_.constraints().size(), [&](std::size_t i) {
      if (!kept.constraints.Test(i)) return;
      Kept without = kept;
      without.constraints.Reset(i);
      leave_out(std::move(without));
    });
    each(plan_.requests().size(), [&](std::size_t i) {
      if (!kept.requests.Test(i)) return;
      Kept without = kept;
      without.requests.Reset(i);
      leave_out(std::move(without));
    });
  }

  std::vector<ConflictMember> MembersOf(const Kept& kept) const {
    std::vector<ConflictMember> members;
    for (std::size_t c = 0; c < plan_.claims().size(); ++c) {
      const ClaimPlan& claim = plan_.claims()[c];
      const auto add = [&](const BitSet& set, std::uint32_t first, std::uint32_t n, bool which) {
        for (std::uint32_t i = 0; i < n; ++i) {
          if (!set.Test(first + i)) continue;
          members.push_back({.claim = static_cast<std::int64_t>(c),
                             .constraint = which,
                             .index = static_cast<std::int64_t>(i)});
        }
      };
      add(kept.requests, claim.first_request, claim.requests, false);
      add(kept.constraints, claim.first_constraint, claim.constraints, true);
    }
    return members;
  }

  bool GroupsExclude(Kept kept) {
    if (!plan_.features().compatibility_groups) return false;
    const bool any = std::ranges::any_of(usage_.devices().devices(),
                                         [](const auto& device) { return device.row->has_groups; });
    if (!any) return false;
    kept.ignore_groups = true;
    return Ask(kept) == Answer::kFits;
  }

  // How many devices the conflict's only request could have. More are never easier to have.
  std::optional<std::int64_t> AtMost(Kept kept) {
    if (kept.requests.Count() != 1) return std::nullopt;
    const RequestPlan& request = plan_.requests()[kept.requests.First()];
    if (request.prioritized || request.count != 1) return std::nullopt;
    const Alternative& asked = plan_.alternatives(request).front();
    if (asked.all) return std::nullopt;
    std::int64_t fits = 0;
    std::int64_t refused = asked.count;
    while (refused - fits > 1) {
      const std::int64_t middle = fits + (refused - fits) / 2;
      kept.count = middle;
      switch (Ask(kept)) {
        case Answer::kRefused:
          refused = middle;
          break;
        case Answer::kFits:
          fits = middle;
          break;
        case Answer::kUnknown:
          return std::nullopt;
      }
    }
    return fits;
  }

  const Plan& plan_;
  const ledger::NodeUsage& usage_;
  Subsets subsets_;
  VerdictCache cache_;
  Attempt attempt_;
  Search search_;
  WorkMeter& work_;
  std::uint64_t per_question_;
  bool unsure_ = false;
};

}  // namespace

Conflict FindConflict(const Plan& plan, const ledger::NodeUsage& usage, WorkMeter& work,
                      std::uint64_t per_question) {
  return Finder(plan, usage, work, per_question).Find();
}

}  // namespace dray::allocator
