// SPDX-License-Identifier: Apache-2.0
#include "allocator/explain_amounts.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "allocator/explain_words.h"
#include "fmt/format.h"

namespace dray::allocator {
namespace {

using base::BitSet;
using inventory::Dictionary;
using inventory::NodeDevice;

// What a device takes of something, or nothing of it.
using AmountOf = std::function<Amount(const Candidates& candidates, std::uint32_t device)>;

// The least that one alternative takes: its cheapest devices.
Amount Least(const Candidates& candidates, const BitSet& usable, const AmountOf& amount_of) {
  std::vector<Amount> amounts;
  usable.ForEach([&](std::size_t device) {
    amounts.push_back(amount_of(candidates, static_cast<std::uint32_t>(device)));
  });
  std::ranges::sort(amounts);
  const std::size_t n = std::min(amounts.size(), static_cast<std::size_t>(candidates.need));
  Amount sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += amounts[i];
  return sum;
}

Amount LeastOfAll(const Attempt& attempt, const std::vector<BitSet>& usable, const BitSet& requests,
                  const AmountOf& amount_of) {
  Amount sum = 0;
  requests.ForEach([&](std::size_t r) {
    const RequestPlan& request = attempt.plan().requests()[r];
    std::optional<Amount> least;
    for (std::uint32_t i = request.first; i < request.first + request.count; ++i) {
      // An alternative that cannot be had at all takes nothing and is no way out either.
      if (usable[i].Count() < static_cast<std::size_t>(attempt.candidates(i).need)) continue;
      const Amount amount = Least(attempt.candidates(i), usable[i], amount_of);
      if (!least || amount < *least) least = amount;
    }
    sum += least.value_or(0);
  });
  return sum;
}

void AddCounters(const Attempt& attempt, const std::vector<BitSet>& usable, const BitSet& requests,
                 std::vector<Shortage>& shortages) {
  const inventory::NodeDevices& devices = attempt.devices();
  const Dictionary& dictionary = devices.dictionary();
  // A counter by itself; and all of one name in a pool, which is what counts when the device may
  // come from any of several sets.
  struct Supply {
    std::vector<bool> counters;
    Amount left = 0;
    Shortage shortage;
  };
  std::vector<Supply> supplies;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> together;
  const auto all = devices.counters();
  for (std::size_t c = 0; c < all.size(); ++c) {
    const inventory::CounterSetOnNode& set = devices.counter_sets()[all[c].set];
    const inventory::PoolOnNode& pool = devices.pools()[set.pool];
    Supply one{.counters = std::vector<bool>(all.size()),
               .left = attempt.usage().counters()[c],
               .shortage = {.pool = fmt::format("{}/{}", dictionary.View(pool.driver),
                                                dictionary.View(pool.name)),
                            .counter_set = std::string(dictionary.View(set.name)),
                            .name = std::string(dictionary.View(all[c].name))}};
    one.counters[c] = true;
    const auto [it, first] = together.try_emplace({set.pool, one.shortage.name}, supplies.size());
    if (first) {
      supplies.push_back(one);
      supplies.back().shortage.counter_set.clear();
    } else {
      supplies[it->second].counters[c] = true;
      supplies[it->second].left += one.left;
    }
    supplies.push_back(std::move(one));
  }
  for (Supply& supply : supplies) {
    // A sum over a single set says nothing that the set does not.
    if (supply.shortage.counter_set.empty() && std::ranges::count(supply.counters, true) < 2) {
      continue;
    }
    const auto amount_of = [&](const Candidates&, std::uint32_t device) {
      Amount sum = 0;
      // A shared device is charged once, whoever comes.
      if (attempt.multi(device)) return sum;
      for (const auto& use : devices.counter_uses(devices.devices()[device])) {
        if (supply.counters[use.counter]) sum += use.amount;
      }
      return sum;
    };
    const Amount needed = LeastOfAll(attempt, usable, requests, amount_of);
    if (needed <= supply.left || needed == 0) continue;
    supply.shortage.needed = AmountText(needed);
    supply.shortage.left = LeftText(supply.left);
    supply.shortage.short_by = AmountText(needed - supply.left);
    shortages.push_back(std::move(supply.shortage));
  }
}

// Capacity of devices that several requests may share, of each name all devices together.
void AddCapacities(const Attempt& attempt, const std::vector<BitSet>& usable,
                   const BitSet& requests, std::vector<Shortage>& shortages) {
  if (!attempt.plan().features().consumable_capacity) return;
  const inventory::NodeDevices& devices = attempt.devices();
  const Dictionary& dictionary = devices.dictionary();
  State state;
  state.Reset(attempt);
  BitSet any(attempt.device_count());
  requests.ForEach([&](std::size_t r) {
    const RequestPlan& request = attempt.plan().requests()[r];
    for (std::uint32_t i = request.first; i < request.first + request.count; ++i) any |= usable[i];
  });
  // Where some can be had without sharing, sums of shares prove nothing.
  if (!any.IsSubsetOf(attempt.multi())) return;
  std::vector<std::pair<std::string, Amount>> left;
  any.ForEach([&](std::size_t index) {
    const auto device = static_cast<std::uint32_t>(index);
    const NodeDevice& on_node = devices.devices()[device];
    const auto entries = on_node.slice->capacities(*on_node.row);
    for (std::size_t i = 0; i < state.capacity(device).size(); ++i) {
      const std::string name(dictionary.View(entries[i].name));
      auto it = std::ranges::find(left, name, &std::pair<std::string, Amount>::first);
      if (it == left.end()) it = left.insert(left.end(), {name, 0});
      it->second += state.capacity(device)[i] - state.consumed(device)[i];
    }
  });
  for (const auto& entry : left) {
    const auto& name = entry.first;  // clang 14 captures no structured bindings
    const auto& amount = entry.second;
    const auto amount_of = [&](const Candidates& candidates, std::uint32_t device) {
      const NodeDevice& on_node = devices.devices()[device];
      const auto entries = on_node.slice->capacities(*on_node.row);
      for (std::size_t i = 0; i < entries.size(); ++i) {
        if (dictionary.View(entries[i].name) == name)
          return attempt.consumed(candidates, device)[i];
      }
      return Amount(0);
    };
    const Amount needed = LeastOfAll(attempt, usable, requests, amount_of);
    if (needed <= amount) continue;
    shortages.push_back({.capacity = true,
                         .name = name,
                         .needed = AmountText(needed),
                         .left = LeftText(amount),
                         .short_by = AmountText(needed - amount)});
  }
}

struct Element {
  std::string type;
  std::string text;
  friend bool operator==(const Element&, const Element&) = default;
};

std::vector<Element> ElementsOf(const api::DeviceAttribute& attribute, bool lists) {
  if (attribute.string_value) return {{"string", std::string(*attribute.string_value)}};
  if (attribute.int_value) return {{"int", fmt::format("{}", *attribute.int_value)}};
  if (attribute.bool_value) return {{"bool", *attribute.bool_value ? "true" : "false"}};
  if (attribute.version_value) return {{"version", std::string(*attribute.version_value)}};
  std::vector<Element> elements;
  const auto add = [&](std::string type, std::string text) {
    Element element{std::move(type), std::move(text)};
    if (std::ranges::find(elements, element) == elements.end()) {
      elements.push_back(std::move(element));
    }
  };
  const api::AttributeLists& all = attribute.Lists();
  if (all.string_values) {
    for (const std::string& item : *all.string_values) add("string", item);
  }
  if (all.int_values) {
    for (const std::int64_t item : *all.int_values) add("int", fmt::format("{}", item));
  }
  if (all.bool_values) {
    for (const api::BoolItem& item : *all.bool_values) add("bool", item.value ? "true" : "false");
  }
  if (all.version_values) {
    for (const std::string& item : *all.version_values) add("version", item);
  }
  if (lists) return elements;
  std::string text;
  for (const Element& element : elements) text += (text.empty() ? "" : ", ") + element.text;
  return {{"list", fmt::format("[{}]", text)}};
}

}  // namespace

std::vector<Shortage> FindShortages(const Attempt& attempt, const std::vector<BitSet>& usable,
                                    const BitSet& requests) {
  std::vector<Shortage> shortages;
  AddCounters(attempt, usable, requests, shortages);
  AddCapacities(attempt, usable, requests, shortages);
  return shortages;
}

std::optional<std::int64_t> FindRoom(const Attempt& attempt, const std::vector<BitSet>& usable,
                                     const BitSet& requests) {
  struct OfDevice {
    std::int64_t takers = 0;    // requests that could have it
    std::vector<Amount> least;  // of each capacity that any of them takes
  };
  std::vector<OfDevice> of_device(attempt.device_count());
  State state;
  state.Reset(attempt);
  bool admin = false;
  requests.ForEach([&](std::size_t r) {
    const RequestPlan& request = attempt.plan().requests()[r];
    BitSet any(attempt.device_count());
    for (std::uint32_t i = request.first; i < request.first + request.count; ++i) {
      const Candidates& candidates = attempt.candidates(i);
      admin |= candidates.alternative->admin;
      any |= usable[i];
      usable[i].ForEach([&](std::size_t device) {
        const std::size_t n = state.consumed(static_cast<std::uint32_t>(device)).size();
        std::vector<Amount>& least = of_device[device].least;
        const Amount* asked = n > 0 ? attempt.consumed(candidates, device) : nullptr;
        if (least.empty()) {
          least.assign(asked, asked + n);
        } else {
          for (std::size_t k = 0; k < n; ++k) least[k] = std::min(least[k], asked[k]);
        }
      });
    }
    any.ForEach([&](std::size_t device) { ++of_device[device].takers; });
  });
  if (admin && requests.Count() > 1) return std::nullopt;
  std::int64_t room = 0;
  for (std::uint32_t d = 0; d < attempt.device_count(); ++d) {
    // No request gets a device twice.
    std::int64_t here = of_device[d].takers;
    if (!attempt.multi(d)) here = std::min<std::int64_t>(here, 1);
    for (std::size_t k = 0; k < of_device[d].least.size() && here > 0; ++k) {
      if (of_device[d].least[k] <= 0) continue;
      const Amount shares = (state.capacity(d)[k] - state.consumed(d)[k]) / of_device[d].least[k];
      if (shares < here) here = static_cast<std::int64_t>(shares);
    }
    room += here;
  }
  return room;
}

std::vector<GroupReport> ReportGroups(const inventory::NodeDevices& devices, const BitSet& usable) {
  const Dictionary& dictionary = devices.dictionary();
  std::vector<GroupReport> reports;
  usable.ForEach([&](std::size_t index) {
    std::vector<std::string> groups;
    for (const inventory::SetUse& use : devices.set_uses(devices.devices()[index])) {
      for (const inventory::NameId group : dictionary.At(use.groups)) {
        groups.emplace_back(dictionary.View(group));
      }
    }
    std::ranges::sort(groups);
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    auto it = std::ranges::find(reports, groups, &GroupReport::groups);
    if (it == reports.end()) it = reports.insert(it, {.groups = std::move(groups)});
    ++it->devices;
  });
  return reports;
}

ConstraintReport ReportConstraint(const Attempt& attempt, const ClaimPlan& claim, std::size_t index,
                                  const std::vector<BitSet>& usable, const BitSet& requests,
                                  std::size_t most_values) {
  const Plan& plan = attempt.plan();
  const Dictionary& dictionary = attempt.devices().dictionary();
  const ConstraintPlan& planned = plan.constraints(claim)[index];
  ConstraintReport report{.type = planned.type, .attribute = planned.attribute};
  // (alternative, which of its constraints)
  std::vector<std::pair<std::uint32_t, std::size_t>> covered;
  for (std::uint32_t r = claim.first_request; r < claim.first_request + claim.requests; ++r) {
    if (!requests.Test(r)) continue;
    const RequestPlan& request = plan.requests()[r];
    for (std::uint32_t i = request.first; i < request.first + request.count; ++i) {
      const auto& uses = plan.alternatives()[i].constraints;
      const auto it = std::ranges::find(uses, index, &ConstraintUse::constraint);
      if (it == uses.end()) continue;
      covered.emplace_back(i, static_cast<std::size_t>(it - uses.begin()));
      report.covers.push_back(plan.alternatives()[i].result_name);
    }
  }
  std::vector<std::pair<Element, std::vector<std::int64_t>>> counts;
  for (std::size_t device = 0; device < attempt.device_count(); ++device) {
    for (std::size_t i = 0; i < covered.size(); ++i) {
      const auto [alternative, use] = covered[i];
      if (!usable[alternative].Test(device)) continue;
      const ValueId value = attempt.value(attempt.candidates(alternative), use, device);
      for (Element& element :
           ElementsOf(dictionary.Attribute(value), plan.features().list_type_attributes)) {
        auto it = std::ranges::find(counts, element, [](const auto& entry) { return entry.first; });
        if (it == counts.end()) {
          it = counts.insert(counts.end(), {std::move(element), {}});
          it->second.resize(covered.size());
        }
        ++it->second[i];
      }
    }
  }
  report.values_in_all = static_cast<std::int64_t>(counts.size());
  counts.resize(std::min(counts.size(), most_values));
  for (auto& [element, devices] : counts) {
    report.values.push_back({.value = std::move(element.text),
                             .type = std::move(element.type),
                             .devices = std::move(devices)});
  }
  return report;
}

}  // namespace dray::allocator
