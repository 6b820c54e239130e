// SPDX-License-Identifier: Apache-2.0
#include "allocator/bound_equal_claims.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace dray::allocator {

using base::BitSet;

namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::int32_t>::max();

}  // namespace

void EqualClaimsBound::Reset(const BoundInput& input) {
  attempt_ = &input.attempt;
  values_ = &input.values;
  work_ = &input.work;
}

// Of two claims of one shape the same requests are still to be met.
bool EqualClaimsBound::SameOpen(std::size_t a, std::size_t b, const Position& position) const {
  const ClaimPlan& x = attempt_->plan().claims()[a];
  const ClaimPlan& y = attempt_->plan().claims()[b];
  for (std::uint32_t i = 0; i < x.requests; ++i) {
    const std::uint32_t r = x.first_request + i;
    const std::uint32_t s = y.first_request + i;
    if (position.open->Test(r) != position.open->Test(s)) return false;
    if (position.decided.empty()) continue;
    const auto which = [&](std::uint32_t request) {
      const std::uint32_t decided = position.decided[request];
      return decided == Position::kUndecided ? decided
                                             : decided - attempt_->plan().requests()[request].first;
    };
    if (which(r) != which(s)) return false;
  }
  return true;
}

bool EqualClaimsBound::Shares(std::size_t constraint) const {
  return attempt_->plan().constraints()[constraint].type->promise() == Promise::kCommonElement;
}

void EqualClaimsBound::FindShapes(const State& state, const Demands& demands) {
  const auto claims = attempt_->plan().claims();
  const Position& position = demands.position();
  const std::span<const Demand> all = demands.all();
  shapes_.clear();
  std::size_t last = claims.size();
  for (std::size_t d = 0; d < all.size(); ++d) {
    const std::size_t c = all[d].claim;
    bool current = false;
    for (const Position* at = &position; at != nullptr; at = at->put_off) {
      current |= at->current != nullptr && c == at->claim;
    }
    if (current || c == last || state.chosen_in_claim(c) > 0) continue;
    last = c;
    const auto known = std::ranges::find_if(shapes_, [&](const Shape& shape) {
      return claims[shape.claim].shape == claims[c].shape &&
             attempt_->scope(shape.claim) == attempt_->scope(c) &&
             SameOpen(shape.claim, c, position);
    });
    work_->Spend(8 + shapes_.size());
    if (known != shapes_.end()) {
      ++known->claims;
      continue;
    }
    Shape shape{.claim = c, .claims = 1};
    for (std::size_t i = d; i < all.size() && all[i].claim == c; ++i) {
      if (!all[i].mask.Intersects(attempt_->multi())) shape.demands.push_back(&all[i]);
    }
    shapes_.push_back(std::move(shape));
  }
}

bool EqualClaimsBound::Hopeless(const State& state, Demands& demands) {
  if (!values_->usable() || attempt_->plan().constraints().empty()) return false;
  const Plan& plan = attempt_->plan();
  FindShapes(state, demands);
  const auto constraints = [&](const Shape& shape) -> const ClaimPlan& {
    return plan.claims()[shape.claim];
  };
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    const ClaimPlan& claim = constraints(shapes_[s]);
    for (std::size_t i = 0; i < claim.constraints; ++i) {
      const std::size_t constraint = claim.first_constraint + i;
      if (!Shares(constraint)) continue;
      if (TooMany(shapes_[s], constraint, demands)) return true;
      if (work_->exhausted()) return false;
      work_->Spend((shapes_.size() - s) * 2);
      for (std::size_t t = s + 1; t < shapes_.size(); ++t) {
        const ClaimPlan& also = constraints(shapes_[t]);
        for (std::size_t j = 0; j < also.constraints; ++j) {
          const std::size_t other = also.first_constraint + j;
          if (!Shares(other) ||
              plan.constraints()[other].name != plan.constraints()[constraint].name) {
            continue;
          }
          if (TooManyTogether(shapes_[s], constraint, shapes_[t], other, demands)) return true;
        }
      }
    }
  }
  return false;
}

