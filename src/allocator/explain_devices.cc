// SPDX-License-Identifier: Apache-2.0
#include "allocator/explain_devices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace dray::allocator {

using inventory::Dictionary;
using inventory::NodeDevice;

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
  std::vector<Finding> gathered;
  for (std::uint32_t device = 0; device < attempt_.device_count(); ++device) {
    const Question question{attempt_, candidates, device, &state_};
    const Rule* rule = FirstToDrop(question);
    if (rule == nullptr) {
      usable.Set(device);
      ++report.usable;
      continue;
    }
    Finding finding;
    finding.drop.reason = rule->reason;
    rule->explain(question, finding);
    if (finding.drop.constraint) {
      finding.drop.subject =
          attempt_.plan()
              .constraints(claim)[static_cast<std::size_t>(*finding.drop.constraint)]
              .attribute;
    }
    if (finding.drop.reason == Reason::kSelectorFalse && finding.drop.of_class) --report.of_class;
    Add(device, std::move(finding), gathered);
  }
  // Devices of another kind come last: they are rarely what somebody looks for.
  std::ranges::stable_sort(gathered, {}, [](const Finding& item) {
    return std::pair(item.drop.reason == Reason::kSelectorFalse && item.drop.of_class,
                     item.drop.reason);
  });
  for (Finding& item : gathered) report.drops.push_back(std::move(item.drop));
  return report;
}

base::BitSet DeviceReports::UsableUnder(const ClaimPlan& claim, std::size_t alternative,
                                        const base::BitSet& constraints) {
  const Candidates& candidates = attempt_.candidates(alternative);
  const auto& uses = candidates.alternative->constraints;
  base::BitSet usable(attempt_.device_count());
  for (std::uint32_t device = 0; device < attempt_.device_count(); ++device) {
    const Rule* rule = FirstToDrop({attempt_, candidates, device, &state_});
    bool passes = rule == nullptr || rule->scope == Scope::kConstraint;
    for (std::size_t i = 0; i < uses.size() && passes; ++i) {
      passes = !constraints.Test(claim.first_constraint + uses[i].constraint) ||
               state_.AcceptsAlone(candidates, i, device);
    }
    usable.Assign(device, passes);
  }
  return usable;
}

// Devices with the same reason are one entry; amounts are those of the one that came closest.
void DeviceReports::Add(std::size_t device, Finding finding, std::vector<Finding>& gathered) const {
  const Drop& found = finding.drop;
  const auto same = [&](const Finding& item) {
    const Drop& drop = item.drop;
    return drop.reason == found.reason && drop.selector == found.selector &&
           drop.of_class == found.of_class && drop.message == found.message &&
           drop.subject == found.subject && drop.constraint == found.constraint &&
           drop.pool == found.pool && drop.counter_set == found.counter_set &&
           drop.allowed == found.allowed && drop.declared == found.declared &&
           drop.placed == found.placed;
  };
  auto it = std::ranges::find_if(gathered, same);
  if (it == gathered.end()) {
    gathered.push_back(finding);
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
    const std::string_view claim = attempt_.usage().NameOf(holder);
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
