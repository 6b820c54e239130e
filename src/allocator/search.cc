// SPDX-License-Identifier: Apache-2.0
#include "allocator/search.h"

#include <algorithm>

#include "allocator/best_fit.h"

namespace dray::allocator {

using base::BitSet;

// One alternative that is being filled.
struct Search::Frame {
  std::size_t claim = 0;
  std::size_t request = 0;  // of Plan::requests()
  std::uint32_t alternative = 0;
  const Candidates* candidates = nullptr;
  // Best fit: the candidates in the order of trying; places in it are what `start` means.
  std::vector<std::uint32_t> order;
  bool ordered = false;
};

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
  steps_ = 0;
  cut_ = 0;
  remembered_hits_ = 0;
  ahead_ = false;
  may_look_ahead_ = options.look_ahead && !attempt.any_faulty();
  stopped_ = SearchResult::kNone;
  chosen_alternatives_.assign(attempt.plan().requests().size(), 0);
  state_.Reset(attempt);
  parts_.clear();
  part_ = nullptr;
  if (may_look_ahead_ && TooFew()) return SearchResult::kNone;
  const SearchResult result = ResultOf(Claim(0));
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
    residual_.SetPart(part);
    failed_.clear();
    const SearchResult result = ResultOf(Claim(0));
    if (result != SearchResult::kFound) return result;
  }
  state_.SortPlaced();
  return SearchResult::kFound;
}

// A request that has fewer candidates than it needs, whatever else happens.
bool Search::TooFew() const {
  return std::ranges::any_of(attempt_->plan().requests(), [&](const RequestPlan& request) {
    for (std::uint32_t i = 0; i < request.count; ++i) {
      const Candidates& candidates = attempt_->candidates(request.first + i);
      if (candidates.alternative->all || candidates.need == 0 ||
          candidates.devices.Count() >= static_cast<std::size_t>(candidates.need)) {
        return false;
      }
    }
    return true;
  });
}

bool Search::Step() {
  if (++steps_ <= options_.step_budget) return true;
  stopped_ = SearchResult::kBudget;
  return false;
}

Search::Answer Search::Claim(std::size_t claim) {
  const auto claims = attempt_->plan().claims();
  while (part_ != nullptr && claim < claims.size() && !Wanted(claims[claim])) ++claim;
  if (claim == claims.size()) return Step() ? Answer::kFound : Answer::kStopped;
  const std::size_t before = state_.claim();
  state_.EnterClaim(claim);
  const Answer answer = Request(claim, attempt_->plan().claims()[claim].first_request);
  if (answer == Answer::kFound || answer == Answer::kStopped) return answer;
  if (claim > 0) state_.BackToClaim(before);
  return Answer::kFailed;
}

Search::Answer Search::Request(std::size_t claim, std::size_t request) {
  if (!Step()) return Answer::kStopped;
  const ClaimPlan& planned = attempt_->plan().claims()[claim];
  const std::size_t end = planned.first_request + planned.requests;
  while (part_ != nullptr && request < end && !part_->Test(request)) ++request;
  if (request == end) return Claim(claim + 1);
  const Position here{.claim = claim, .request = request, .part = part_};
  if (DeadEnd(here)) return Answer::kFailed;
  const RequestPlan& asked = attempt_->plan().requests()[request];
  for (std::uint32_t i = 0; i < asked.count; ++i) {
    Frame frame{.claim = claim,
                .request = request,
                .alternative = asked.first + i,
                .candidates = &attempt_->candidates(asked.first + i)};
    const auto chosen = static_cast<std::int64_t>(state_.chosen_in_claim());
    Answer answer = Answer::kTooMany;
    if (chosen + frame.candidates->need <= kMaxDevicesPerClaim) {
      chosen_alternatives_[request] = frame.alternative;
      if (options_.policy == Policy::kBestFit) Order(frame);
      answer = frame.candidates->alternative->all ? AllDevices(frame) : Device(frame, 0, 0);
    }
    if (answer == Answer::kFound || answer == Answer::kStopped) return answer;
    if (answer == Answer::kTooMany && !asked.prioritized) return answer;
  }
  Remember(here);
  return Answer::kFailed;
}

std::size_t Search::FirstFrom(const Frame& frame, std::size_t start) const {
  if (frame.ordered) return start < frame.order.size() ? start : BitSet::kNone;
  const BitSet& candidates = frame.candidates->devices;
  const BitSet& faulty = frame.candidates->faulty;
  return std::min(candidates.FirstFrom(start), faulty.FirstFrom(start));
}

