// SPDX-License-Identifier: Apache-2.0
//
// What constraints leave: values, distinctness, equal claims.
#include <algorithm>
#include <utility>

#include "allocator/bounds.h"

namespace dray::allocator {

using base::BitSet;

bool Bounds::ConstraintsHopeless(const State& state, const Position& position) {
  const Plan& plan = attempt_->plan();
  std::size_t last = plan.claims().size();
  for (std::size_t d = 0; d < demand_count_; ++d) {
    const std::size_t c = demands_[d].claim;
    if (c == last) continue;
    last = c;
    const ClaimPlan& claim = plan.claims()[c];
    for (std::size_t i = 0; i < claim.constraints; ++i) {
      const std::size_t constraint = claim.first_constraint + i;
      if (ConstraintHopeless(constraint, c, state)) {
        for (const Demand& demand : demands()) {
          if (demand.claim == c && demand.request != Demand::kCurrent &&
              Covers(demand, constraint)) {
            blamed_.push_back(demand.request);
          }
        }
        return true;
      }
    }
  }
  return EqualClaimsHopeless(state, position);
}

// What the type promises of the devices together is all that is known of it here.
bool Bounds::ConstraintHopeless(std::size_t constraint, std::size_t claim, const State& state) {
  switch (attempt_->plan().constraints()[constraint].type->promise()) {
    case Promise::kCommonElement:
      return MatchHopeless(constraint, claim, state);
    case Promise::kDisjointElements:
      return DistinctHopeless(constraint, claim, state);
    case Promise::kNothing:
      break;
  }
  return false;
}

bool Bounds::Covers(const Demand& demand, std::size_t constraint) const {
  return !demand.admin && demand.need > 0 &&
         std::ranges::all_of(demand.candidates, [&](const Candidates* candidates) {
           return carriers_[constraint].Find(candidates) != nullptr;
         });
}

std::size_t Bounds::CountWith(const Demand& demand, std::size_t constraint,
                              std::size_t element) const {
  const Carriers& carriers = carriers_[constraint];
  if (demand.candidates.size() == 1) {
    return demand.mask.IntersectionCount((*carriers.Find(demand.candidates.front()))[element]);
  }
  BitSet any(attempt_->device_count());
  for (const Candidates* candidates : demand.candidates)
    any |= (*carriers.Find(candidates))[element];
  return demand.mask.IntersectionCount(any);
}

bool Bounds::MatchHopeless(std::size_t constraint, std::size_t claim, const State& state) {
  const Carriers& carriers = carriers_[constraint];
  std::vector<Demand*> covered;
  for (std::size_t i = 0; i < demand_count_; ++i) {
    if (demands_[i].claim == claim && Covers(demands_[i], constraint)) {
      covered.push_back(&demands_[i]);
    }
  }
  if (covered.empty()) return false;
  const Accepted accepted = state.accepted(constraint);
  std::vector<ElementId> possible;  // none accepted yet: all are
  if (accepted.state.devices > 0) {
    attempt_->plan().constraints()[constraint].type->AddDecisive(accepted, possible);
    std::ranges::sort(possible);
  }
  std::vector<std::size_t> alive;
  for (std::size_t e = 0; e < carriers.elements.size(); ++e) {
    if (accepted.state.devices > 0 &&
        !std::ranges::binary_search(possible, carriers.elements[e])) {
      continue;
    }
    if (std::ranges::all_of(covered, [&](const Demand* demand) {
          return CountWith(*demand, constraint, e) >= demand->need;
        })) {
      alive.push_back(e);
    }
  }
  if (alive.empty()) return true;
  // Nothing else can be chosen; the bounds behind this one see less.
  for (Demand* demand : covered) {
    Clear(scratch_, attempt_->device_count());
    for (const Candidates* candidates : demand->candidates) {
      for (const std::size_t e : alive) scratch_ |= (*carriers.Find(candidates))[e];
    }
    demand->mask &= scratch_;
  }
  return false;
}

bool Bounds::DistinctHopeless(std::size_t constraint, std::size_t claim, const State& state) {
  const Carriers& carriers = carriers_[constraint];
  const std::size_t elements = carriers.elements.size();
  const auto& dictionary = attempt_->devices().dictionary();
  BitSet used(elements);
  for (const ValueId value : state.accepted(constraint).values) {
    for (const ElementId element : dictionary.At(value).elements) {
      const std::size_t at = carriers.IndexOf(element);
      if (at < elements) used.Set(at);
    }
  }
  // One value stands for a device: no two devices have it.
  std::vector<BitSet> allowed;
  std::vector<std::uint32_t> needs;
  for (std::size_t i = 0; i < demand_count_; ++i) {
    Demand& demand = demands_[i];
    if (demand.claim != claim || !Covers(demand, constraint)) continue;
    BitSet values(elements);
    if (used.Any()) {
      BitSet clash(attempt_->device_count());
      used.ForEach([&](std::size_t e) {
        for (const Candidates* candidates : demand.candidates)
          clash |= (*carriers.Find(candidates))[e];
      });
      // Seen by one alternative only, a clash says nothing about the others.
      if (demand.candidates.size() == 1) demand.mask.AndNot(clash);
    }
    for (std::size_t e = 0; e < elements; ++e) {
      if (!used.Test(e) && CountWith(demand, constraint, e) > 0) values.Set(e);
    }
    allowed.push_back(std::move(values));
    needs.push_back(demand.need);
  }
  if (allowed.empty()) return false;
  distinct_flow_.Reset(elements, 0);
  for (std::size_t e = 0; e < elements; ++e) distinct_flow_.SetItem(e, 1, Transport::kNoBucket);
  for (std::size_t i = 0; i < allowed.size(); ++i) distinct_flow_.AddGroup(needs[i], allowed[i]);
  return !distinct_flow_.Feasible() || TooFewDisjoint(constraint, claim, used);
}

// Devices with lists use up several values each. Where values hang together through devices that
// have both, there are at most as many placements as the values there can serve, and, since a
// request has a device at most once, as many as there are devices: a device that can be shared
// counts once for each request that could have it, because requests that derive the attribute may
// see different values of it.
bool Bounds::TooFewDisjoint(std::size_t constraint, std::size_t claim, const BitSet& used) {
  const Carriers& carriers = carriers_[constraint];
  const std::size_t elements = carriers.elements.size();
  const std::size_t n = attempt_->device_count();
  std::size_t need = 0;
  values_.assign(n, kUnlimited);
  takers_.assign(n, 0);
  root_.resize(elements);
  for (std::uint32_t e = 0; e < elements; ++e) root_[e] = e;
  const auto find = [&](std::uint32_t e) {
    while (root_[e] != e) e = root_[e] = root_[root_[e]];
    return e;
  };
  // The first value of each device, by which the others of it are joined.
  first_value_.assign(n, kUnlimited);
  bool several = false;
  for (std::size_t i = 0; i < demand_count_; ++i) {
    const Demand& demand = demands_[i];
    if (demand.claim != claim || !Covers(demand, constraint)) continue;
    // Two alternatives may see different values of one device.
    if (demand.candidates.size() > 1) continue;
    // Requests may derive different values of a device that both have a share of.
    if (demand.mask.Intersects(attempt_->multi())) return false;
    need += demand.need;
    const std::vector<BitSet>& with = *carriers.Find(demand.candidates.front());
    seen_values_.assign(n, 0);
    for (std::uint32_t e = 0; e < elements; ++e) {
      if (used.Test(e) || !with[e].Intersects(demand.mask)) continue;
      scratch_ = with[e];
      scratch_ &= demand.mask;
      scratch_.ForEach([&](std::size_t d) {
        ++seen_values_[d];
        if (first_value_[d] == kUnlimited) {
          first_value_[d] = e;
        } else {
          several = true;
          root_[find(e)] = find(first_value_[d]);
        }
      });
    }
    for (std::size_t d = 0; d < n; ++d) {
      if (seen_values_[d] == 0) continue;
      values_[d] = std::min(values_[d], seen_values_[d]);
      takers_[d] = attempt_->multi(d) ? takers_[d] + 1 : 1;
    }
  }
  if (!several || need == 0) return false;
  // Per root: values, what devices alone would allow, and the fewest values that a device has.
  struct Part {
    std::uint32_t values = 0;
    std::uint32_t placements = 0;
    std::uint32_t fewest = kUnlimited;
  };
  std::vector<Part> parts(elements);
  for (std::uint32_t e = 0; e < elements; ++e) ++parts[find(e)].values;
  for (std::size_t d = 0; d < n; ++d) {
    if (first_value_[d] == kUnlimited) continue;
    Part& part = parts[find(first_value_[d])];
    part.placements += takers_[d];
    part.fewest = std::min(part.fewest, values_[d]);
  }
  std::size_t most = 0;
  for (const Part& part : parts) {
    if (part.placements > 0) most += std::min(part.placements, part.values / part.fewest);
  }
  return most < need;
}

// Of two claims of one shape the same requests are still to be met.
bool Bounds::SameOpen(std::size_t a, std::size_t b, const Position& position) const {
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

// Claims that ask for the same, none of them begun: those that settle on one value take their
// devices from the same few.
bool Bounds::EqualClaimsHopeless(const State& state, const Position& position) {
  const Plan& plan = attempt_->plan();
  const auto claims = plan.claims();
  shapes_.clear();
  std::size_t last = claims.size();
  for (std::size_t d = 0; d < demand_count_; ++d) {
    const std::size_t c = demands_[d].claim;
    const bool current = position.current != nullptr && c == position.claim;
    if (current || c == last || state.chosen_in_claim(c) > 0) continue;
    last = c;
    const auto known = std::ranges::find_if(shapes_, [&](const Shape& shape) {
      return claims[shape.claim].shape == claims[c].shape && SameOpen(shape.claim, c, position);
    });
    if (known != shapes_.end()) {
      ++known->claims;
      continue;
    }
    Shape shape{.claim = c, .claims = 1};
    for (std::size_t i = d; i < demand_count_ && demands_[i].claim == c; ++i) {
      // A device for multiple allocations can serve several claims.
      if (!demands_[i].mask.Intersects(attempt_->multi())) shape.demands.push_back(&demands_[i]);
    }
    shapes_.push_back(std::move(shape));
  }
  // Whether the devices of a claim have a value of the constraint in common.
  const auto shares = [&](std::size_t constraint) {
    return plan.constraints()[constraint].type->promise() == Promise::kCommonElement;
  };
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    for (std::size_t i = 0; i < claims[shapes_[s].claim].constraints; ++i) {
      const std::size_t constraint = claims[shapes_[s].claim].first_constraint + i;
      if (!shares(constraint)) continue;
      if (ShapeHopeless(shapes_[s], constraint)) return true;
      for (std::size_t t = s + 1; t < shapes_.size(); ++t) {
        for (std::size_t j = 0; j < claims[shapes_[t].claim].constraints; ++j) {
          const std::size_t other = claims[shapes_[t].claim].first_constraint + j;
          if (!shares(other) ||
              plan.constraints()[other].name != plan.constraints()[constraint].name) {
            continue;
          }
          if (ShapesHopeless(shapes_[s], constraint, shapes_[t], other)) return true;
        }
      }
    }
  }
  return false;
}

// How many claims of the shape could settle on the value.
std::size_t Bounds::ClaimsOn(const Shape& shape, std::size_t constraint,
                             std::size_t element) const {
  std::size_t times = kUnlimited;
  for (const Demand* demand : shape.demands) {
    if (!Covers(*demand, constraint)) continue;
    times = std::min(times, CountWith(*demand, constraint, element) / demand->need);
  }
  return times;
}

bool Bounds::ShapeHopeless(const Shape& shape, std::size_t constraint) const {
  if (shape.claims < 2) return false;
  std::size_t room = 0;
  for (std::size_t e = 0; e < carriers_[constraint].elements.size(); ++e) {
    room += ClaimsOn(shape, constraint, e);
  }
  const bool covered = std::ranges::any_of(
      shape.demands, [&](const Demand* demand) { return Covers(*demand, constraint); });
  return covered && room < shape.claims;
}

// Two shapes on the same values.
bool Bounds::ShapesHopeless(const Shape& s, std::size_t constraint, const Shape& t,
                            std::size_t other) {
  const auto covered = [&](const Shape& shape, std::size_t by) {
    return std::ranges::any_of(shape.demands,
                               [&](const Demand* demand) { return Covers(*demand, by); });
  };
  if (!covered(s, constraint) || !covered(t, other)) return false;
  const Carriers& mine = carriers_[constraint];
  const Carriers& theirs = carriers_[other];
  packing_.Reset(s.claims);
  const auto with = [&](const Demand& demand, const Carriers& carriers, std::size_t element) {
    Clear(element_scratch_, attempt_->device_count());
    for (const Candidates* candidates : demand.candidates) {
      element_scratch_ |= (*carriers.Find(candidates))[element];
    }
    element_scratch_ &= demand.mask;
  };
  for (std::size_t e = 0; e < mine.elements.size(); ++e) {
    const std::size_t f = theirs.IndexOf(mine.elements[e]);
    const std::size_t most_s = std::min(ClaimsOn(s, constraint, e), s.claims);
    const std::size_t most_t =
        f == theirs.elements.size() ? 0 : std::min(ClaimsOn(t, other, f), t.claims);
    room_.assign(most_s + 1, static_cast<std::uint32_t>(most_t));
    if (most_s == 0 || most_t == 0) {
      packing_.Add(room_);
      continue;
    }
    for (const Demand* p : s.demands) {
      if (!Covers(*p, constraint)) continue;
      with(*p, mine, e);
      scratch_ = element_scratch_;
      for (const Demand* q : t.demands) {
        if (!Covers(*q, other)) continue;
        with(*q, theirs, f);
        const std::size_t first = scratch_.Count();
        const std::size_t either =
            first + element_scratch_.Count() - scratch_.IntersectionCount(element_scratch_);
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
    room_.assign(1, static_cast<std::uint32_t>(std::min(ClaimsOn(t, other, f), t.claims)));
    packing_.Add(room_);
  }
  return !packing_.Fits(t.claims);
}

}  // namespace dray::allocator
