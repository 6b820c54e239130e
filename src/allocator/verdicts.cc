// SPDX-License-Identifier: Apache-2.0
#include "allocator/verdicts.h"

#include <optional>
#include <utility>

#include "allocator/capacity.h"
#include "fmt/format.h"

namespace dray::allocator {
namespace {

using inventory::CapacityEntry;
using inventory::DeviceRow;
using inventory::Dictionary;
using inventory::NameId;
using inventory::SliceTable;
using inventory::Verdict;

// True: go on to the next selector.
bool RunSelectors(const Alternative& alternative, const SliceTable& slice, const DeviceRow& row,
                  bool* error) {
  for (const Expression* selector : alternative.selectors) {
    if (selector->program == nullptr) return *error = true, false;
    switch (selector->program->Match(slice, row, nullptr)) {
      case Verdict::kYes:
        break;
      case Verdict::kNo:
        return false;
      case Verdict::kError:
        return *error = true, false;
    }
  }
  return true;
}

ValueId ValueOf(const ConstraintUse& use, const ConstraintPlan& constraint, const SliceTable& slice,
                const DeviceRow& row, bool* error) {
  if (use.derived != nullptr) {
    if (use.derived->program == nullptr) return *error = true, ValueId::kNone;
    const auto value = use.derived->program->Derive(slice, row);
    if (!value.ok()) return *error = true, ValueId::kNone;
    return *value;
  }
  const bool own_domain = constraint.domain == slice.driver();
  return slice.FindAttribute(row, constraint.name, own_domain ? constraint.bare : std::nullopt);
}

}  // namespace

std::optional<std::size_t> FindCapacity(std::string_view name, const SliceTable& slice,
                                        std::span<const CapacityEntry> entries,
                                        const Dictionary& dictionary) {
  const auto find = [&](std::string_view key) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (dictionary.View(entries[i].name) == key) return i;
    }
    return std::nullopt;
  };
  if (const auto literal = find(name)) return literal;
  const std::string_view driver = dictionary.View(slice.driver());
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return find(fmt::format("{}/{}", driver, name));
  if (name.substr(0, slash) == driver) return find(name.substr(slash + 1));
  return std::nullopt;
}

Consumption ConsumptionOf(const Alternative& alternative, const SliceTable& slice,
                          const DeviceRow& row, bool fractional_capacity_range,
                          Dictionary& dictionary) {
  const std::span<const CapacityEntry> entries = slice.capacities(row);
  std::vector<const base::Quantity*> requested(entries.size(), nullptr);
  for (const CapacityRequest& request : alternative.capacity) {
    const auto entry = FindCapacity(request.name, slice, entries, dictionary);
    if (!entry) return {.amounts = {}, .problem = fmt::format("has no capacity {}", request.name)};
    // Of two names for one capacity the literal one counts.
    const bool literal = dictionary.View(entries[*entry].name) == request.name;
    if (literal || requested[*entry] == nullptr) requested[*entry] = &request.amount;
  }
  Consumption result;
  // Whatever else is the matter with it.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const api::DeviceCapacity& capacity = dictionary.At(entries[i].capacity).capacity;
    if (!NeedsBrokenStep(requested[i], capacity)) continue;
    result.problem = fmt::format("capacity {} has a step of {}; it must be positive",
                                 dictionary.View(entries[i].name),
                                 capacity.request_policy->valid_range->step->ToString());
    result.broken = true;
    return result;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const api::DeviceCapacity& capacity = dictionary.At(entries[i].capacity).capacity;
    const std::string_view name = dictionary.View(entries[i].name);
    auto amount = ConsumedAmount(requested[i], capacity, fractional_capacity_range);
    if (!amount) {
      result.problem = fmt::format("{} of capacity {} cannot be counted in its steps",
                                   requested[i]->ToString(), name);
    } else if (amount->Sign() < 0) {
      result.problem = fmt::format("{} of capacity {} is negative", amount->ToString(), name);
    } else if (ViolatesPolicy(*amount, capacity.request_policy.get(), fractional_capacity_range)) {
      result.problem = fmt::format("{} of capacity {} is not what its request policy allows",
                                   amount->ToString(), name);
    } else if (*amount > capacity.value) {
      result.problem = fmt::format("{} of capacity {} asked, {} is all there is",
                                   amount->ToString(), name, capacity.value.ToString());
    }
    if (!result.problem.empty()) return result;
    result.amounts.push_back(*std::move(amount));
  }
  return result;
}