Search::Answer Search::Device(Frame& frame, std::int64_t k, std::size_t start) {
  if (!Step()) return Answer::kStopped;
  const Candidates& candidates = *frame.candidates;
  if (k >= candidates.need) return Request(frame.claim, frame.request + 1);

  BitSet after;
  Position here{.claim = frame.claim,
                .request = frame.request + 1,
                .current = &candidates,
                .remaining = candidates.need - k,
                .part = part_};
  const auto look_here = [&] {
    if (after.size() == 0) {
      after = BitSet(attempt_->device_count());
      Behind(frame.order, frame.ordered, start, after);
      here.after = &after;
    }
    return DeadEnd(here);
  };
  bool looked = ahead_;
  if (ahead_ && look_here()) return Answer::kFailed;

  absl::InlinedVector<std::uint32_t, 8> failed;
  for (std::size_t at = FirstFrom(frame, start); at != BitSet::kNone;
       at = FirstFrom(frame, at + 1)) {
    const std::uint32_t device = frame.ordered ? frame.order[at] : static_cast<std::uint32_t>(at);
    if (state_.blocked(*candidates.alternative).Test(device)) continue;
    if (candidates.faulty.Test(device)) {
      faulty_ = {frame.alternative, device};
      stopped_ = SearchResult::kFault;
      return Answer::kStopped;
    }
    if (ahead_ && residual_.usable() && TwinFailed(failed, device)) continue;
    const Answer answer = Try(frame, device, k, at + 1);
    if (answer == Answer::kFailed) {
      if (ahead_) failed.push_back(device);
      // The first dead end was below: from now on it pays to look where this leads at all.
      if (ahead_ && !looked) {
        looked = true;
        if (look_here()) return Answer::kFailed;
      }
      continue;
    }
    return answer;
  }
  if (!ahead_) {
    LookAhead();
    if (parts_.size() > 1) return Answer::kStopped;
  } else {
    if (here.after == nullptr && look_here()) return Answer::kFailed;
    Remember(here);
  }
  return Answer::kFailed;
}

Search::Answer Search::Try(Frame& frame, std::uint32_t device, std::int64_t k, std::size_t next) {
  if (!state_.TryPlace(frame.alternative, device)) return Answer::kFailed;
  const Answer answer = Device(frame, k + 1, next);
  if (answer == Answer::kFailed || answer == Answer::kTooMany) state_.TakeBack();
  return answer;
}

Search::Answer Search::AllDevices(Frame& frame) {
  const Candidates& candidates = *frame.candidates;
  if (candidates.need == 0 || candidates.impossible) return Answer::kFailed;
  const BitSet& taken = attempt_->usage().taken();
  const bool admin = candidates.alternative->admin;
  std::size_t placed = 0;
  bool fits = true;
  for (std::size_t d = candidates.devices.First(); d != BitSet::kNone && fits;
       d = candidates.devices.Next(d)) {
    if (!Step()) return Answer::kStopped;
    const auto device = static_cast<std::uint32_t>(d);
    fits = (admin || !taken.Test(d)) && !state_.blocked(*candidates.alternative).Test(d) &&
           state_.TryPlace(frame.alternative, device);
    placed += static_cast<std::size_t>(fits);
  }
  Answer answer = Answer::kFailed;
  if (fits) answer = Request(frame.claim, frame.request + 1);
  if (answer == Answer::kFound || answer == Answer::kStopped) return answer;
  for (; placed > 0; --placed) state_.TakeBack();
  return answer;
}

bool Search::TwinFailed(std::span<const std::uint32_t> failed, std::uint32_t device) const {
  const auto alike = [&](const BitSet& set, std::uint32_t other) {
    return set.Test(other) == set.Test(device);
  };
  return std::ranges::any_of(failed, [&](std::uint32_t other) {
    return residual_.class_of(other) == residual_.class_of(device) &&
           alike(state_.chosen(), other) && alike(state_.in_claim(), other) &&
           alike(state_.shared(), other) && residual_.SameLeft(state_, other, device);
  });
}

void Search::LookAhead() {
  if (!may_look_ahead_) return;
  ahead_ = true;
  initial_.Reset(*attempt_);
  bounds_.Reset(*attempt_);
  residual_.Reset(*attempt_, initial_);
  failed_.clear();
  parts_ = residual_.IndependentRequests();
}

bool Search::Wanted(const ClaimPlan& claim) const {
  const std::size_t first = part_->FirstFrom(claim.first_request);
  return first < claim.first_request + claim.requests;
}

bool Search::DeadEnd(const Position& position) {
  if (!ahead_) return false;
  if (residual_.usable() && failed_.contains(residual_.Of(state_, position))) {
    ++remembered_hits_;
    return true;
  }
  if (bounds_.Hopeless(state_, position)) {
    ++cut_;
    return true;
  }
  return false;
}

void Search::Remember(const Position& position) {
  if (ahead_ && residual_.usable()) failed_.insert(residual_.Of(state_, position));
}

void Search::Order(Frame& frame) const {
  frame.ordered = true;
  frame.order = TightestFirst(*attempt_, state_, *frame.candidates);
}

}  // namespace dray::allocator
