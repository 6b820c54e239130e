// SPDX-License-Identifier: Apache-2.0
#include "scheduler/resources.h"

#include <algorithm>
#include <utility>

#include "api/node.h"

namespace dray::scheduler {
namespace {

using Scalars = absl::InlinedVector<Resources::Scalar, 2>;

Scalars::iterator LowerBound(Scalars& scalars, base::Symbol name) {
  return std::lower_bound(scalars.begin(), scalars.end(), name,
                          [](const Resources::Scalar& a, base::Symbol b) { return a.name < b; });
}

void AddTo(Scalars& scalars, base::Symbol name, std::int64_t amount) {
  const auto at = LowerBound(scalars, name);
  if (at != scalars.end() && at->name == name) {
    at->amount += amount;
  } else {
    scalars.insert(at, {name, amount});
  }
}

// What nobody asks for is not listed, so that equal amounts are equal values.
void DropZeros(Scalars& scalars) {
  scalars.erase(std::remove_if(scalars.begin(), scalars.end(),
                               [](const Resources::Scalar& s) { return s.amount == 0; }),
                scalars.end());
}

}  // namespace

base::Symbol ResourceNames::Intern(std::string_view name) {
  Table& table = *table_;
  if (const auto known = table.numbers.find(name); known != table.numbers.end()) {
    return base::Symbol(known->second);
  }
  std::uint32_t number = 0;
  if (table.free.empty()) {
    number = static_cast<std::uint32_t>(table.rows.size());
    table.rows.emplace_back();
  } else {
    number = table.free.back();
    table.free.pop_back();
  }
  table.rows[number].name = name;
  table.numbers.emplace(std::string(name), number);
  return base::Symbol(number);
}

ResourceNames::Pins ResourceNames::Pin(std::initializer_list<const Resources*> resources) {
  std::vector<base::Symbol> names;
  for (const Resources* list : resources) {
    for (const Resources::Scalar& scalar : list->scalars) names.push_back(scalar.name);
  }
  return Pin(std::move(names));
}

ResourceNames::Pins ResourceNames::Pin(base::Symbol name) { return Pin(std::vector{name}); }

ResourceNames::Pins ResourceNames::Pin(std::vector<base::Symbol> names) {
  if (names.empty()) return nullptr;
  for (const base::Symbol name : names) ++table_->rows[name.id()].pins;
  return {new std::vector<base::Symbol>(std::move(names)),
          [table = table_](const std::vector<base::Symbol>* pinned) {
            for (const base::Symbol name : *pinned) --table->rows[name.id()].pins;
            delete pinned;
          }};
}

void ResourceNames::Reclaim() {
  constexpr std::size_t kFew = 1024;
  Table& table = *table_;
  if (table.numbers.size() <= 2 * table.after_reclaim + kFew) return;
  for (std::uint32_t number = 0; number < table.rows.size(); ++number) {
    Row& row = table.rows[number];
    // Free ones have no name that is known.
    if (row.pins > 0 || table.numbers.erase(row.name) == 0) continue;
    row.name = std::string();
    table.free.push_back(number);
  }
  table.after_reclaim = table.numbers.size();
}

Resources Resources::From(const api::Map<base::Quantity>& list, ResourceNames& names) {
  Resources resources;
  for (const auto& [name, quantity] : list) {
    if (name == api::kResourceCpu) {
      resources.milli_cpu = quantity.MilliValue();
    } else if (name == api::kResourceMemory) {
      resources.memory = quantity.Value();
    } else if (name == api::kResourceEphemeralStorage) {
      resources.ephemeral_storage = quantity.Value();
    } else if (name == api::kResourcePods) {
      resources.pods = quantity.Value();
    } else {
      resources.Set(names.Intern(name), quantity.Value());
    }
  }
  return resources;
}

void Resources::Add(const Resources& other) {
  milli_cpu += other.milli_cpu;
  memory += other.memory;
  ephemeral_storage += other.ephemeral_storage;
  pods += other.pods;
  for (const Scalar& scalar : other.scalars) AddTo(scalars, scalar.name, scalar.amount);
  DropZeros(scalars);
}

void Resources::Subtract(const Resources& other) {
  milli_cpu -= other.milli_cpu;
  memory -= other.memory;
  ephemeral_storage -= other.ephemeral_storage;
  pods -= other.pods;
  for (const Scalar& scalar : other.scalars) AddTo(scalars, scalar.name, -scalar.amount);
  DropZeros(scalars);
}

std::int64_t Resources::At(base::Symbol name) const {
  for (const Scalar& scalar : scalars) {
    if (scalar.name == name) return scalar.amount;
  }
  return 0;
}

void Resources::Set(base::Symbol name, std::int64_t amount) {
  const auto at = LowerBound(scalars, name);
  const bool there = at != scalars.end() && at->name == name;
  if (amount == 0) {
    if (there) scalars.erase(at);
  } else if (there) {
    at->amount = amount;
  } else {
    scalars.insert(at, {name, amount});
  }
}

}  // namespace dray::scheduler
