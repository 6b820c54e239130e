// SPDX-License-Identifier: Apache-2.0
#include "allocator/explain_devices.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "allocator/capacity.h"
#include "fmt/format.h"

namespace dray::allocator {

using inventory::CapacityEntry;
using inventory::CounterUse;
using inventory::Dictionary;
using inventory::NodeDevice;
using inventory::SetUse;

struct DeviceReports::Finding {
  Drop drop;  // without devices
  std::optional<Amount> short_by;
};

struct DeviceReports::Gathered {
  Drop drop;
  std::optional<Amount> short_by;
};

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
  // Counters do not keep how they were written; what is a multiple of 1024 was binary.
  const auto value = static_cast<std::int64_t>(whole);
  const auto format = value != 0 && value % 1024 == 0 ? base::Quantity::Format::kBinarySI
                                                      : base::Quantity::Format::kDecimalSI;
  return base::Quantity::FromInt(value, format).ToString();
}

DeviceReports::DeviceReports(const Attempt& attempt, std::size_t examples)
    : attempt_(attempt), devices_(attempt.devices()), examples_(examples) {
  state_.Reset(attempt);
  const Dictionary& dictionary = devices_.dictionary();
  for (const NodeDevice& device : devices_.devices()) {
    const std::string_view name = dictionary.View(device.row->name);
    const std::string_view pool = dictionary.View(devices_.pools()[device.pool].name);
    ++names_[std::string(name)];
    ++names_[fmt::format("{}/{}", pool, name)];
  }
}

DeviceName DeviceReports::NameOf(std::size_t index) const {
  const Dictionary& dictionary = devices_.dictionary();
  const NodeDevice& device = devices_.devices()[index];
  const inventory::PoolOnNode& pool = devices_.pools()[device.pool];
  DeviceName name{.driver = std::string(dictionary.View(pool.driver)),
                  .pool = std::string(dictionary.View(pool.name)),
                  .device = std::string(dictionary.View(device.row->name)),
                  .label = {}};
  name.label = name.device;
  if (names_.at(name.label) > 1) name.label = fmt::format("{}/{}", name.pool, name.device);
  if (names_.at(name.label) > 1) name.label = fmt::format("{}/{}", name.driver, name.label);
  return name;
}

AlternativeReport DeviceReports::Report(const ClaimPlan& claim, std::size_t alternative,
                                        base::BitSet& usable) {
  const Candidates& candidates = attempt_.candidates(alternative);
  const Alternative& asked = *candidates.alternative;
  usable = base::BitSet(attempt_.device_count());
  AlternativeReport report{.name = asked.result_name,
                           .device_class = {},
                           .error = std::string(base::Message(asked.error)),
                           .all = asked.all,
                           .admin_access = asked.admin,
                           .needed = candidates.need};
  if (asked.device_class != nullptr) report.device_class = asked.device_class->metadata.name;
  if (!asked.error.ok()) return report;
  report.considered = static_cast<std::int64_t>(attempt_.device_count());
  report.of_class = report.considered;
  std::vector<Gathered> gathered;
  for (std::size_t device = 0; device < attempt_.device_count(); ++device) {
    Finding finding;
    if (Judge(claim, candidates, device, finding)) {
      usable.Set(device);
      ++report.usable;
      continue;
    }
    if (finding.drop.reason == Reason::kSelectorFalse && finding.drop.of_class) --report.of_class;
    Add(device, std::move(finding), gathered);
  }
  // Devices of another kind come last: they are rarely what somebody looks for.
  std::ranges::stable_sort(gathered, {}, [](const Gathered& item) {
    return std::pair(item.drop.reason == Reason::kSelectorFalse && item.drop.of_class,
                     item.drop.reason);
  });
  for (Gathered& item : gathered) report.drops.push_back(std::move(item.drop));
  return report;
}

