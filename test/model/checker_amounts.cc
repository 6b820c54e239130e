// SPDX-License-Identifier: Apache-2.0
//
// Sums: capacity and counters.
#include <algorithm>
#include <iterator>

#include "model/checker_internal.h"

namespace dray::model::checker {
namespace {

using base::Quantity;

Quantity Up(Quantity q) {
  q.RoundUp(0);
  return q;
}

bool InThousandths(const api::CapacityRequestPolicyRange& range, bool fractional) {
  const auto exact = [](const std::optional<Quantity>& q) {
    return !q || q->ExactScaled(Quantity::kMilli).has_value();
  };
  return fractional && exact(range.min) && exact(range.max) && exact(range.step) &&
         (!range.step || *range.step >= Quantity::FromMilli(1));
}

bool OnStep(const Quantity& amount, const api::CapacityRequestPolicyRange& range, bool fractional) {
  const Quantity min = range.min.value_or(Quantity());
  if (InThousandths(range, fractional)) return (amount - min).IsMultipleOf(*range.step);
  return (Up(amount) - Up(min)).IsMultipleOf(Up(*range.step));
}

// The least allowed amount that serves the request.
bool Serves(const Quantity& asked, const api::CapacityRequestPolicy& policy, const Quantity& amount,
            bool fractional) {
  if (policy.valid_range && policy.valid_range->min) {
    const api::CapacityRequestPolicyRange& range = *policy.valid_range;
    if (asked < *range.min) return amount == *range.min;
    if (!range.step) return amount == asked;
    const bool milli = InThousandths(range, fractional);
    const Quantity want = milli ? asked : Up(asked);
    const Quantity step = milli ? *range.step : Up(*range.step);
    if (!amount.ExactScaled(milli ? Quantity::kMilli : 0)) return false;
    return amount >= want && amount - step < want && OnStep(amount, range, fractional);
  }
  const auto large = [&](const Quantity& value) { return value >= asked; };
  const auto first = std::ranges::find_if(policy.valid_values, large);
  return amount == (first == policy.valid_values.end() ? asked : *first);
}

bool Permitted(const Quantity& amount, const api::CapacityRequestPolicy& policy, bool fractional) {
  if (policy.default_value && *policy.default_value == amount) return true;
  if (policy.valid_range) {
    const api::CapacityRequestPolicyRange& range = *policy.valid_range;
    if (range.max && amount > *range.max) return false;
    return !range.step || OnStep(amount, range, fractional);
  }
  return policy.valid_values.empty() ||
         std::ranges::find(policy.valid_values, amount) != policy.valid_values.end();
}

// Whether this use takes counters and groups of its own: a further share of a device does not.
bool TakesCounters(const Context& context, const Use& use, const std::vector<Held>& held) {
  if (!use.shareable) return true;
  for (const Held& h : held) {
    if (h.share && h.id == use.id()) return false;
  }
  for (const Use& other : context.uses) {
    if (&other == &use) return true;
    if (other.id() == use.id()) return false;
  }
  return true;
}

}  // namespace

bool RightAmount(const Quantity* asked, const api::DeviceCapacity& capacity, const Quantity& amount,
                 bool fractional) {
  const api::CapacityRequestPolicy* policy = capacity.request_policy.get();
  if (amount.Sign() < 0) return false;
  if (policy == nullptr) return amount == (asked == nullptr ? capacity.value : *asked);
  if (!Permitted(amount, *policy, fractional)) return false;
  if (asked == nullptr) return amount == policy->default_value.value_or(capacity.value);
  return Serves(*asked, *policy, amount, fractional);
}

std::optional<Quantity> LeastAmount(const Quantity* asked, const api::DeviceCapacity& capacity,
                                    bool fractional) {
  const api::CapacityRequestPolicy* policy = capacity.request_policy.get();
  // Whatever it is, it is one of these.
  std::vector<Quantity> amounts{capacity.value};
  if (asked != nullptr) amounts.push_back(*asked);
  if (policy != nullptr && policy->default_value) amounts.push_back(*policy->default_value);
  if (policy != nullptr) std::ranges::copy(policy->valid_values, std::back_inserter(amounts));
  if (policy != nullptr && policy->valid_range && policy->valid_range->min) {
    const api::CapacityRequestPolicyRange& range = *policy->valid_range;
    amounts.push_back(*range.min);
    for (const bool whole : {false, true}) {
      if (asked == nullptr || !range.step) continue;
      const Quantity min = whole ? Up(*range.min) : *range.min;
      Quantity step = whole ? Up(*range.step) : *range.step;
      const auto steps = ((whole ? Up(*asked) : *asked) - min).DivCeil(step);
      if (steps) amounts.push_back(min + step.Mul(*steps));
    }
  }
  const auto right = [&](const Quantity& amount) {
    return RightAmount(asked, capacity, amount, fractional);
  };
  const auto found = std::ranges::find_if(amounts, right);
  if (found == amounts.end()) return std::nullopt;
  return *found;
}

std::optional<std::map<std::string, Quantity>> AskedOf(const api::CapacityRequirements* request,
                                                       std::string_view driver,
                                                       const api::Device& device) {
  std::map<std::string, Quantity> asked;
  if (request == nullptr) return asked;
  const std::string prefix = std::string(driver) + "/";
  std::size_t found = 0;
  for (const auto& [name, capacity] : device.capacity) {
    const std::string key = name.str();
    const std::string other = key.starts_with(prefix)
                                  ? key.substr(prefix.size())
                                  : (key.find('/') == std::string::npos ? prefix + key : "");
    const Quantity* literal = request->requests.Find(key);
    const bool renamed =
        !other.empty() && !device.capacity.contains(other) && request->requests.contains(other);
    if (literal != nullptr) asked[key] = *literal;
    if (renamed && literal == nullptr) asked[key] = *request->requests.Find(other);
    found += (literal != nullptr ? 1 : 0) + (renamed ? 1 : 0);
  }
  if (found < request->requests.size()) return std::nullopt;
  return asked;
}

void CheckCapacity(const Context& context) {
  if (!context.instance.features.consumable_capacity) return;
  const bool fractional = context.instance.features.fractional_capacity_range;
  std::map<DeviceId, std::map<std::string, Quantity>> used;
  // By what the capacity was called then; a device may have been published otherwise since.
  for (const Held& held : HeldOf(context.instance)) {
    if (!held.share) continue;
    for (const auto& [name, amount] : held.result->consumed_capacity) {
      used[held.id][name.str()] += amount;
    }
  }
  std::set<DeviceId> renamed;
  for (const Use& use : context.uses) {
    if (!renamed.insert(use.id()).second) continue;
    auto& amounts = used[use.id()];
    for (const auto& [name, capacity] : use.device->capacity) {
      const std::string mine = name.str();
      const std::string domain = use.result->driver + "/";
      const std::string old = mine.starts_with(domain) ? mine.substr(domain.size()) : domain + mine;
      if (use.device->capacity.contains(old)) continue;
      if (const auto found = amounts.find(old); found != amounts.end()) {
        amounts[mine] += found->second;
      }
    }
  }
  for (const Use& use : context.uses) {
    const auto asked = AskedOf(use.view.capacity, use.result->driver, *use.device);
    if (!asked) {
      context.Complain(use.where() + ": the device lacks a capacity");
      continue;
    }
    for (const auto& [name, capacity] : use.device->capacity) {
      const auto found = asked->find(name.str());
      const Quantity* want = found == asked->end() ? nullptr : &found->second;
      if (!use.shareable) {
        // What a share would take must be there, though it is not written down.
        const auto least = LeastAmount(want, capacity, fractional);
        if (!least || *least + used[use.id()][name.str()] > capacity.value) {
          context.Complain(fmt::format("{}: too little {}", use.where(), name));
        }
        continue;
      }
      const Quantity* amount = use.result->consumed_capacity.Find(name);
      if (amount == nullptr || !RightAmount(want, capacity, *amount, fractional)) {
        context.Complain(fmt::format("{}: {} of {} is not right", use.where(),
                                     amount == nullptr ? "nothing" : amount->ToString(), name));
        continue;
      }
      used[use.id()][name.str()] += *amount;
      if (used[use.id()][name.str()] > capacity.value) {
        context.Complain(fmt::format("{}: more {} than there is", use.where(), name));
      }
    }
    const std::size_t wanted = use.shareable ? use.device->capacity.size() : 0;
    if (use.result->consumed_capacity.size() != wanted) {
      context.Complain(use.where() + ": consumes capacities that it should not");
    }
  }
}

void CheckCounters(const Context& context) {
  const std::vector<Held> held = HeldOf(context.instance);
  for (const auto& [id, pool] : context.pools) {
    auto left = pool.counters;
    const auto take = [&](const api::Device& device) {
      for (const auto& use : device.consumes_counters) {
        for (const auto& [name, counter] : use.counters) {
          left[use.counter_set][name.str()] -= counter.value;
        }
      }
    };
    bool drawn = false;
    for (const Use& use : context.uses) {
      if (use.pool != &pool || use.device->consumes_counters.empty()) continue;
      if (!TakesCounters(context, use, held)) continue;
      take(*use.device);
      drawn = true;
    }
    if (!drawn) continue;
    for (const auto* slices : {&pool.near, &pool.far}) {
      for (const auto* slice : *slices) {
        for (const api::Device& device : slice->spec.devices.value_or(std::vector<api::Device>())) {
          const DeviceId device_id{id.first, id.second, device.name};
          if (std::ranges::find(held, device_id, &Held::id) != held.end()) take(device);
        }
      }
    }
    for (const auto& [set, counters] : left) {
      for (const auto& [name, amount] : counters) {
        if (amount.Sign() < 0) {
          context.Complain(fmt::format("pool {}: counter {} of {} is overdrawn by {}", id.second,
                                       name, set, (-amount).ToString()));
        }
      }
    }
  }
}

void CheckGroups(const Context& context) {
  const std::vector<Held> held = HeldOf(context.instance);
  using Groups = std::set<std::string>;
  for (const auto& [id, pool] : context.pools) {
    std::map<std::string, std::vector<Groups>> before;
    std::map<std::string, std::vector<Groups>> now;
    std::set<std::string> remembered;  // sets for which somebody's groups are on record
    std::set<const api::DeviceRequestAllocationResult*> seen;
    const auto remember = [&](const api::DeviceRequestAllocationResult& result) {
      for (const auto& [set, groups] : result.compatibility_groups) {
        before[set.str()].emplace_back(groups.begin(), groups.end());
        if (!groups.empty()) remembered.insert(set.str());
      }
    };
    for (const auto* slices : {&pool.near, &pool.far}) {
      for (const auto* slice : *slices) {
        for (const api::Device& device : slice->spec.devices.value_or(std::vector<api::Device>())) {
          for (const Held& h : held) {
            if (h.id != DeviceId{id.first, id.second, device.name}) continue;
            seen.insert(h.result);
            remember(*h.result);
            for (const auto& use : device.consumes_counters) {
              if (h.result->compatibility_groups.contains(use.counter_set)) continue;
              before[use.counter_set].emplace_back(use.compatibility_groups.begin(),
                                                   use.compatibility_groups.end());
            }
          }
        }
      }
    }
    for (const Held& h : held) {
      if (h.id.driver == id.first && h.id.pool == id.second && !seen.contains(h.result)) {
        remember(*h.result);
      }
    }
    for (const Use& use : context.uses) {
      if (use.pool != &pool || !TakesCounters(context, use, held)) continue;
      for (const auto& counters : use.device->consumes_counters) {
        now[counters.counter_set].emplace_back(counters.compatibility_groups.begin(),
                                               counters.compatibility_groups.end());
      }
    }
    for (const auto& [set, placed] : now) {
      if (!context.instance.features.compatibility_groups) {
        if (remembered.contains(set)) {
          context.Complain(fmt::format("pool {}: counter set {} is closed", id.second, set));
        }
        continue;
      }
      const auto& there = before[set];
      const bool grouped = !placed.front().empty();
      const auto alike = [&](const Groups& g) { return !g.empty() == grouped; };
      bool right = std::ranges::all_of(placed, alike) && std::ranges::all_of(there, alike);
      if (grouped) {
        // Some group is everybody's.
        right =
            right &&
            std::ranges::any_of(placed.front(), [&, &placed = placed](const std::string& group) {
              const auto has = [&](const Groups& g) { return g.contains(group); };
              return std::ranges::all_of(placed, has) && std::ranges::all_of(there, has);
            });
      }
      if (!right) {
        context.Complain(
            fmt::format("pool {}: groups on counter set {} do not go together", id.second, set));
      }
    }
  }
}

}  // namespace dray::model::checker
