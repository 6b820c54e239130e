// SPDX-License-Identifier: Apache-2.0
#include "scheduler/resources.h"

#include <algorithm>

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