// Each of these is true when the device passes, and otherwise says why not.
bool DeviceReports::Judge(const ClaimPlan& claim, const Candidates& candidates, std::size_t index,
                          Finding& finding) {
  const NodeDevice& device = devices_.devices()[index];
  const inventory::Features& features = attempt_.plan().features();
  const auto fail = [&](Reason reason) {
    finding.drop.reason = reason;
    return false;
  };
  if (device.row->has_binding_conditions && !features.device_binding_and_status) {
    return fail(Reason::kBindingConditionsOff);
  }
  if (!JudgeSelectors(candidates, index, finding)) return false;
  if (!device.on_node) return fail(Reason::kOtherNode);
  if (features.consumable_capacity && !JudgeOwnCapacity(candidates, index, finding)) return false;
  if (device.groups_off) return fail(Reason::kGroupsOff);
  if (attempt_.usage().taken().Test(index) && !candidates.alternative->admin) {
    const bool shares = attempt_.usage().shared().Test(index) && !attempt_.multi(index);
    return fail(shares ? Reason::kInUseByShares : Reason::kInUse);
  }
  if (!JudgeCapacityLeft(candidates, index, finding)) return false;
  if (device.operations_missing) return fail(Reason::kNodeOperations);
  if (device.counters_off) return fail(Reason::kCountersOff);
  const bool charged = attempt_.multi(index) && attempt_.usage().shared().Test(index);
  if (!charged && !(JudgeGroups(index, finding) && JudgeCounters(index, finding))) return false;
  return JudgeTaints(candidates, index, finding) &&
         JudgeAttributes(claim, candidates, index, finding);
}

bool DeviceReports::JudgeSelectors(const Candidates& candidates, std::size_t index,
                                   Finding& finding) const {
  const NodeDevice& device = devices_.devices()[index];
  const Alternative& asked = *candidates.alternative;
  const auto& selectors = asked.selectors;
  for (std::size_t i = 0; i < selectors.size() && selectors[i]->program != nullptr; ++i) {
    const auto verdict = selectors[i]->program->Match(*device.slice, *device.row, nullptr);
    if (verdict == inventory::Verdict::kYes) continue;
    if (verdict == inventory::Verdict::kError) break;
    finding.drop.reason = Reason::kSelectorFalse;
    finding.drop.of_class = i < asked.class_selectors;
    finding.drop.selector =
        static_cast<std::int64_t>(finding.drop.of_class ? i : i - asked.class_selectors);
    finding.drop.expression = selectors[i]->text;
    return false;
  }
  const Status error = ErrorOf(asked, *device.slice, *device.row, devices_.dictionary());
  if (error.ok()) return true;
  // No expression is asked about these, so that it fails on them is not why.
  if (device.groups_off) {
    finding.drop.reason = Reason::kGroupsOff;
  } else if (attempt_.usage().taken().Test(index) && !asked.admin && !asked.all) {
    finding.drop.reason = Reason::kInUse;
  } else {
    finding.drop.reason = Reason::kExpressionError;
    finding.drop.message = base::Message(error);
  }
  return false;
}

bool DeviceReports::JudgeOwnCapacity(const Candidates& candidates, std::size_t index,
                                     Finding& finding) const {
  const NodeDevice& device = devices_.devices()[index];
  const Dictionary& dictionary = devices_.dictionary();
  const bool fractional = attempt_.plan().features().fractional_capacity_range;
  const std::span<const CapacityEntry> entries = device.slice->capacities(*device.row);
  std::vector<const base::Quantity*> requested(entries.size(), nullptr);
  Drop& drop = finding.drop;
  for (const CapacityRequest& request : candidates.alternative->capacity) {
    const auto entry = FindCapacity(request.name, *device.slice, entries, dictionary);
    if (!entry) {
      drop.reason = Reason::kCapacityMissing;
      drop.subject = request.name;
      return false;
    }
    requested[*entry] = &request.amount;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const api::DeviceCapacity& capacity = dictionary.At(entries[i].capacity).capacity;
    const auto amount = ConsumedAmount(requested[i], capacity, fractional);
    const bool fits_policy = amount && amount->Sign() >= 0 &&
                             !ViolatesPolicy(*amount, capacity.request_policy.get(), fractional);
    if (fits_policy && *amount <= capacity.value) continue;
    drop.subject = dictionary.View(entries[i].name);
    drop.asked = (amount ? *amount : *requested[i]).ToString();
    drop.reason = Reason::kCapacityPolicy;
    if (fits_policy) {
      drop.reason = Reason::kCapacityTooSmall;
      drop.available = capacity.value.ToString();
      drop.short_by = (*amount - capacity.value).ToString();
      finding.short_by = inventory::ToAmount(*amount) - inventory::ToAmount(capacity.value);
    }
    return false;
  }
  return true;
}

