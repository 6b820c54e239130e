// SPDX-License-Identifier: Apache-2.0
//
// Amounts of resources as whole numbers: cpu in thousandths, the rest in units. As in Kubernetes,
// fractions of a unit are rounded up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "api/map.h"
#include "base/interner.h"
#include "base/quantity.h"

namespace dray::scheduler {

// Names of resources beyond the four that every pod has. Only grows. One thread.
class ResourceNames {
 public:
  base::Symbol Intern(std::string_view name) { return names_.Intern(name); }
  std::string_view View(base::Symbol name) const { return names_.View(name); }

 private:
  base::Interner names_;
};

struct Resources {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
  std::int64_t ephemeral_storage = 0;
  std::int64_t pods = 0;  // how many pods
  struct Scalar {
    base::Symbol name;
    std::int64_t amount = 0;
    friend bool operator==(const Scalar&, const Scalar&) = default;
  };
  // Extended resources, hugepages: sorted by name, none of them zero.
  absl::InlinedVector<Scalar, 2> scalars;

  static Resources From(const api::Map<base::Quantity>& list, ResourceNames& names);
  void Add(const Resources& other);
  void Subtract(const Resources& other);
  std::int64_t At(base::Symbol name) const;
  void Set(base::Symbol name, std::int64_t amount);
  friend bool operator==(const Resources&, const Resources&) = default;
};

}  // namespace dray::scheduler