Status ErrorOf(const Alternative& alternative, const SliceTable& slice, const DeviceRow& row,
               Dictionary& dictionary) {
  const auto device =
      fmt::format("device {}/{}/{}", dictionary.View(slice.driver()),
                  dictionary.View(dictionary.At(slice.pool()).pool), dictionary.View(row.name));
  for (const Expression* selector : alternative.selectors) {
    if (selector->program == nullptr) {
      return base::Annotate(selector->error,
                            fmt::format("request {}: selector", alternative.result_name));
    }
    std::string message;
    if (selector->program->Match(slice, row, &message) == Verdict::kError) {
      return base::InvalidArgument(
          fmt::format("request {}: {}: {}", alternative.result_name, device, message));
    }
  }
  for (const ConstraintUse& use : alternative.constraints) {
    if (use.derived == nullptr) continue;
    const Status status = use.derived->program == nullptr
                              ? use.derived->error
                              : use.derived->program->Derive(slice, row).status();
    if (!status.ok()) {
      return base::Annotate(status, fmt::format("request {}: {}: derived attribute",
                                                alternative.result_name, device));
    }
  }
  const Consumption consumption = ConsumptionOf(alternative, slice, row, false, dictionary);
  if (!consumption.broken) return {};
  return base::InvalidArgument(
      fmt::format("request {}: {}: {}", alternative.result_name, device, consumption.problem));
}

std::shared_ptr<const Verdicts> Judge(const Alternative& alternative, const Plan& plan,
                                      std::span<const ConstraintPlan> constraints,
                                      const SliceTable& slice, Dictionary& dictionary) {
  const std::size_t rows = slice.devices().size();
  const std::size_t uses = alternative.constraints.size();
  const bool with_capacity = plan.features().consumable_capacity;
  auto verdicts = std::make_shared<Verdicts>();
  verdicts->rows = rows;
  verdicts->pass = base::BitSet(rows);
  verdicts->error = base::BitSet(rows);
  verdicts->broken = base::BitSet(rows);
  verdicts->values.resize(uses * rows, ValueId::kNone);
  verdicts->first_amount.resize(rows, 0);
  for (std::size_t i = 0; i < rows; ++i) {
    const DeviceRow& row = slice.devices()[i];
    if (row.has_binding_conditions && !plan.features().device_binding_and_status) continue;
    bool error = false;
    const bool selected = RunSelectors(alternative, slice, row, &error);
    if (error) verdicts->error.Set(i);
    if (!selected) continue;
    for (std::size_t use = 0; use < uses && !error; ++use) {
      const ConstraintUse& constraint_use = alternative.constraints[use];
      verdicts->values[use * rows + i] =
          ValueOf(constraint_use, constraints[constraint_use.constraint], slice, row, &error);
    }
    if (error) {
      verdicts->error.Set(i);
      continue;
    }
    if (with_capacity && row.capacities > 0) {
      const Consumption consumption = ConsumptionOf(
          alternative, slice, row, plan.features().fractional_capacity_range, dictionary);
      if (consumption.broken) verdicts->broken.Set(i);
      if (!consumption.problem.empty()) continue;
      verdicts->first_amount[i] = static_cast<std::uint32_t>(verdicts->amounts.size());
      for (const base::Quantity& amount : consumption.amounts) {
        verdicts->amounts.push_back(inventory::ToAmount(amount));
      }
    } else if (with_capacity && !alternative.capacity.empty()) {
      continue;
    }
    verdicts->pass.Set(i);
  }
  verdicts->any_error = verdicts->error.Any() || verdicts->broken.Any();
  return verdicts;
}

const Verdicts& VerdictCache::Get(const Alternative& alternative, const Plan& plan,
                                  std::span<const ConstraintPlan> constraints,
                                  const SliceTable& slice, Dictionary& dictionary) {
  auto& known = known_[Key{slice.serial(), alternative.filter}];
  if (known == nullptr) known = Judge(alternative, plan, constraints, slice, dictionary);
  return *known;
}

void VerdictCache::Trim() {
  if (known_.size() > capacity_) known_.clear();
}

}  // namespace dray::allocator
