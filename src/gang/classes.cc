// SPDX-License-Identifier: Apache-2.0
#include "gang/classes.h"

#include <algorithm>
#include <numeric>

namespace dray::gang {
namespace {

// The most of a kind that fits beside `counts`, up to `most`; galloping, since what fits is monotonic.
std::optional<std::uint32_t> MostOf(Places& places, std::size_t place, Counts& counts,
                                    std::size_t kind, std::uint32_t most, Budget& budget) {
  const auto fits = [&](std::uint32_t n) {
    counts[kind] = n;
    return places.Fits(place, counts);
  };
  std::uint32_t low = 0;  // fits
  std::uint32_t step = 1;
  std::uint32_t high = most + 1;  // does not, or is not asked for
  while (low + step < high) {
    if (!budget.Spend()) return std::nullopt;
    if (fits(low + step)) {
      low += step;
      step *= 2;
    } else {
      high = low + step;
      break;
    }
    if (low + step >= high) break;
  }
  while (low + 1 < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (!budget.Spend()) return std::nullopt;
    (fits(middle) ? low : high) = middle;
  }
  counts[kind] = 0;
  return low;
}

std::uint64_t Sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

bool Covers(const Counts& larger, const Counts& smaller) {
  for (std::size_t i = 0; i < larger.size(); ++i) {
    if (larger[i] < smaller[i]) return false;
  }
  return true;
}

// Loads kind by kind. Of the last kind as many as fit, or each number where all loads are wanted.
class Loads {
 public:
  Loads(Places& places, Budget& budget, PlaceClass& row, bool all)
      : places_(places), budget_(budget), row_(row), all_(all), counts_(row.caps.size()) {}

  bool Make() {
    if (!From(0)) return false;
    std::erase_if(row_.loads, [](const Counts& load) { return Sum(load) == 0; });
    if (!all_) DropCovered();
    // Larger ones first, of equal ones those with more of the first kinds.
    std::ranges::sort(row_.loads, [](const Counts& a, const Counts& b) {
      const std::uint64_t x = Sum(a);
      const std::uint64_t y = Sum(b);
      return x != y ? x > y : a > b;
    });
    return true;
  }

 private:
  bool From(std::size_t kind) {
    const std::size_t place = row_.members.front();
    if (kind == counts_.size()) {
      row_.loads.push_back(counts_);
      return budget_.Spend();
    }
    // Of the first alone it is known.
    const auto most = kind == 0 ? std::optional(row_.caps.front())
                                : MostOf(places_, place, counts_, kind, row_.caps[kind], budget_);
    if (!most) return false;
    const bool last = kind + 1 == counts_.size();
    for (std::uint32_t n = *most + 1; n-- > 0;) {
      counts_[kind] = n;
      if (!From(kind + 1)) return false;
      if (last && !all_) break;
    }
    counts_[kind] = 0;
    return true;
  }

  void DropCovered() {
    std::vector<Counts> kept;
    std::ranges::sort(row_.loads, std::greater<>(), Sum);
    for (Counts& load : row_.loads) {
      const bool covered =
          std::ranges::any_of(kept, [&](const Counts& other) { return Covers(other, load); });
      if (!covered) kept.push_back(std::move(load));
    }
    row_.loads = std::move(kept);
  }

  Places& places_;
  Budget& budget_;
  PlaceClass& row_;
  const bool all_;
  Counts counts_;
};

}  // namespace

std::optional<std::vector<PlaceClass>> MakeClasses(Places& places,
                                                   std::span<const std::uint32_t> wanted,
                                                   Budget& budget) {
  std::vector<PlaceClass> classes;
  absl::flat_hash_map<std::uint64_t, std::size_t> by_number;
  for (std::size_t place = 0; place < places.size(); ++place) {
    const auto [it, fresh] = by_number.try_emplace(places.ClassOf(place), classes.size());
    if (fresh) classes.emplace_back();
    classes[it->second].members.push_back(place);
  }
  for (PlaceClass& row : classes) {
    Counts counts(wanted.size());
    for (std::size_t kind = 0; kind < wanted.size(); ++kind) {
      const auto most = MostOf(places, row.members.front(), counts, kind, wanted[kind], budget);
      if (!most) return std::nullopt;
      row.caps.push_back(*most);
    }
  }
  // Nothing goes where nothing fits.
  std::erase_if(classes, [](const PlaceClass& row) { return Sum(row.caps) == 0; });
  return classes;
}

bool MakeLoads(Places& places, std::span<const std::uint32_t> wanted, Budget& budget,
               std::vector<PlaceClass>& classes) {
  static_cast<void>(wanted);
  return std::ranges::all_of(
      classes, [&](PlaceClass& row) { return Loads(places, budget, row, places.Share()).Make(); });
}

}  // namespace dray::gang