bool EqualClaimsBound::Covered(const Shape& shape, std::size_t constraint,
                               const Demands& demands) const {
  return std::ranges::any_of(
      shape.demands, [&](const Demand* demand) { return demands.Covers(*demand, constraint); });
}

std::size_t EqualClaimsBound::ClaimsOn(const Shape& shape, std::size_t constraint,
                                       std::size_t element, const Demands& demands) const {
  std::size_t times = kUnlimited;
  for (const Demand* demand : shape.demands) {
    if (!demands.Covers(*demand, constraint)) continue;
    times = std::min(times, demands.CountWith(*demand, constraint, element) / demand->need);
  }
  work_->Spend(shape.demands.size() * (2 + attempt_->device_count() / 64));
  return times;
}

bool EqualClaimsBound::TooMany(const Shape& shape, std::size_t constraint,
                               const Demands& demands) const {
  if (shape.claims < 2 || !Covered(shape, constraint, demands)) return false;
  std::size_t room = 0;
  for (std::size_t e = 0; e < (*values_)[constraint].elements.size(); ++e) {
    room += ClaimsOn(shape, constraint, e, demands);
  }
  return room < shape.claims;
}

bool EqualClaimsBound::TooManyTogether(const Shape& s, std::size_t constraint, const Shape& t,
                                       std::size_t other, const Demands& demands) {
  if (!Covered(s, constraint, demands) || !Covered(t, other, demands)) return false;
  const ConstraintValues::Carriers& mine = (*values_)[constraint];
  const ConstraintValues::Carriers& theirs = (*values_)[other];
  packing_.Reset(s.claims);
  const auto with = [&](const Demand& demand, const ConstraintValues::Carriers& carriers,
                        std::size_t element, BitSet& into) {
    if (into.size() != attempt_->device_count()) into = BitSet(attempt_->device_count());
    into.ResetAll();
    for (const Candidates* candidates : demand.candidates) {
      into |= (*carriers.Find(candidates))[element];
    }
    into &= demand.mask;
  };
  for (std::size_t e = 0; e < mine.elements.size(); ++e) {
    const std::size_t f = theirs.IndexOf(mine.elements[e]);
    const std::size_t most_s = std::min(ClaimsOn(s, constraint, e, demands), s.claims);
    const std::size_t most_t =
        f == theirs.elements.size() ? 0 : std::min(ClaimsOn(t, other, f, demands), t.claims);
    room_.assign(most_s + 1, static_cast<std::uint32_t>(most_t));
    work_->Spend((s.claims + 1) * (most_s + 1));
    if (most_s == 0 || most_t == 0) {
      packing_.Add(room_);
      continue;
    }
    for (const Demand* p : s.demands) {
      if (!demands.Covers(*p, constraint)) continue;
      with(*p, mine, e, mine_);
      for (const Demand* q : t.demands) {
        if (!demands.Covers(*q, other)) continue;
        with(*q, theirs, f, theirs_);
        const std::size_t either =
            mine_.Count() + theirs_.Count() - mine_.IntersectionCount(theirs_);
        for (std::size_t x = 0; x < room_.size(); ++x) {
          const std::size_t gone = x * p->need;
          const std::size_t left = either > gone ? either - gone : 0;
          room_[x] = std::min(room_[x], static_cast<std::uint32_t>(left / q->need));
        }
      }
    }
    packing_.Add(room_);
  }
  // Values that only the other shape knows.
  for (std::size_t f = 0; f < theirs.elements.size(); ++f) {
    if (mine.IndexOf(theirs.elements[f]) < mine.elements.size()) continue;
    room_.assign(1, static_cast<std::uint32_t>(std::min(ClaimsOn(t, other, f, demands), t.claims)));
    packing_.Add(room_);
  }
  return !packing_.Fits(t.claims);
}

}  // namespace dray::allocator
