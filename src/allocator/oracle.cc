// SPDX-License-Identifier: Apache-2.0
#include "allocator/oracle.h"

#include <algorithm>
#include <limits>

#include "allocator/bound_linear.h"

namespace dray::allocator {

using base::BitSet;

namespace {

// Dead ends of the first run; each further one has half as many again.
constexpr std::uint64_t kPatience = 64;
// Of a run without the linear relaxation.
constexpr std::uint64_t kQuickPatience = 64;
// Of the linear relaxation, at first.
constexpr std::uint64_t kLinearLimit = 1'000'000;

}  // namespace

Oracle::Oracle() : linear_(std::make_unique<LinearBound>()) {}
Oracle::~Oracle() = default;

void Oracle::Reset(const Attempt& attempt, Bounds& bounds, Residual& residual,
                   absl::flat_hash_set<Fingerprint>& failed, WorkMeter& work) {
  attempt_ = &attempt;
  bounds_ = &bounds;
  residual_ = &residual;
  failed_ = &failed;
  work_ = &work;
  const Plan& plan = attempt.plan();
  claim_of_.clear();
  for (std::uint32_t c = 0; c < plan.claims().size(); ++c) {
    claim_of_.resize(plan.claims()[c].first_request + plan.claims()[c].requests, c);
  }
  weight_.assign(plan.requests().size(), 1);
  decided_.assign(plan.requests().size(), Position::kUndecided);
  settled_ = decided_;
  completion_.clear();
  FindSizes();
  linear_->Reset({attempt, bounds.values(), bounds.supply(), work}, residual.symmetry());
  with_linear_ = {};
  without_linear_ = {};
  linear_limit_ = kLinearLimit;
  linear_spent_ = 0;
  linear_asked_ = 0;
  linear_said_no_ = 0;
}

// What a request takes of the device, in thousandths of the largest of its capacities and counters:
// large ones are placed before small ones.
void Oracle::FindSizes() {
  const inventory::NodeDevices& devices = attempt_->devices();
  size_.assign(attempt_->plan().alternatives().size(), 0);
  State empty;
  empty.Reset(*attempt_);
  for (const std::uint32_t a : residual_->symmetry().representatives()) {
    const Candidates& candidates = attempt_->candidates(a);
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    candidates.devices.ForEach([&](std::size_t index) {
      const auto d = static_cast<std::uint32_t>(index);
      double sum = 0;
      const auto capacity = empty.capacity(d);
      const Amount* wanted = capacity.empty() ? nullptr : attempt_->consumed(candidates, d);
      for (std::size_t i = 0; i < capacity.size(); ++i) {
        if (capacity[i] > 0) {
          sum += static_cast<double>(wanted[i]) / static_cast<double>(capacity[i]);
        }
      }
      for (const auto& use : devices.counter_uses(devices.devices()[d])) {
        const Amount& total = devices.counters()[use.counter].value;
        if (total > 0) sum += static_cast<double>(use.amount) / static_cast<double>(total);
      }
      constexpr double kThousand = 1000;
      constexpr double kMost = 1e9;
      least = std::min(least, static_cast<std::uint64_t>(std::clamp(sum * kThousand, 0.0, kMost)));
      work_->Spend(8);
    });
    size_[a] = candidates.devices.Any() ? least : 0;
  }
  // The others are like those of their filter.
  for (std::size_t a = 0; a < size_.size(); ++a) {
    size_[a] = size_[residual_->symmetry().representative(a)];
  }
}

Oracle::Level& Oracle::Push() {
  if (depth_ == levels_.size()) levels_.emplace_back();
  Level& level = levels_[depth_++];
  level.next_alternative = 0;
  level.placed = 0;
  level.resumed = false;
  level.failed.clear();
  level.remember = true;
  return level;
}

Oracle::Answer Oracle::Ask(State& state, const Position& position) {
  state_ = &state;
  const std::size_t claim = state.claim();
  const std::size_t placed = state.placed().size();
  patience_ = kPatience;
  Outcome outcome = Outcome::kLost;
  // Without the linear relaxation first, as long as that is the cheaper way to answers.
  linear_on_ = LinearFirst();
  if (!linear_on_) patience_ = kQuickPatience;
  while (outcome == Outcome::kLost) {
    const std::uint64_t before = work_->spent();
    open_ = *position.open;
    for (std::size_t r = 0; r < decided_.size(); ++r) {
      const RequestPlan& request = attempt_->plan().requests()[r];
      decided_[r] = request.count == 1 ? request.first : Position::kUndecided;
    }
    outcome = Run(position);
    if (outcome == Outcome::kFound) {
      settled_ = decided_;
      completion_.clear();
      for (const PlacedDevice& one : state.placed().subspan(placed)) {
        completion_.insert(Key(one.alternative, one.device));
      }
    }
    while (state.placed().size() > placed) state.TakeBack();
    Way& way = linear_on_ ? with_linear_ : without_linear_;
    way.spent += work_->spent() - before;
    way.answers += static_cast<std::uint64_t>(outcome != Outcome::kLost);
    patience_ = linear_on_ ? patience_ + patience_ / 2 : kPatience;
    linear_on_ = true;
  }
  state.EnterClaim(claim);
  switch (outcome) {
    case Outcome::kFound:
      return Answer::kYes;
    case Outcome::kOut:
      return Answer::kUnknown;
    case Outcome::kFailed:
    case Outcome::kOpen:
    case Outcome::kLost:
      break;
  }
  return Answer::kNo;
}

Oracle::Outcome Oracle::Run(const Position& position) {
  depth_ = 0;
  dead_ends_ = 0;
  pending_ = false;
  if (position.current != nullptr && position.remaining > 0) {
    const auto alternative =
        static_cast<std::uint32_t>(position.current - &attempt_->candidates(0));
    put_off_request_ = residual_->request_of(alternative);
    decided_[put_off_request_] = alternative;
    pending_ = true;
    put_off_ = position;
    put_off_.put_off = nullptr;
  }
  Outcome outcome = Enter(true);
  while (true) {
    if (outcome == Outcome::kFound || outcome == Outcome::kOut || outcome == Outcome::kLost) {
      return outcome;
    }
    if (outcome == Outcome::kFailed) {
      if (depth_ == 0) return outcome;
      if (++dead_ends_ > patience_) return Outcome::kLost;
      TakeBack(levels_[depth_ - 1]);
    }
    outcome = Next(levels_[depth_ - 1]);
  }
}

bool Oracle::DeadEnd(const Position& position, Fingerprint& fingerprint, bool first) {
  fingerprint = residual_->Of(*state_, position);
  if (failed_->contains(fingerprint)) return true;
  if (!bounds_->Hopeless(*state_, position) && !LinearlyHopeless(first)) return false;
  for (const std::size_t request : bounds_->blamed()) ++weight_[request];
  failed_->insert(fingerprint);
  return true;
}

// What an answer has cost with and without it.
bool Oracle::LinearFirst() const {
  constexpr std::uint64_t kCheap = 1'000'000;
  const auto each = [](const Way& way) {
    return way.spent / std::max<std::uint64_t>(way.answers, 1);
  };
  if (with_linear_.answers == 0) return each(without_linear_) > kCheap;
  return each(with_linear_) < each(without_linear_);
}

// It costs more than all other bounds together. At the beginning of a run it is always worth its price;
// further down as long as it is not the larger part of all work, and seldom when it seldom helps.
bool Oracle::LinearlyHopeless(bool first) {
  if (!linear_on_) return false;
  constexpr std::uint64_t kFree = 200'000;
  constexpr std::uint64_t kManyAsked = 32;
  constexpr std::uint64_t kSeldom = 8;
  // Where it does not come to its end it is seldom tried, at the beginning too.
  const std::uint64_t share = linear_->ended() ? 2 : 2 * kSeldom;
  if ((!first || !linear_->ended()) && linear_spent_ > work_->spent() / share + kFree) {
    if (first) linear_->Forget();
    return false;
  }
  if (!first) {
    ++linear_asked_;
    if (linear_asked_ > kManyAsked && linear_said_no_ * kSeldom < linear_asked_ &&
        linear_asked_ % kSeldom != 0) {
      return false;
    }
  }
  const std::uint64_t before = work_->spent();
  const bool hopeless = linear_->Hopeless(*state_, bounds_->open_demands(),
                                          std::min(linear_limit_, work_->left() / kSeldom));
  // One that is too large costs a little at first, and gets its chance when nothing else helps.
  if (!linear_->ended()) {
    linear_limit_ = std::min(linear_limit_ * 2, kLinearLimit + work_->spent() / kSeldom);
  }
  linear_spent_ += work_->spent() - before;
  linear_said_no_ += static_cast<std::uint64_t>(hopeless && !first);
  return hopeless;
}

// The request with the least choice left, for its weight; of equal ones what takes the most.
std::size_t Oracle::Tightest() const {
  std::size_t best = BitSet::kNone;
  bool best_decided = true;
  std::uint64_t best_slack = 0;
  std::uint64_t best_size = 0;
  for (const Demand& demand : bounds_->demands()) {
    const std::size_t r = demand.request == Demand::kPutOff ? put_off_request_ : demand.request;
    if (demand.request == Demand::kCurrent) continue;
    const bool decided = decided_[r] != Position::kUndecided;
    constexpr std::uint64_t kScale = 1024;
    const std::uint64_t choice =
        demand.mask.Count() + 1 - std::min<std::uint64_t>(demand.need, demand.mask.Count());
    const std::uint64_t slack = choice * kScale / weight_[r];
    const auto alternative =
        static_cast<std::uint32_t>(demand.candidates.front() - &attempt_->candidates(0));
    const std::uint64_t size = size_[alternative] * demand.need;
    if (best != BitSet::kNone) {
      if (decided != best_decided) {
        if (decided) continue;
      } else if (slack != best_slack) {
        if (slack > best_slack) continue;
      } else if (size <= best_size) {
        continue;
      }
    }
    best = r;
    best_decided = decided;
    best_slack = slack;
    best_size = size;
  }
  return best;
}

Oracle::Outcome Oracle::Enter(bool first) {
  if (open_.None() && !pending_) return Outcome::kFound;
  if (work_->exhausted()) return Outcome::kOut;
  Fingerprint fingerprint;
  if (DeadEnd({.open = &open_, .decided = decided_, .put_off = PutOff()}, fingerprint, first))
    return Outcome::kFailed;
  if (first && linear_on_ && linear_->solved() && Follow()) return Outcome::kFound;
  work_->Spend(bounds_->demands().size() * 4);
  const std::size_t request = Tightest();
  Level& level = Push();
  level.kind = decided_[request] == Position::kUndecided ? Kind::kDecide : Kind::kBegin;
  level.request = request;
  level.fingerprint = fingerprint;
  return Outcome::kOpen;
}

// `known`: the same was looked at already, as a request that is not begun.
Oracle::Outcome Oracle::EnterFill(std::size_t request, std::int64_t remaining, const BitSet& after,
                                  bool known) {
  if (remaining == 0) return Enter();
  if (work_->exhausted()) return Outcome::kOut;
  const std::uint32_t alternative = decided_[request];
  Fingerprint fingerprint;
  const Position position{.open = &open_,
                          .decided = decided_,
                          .claim = claim_of_[request],
                          .current = &attempt_->candidates(alternative),
                          .remaining = remaining,
                          .after = &after,
                          .put_off = PutOff()};
  if (!known && DeadEnd(position, fingerprint)) return Outcome::kFailed;
  Level& level = Push();
  level.kind = Kind::kFill;
  level.request = request;
  level.remaining = remaining;
  level.after = after;
  level.after &= attempt_->candidates(alternative).devices;
  level.remember = !known;
  level.fingerprint = fingerprint;
  return Outcome::kOpen;
}

Oracle::Outcome Oracle::Next(Level& level) {
  switch (level.kind) {
    case Kind::kDecide:
      return NextAlternative(level);
    case Kind::kBegin:
      return level.next_alternative++ == 0 ? Begin(level) : Leave(level);
    case Kind::kFill:
      break;
  }
  return NextDevice(level);
}

// Settles which alternative it is, and goes on with whatever is tightest then.
Oracle::Outcome Oracle::NextAlternative(Level& level) {
  const RequestPlan& request = attempt_->plan().requests()[level.request];
  if (level.next_alternative == request.count) return Leave(level);
  decided_[level.request] = request.first + level.next_alternative++;
  return Enter();
}

// Which alternative it is stands: now its devices.
Oracle::Outcome Oracle::Begin(Level& level) {
  const Candidates& candidates = attempt_->candidates(decided_[level.request]);
  if (pending_ && level.request == put_off_request_) {
    pending_ = false;
    level.resumed = true;
    const std::size_t chosen = state_->chosen_in_claim(claim_of_[level.request]);
    if (static_cast<std::int64_t>(chosen) + put_off_.remaining > kMaxDevicesPerClaim) {
      return Outcome::kFailed;
    }
    return EnterFill(level.request, put_off_.remaining,
                     put_off_.after != nullptr ? *put_off_.after : candidates.devices, true);
  }
  open_.Reset(level.request);
  const std::size_t chosen = state_->chosen_in_claim(claim_of_[level.request]);
  if (static_cast<std::int64_t>(chosen) + candidates.need > kMaxDevicesPerClaim) {
    return Outcome::kFailed;
  }
  if (!candidates.alternative->all) {
    return EnterFill(level.request, candidates.need, candidates.devices, true);
  }
  state_->EnterClaim(claim_of_[level.request]);
  return PlaceAll(decided_[level.request], level.placed) ? Enter() : Outcome::kFailed;
}

bool Oracle::PlaceAll(std::uint32_t alternative, std::size_t& placed) {
  const Candidates& candidates = attempt_->candidates(alternative);
  if (candidates.need == 0 || candidates.impossible) return false;
  bool fits = true;
  for (std::size_t d = candidates.devices.First(); d != BitSet::kNone && fits;
       d = candidates.devices.Next(d)) {
    fits = !attempt_->usage().taken().Test(d) &&
           !state_->blocked(*candidates.alternative).Test(d) &&
           state_->TryPlace(alternative, static_cast<std::uint32_t>(d));
    placed += static_cast<std::size_t>(fits);
    work_->Spend(16 + state_->TakeCompared());
  }
  return fits;
}

bool Oracle::Follow() {
  const std::size_t before = state_->placed().size();
  const std::vector<std::uint32_t> decided = decided_;
  bool works = true;
  if (pending_) {
    state_->EnterClaim(claim_of_[put_off_request_]);
    const Candidates& candidates = *put_off_.current;
    const auto chosen = static_cast<std::int64_t>(state_->chosen_in_claim());
    works = chosen + put_off_.remaining <= kMaxDevicesPerClaim &&
            FillAsLiked(decided_[put_off_request_], put_off_.remaining,
                        put_off_.after != nullptr ? *put_off_.after : candidates.devices);
  }
  for (std::size_t r = open_.First(); works && r != BitSet::kNone; r = open_.Next(r)) {
    works = FollowFor(r);
  }
  if (works) return true;
  while (state_->placed().size() > before) state_->TakeBack();
  decided_ = decided;
  return false;
}

bool Oracle::FollowFor(std::size_t request) {
  const RequestPlan& asked = attempt_->plan().requests()[request];
  std::vector<std::pair<double, std::uint32_t>> liked;
  for (std::uint32_t a = asked.first; a < asked.first + asked.count; ++a) {
    if (decided_[request] != Position::kUndecided && decided_[request] != a) continue;
    liked.emplace_back(-linear_->Likes(a), a);
  }
  std::ranges::stable_sort(liked, {}, [](const auto& one) { return one.first; });
  const std::size_t claim = claim_of_[request];
  for (const auto& [value, a] : liked) {
    const Candidates& candidates = attempt_->candidates(a);
    const auto chosen = static_cast<std::int64_t>(state_->chosen_in_claim(claim));
    if (chosen + candidates.need > kMaxDevicesPerClaim) continue;
    state_->EnterClaim(claim);
    std::size_t placed = 0;
    const bool fits = candidates.alternative->all
                          ? PlaceAll(a, placed)
                          : FillAsLiked(a, candidates.need, candidates.devices);
    if (fits) {
      decided_[request] = a;
      return true;
    }
    for (; candidates.alternative->all && placed > 0; --placed) state_->TakeBack();
  }
  return false;
}

// In the claim that is entered. Nothing stays placed when it does not work.
bool Oracle::FillAsLiked(std::uint32_t alternative, std::int64_t need, const BitSet& among) {
  const Candidates& candidates = attempt_->candidates(alternative);
  const BitSet& blocked = state_->blocked(*candidates.alternative);
  liked_.clear();
  among.ForEach([&](std::size_t d) {
    if (!candidates.devices.Test(d) || blocked.Test(d)) return;
    const auto device = static_cast<std::uint32_t>(d);
    liked_.emplace_back(-linear_->Likes(alternative, device), device);
  });
  std::ranges::stable_sort(liked_, {}, [](const auto& one) { return one.first; });
  work_->Spend(liked_.size() * 4 + 8);
  std::int64_t placed = 0;
  for (std::size_t i = 0; i < liked_.size() && placed < need; ++i) {
    work_->Spend(16);
    placed += static_cast<std::int64_t>(state_->TryPlace(alternative, liked_[i].second));
    work_->Spend(state_->TakeCompared());
  }
  if (placed == need) return true;
  for (; placed > 0; --placed) state_->TakeBack();
  return false;
}

std::size_t Oracle::Favourite(std::uint32_t alternative, const BitSet& among) const {
  if (!linear_on_ || !linear_->solved()) return among.First();
  std::size_t best = BitSet::kNone;
  double most = -1;
  among.ForEach([&](std::size_t d) {
    const double liked = linear_->Likes(alternative, static_cast<std::uint32_t>(d));
    if (liked <= most) return;
    most = liked;
    best = d;
  });
  work_->Spend(among.size() / 16 + 1);
  return best;
}

// A request that was begun takes the rest of its devices from those behind what it has.
bool Oracle::AlikeForPutOff(std::uint32_t a, std::uint32_t b) const {
  if (!pending_ || put_off_.after == nullptr) return true;
  return put_off_.after->Test(a) == put_off_.after->Test(b);
}

// One more device for the request. Those before it have been tried: what follows is without them.
Oracle::Outcome Oracle::NextDevice(Level& level) {
  const std::uint32_t alternative = decided_[level.request];
  const Candidates& candidates = attempt_->candidates(alternative);
  state_->EnterClaim(claim_of_[level.request]);
  const Symmetry& symmetry = residual_->symmetry();
  for (std::size_t d = Favourite(alternative, level.after); d != BitSet::kNone;
       d = Favourite(alternative, level.after)) {
    if (level.after.Count() < static_cast<std::size_t>(level.remaining)) break;
    const auto device = static_cast<std::uint32_t>(d);
    level.after.Reset(d);
    work_->Spend(16 + level.failed.size());
    if (state_->blocked(*candidates.alternative).Test(d)) continue;
    if (std::ranges::any_of(level.failed, [&](std::uint32_t other) {
          return symmetry.Twins(*state_, other, device) && AlikeForPutOff(other, device);
        })) {
      continue;
    }
    level.failed.push_back(device);
    const bool fits = state_->TryPlace(alternative, device);
    work_->Spend(state_->TakeCompared());
    if (!fits) continue;
    level.placed = 1;
    return EnterFill(level.request, level.remaining - 1, level.after, false);
  }
  return Leave(level);
}

// What was tried at the level has failed.
void Oracle::TakeBack(Level& level) {
  for (; level.placed > 0; --level.placed) state_->TakeBack();
  if (level.kind == Kind::kDecide) decided_[level.request] = Position::kUndecided;
  if (level.kind != Kind::kBegin) return;
  if (level.resumed) {
    pending_ = true;
  } else {
    open_.Set(level.request);
  }
}

Oracle::Outcome Oracle::Leave(Level& level) {
  if (level.remember) failed_->insert(level.fingerprint);
  ++weight_[level.request];
  --depth_;
  return Outcome::kFailed;
}

}  // namespace dray::allocator
