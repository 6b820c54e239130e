// SPDX-License-Identifier: Apache-2.0
#include "allocator/verdicts.h"

#include <optional>
#include <utility>

#include "allocator/capacity.h"
#include "fmt/format.h"
#include "inventory/capacity_names.h"

namespace dray::allocator {
namespace {

using inventory::CapacityEntry;
using inventory::DeviceRow;
using inventory::Dictionary;
using inventory::NameId;
using inventory::SliceTable;
using inventory::Verdict;

// The first selector that is not true ends it.
std::optional<Reason> RunSelectors(const Alternative& alternative, const SliceTable& slice,
                                   const DeviceRow& row) {
  for (const Expression* selector : alternative.selectors) {
    if (selector->program == nullptr) return Reason::kExpressionError;
    switch (selector->program->Match(slice, row, nullptr)) {
      case Verdict::kYes:
        break;
      case Verdict::kNo:
        return Reason::kSelectorFalse;
      case Verdict::kError:
        return Reason::kExpressionError;
    }
  }
  return std::nullopt;
}

// The other way in which a device of the slice's driver may call a constraint's attribute: a name
// without a domain has the driver's.
std::optional<NameId> OtherName(const ConstraintPlan& constraint, const SliceTable& slice,
                                const Dictionary& dictionary) {
  if (constraint.domain) {
    return constraint.domain == slice.driver() ? constraint.bare : std::nullopt;
  }
  return dictionary.Find(
      fmt::format("{}/{}", dictionary.View(slice.driver()), constraint.attribute));
}

// What a constraint sees of a device. Nothing: a derived attribute failed.
std::optional<ValueId> ValueOf(const ConstraintUse& use, const ConstraintPlan& constraint,
                               std::optional<NameId> other_name, const SliceTable& slice,
                               const DeviceRow& row) {
  if (use.derived == nullptr) return slice.FindAttribute(row, constraint.name, other_name);
  if (use.derived->program == nullptr) return std::nullopt;
  const auto value = use.derived->program->Derive(slice, row);
  if (!value.ok()) return std::nullopt;
  return *value;
}

// Whether the device has as much of every capacity as is asked for, whatever its policies say.
bool IsThere(std::span<const base::Quantity* const> requested,
             std::span<const CapacityEntry> entries, const Dictionary& dictionary) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (requested[i] == nullptr) continue;
    if (*requested[i] > dictionary.At(entries[i].capacity).capacity.value) return false;
  }
  return true;
}

// The rules of a slice, one after the other, for one row: the first that drops it. Writes the
// values and amounts of a row that passes, and which kind of error it is.
std::optional<Reason> JudgeRow(const Alternative& alternative, const Plan& plan,
                               std::span<const ConstraintPlan> constraints,
                               std::span<const std::optional<NameId>> other_names,
                               const SliceTable& slice, std::size_t i, Dictionary& dictionary,
                               Verdicts& verdicts) {
  const DeviceRow& row = slice.devices()[i];
  if (row.has_binding_conditions && !plan.features().device_binding_and_status) {
    return Reason::kBindingConditionsOff;
  }
  if (const auto dropped = RunSelectors(alternative, slice, row)) return dropped;
  for (std::size_t use = 0; use < alternative.constraints.size(); ++use) {
    const ConstraintUse& constraint_use = alternative.constraints[use];
    const auto value = ValueOf(constraint_use, constraints[constraint_use.constraint],
                               other_names[use], slice, row);
    if (!value) {
      verdicts.derived_error.Set(i);
      return Reason::kExpressionError;
    }
    verdicts.values[use * verdicts.rows + i] = *value;
  }
  if (!plan.features().consumable_capacity) return std::nullopt;
  if (row.capacities == 0) {
    return alternative.capacity.empty() ? std::nullopt : std::optional(Reason::kCapacityMissing);
  }
  const Consumption consumption =
      ConsumptionOf(alternative, slice, row, plan.features().fractional_capacity_range, dictionary);
  if (consumption.broken) verdicts.broken.Set(i);
  if (consumption.withheld) {
    verdicts.withheld.Set(i);
    verdicts.first_amount[i] = static_cast<std::uint32_t>(verdicts.amounts.size());
    verdicts.amounts.resize(verdicts.amounts.size() + row.capacities, Amount(0));
  }
  if (consumption.broken || consumption.dropped) return consumption.dropped;
  verdicts.first_amount[i] = static_cast<std::uint32_t>(verdicts.amounts.size());
  for (const base::Quantity& amount : consumption.amounts) {
    verdicts.amounts.push_back(inventory::ToAmount(amount));
  }
  return std::nullopt;
}

}  // namespace

