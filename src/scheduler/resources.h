// SPDX-License-Identifier: Apache-2.0
//
// Amounts of resources as whole numbers: cpu in thousandths, the rest in units. As in Kubernetes,
// fractions of a unit are rounded up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "api/map.h"
#include "base/interner.h"
#include "base/quantity.h"
#include "base/string_map.h"

namespace dray::scheduler {

struct Resources;

// Names of resources beyond the four that every pod has. Pods may ask for any name, so those that
// no pod and no node has any more are forgotten. One thread.
class ResourceNames {
 public:
  // Means the name until the next Reclaim, and as long as somebody has pinned it.
  base::Symbol Intern(std::string_view name);
  std::string_view View(base::Symbol name) const { return table_->rows[name.id()].name; }

  // Keeps the names of these as long as it lives; null when there are none.
  using Pins = std::shared_ptr<const void>;
  Pins Pin(std::initializer_list<const Resources*> resources);
  Pins Pin(base::Symbol name);

  // Gives numbers that nobody has pinned to other names. Mostly does nothing; a constant share of
  // what was interned since the last time.
  void Reclaim();
  std::size_t size() const { return table_->numbers.size(); }

 private:
  struct Row {
    std::string name;
    std::uint32_t pins = 0;
  };
  // Lives as long as the last pin.
  struct Table {
    std::vector<Row> rows;
    base::StringMap<std::uint32_t> numbers;
    std::vector<std::uint32_t> free;
    std::size_t after_reclaim = 0;
  };
  Pins Pin(std::vector<base::Symbol> names);

  std::shared_ptr<Table> table_ = std::make_shared<Table>();
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