bool DeviceReports::JudgeCapacityLeft(const Candidates& candidates, std::size_t index,
                                      Finding& finding) const {
  const auto device = static_cast<std::uint32_t>(index);
  const std::span<const Amount> consumed = state_.consumed(device);
  if (consumed.empty()) return true;
  const std::span<const Amount> capacity = state_.capacity(device);
  const Amount* asked = attempt_.consumed(candidates, device);
  const NodeDevice& on_node = devices_.devices()[index];
  for (std::size_t i = 0; i < consumed.size(); ++i) {
    const Amount left = capacity[i] - consumed[i];
    if (asked[i] <= left) continue;
    finding.drop.reason = Reason::kCapacityInUse;
    finding.drop.subject =
        devices_.dictionary().View(on_node.slice->capacities(*on_node.row)[i].name);
    finding.drop.asked = AmountText(asked[i]);
    finding.drop.available = AmountText(left);
    finding.short_by = asked[i] - left;
    finding.drop.short_by = AmountText(*finding.short_by);
    return false;
  }
  return true;
}

bool DeviceReports::JudgeGroups(std::size_t index, Finding& finding) const {
  const Dictionary& dictionary = devices_.dictionary();
  const NodeDevice& device = devices_.devices()[index];
  using Kind = ledger::GroupState::Kind;
  const auto names = [&](std::span<const inventory::NameId> groups) {
    std::vector<std::string> texts;
    for (const inventory::NameId group : groups) texts.emplace_back(dictionary.View(group));
    std::ranges::sort(texts);
    return texts;
  };
  for (const SetUse& use : devices_.set_uses(device)) {
    const ledger::GroupState& state = attempt_.usage().groups()[use.set];
    const std::span<const inventory::NameId> declared = dictionary.At(use.groups);
    if (state.Admits(declared)) continue;
    Drop& drop = finding.drop;
    drop.reason = Reason::kGroups;
    const inventory::CounterSetOnNode& set = devices_.counter_sets()[use.set];
    const inventory::PoolOnNode& pool = devices_.pools()[set.pool];
    drop.pool = fmt::format("{}/{}", dictionary.View(pool.driver), dictionary.View(pool.name));
    drop.counter_set = dictionary.View(set.name);
    drop.declared = names(declared);
    drop.placed = names(state.groups);
    if (state.kind == Kind::kNoGroups) {
      drop.message = "what is placed there has no groups";
    } else if (state.kind == Kind::kClosed) {
      drop.message = "what is placed there has groups, and DRADeviceCompatibilityGroups is off";
    } else if (state.groups.empty()) {
      drop.message = "what is placed there has no group in common";
    } else if (declared.empty()) {
      drop.message = "what is placed there has groups, the device has none";
    } else {
      drop.message = "no group in common with what is placed there";
    }
    return false;
  }
  return true;
}

void DeviceReports::SetCounter(std::size_t index, Finding& finding) const {
  const Dictionary& dictionary = devices_.dictionary();
  const inventory::CounterOnNode& counter = devices_.counters()[index];
  const inventory::CounterSetOnNode& set = devices_.counter_sets()[counter.set];
  const inventory::PoolOnNode& pool = devices_.pools()[set.pool];
  finding.drop.pool =
      fmt::format("{}/{}", dictionary.View(pool.driver), dictionary.View(pool.name));
  finding.drop.counter_set = dictionary.View(set.name);
  finding.drop.subject = dictionary.View(counter.name);
  finding.drop.available = AmountText(attempt_.usage().counters()[index]);
}

bool DeviceReports::JudgeCounters(std::size_t index, Finding& finding) const {
  const NodeDevice& device = devices_.devices()[index];
  const std::span<const Amount> left = attempt_.usage().counters();
  for (const CounterUse& use : devices_.counter_uses(device)) {
    if (use.amount <= left[use.counter]) continue;
    finding.drop.reason = Reason::kCounters;
    SetCounter(use.counter, finding);
    finding.drop.asked = AmountText(use.amount);
    finding.short_by = use.amount - left[use.counter];
    finding.drop.short_by = AmountText(*finding.short_by);
    return false;
  }
  if (device.uses == 0 || !attempt_.usage().overdrawn(device.pool)) return true;
  finding.drop.reason = Reason::kCountersOverdrawn;
  const inventory::PoolOnNode& pool = devices_.pools()[device.pool];
  for (std::size_t set = pool.first_set; set < pool.first_set + pool.sets; ++set) {
    const inventory::CounterSetOnNode& counters = devices_.counter_sets()[set];
    for (std::size_t c = 0; c < counters.counters; ++c) {
      const std::size_t counter = counters.first_counter + c;
      if (left[counter] >= 0) continue;
      SetCounter(counter, finding);
      finding.drop.short_by = AmountText(-left[counter]);
      return false;
    }
  }
  return false;
}