Consumption ConsumptionOf(const Alternative& alternative, const SliceTable& slice,
                          const DeviceRow& row, bool fractional_capacity_range,
                          Dictionary& dictionary) {
  const std::span<const CapacityEntry> entries = slice.capacities(row);
  std::vector<const base::Quantity*> requested(entries.size(), nullptr);
  Consumption result;
  for (const CapacityRequest& request : alternative.capacity) {
    const auto entry = inventory::FindCapacity(request.name, slice, entries, dictionary);
    if (!entry) {
      result.dropped = Reason::kCapacityMissing;
      result.missing = &request;
      return result;
    }
    // Of two names for one capacity the literal one counts.
    const bool literal = dictionary.View(entries[*entry].name) == request.name;
    if (literal || requested[*entry] == nullptr) requested[*entry] = &request.amount;
  }
  // Whatever else is the matter with it.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!NeedsBrokenStep(requested[i], dictionary.At(entries[i].capacity).capacity)) continue;
    result.broken = true;
    result.capacity = i;
    return result;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const api::DeviceCapacity& capacity = dictionary.At(entries[i].capacity).capacity;
    auto amount = ConsumedAmount(requested[i], capacity, fractional_capacity_range);
    if (!amount || amount->Sign() < 0 ||
        ViolatesPolicy(*amount, capacity.request_policy.get(), fractional_capacity_range)) {
      result.dropped = Reason::kCapacityPolicy;
    } else if (*amount > capacity.value) {
      result.dropped = Reason::kCapacityTooSmall;
    }
    if (result.dropped) {
      result.capacity = i;
      result.amount = amount ? *std::move(amount) : *requested[i];
      result.withheld = IsThere(requested, entries, dictionary);
      return result;
    }
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
  const CapacityEntry& entry = slice.capacities(row)[consumption.capacity];
  const api::DeviceCapacity& capacity = dictionary.At(entry.capacity).capacity;
  return base::InvalidArgument(fmt::format(
      "request {}: {}: capacity {} has a step of {}; it must be positive", alternative.result_name,
      device, dictionary.View(entry.name), capacity.request_policy->valid_range->step->ToString()));
}

std::shared_ptr<const Verdicts> Judge(const Alternative& alternative, const Plan& plan,
                                      std::span<const ConstraintPlan> constraints,
                                      const SliceTable& slice, Dictionary& dictionary) {
  const std::size_t rows = slice.devices().size();
  const std::size_t uses = alternative.constraints.size();
  auto verdicts = std::make_shared<Verdicts>();
  verdicts->rows = rows;
  for (base::BitSet* set : {&verdicts->pass, &verdicts->error, &verdicts->derived_error,
                            &verdicts->broken, &verdicts->withheld}) {
    *set = base::BitSet(rows);
  }
  verdicts->dropped.resize(rows);
  verdicts->values.resize(uses * rows, ValueId::kNone);
  verdicts->first_amount.resize(rows, 0);
  std::vector<std::optional<NameId>> other_names;
  for (const ConstraintUse& use : alternative.constraints) {
    other_names.push_back(OtherName(constraints[use.constraint], slice, dictionary));
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const std::optional<Reason> dropped =
        JudgeRow(alternative, plan, constraints, other_names, slice, i, dictionary, *verdicts);
    verdicts->dropped[i] = dropped;
    if (dropped == Reason::kExpressionError) verdicts->error.Set(i);
    if (!dropped && !verdicts->broken.Test(i)) verdicts->pass.Set(i);
  }
  verdicts->any_error = verdicts->error.Any() || verdicts->broken.Any();
  return verdicts;
}

const Verdicts& VerdictCache::Get(const Alternative& alternative, const Plan& plan,
                                  std::span<const ConstraintPlan> constraints,
                                  const SliceTable& slice, Dictionary& dictionary) {
  // Between two allocations, so nobody has anything of it.
  if (const std::uint32_t epoch = dictionary.epoch(); epoch != epoch_) {
    known_.Clear();
    epoch_ = epoch;
  }
  const Key key{slice.serial(), alternative.filter};
  if (const auto* known = known_.Find(key)) return **known;
  return *known_.Put(key, Judge(alternative, plan, constraints, slice, dictionary));
}

}  // namespace dray::allocator
