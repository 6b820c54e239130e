// SPDX-License-Identifier: Apache-2.0
//
// distinctAttribute: no two devices have a value in common. With lists, their sets are pairwise
// disjoint; without, the first device may have anything and no further one may have a list.
#include <algorithm>

#include "allocator/constraint.h"

namespace dray::allocator {
namespace {

bool Disjoint(std::span<const ElementId> a, std::span<const ElementId> b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) return false;
    if (a[i] < b[j]) {
      ++i;
    } else {
      ++j;
    }
  }
  return true;
}

class DistinctAttribute final : public ConstraintType {
 public:
  std::string_view field() const override { return "distinctAttribute"; }
  const std::optional<std::string>& AttributeOf(
      const api::DeviceConstraint& constraint) const override {
    return constraint.distinct_attribute;
  }

  bool Accepts(const Accepted& accepted, ValueId value, ConstraintState&,
               std::vector<ElementId>&) const override {
    const inventory::AttributeValue& attribute = accepted.dictionary.At(value);
    if (!accepted.lists && accepted.values.empty()) return true;
    if (attribute.elements.empty() || (!accepted.lists && attribute.is_list)) return false;
    return std::ranges::all_of(accepted.values, [&](ValueId other) {
      const inventory::AttributeValue& earlier = accepted.dictionary.At(other);
      if (!accepted.lists && earlier.is_list) return true;
      return Disjoint(attribute.elements, earlier.elements);
    });
  }

  Promise promise() const override { return Promise::kDisjointElements; }

  void AddDecisive(const Accepted& accepted, std::vector<ElementId>& elements) const override {
    for (const ValueId value : accepted.values) {
      const std::span<const ElementId> used = accepted.dictionary.At(value).elements;
      elements.insert(elements.end(), used.begin(), used.end());
    }
  }
};

const DistinctAttribute kDistinct;

}  // namespace

const ConstraintType& kDistinctAttribute = kDistinct;

}  // namespace dray::allocator
