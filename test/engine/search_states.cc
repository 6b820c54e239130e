// SPDX-License-Identifier: Apache-2.0
#include "engine/search_states.h"

#include "fmt/format.h"

namespace dray::engine {

using allocator::Alternative;
using allocator::Attempt;
using allocator::Candidates;
using allocator::ClaimPlan;
using allocator::Position;
using allocator::RequestPlan;
using allocator::State;
using base::BitSet;

namespace {

std::string Text(const inventory::Amount& amount) {
  return fmt::format("{}:{}", absl::Int128High64(amount), absl::Int128Low64(amount));
}

std::string Text(const BitSet& set) {
  std::string text;
  for (std::size_t i = 0; i < set.size(); ++i) text += set.Test(i) ? '1' : '0';
  return text;
}

}  // namespace

std::string Dump(const State& state, const Attempt& attempt) {
  std::string text =
      fmt::format("chosen {} claim {} shared {} in claim {}\n", Text(state.chosen()),
                  Text(state.in_claim()), Text(state.shared()), state.chosen_in_claim());
  for (const auto& amount : state.counters()) text += Text(amount) + " ";
  for (std::size_t set = 0; set < attempt.devices().counter_sets().size(); ++set) {
    const auto& groups = state.group(set);
    text += fmt::format("\ngroups {}", static_cast<int>(groups.kind));
    for (const auto name : groups.groups) text += fmt::format(" {}", name.id());
  }
  for (std::uint32_t d = 0; d < attempt.device_count(); ++d) {
    text += fmt::format("\ndevice {}", d);
    for (const auto& amount : state.consumed(d)) text += " " + Text(amount);
    for (const auto& amount : state.capacity(d)) text += " " + Text(amount);
  }
  for (std::size_t c = 0; c < attempt.plan().constraints().size(); ++c) {
    const allocator::Accepted accepted = state.accepted(c);
    text += fmt::format("\nconstraint {} {}:", c, accepted.state.devices);
    for (const auto element : accepted.common()) {
      text += fmt::format(" {}", static_cast<std::uint32_t>(element));
    }
    text += " met";
    for (const auto value : accepted.values) {
      text += fmt::format(" {}", static_cast<std::uint32_t>(value));
    }
  }
  for (const auto& placed : state.placed()) {
    text += fmt::format("\nchoice {} {}", placed.alternative, placed.device);
  }
  return text;
}

bool Places::Walk(const Attempt& attempt, const Visitor& visitor, std::uint64_t limit) {
  attempt_ = &attempt;
  visitor_ = &visitor;
  left_ = limit;
  state_.Reset(attempt);
  open_ = BitSet(attempt.plan().requests().size(), true);
  Claim(0);
  return left_ > 0;
}

bool Places::Claim(std::size_t claim) {
  const auto claims = attempt_->plan().claims();
  if (claim == claims.size()) return true;
  state_.EnterClaim(claim);
  const bool answer = Request(claim, claims[claim].first_request);
  if (claim > 0) state_.EnterClaim(claim - 1);
  return answer;
}

bool Places::Request(std::size_t claim, std::size_t request) {
  if (left_ == 0 || --left_ == 0) return false;
  const ClaimPlan& planned = attempt_->plan().claims()[claim];
  if (request == planned.first_request + planned.requests) return Claim(claim + 1);
  const std::size_t ticket = visitor_->enter(state_, {.open = &open_});
  const RequestPlan& asked = attempt_->plan().requests()[request];
  open_.Reset(request);
  bool any = false;
  for (std::uint32_t i = 0; i < asked.count; ++i) {
    const std::uint32_t alternative = asked.first + i;
    const Candidates& candidates = attempt_->candidates(alternative);
    if (static_cast<std::int64_t>(state_.chosen_in_claim()) + candidates.need >
        allocator::kMaxDevicesPerClaim) {
      continue;
    }
    any |= candidates.alternative->all ? All(claim, request, alternative)
                                       : Device(claim, request, alternative, 0, 0);
  }
  open_.Set(request);
  if (left_ > 0) visitor_->leave(ticket, any);
  return any;
}

bool Places::Device(std::size_t claim, std::size_t request, std::uint32_t alternative,
                    std::int64_t k, std::size_t start) {
  if (left_ == 0 || --left_ == 0) return false;
  const Candidates& candidates = attempt_->candidates(alternative);
  if (k >= candidates.need) return Request(claim, request + 1);
  BitSet after(attempt_->device_count());
  for (std::size_t d = start; d < after.size(); ++d) after.Set(d);
  const std::size_t ticket = visitor_->enter(state_, {.open = &open_,
                                                      .claim = claim,
                                                      .current = &candidates,
                                                      .remaining = candidates.need - k,
                                                      .after = &after});
  bool any = false;
  for (std::size_t d = candidates.devices.FirstFrom(start); d != BitSet::kNone;
       d = candidates.devices.Next(d)) {
    if (state_.blocked(*candidates.alternative).Test(d)) continue;
    const auto device = static_cast<std::uint32_t>(d);
    bool leads = false;
    if (state_.TryPlace(alternative, device)) {
      leads = Device(claim, request, alternative, k + 1, d + 1);
      state_.TakeBack();
    }
    any |= leads;
    if (left_ > 0 && visitor_->tried) visitor_->tried(ticket, state_, device, leads);
  }
  if (left_ > 0) visitor_->leave(ticket, any);
  return any;
}

bool Places::All(std::size_t claim, std::size_t request, std::uint32_t alternative) {
  const Candidates& candidates = attempt_->candidates(alternative);
  if (candidates.need == 0 || candidates.impossible) return false;
  std::size_t placed = 0;
  bool fits = true;
  for (std::size_t d = candidates.devices.First(); d != BitSet::kNone && fits;
       d = candidates.devices.Next(d)) {
    fits = (candidates.alternative->admin || !attempt_->usage().taken().Test(d)) &&
           !state_.blocked(*candidates.alternative).Test(d) &&
           state_.TryPlace(alternative, static_cast<std::uint32_t>(d));
    placed += static_cast<std::size_t>(fits);
  }
  const bool answer = fits && Request(claim, request + 1);
  for (; placed > 0; --placed) state_.TakeBack();
  return answer;
}

}  // namespace dray::engine
