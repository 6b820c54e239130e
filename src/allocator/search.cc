// SPDX-License-Identifier: Apache-2.0
#include "allocator/search.h"

#include <algorithm>

#include "base/check.h"

namespace dray::allocator {

using base::BitSet;

namespace {

// Places from `start` on, as a set of devices.
void Behind(std::span<const std::uint32_t> order, bool ordered, std::size_t start, BitSet& set) {
  if (!ordered) {
    set.SetAll();
    for (std::size_t d = 0; d < start && d < set.size(); ++d) set.Reset(d);
    return;
  }
  set.ResetAll();
  for (std::size_t i = start; i < order.size(); ++i) set.Set(order[i]);
}

}  // namespace

SearchResult Search::Run(const Attempt& attempt, const SearchOptions& options) {
  attempt_ = &attempt;
  options_ = options;
  policy_ = &RowOf(options.policy);
  work_ = WorkMeter(options.work_budget);
  steps_ = 0;
  cut_ = 0;
  remembered_hits_ = 0;
  ahead_ = false;
  exact_ = false;
  may_look_ahead_ = options.look_ahead && !attempt.any_faulty();
  stopped_ = SearchResult::kNone;
  chosen_alternatives_.assign(attempt.plan().requests().size(), 0);
  state_.Reset(attempt);
  parts_.clear();
  part_ = nullptr;
  if (may_look_ahead_ && TooFew()) return SearchResult::kNone;
  const SearchResult result = ResultOf(ExplorePart());
  return parts_.size() > 1 ? InParts() : result;
}

SearchResult Search::ResultOf(Answer answer) const {
  switch (answer) {
    case Answer::kFound:
      return SearchResult::kFound;
    case Answer::kStopped:
      return stopped_;
    case Answer::kFailed:
    case Answer::kTooMany:
    case Answer::kOpen:
      break;
  }
  return SearchResult::kNone;
}

// The first solution of the whole is made of the first solutions of the parts, since no choice in
// one of them changes what another one may choose.
SearchResult Search::InParts() {
  stopped_ = SearchResult::kNone;
  state_.Reset(*attempt_);
  for (const BitSet& part : parts_) {
    part_ = &part;
    failed_.clear();
    const SearchResult result = ResultOf(ExplorePart());
    if (result != SearchResult::kFound) return result;
  }
  state_.SortPlaced();
  return SearchResult::kFound;
}

// A request that has fewer candidates with room for it than it needs. Room does not grow by what is
// placed, so whatever else happens it cannot be met. So many devices are looked at and no more: it
// is not counted as work, and mostly the first ones have room.
bool Search::TooFew() const {
  constexpr std::size_t kLooks = 2048;
  std::size_t looks = 0;
  const auto too_few = [&](const Candidates& candidates) {
    if (candidates.alternative->all) return false;
    std::int64_t missing = candidates.need;
    if (candidates.devices.Count() < static_cast<std::size_t>(missing)) return true;
    for (std::size_t device = candidates.devices.First(); device != BitSet::kNone && missing > 0;
         device = candidates.devices.Next(device)) {
      if (++looks > kLooks) return false;
      missing -= state_.HasRoom(candidates, static_cast<std::uint32_t>(device)) ? 1 : 0;
    }
    return missing > 0;
  };
  return std::ranges::any_of(attempt_->plan().requests(), [&](const RequestPlan& request) {
    for (std::uint32_t i = 0; i < request.count; ++i) {
      if (!too_few(attempt_->candidates(request.first + i))) return false;
    }
    return true;
  });
}

bool Search::Step() {
  // What a level and the placing of a device cost without lists, capacities and counters.
  constexpr std::uint64_t kStep = 16;
  ++steps_;
  work_.Spend(kStep);
  if (!work_.exhausted()) return true;
  stopped_ = SearchResult::kBudget;
  return false;
}

Search::Level& Search::Push() {
  if (depth_ == levels_.size()) levels_.push_back(std::make_unique<Level>());
  return *levels_[depth_++];
}

Search::Answer Search::ExplorePart() {
  const std::size_t base = state_.placed().size();
  exact_ = false;
  completed_ = false;
  dead_ends_ = 0;
  Answer answer = Explore();
  if (!lost_) return answer;
  lost_ = false;
  while (state_.placed().size() > base) state_.TakeBack();
  exact_ = true;
  stopped_ = SearchResult::kNone;
  oracle_.Reset(*attempt_, bounds_, residual_, failed_, work_);
  answer = ClaimsAlone();
  return answer == Answer::kOpen ? Explore() : answer;
}

// Rules are monotonic: a claim that cannot be met on its own cannot be met beside others.
Search::Answer Search::ClaimsAlone() {
  const Plan& plan = attempt_->plan();
  BitSet open(plan.requests().size());
  for (const ClaimPlan& claim : plan.claims()) {
    open.ResetAll();
    for (std::uint32_t r = claim.first_request; r < claim.first_request + claim.requests; ++r) {
      if (part_ == nullptr || part_->Test(r)) open.Set(r);
    }
    if (open.None()) continue;
    switch (oracle_.Ask(state_, {.open = &open})) {
      case Oracle::Answer::kYes:
        break;
      case Oracle::Answer::kNo:
        return Answer::kFailed;
      case Oracle::Answer::kUnknown:
        stopped_ = SearchResult::kBudget;
        return Answer::kStopped;
    }
  }
  return Answer::kOpen;
}

// Depth first. A level is entered (and may be answered at once), tries one thing after the other,
// and is left with an answer when nothing is left to try. What it placed is taken back when what
// comes above it has failed, and stays when that was found.
Search::Answer Search::Explore() {
  depth_ = 0;
  if (part_ != nullptr) {
    open_ = *part_;
  } else {
    const std::size_t requests = attempt_->plan().requests().size();
    if (open_.size() != requests) open_ = BitSet(requests);
    open_.SetAll();
  }
  Answer answer = EnterClaim(0, false);
  while (true) {
    if (answer == Answer::kFound || answer == Answer::kStopped) return answer;
    if (work_.exhausted()) {
      stopped_ = SearchResult::kBudget;
      return Answer::kStopped;
    }
    if (lost_) return Answer::kStopped;
    if (answer == Answer::kOpen) {
      Level& top = *levels_[depth_ - 1];
      answer = top.device ? NextDevice(top) : NextAlternative(top);
      continue;
    }
    if (depth_ == 0) return answer;
    answer = TakeBack(*levels_[depth_ - 1], answer);
    if (answer != Answer::kOpen) --depth_;
  }
}

Search::Answer Search::EnterClaim(std::size_t claim, bool known) {
  const auto claims = attempt_->plan().claims();
  if (part_ != nullptr && claim < claims.size() && !Wanted(claims[claim])) {
    // On to the claim of the next request of the part.
    const std::size_t request = part_->FirstFrom(claims[claim].first_request);
    work_.Spend(part_->size() / 64 + 16);
    claim = claims.size();
    if (request != BitSet::kNone) {
      const auto behind = std::ranges::upper_bound(claims, request, {}, &ClaimPlan::first_request);
      claim = static_cast<std::size_t>(behind - claims.begin()) - 1;
      // Claims without requests come before or behind others at the same place.
      while (claim < claims.size() && !Wanted(claims[claim])) ++claim;
    }
  }
  if (claim == claims.size()) return Step() ? Answer::kFound : Answer::kStopped;
  state_.EnterClaim(claim);
  return EnterRequest(claim, claims[claim].first_request, known);
}

Search::Answer Search::EnterRequest(std::size_t claim, std::size_t request, bool known) {
  if (!Step()) return Answer::kStopped;
  const ClaimPlan& planned = attempt_->plan().claims()[claim];
  const std::size_t end = planned.first_request + planned.requests;
  while (part_ != nullptr && request < end && !part_->Test(request)) ++request;
  if (request == end) return EnterClaim(claim + 1, known);
  if (!known && DeadEnd({.open = &open_})) return Answer::kFailed;
  Level& level = Push();
  level.claim = claim;
  level.request = request;
  level.device = false;
  level.next_alternative = 0;
  level.placed = 0;
  return Answer::kOpen;
}

Search::Answer Search::EnterDevice(std::size_t request_level, std::int64_t k, std::size_t start,
                                   bool known) {
  if (!Step()) return Answer::kStopped;
  const Level& of = *levels_[request_level];
  const std::uint32_t alternative = chosen_alternatives_[of.request];
  if (k >= attempt_->candidates(alternative).need)
    return EnterRequest(of.claim, of.request + 1, known);
  Level& level = Push();
  level.claim = of.claim;
  level.request = of.request;
  level.device = true;
  level.alternative = alternative;
  level.request_level = request_level;
  level.k = k;
  level.start = start;
  level.next = start;
  level.looked = ahead_;
  level.has_after = false;
  level.failed.clear();
  if (ahead_ && !known && LookFrom(level)) {
    --depth_;
    return Answer::kFailed;
  }
  return Answer::kOpen;
}

Search::Answer Search::NextAlternative(Level& level) {
  const std::size_t at = depth_ - 1;
  const RequestPlan& asked = attempt_->plan().requests()[level.request];
  while (level.next_alternative < asked.count) {
    const std::uint32_t alternative = asked.first + level.next_alternative++;
    const Candidates& candidates = attempt_->candidates(alternative);
    const auto chosen = static_cast<std::int64_t>(state_.chosen_in_claim());
    if (chosen + candidates.need > kMaxDevicesPerClaim) {
      if (asked.prioritized) continue;
      open_.Set(level.request);
      --depth_;
      return Answer::kTooMany;
    }
    open_.Reset(level.request);
    const bool known = completed_ && oracle_.alternative(level.request) == alternative;
    chosen_alternatives_[level.request] = alternative;
    if (candidates.alternative->all) {
      const bool fits = PlaceAll(level, alternative);
      if (work_.exhausted()) return Answer::kStopped;
      if (!fits) continue;
      return EnterRequest(level.claim, level.request + 1, known);
    }
    if (options_.preference != nullptr) {
      level.order = options_.preference->Order(*attempt_, state_, candidates);
    } else if (ordered()) {
      level.order = policy_->order(*attempt_, state_, candidates);
    }
    return EnterDevice(at, 0, 0, known);
  }
  open_.Set(level.request);
  Remember({.open = &open_});
  ExpectNotToRunOut();
  --depth_;
  return Answer::kFailed;
}

// All devices of mode All, or none.
bool Search::PlaceAll(Level& level, std::uint32_t alternative) {
  const Candidates& candidates = attempt_->candidates(alternative);
  if (candidates.need == 0 || candidates.impossible) return false;
  const BitSet& in_use = attempt_->usage().taken();
  const bool admin = candidates.alternative->admin;
  bool fits = true;
  for (std::size_t d = candidates.devices.First(); d != BitSet::kNone && fits;
       d = candidates.devices.Next(d)) {
    if (!Step()) return false;
    fits = (admin || !in_use.Test(d)) && !state_.blocked(*candidates.alternative).Test(d) &&
           state_.TryPlace(alternative, static_cast<std::uint32_t>(d));
    level.placed += static_cast<std::size_t>(fits);
    work_.Spend(state_.TakeCompared());
  }
  if (fits) return true;
  for (; level.placed > 0; --level.placed) state_.TakeBack();
  return false;
}

std::size_t Search::FirstFrom(const Level& level, std::size_t start) const {
  if (ordered()) {
    return start < levels_[level.request_level]->order.size() ? start : BitSet::kNone;
  }
  const Candidates& candidates = attempt_->candidates(level.alternative);
  const std::size_t first = candidates.devices.FirstFrom(start);
  return attempt_->any_faulty() ? std::min(first, candidates.faulty.FirstFrom(start)) : first;
}

std::uint32_t Search::DeviceAt(const Level& level, std::size_t place) const {
  return ordered() ? levels_[level.request_level]->order[place] : static_cast<std::uint32_t>(place);
}

Search::Answer Search::NextDevice(Level& level) {
  const Candidates& candidates = attempt_->candidates(level.alternative);
  for (std::size_t at = FirstFrom(level, level.next); at != BitSet::kNone;
       at = FirstFrom(level, at + 1)) {
    level.next = at + 1;
    const std::uint32_t device = DeviceAt(level, at);
    if (state_.blocked(*candidates.alternative).Test(device)) continue;
    if (candidates.faulty.Test(device)) {
      faulty_ = {level.alternative, device};
      stopped_ = SearchResult::kFault;
      return Answer::kStopped;
    }
    // What TryPlace looks at; the rest of a step is counted when it is entered.
    constexpr std::uint64_t kTry = 4;
    work_.Spend(kTry);
    if (ahead_ && TwinFailed(level.failed, device)) {
      work_.Spend(level.failed.size());
      continue;
    }
    const bool fits = state_.TryPlace(level.alternative, device);
    work_.Spend(state_.TakeCompared());
    if (fits) {
      const bool known = completed_ && oracle_.Has(level.alternative, device);
      return EnterDevice(level.request_level, level.k + 1, at + 1, known);
    }
    if (AfterFailure(level, device)) {
      --depth_;
      return Answer::kFailed;
    }
  }
  if (!ahead_) {
    LookAhead();
    if (work_.exhausted()) {
      stopped_ = SearchResult::kBudget;
      return Answer::kStopped;
    }
    if (parts_.size() > 1) return Answer::kStopped;
    // What has no solution at all is best seen from the start, not level by level on the way back.
    if (ahead_) {
      const BitSet all(attempt_->plan().requests().size(), true);
      if (bounds_.Hopeless(initial_, {.open = &all})) {
        ++cut_;
        // What comes out must not depend on how far past its end the last question went.
        stopped_ = work_.exhausted() ? SearchResult::kBudget : SearchResult::kNone;
        return Answer::kStopped;
      }
    }
  } else {
    if (level.has_after || !LookFrom(level)) Remember(PositionOf(level));
    ExpectNotToRunOut();
  }
  --depth_;
  return Answer::kFailed;
}

// With the oracle every place that is entered has a completion, and one of the things to try there
// leads to it. Should none, the answer is still that of a search that tries everything.
void Search::ExpectNotToRunOut() const {
  if (exact_ && !work_.exhausted())
    DRAY_BUG("a place that the oracle has completed has no completion");
}

Search::Answer Search::TakeBack(Level& level, Answer answer) {
  if (state_.claim() != level.claim) {
    // It was another claim that would have had too many devices.
    state_.EnterClaim(level.claim);
    answer = Answer::kFailed;
  }
  if (!level.device) {
    for (; level.placed > 0; --level.placed) state_.TakeBack();
    const bool prioritized = attempt_->plan().requests()[level.request].prioritized;
    if (answer != Answer::kTooMany || prioritized) return Answer::kOpen;
    open_.Set(level.request);
    return answer;
  }
  state_.TakeBack();
  if (answer == Answer::kTooMany) return answer;
  return AfterFailure(level, DeviceAt(level, level.next - 1)) ? Answer::kFailed : Answer::kOpen;
}

bool Search::AfterFailure(Level& level, std::uint32_t device) {
  if (!ahead_) return false;
  level.failed.push_back(device);
  if (level.looked) return false;
  // The first dead end was below: from now on it pays to look where this leads at all.
  level.looked = true;
  return LookFrom(level);
}

Position Search::PositionOf(Level& level) const {
  const Candidates& candidates = attempt_->candidates(level.alternative);
  return {.open = &open_,
          .claim = level.claim,
          .current = &candidates,
          .remaining = candidates.need - level.k,
          .after = &level.after};
}

bool Search::LookFrom(Level& level) {
  if (!level.has_after) {
    level.has_after = true;
    if (level.after.size() != attempt_->device_count()) {
      level.after = BitSet(attempt_->device_count());
    }
    Behind(levels_[level.request_level]->order, ordered(), level.start, level.after);
  }
  return DeadEnd(PositionOf(level));
}

bool Search::TwinFailed(std::span<const std::uint32_t> failed, std::uint32_t device) const {
  return residual_.usable() && std::ranges::any_of(failed, [&](std::uint32_t other) {
           return residual_.symmetry().Twins(state_, other, device);
         });
}

void Search::LookAhead() {
  if (!may_look_ahead_) return;
  ahead_ = true;
  initial_.Reset(*attempt_);
  bounds_.Reset(*attempt_, work_);
  if (work_.exhausted()) return;
  residual_.Reset(*attempt_, initial_, bounds_.values(), work_);
  failed_.clear();
  if (residual_.usable()) {
    parts_ = IndependentRequests(*attempt_, residual_.symmetry(), residual_.components(), work_);
  }
  // Nothing was learned to the end.
  if (work_.exhausted()) parts_.clear();
}

bool Search::Wanted(const ClaimPlan& claim) const {
  const std::size_t first = part_->FirstFrom(claim.first_request);
  return first < claim.first_request + claim.requests;
}

bool Search::DeadEnd(const Position& position) {
  // Dead ends that looking ahead may meet before the oracle is asked. Most searches meet few.
  constexpr std::uint64_t kPatience = 64;
  if (!ahead_) return false;
  Fingerprint fingerprint;
  if (residual_.usable()) {
    fingerprint = residual_.Of(state_, position);
    if (failed_.contains(fingerprint)) {
      ++remembered_hits_;
      ++dead_ends_;
      return true;
    }
  }
  if (bounds_.Hopeless(state_, position)) {
    ++cut_;
    ++dead_ends_;
    return true;
  }
  if (!exact_) {
    lost_ = dead_ends_ > kPatience && residual_.usable() && !residual_.symmetry().admin();
    return false;
  }
  switch (oracle_.Ask(state_, position)) {
    case Oracle::Answer::kYes:
      completed_ = true;
      return false;
    case Oracle::Answer::kNo:
      // The completion that is known, of the place before, stands.
      failed_.insert(fingerprint);
      break;
    case Oracle::Answer::kUnknown:
      break;
  }
  ++dead_ends_;
  return true;
}

void Search::Remember(const Position& position) {
  if (ahead_ && residual_.usable()) failed_.insert(residual_.Of(state_, position));
}

}  // namespace dray::allocator
