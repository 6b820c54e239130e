// SPDX-License-Identifier: Apache-2.0
#include "allocator/verdicts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/inlined_vector.h"
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

// The rules of a slice, one after the other, row by row.
class SliceJudge {
 public:
  SliceJudge(const Alternative& alternative, const Plan& plan,
             std::span<const ConstraintPlan> constraints, const SliceTable& slice,
             Dictionary& dictionary, Verdicts& verdicts)
      : alternative_(alternative),
        plan_(plan),
        constraints_(constraints),
        slice_(slice),
        dictionary_(dictionary),
        verdicts_(verdicts) {
    for (const ConstraintUse& use : alternative.constraints) {
      other_names_.push_back(OtherName(constraints[use.constraint], slice, dictionary));
    }
  }

  // The first rule that drops the row. Writes the values and amounts of a row that passes, and
  // which kind of error it is.
  std::optional<Reason> Judge(std::size_t i) {
    const DeviceRow& row = slice_.devices()[i];
    if (row.has_binding_conditions && !plan_.features().device_binding_and_status) {
      return Reason::kBindingConditionsOff;
    }
    if (const auto dropped = RunSelectors(alternative_, slice_, row)) return dropped;
    for (std::size_t use = 0; use < alternative_.constraints.size(); ++use) {
      const ConstraintUse& constraint_use = alternative_.constraints[use];
      const auto value = ValueOf(constraint_use, constraints_[constraint_use.constraint],
                                 other_names_[use], slice_, row);
      if (!value) {
        verdicts_.derived_error.Set(i);
        return Reason::kExpressionError;
      }
      verdicts_.values[use * verdicts_.rows + i] = *value;
    }
    if (!plan_.features().consumable_capacity) return std::nullopt;
    if (row.capacities == 0) {
      return alternative_.capacity.empty() ? std::nullopt : std::optional(Reason::kCapacityMissing);
    }
    Consume(row);
    if (consumed_.broken) verdicts_.broken.Set(i);
    if (consumed_.withheld) verdicts_.withheld.Set(i);
    if (first_amount_ != 0 && verdicts_.first_amount.empty()) {
      verdicts_.first_amount.resize(verdicts_.rows, 0);
    }
    if (first_amount_ != 0) verdicts_.first_amount[i] = first_amount_;
    return consumed_.dropped;
  }

 private:
  // What the row consumes, written down. The devices of a slice are mostly of one kind: where the
  // capacities are those of the row before, so is all of this.
  void Consume(const DeviceRow& row) {
    const std::span<const CapacityEntry> entries = slice_.capacities(row);
    if (std::ranges::equal(entries, entries_)) return;
    entries_ = entries;
    consumed_ = ConsumptionOf(alternative_, slice_, row, plan_.features().fractional_capacity_range,
                              dictionary_);
    first_amount_ = 0;
    if (consumed_.withheld) {
      first_amount_ = static_cast<std::uint32_t>(verdicts_.amounts.size());
      verdicts_.amounts.resize(verdicts_.amounts.size() + entries.size(), Amount(0));
    }
    if (consumed_.broken || consumed_.dropped) return;
    first_amount_ = static_cast<std::uint32_t>(verdicts_.amounts.size());
    verdicts_.amounts.reserve(verdicts_.amounts.size() + entries.size());
    for (const base::Quantity& amount : consumed_.amounts) {
      verdicts_.amounts.push_back(inventory::ToAmount(amount));
    }
  }

  const Alternative& alternative_;
  const Plan& plan_;
  const std::span<const ConstraintPlan> constraints_;
  const SliceTable& slice_;
  Dictionary& dictionary_;
  Verdicts& verdicts_;
  absl::InlinedVector<std::optional<NameId>, 4> other_names_;
  // Of the last row that has capacities.
  std::span<const CapacityEntry> entries_;
  Consumption consumed_;
  std::uint32_t first_amount_ = 0;
};

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
  verdicts->values.resize(uses * rows, ValueId::kNone);
  SliceJudge judge(alternative, plan, constraints, slice, dictionary, *verdicts);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::optional<Reason> dropped = judge.Judge(i);
    if (dropped) {
      if (verdicts->dropped.empty()) verdicts->dropped.resize(rows);
      verdicts->dropped[i] = dropped;
    }
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