bool DeviceReports::JudgeTaints(const Candidates& candidates, std::size_t index,
                                Finding& finding) const {
  if (!attempt_.plan().features().device_taints) return true;
  const auto taints = devices_.dictionary().At(devices_.devices()[index].taints);
  for (std::size_t i = 0; i < taints.size(); ++i) {
    if (Tolerates(candidates.alternative->tolerations, taints.subspan(i, 1))) continue;
    finding.drop.reason = Reason::kTaint;
    finding.drop.subject =
        taints[i].value.empty()
            ? fmt::format("{}:{}", taints[i].key, taints[i].effect)
            : fmt::format("{}={}:{}", taints[i].key, taints[i].value, taints[i].effect);
    return false;
  }
  return true;
}

bool DeviceReports::HasValue(const Candidates& candidates, std::size_t i,
                             std::size_t device) const {
  const ValueId value = attempt_.value(candidates, i, device);
  if (value == ValueId::kNone) return false;
  return !attempt_.plan().features().list_type_attributes ||
         !devices_.dictionary().At(value).elements.empty();
}

bool DeviceReports::JudgeAttributes(const ClaimPlan& claim, const Candidates& candidates,
                                    std::size_t index, Finding& finding) const {
  const auto& uses = candidates.alternative->constraints;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (HasValue(candidates, i, index)) continue;
    finding.drop.reason = Reason::kAttributeMissing;
    finding.drop.subject = attempt_.plan().constraints(claim)[uses[i].constraint].attribute;
    finding.drop.constraint = uses[i].constraint;
    return false;
  }
  return true;
}

base::BitSet DeviceReports::UsableUnder(const ClaimPlan& claim, std::size_t alternative,
                                        const base::BitSet& constraints) {
  const Candidates& candidates = attempt_.candidates(alternative);
  const auto& uses = candidates.alternative->constraints;
  base::BitSet usable(attempt_.device_count());
  for (std::size_t device = 0; device < attempt_.device_count(); ++device) {
    Finding finding;
    bool passes = Judge(claim, candidates, device, finding) ||
                  finding.drop.reason == Reason::kAttributeMissing;
    for (std::size_t i = 0; i < uses.size() && passes; ++i) {
      passes = !constraints.Test(claim.first_constraint + uses[i].constraint) ||
               HasValue(candidates, i, device);
    }
    usable.Assign(device, passes);
  }
  return usable;
}

// Devices with the same reason are one entry; amounts are those of the one that came closest.
void DeviceReports::Add(std::size_t device, Finding finding,
                        std::vector<Gathered>& gathered) const {
  const Drop& found = finding.drop;
  const auto same = [&](const Gathered& item) {
    const Drop& drop = item.drop;
    return drop.reason == found.reason && drop.selector == found.selector &&
           drop.of_class == found.of_class && drop.message == found.message &&
           drop.subject == found.subject && drop.constraint == found.constraint &&
           drop.pool == found.pool && drop.counter_set == found.counter_set &&
           drop.declared == found.declared && drop.placed == found.placed;
  };
  auto it = std::ranges::find_if(gathered, same);
  if (it == gathered.end()) {
    gathered.push_back({.drop = found, .short_by = finding.short_by});
    it = gathered.end() - 1;
  } else if (finding.short_by && *finding.short_by < *it->short_by) {
    it->short_by = finding.short_by;
    it->drop.asked = found.asked;
    it->drop.available = found.available;
    it->drop.short_by = found.short_by;
  }
  ++it->drop.devices;
  if (it->drop.examples.size() < examples_) it->drop.examples.push_back(NameOf(device));
  const Reason reason = it->drop.reason;
  if (reason == Reason::kInUse || reason == Reason::kInUseByShares ||
      reason == Reason::kCapacityInUse) {
    AddHolders(device, it->drop);
  }
}

void DeviceReports::AddHolders(std::size_t device, Drop& drop) const {
  std::vector<std::string_view> seen;  // a claim may have several shares of a device
  for (const ledger::Holder holder : attempt_.usage().holders(device)) {
    const std::string_view claim = devices_.dictionary().View(holder);
    if (std::ranges::find(seen, claim) != seen.end()) continue;
    seen.push_back(claim);
    auto it = std::ranges::find(drop.holders, claim, &Holding::claim);
    if (it == drop.holders.end()) {
      drop.holders.push_back({.claim = std::string(claim)});
      it = drop.holders.end() - 1;
    }
    ++it->devices;
    if (it->examples.size() < examples_) it->examples.push_back(NameOf(device));
  }
}

}  // namespace dray::allocator
