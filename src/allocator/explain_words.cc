// SPDX-License-Identifier: Apache-2.0
//
// The words and numbers of each rule (rules.h). Nothing is decided here: the rule has dropped the
// device, and these look for the part of it that did.
#include "allocator/explain_words.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "allocator/verdicts.h"
#include "fmt/format.h"

namespace dray::allocator {

using inventory::CapacityEntry;
using inventory::CounterUse;
using inventory::Dictionary;
using inventory::SetUse;

std::string AmountText(Amount amount) {
  constexpr std::int64_t kUnit = 1'000'000'000;
  const auto fits = [](Amount value) {
    return value >= std::numeric_limits<std::int64_t>::min() &&
           value <= std::numeric_limits<std::int64_t>::max();
  };
  if (amount % kUnit != 0) {
    if (fits(amount)) {
      return base::Quantity::FromScaled(static_cast<std::int64_t>(amount), base::Quantity::kNano)
          .ToString();
    }
    amount -= amount % kUnit;  // so large that a fraction says nothing
  }
  const Amount whole = amount / kUnit;
  if (!fits(whole)) return whole < 0 ? "less than -2^63" : "more than 2^63";
  // Counters do not keep how they were written; the shorter text is how somebody would: 40Gi, and
  // 60G although that is a multiple of 1024, too.
  const auto value = static_cast<std::int64_t>(whole);
  std::string decimal = base::Quantity::FromInt(value).ToString();
  std::string binary = base::Quantity::FromInt(value, base::Quantity::Format::kBinarySI).ToString();
  return binary.size() <= decimal.size() ? binary : decimal;
}

std::string LeftText(Amount amount) { return amount < 0 ? "0" : AmountText(amount); }

std::string AllowedText(const api::DeviceCapacity& capacity) {
  const api::CapacityRequestPolicy* policy = capacity.request_policy.get();
  if (policy == nullptr) return {};
  std::string text;
  if (policy->valid_range.has_value()) {
    const api::CapacityRequestPolicyRange& range = *policy->valid_range;
    const base::Quantity& most = range.max ? *range.max : capacity.value;
    text = fmt::format("{} to {}", range.min ? range.min->ToString() : "0", most.ToString());
    if (range.step) text += fmt::format(" in steps of {}", range.step->ToString());
    return text;
  }
  for (std::size_t i = 0; i < policy->valid_values.size(); ++i) {
    const bool last = i + 1 == policy->valid_values.size();
    text += fmt::format("{}{}",
                        i == 0 ? ""
                        : last ? " or "
                               : ", ",
                        policy->valid_values[i].ToString());
  }
  return text;
}

namespace {

std::string PoolText(const Question& q, std::uint32_t pool) {
  const Dictionary& dictionary = q.attempt.devices().dictionary();
  const inventory::PoolOnNode& on_node = q.attempt.devices().pools()[pool];
  return fmt::format("{}/{}", dictionary.View(on_node.driver), dictionary.View(on_node.name));
}

void SetCounter(const Question& q, std::size_t index, Drop& drop) {
  const inventory::NodeDevices& devices = q.attempt.devices();
  const inventory::CounterOnNode& counter = devices.counters()[index];
  const inventory::CounterSetOnNode& set = devices.counter_sets()[counter.set];
  drop.pool = PoolText(q, set.pool);
  drop.counter_set = devices.dictionary().View(set.name);
  drop.subject = devices.dictionary().View(counter.name);
  drop.available = LeftText(q.state->counters()[index]);
}

void SetShort(Amount amount, Finding& finding) {
  finding.short_by = amount;
  finding.drop.short_by = AmountText(amount);
}

std::vector<std::string> GroupNames(const Dictionary& dictionary,
                                    std::span<const inventory::NameId> groups) {
  std::vector<std::string> texts;
  for (const inventory::NameId group : groups) texts.emplace_back(dictionary.View(group));
  std::ranges::sort(texts);
  return texts;
}

// How what is placed on a set keeps a device with `declared` groups away.
std::string_view WhyGroups(const ledger::GroupState& state, bool declares) {
  using Kind = ledger::GroupState::Kind;
  if (state.kind == Kind::kNoGroups) return "the devices in use there have no groups";
  if (state.kind == Kind::kMixed) return "devices with and without groups are in use there";
  if (state.kind == Kind::kClosed) {
    return "the devices in use there have groups, and DRADeviceCompatibilityGroups is off";
  }
  if (state.groups.empty()) return "the devices in use there have no group in common";
  if (!declares) return "the devices in use there have groups, this device has none";
  return "no group in common with the devices in use there";
}

}  // namespace

namespace words {

void Nothing(const Question&, Finding&) {}

void Selector(const Question& q, Finding& finding) {
  const inventory::NodeDevice& device = q.on_node();
  const Alternative& asked = q.alternative();
  for (std::size_t i = 0; i < asked.selectors.size(); ++i) {
    const Expression& selector = *asked.selectors[i];
    if (selector.program->Match(*device.slice, *device.row, nullptr) == inventory::Verdict::kYes) {
      continue;
    }
    Drop& drop = finding.drop;
    drop.of_class = i < asked.class_selectors;
    drop.selector = static_cast<std::int64_t>(drop.of_class ? i : i - asked.class_selectors);
    drop.expression = selector.text;
    return;
  }
}

void Error(const Question& q, Finding& finding) {
  const inventory::NodeDevice& device = q.on_node();
  finding.drop.message = base::Message(
      ErrorOf(q.alternative(), *device.slice, *device.row, q.attempt.devices().dictionary()));
}

void OwnCapacity(const Question& q, Finding& finding) {
  const inventory::NodeDevice& device = q.on_node();
  Dictionary& dictionary = q.attempt.devices().dictionary();
  const Consumption consumption =
      ConsumptionOf(q.alternative(), *device.slice, *device.row,
                    q.attempt.plan().features().fractional_capacity_range, dictionary);
  Drop& drop = finding.drop;
  if (consumption.missing != nullptr) {
    drop.subject = consumption.missing->name;
    return;
  }
  const CapacityEntry& entry = device.slice->capacities(*device.row)[consumption.capacity];
  const api::DeviceCapacity& capacity = dictionary.At(entry.capacity).capacity;
  drop.subject = dictionary.View(entry.name);
  drop.asked = consumption.amount.ToString();
  if (drop.reason == Reason::kCapacityPolicy) {
    drop.allowed = AllowedText(capacity);
    return;
  }
  drop.available = capacity.value.ToString();
  finding.short_by = inventory::ToAmount(consumption.amount) - inventory::ToAmount(capacity.value);
  drop.short_by = (consumption.amount - capacity.value).ToString();
}

void CapacityInUse(const Question& q, Finding& finding) {
  const std::span<const Amount> consumed = q.state->consumed(q.device);
  const std::span<const Amount> capacity = q.state->capacity(q.device);
  const Amount* asked = q.attempt.consumed(q.asked, q.device);
  const inventory::NodeDevice& device = q.on_node();
  for (std::size_t i = 0; i < consumed.size(); ++i) {
    const Amount left = capacity[i] - consumed[i];
    if (asked[i] <= left) continue;
    Drop& drop = finding.drop;
    drop.subject =
        q.attempt.devices().dictionary().View(device.slice->capacities(*device.row)[i].name);
    drop.asked = AmountText(asked[i]);
    drop.available = LeftText(left);
    SetShort(asked[i] - left, finding);
    return;
  }
}

void Groups(const Question& q, Finding& finding) {
  const inventory::NodeDevices& devices = q.attempt.devices();
  const Dictionary& dictionary = devices.dictionary();
  for (const SetUse& use : devices.set_uses(q.on_node())) {
    const ledger::GroupState& state = q.state->group(use.set);
    const std::span<const inventory::NameId> declared = dictionary.At(use.groups);
    if (state.Admits(declared)) continue;
    Drop& drop = finding.drop;
    const inventory::CounterSetOnNode& set = devices.counter_sets()[use.set];
    drop.pool = PoolText(q, set.pool);
    drop.counter_set = dictionary.View(set.name);
    drop.declared = GroupNames(dictionary, declared);
    drop.placed = GroupNames(dictionary, state.groups);
    drop.message = WhyGroups(state, !declared.empty());
    return;
  }
}

void Counters(const Question& q, Finding& finding) {
  const std::span<const Amount> left = q.state->counters();
  for (const CounterUse& use : q.attempt.devices().counter_uses(q.on_node())) {
    if (use.amount <= left[use.counter]) continue;
    SetCounter(q, use.counter, finding.drop);
    finding.drop.asked = AmountText(use.amount);
    SetShort(use.amount - left[use.counter], finding);
    return;
  }
}

void Overdrawn(const Question& q, Finding& finding) {
  const inventory::NodeDevices& devices = q.attempt.devices();
  const inventory::PoolOnNode& pool = devices.pools()[q.on_node().pool];
  for (std::size_t set = pool.first_set; set < pool.first_set + pool.sets; ++set) {
    const inventory::CounterSetOnNode& counters = devices.counter_sets()[set];
    for (std::size_t c = 0; c < counters.counters; ++c) {
      const std::size_t counter = counters.first_counter + c;
      if (q.state->counters()[counter] >= 0) continue;
      SetCounter(q, counter, finding.drop);
      finding.drop.short_by = AmountText(-q.state->counters()[counter]);
      return;
    }
  }
}

void Taint(const Question& q, Finding& finding) {
  const auto taints = q.attempt.devices().dictionary().At(q.on_node().taints);
  for (std::size_t i = 0; i < taints.size(); ++i) {
    if (Tolerates(q.alternative().tolerations, taints.subspan(i, 1))) continue;
    finding.drop.subject =
        taints[i].value.empty()
            ? fmt::format("{}:{}", taints[i].key, taints[i].effect)
            : fmt::format("{}={}:{}", taints[i].key, taints[i].value, taints[i].effect);
    return;
  }
}

void Attribute(const Question& q, Finding& finding) {
  const auto& uses = q.alternative().constraints;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (q.state->AcceptsAlone(q.asked, i, q.device)) continue;
    finding.drop.constraint = uses[i].constraint;
    return;
  }
}

}  // namespace words

}  // namespace dray::allocator
