// SPDX-License-Identifier: Apache-2.0
#include "gang/search.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "gang/bounds.h"
#include "gang/classes.h"

namespace dray::gang {
namespace {

std::uint64_t Sum(std::span<const std::uint32_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// Depth first over places, class by class. A frame is one place and the load that it has.
class Placing {
 public:
  Placing(Places& places, const std::vector<PlaceClass>& classes, const Bounds& bounds,
          const Request& request, Budget& budget)
      : places_(places),
        classes_(classes),
        bounds_(bounds),
        budget_(budget),
        remaining_(request.wanted),
        slack_(Sum(request.wanted) - request.least) {
    // Per weights and class: what this class's places hold each, and all of later classes together.
    for (const Weights& weights : bounds_.weights) {
      std::vector<std::uint64_t> each(classes_.size());
      std::vector<std::uint64_t> later(classes_.size() + 1);
      for (std::size_t i = classes_.size(); i-- > 0;) {
        each[i] = MostWeight(weights, classes_[i]);
        later[i] = later[i + 1] + each[i] * classes_[i].members.size();
      }
      each_.push_back(std::move(each));
      later_.push_back(std::move(later));
    }
  }

  Verdict Run() {
    if (Enough()) return Verdict::kPlaced;
    if (classes_.empty() || Hopeless({})) return Verdict::kImpossible;
    std::vector<Frame> stack = {Frame{}};
    while (!stack.empty()) {
      if (!budget_.Spend()) return Verdict::kGaveUp;
      Frame& frame = stack.back();
      if (frame.loaded) TakeBack(frame);
      const std::optional<Frame> next = Load(frame);
      if (!next) {
        if (!places_.Share()) failed_.insert(KeyOf(frame.at));
        stack.pop_back();
        continue;
      }
      Note();
      if (Enough()) return Verdict::kPlaced;
      if (next->at.row == classes_.size() || Failed(next->at) || Hopeless(next->at)) continue;
      stack.push_back(*next);
    }
    return Verdict::kImpossible;
  }

  std::vector<gang::Load> Loads() const {
    std::vector<gang::Load> loads = loads_;
    std::ranges::sort(loads, {}, &gang::Load::place);
    return loads;
  }
  std::uint32_t found() const { return found_; }

 private:
  // Where the search is: a class, the next of its places, and the first load that is tried there
  // (of places that nothing tells apart, a later one has no earlier load).
  struct At {
    std::size_t row = 0;
    std::size_t member = 0;
    std::size_t from = 0;
  };
  struct Frame {
    At at;
    std::size_t next = 0;  // the load to be tried next; counted from at.from
    bool loaded = false;
    bool has_load = false;  // on loads_: false for a place that stays empty
    Counts taken = {};      // off remaining_
  };

  bool Enough() const { return Sum(remaining_) <= slack_; }

  // Puts the next load there is on the frame's place. The frame that follows; nothing: there is none.
  std::optional<Frame> Load(Frame& frame) {
    const PlaceClass& row = classes_[frame.at.row];
    while (true) {
      const std::size_t index = frame.at.from + frame.next;
      // After all loads: nothing more on this place and on those like it.
      if (index > row.loads.size()) return std::nullopt;
      ++frame.next;
      if (index == row.loads.size()) {
        frame.loaded = true;
        frame.has_load = false;
        frame.taken.clear();
        return Frame{.at = {.row = frame.at.row + 1}};
      }
      Counts taken = row.loads[index];
      for (std::size_t kind = 0; kind < taken.size(); ++kind) {
        taken[kind] = std::min(taken[kind], remaining_[kind]);
      }
      if (Sum(taken) == 0) continue;
      loads_.push_back({row.members[frame.at.member], taken});
      if (places_.Share() && (!budget_.Spend() || !places_.FitTogether(loads_))) {
        loads_.pop_back();
        continue;
      }
      for (std::size_t kind = 0; kind < taken.size(); ++kind) remaining_[kind] -= taken[kind];
      frame.taken = std::move(taken);
      frame.loaded = true;
      frame.has_load = true;
      At after{.row = frame.at.row, .member = frame.at.member + 1, .from = index};
      if (after.member == row.members.size()) after = {.row = frame.at.row + 1};
      return Frame{.at = after};
    }
  }

  void TakeBack(Frame& frame) {
    frame.loaded = false;
    if (!frame.has_load) return;
    for (std::size_t kind = 0; kind < frame.taken.size(); ++kind) {
      remaining_[kind] += frame.taken[kind];
    }
    loads_.pop_back();
  }

  bool Hopeless(const At& at) const {
    for (std::size_t i = 0; i < bounds_.weights.size(); ++i) {
      std::uint64_t room = later_[i][std::min(at.row + 1, classes_.size())];
      if (at.row < classes_.size()) {
        room += each_[i][at.row] * (classes_[at.row].members.size() - at.member);
      }
      if (LeastWeight(bounds_.weights[i], remaining_, slack_) > room) return true;
    }
    return false;
  }

  // What comes after depends on where the search is and on what is left to place, and on nothing
  // else where places share nothing.
  std::string KeyOf(const At& at) const {
    std::string key(sizeof(At) + remaining_.size() * sizeof(std::uint32_t), '\0');
    std::memcpy(key.data(), &at, sizeof(At));
    std::memcpy(key.data() + sizeof(At), remaining_.data(),
                remaining_.size() * sizeof(std::uint32_t));
    return key;
  }
  bool Failed(const At& at) const { return !places_.Share() && failed_.contains(KeyOf(at)); }

  void Note() {
    std::uint64_t sum = 0;
    for (const gang::Load& load : loads_) sum += Sum(load.counts);
    found_ = std::max(found_, static_cast<std::uint32_t>(sum));
  }

  Places& places_;
  const std::vector<PlaceClass>& classes_;
  const Bounds& bounds_;
  Budget& budget_;
  Counts remaining_;
  const std::uint64_t slack_;
  std::vector<std::vector<std::uint64_t>> each_;   // by weights, class
  std::vector<std::vector<std::uint64_t>> later_;  // by weights, class
  std::vector<gang::Load> loads_;
  absl::flat_hash_set<std::string> failed_;
  std::uint32_t found_ = 0;
};

// How many are placed when every place gets the first load that helps: so many could run.
std::uint32_t Greedy(Places& places, const std::vector<PlaceClass>& classes, Counts remaining,
                     Budget& budget) {
  std::vector<Load> loads;
  std::uint64_t placed = 0;
  for (const PlaceClass& row : classes) {
    for (const std::size_t place : row.members) {
      for (const Counts& load : row.loads) {
        Counts taken = load;
        for (std::size_t i = 0; i < taken.size(); ++i) taken[i] = std::min(taken[i], remaining[i]);
        if (Sum(taken) == 0) continue;
        loads.push_back({place, taken});
        if (places.Share() && (!budget.Spend() || !places.FitTogether(loads))) {
          loads.pop_back();
          continue;
        }
        for (std::size_t i = 0; i < taken.size(); ++i) remaining[i] -= taken[i];
        placed += Sum(taken);
        break;
      }
    }
  }
  return static_cast<std::uint32_t>(placed);
}

// The loads that make most of a place first, by the weights that came closest to a proof; of equal ones
// those of few large pods, since small ones find room later.
void Order(const Weights& weights, std::vector<PlaceClass>& classes) {
  for (PlaceClass& row : classes) {
    std::ranges::stable_sort(row.loads, [&](const Counts& a, const Counts& b) {
      const std::uint64_t x = WeightOf(weights, a);
      const std::uint64_t y = WeightOf(weights, b);
      if (x != y) return x > y;
      const std::uint64_t m = Sum(a);
      const std::uint64_t n = Sum(b);
      return m != n ? m < n : a > b;
    });
  }
}

// The room for one kind when nothing else of the group is there.
std::uint64_t RoomFor(const std::vector<PlaceClass>& classes, std::size_t kind) {
  std::uint64_t room = 0;
  for (const PlaceClass& row : classes) room += std::uint64_t{row.caps[kind]} * row.members.size();
  return room;
}

}  // namespace

Answer Search(Places& places, const Request& request) {
  Answer answer;
  Budget budget(request.budget);
  const auto done = [&](Verdict verdict) {
    answer.verdict = verdict;
    answer.steps = budget.spent();
    // That so many cannot be placed is what was proved, however it was.
    if (verdict == Verdict::kImpossible) {
      answer.at_most = std::min(answer.at_most, request.least - 1);
    }
    return answer;
  };
  const std::uint64_t total = Sum(request.wanted);
  answer.at_most = static_cast<std::uint32_t>(total);
  if (request.least > total) return done(Verdict::kImpossible);
  auto classes = MakeClasses(places, request.wanted, budget);
  if (!classes) return done(Verdict::kGaveUp);
  // Kinds one by one, before loads of several are asked for.
  std::uint64_t room = 0;
  for (std::size_t kind = 0; kind < request.wanted.size(); ++kind) {
    const std::uint64_t own =
        std::min<std::uint64_t>(request.wanted[kind], RoomFor(*classes, kind));
    room += own;
    if (request.wanted[kind] - own <= total - request.least || answer.kind != Answer::kNoKind) {
      continue;
    }
    answer.kind = kind;
    answer.kind_at_most = static_cast<std::uint32_t>(own);
  }
  answer.at_most = static_cast<std::uint32_t>(room);
  const bool too_little = answer.kind != Answer::kNoKind || room < request.least;
  if (!MakeLoads(places, request.wanted, budget, *classes)) {
    return done(too_little ? Verdict::kImpossible : Verdict::kGaveUp);
  }
  answer.found = Greedy(places, *classes, request.wanted, budget);
  if (too_little) return done(Verdict::kImpossible);
  const Bounds bounds = MakeBounds(*classes, request.wanted, total - request.least, budget);
  std::uint64_t holds = 0;
  for (const PlaceClass& row : *classes) {
    holds += row.members.size() * MostWeight(bounds.weights.front(), row);
  }
  answer.at_most = static_cast<std::uint32_t>(std::min<std::uint64_t>(answer.at_most, holds));
  if (bounds.proved) return done(Verdict::kImpossible);
  Order(bounds.weights.back(), *classes);
  Placing placing(places, *classes, bounds, request, budget);
  const Verdict verdict = placing.Run();
  answer.found = std::max(answer.found, placing.found());
  if (verdict == Verdict::kPlaced) answer.loads = placing.Loads();
  return done(verdict);
}

}  // namespace dray::gang
