// SPDX-License-Identifier: Apache-2.0
//
// matchAttribute: the devices have a value in common. With lists, the running intersection of their
// sets must not be empty; without, the first device may have anything and every further one must
// have the same scalar.
#include <algorithm>

#include "allocator/constraint.h"

namespace dray::allocator {
namespace {

class MatchAttribute final : public ConstraintType {
 public:
  std::string_view field() const override { return "matchAttribute"; }
  const std::optional<std::string>& AttributeOf(
      const api::DeviceConstraint& constraint) const override {
    return constraint.match_attribute;
  }

  bool Accepts(const Accepted& accepted, ValueId value, ConstraintState& next,
               std::vector<ElementId>& arena) const override {
    // One and the same value again, which is the rule: nothing to intersect.
    if (next.devices > 0 && next.whole == value) return true;
    const inventory::AttributeValue& attribute = accepted.dictionary.At(value);
    const std::span<const ElementId> elements = attribute.elements;
    if (!accepted.lists) {
      if (accepted.values.empty()) return true;
      const inventory::AttributeValue& first = accepted.dictionary.At(accepted.values.front());
      return !attribute.is_list && !first.is_list && elements.size() == 1 &&
             std::ranges::equal(elements, first.elements);
    }
    if (next.devices == 0) {
      next.whole = value;
      return !elements.empty();
    }
    const auto start = static_cast<std::uint32_t>(arena.size());
    // By index: what is in common may lie in the vector that grows.
    const std::size_t before = accepted.common().size();
    for (std::size_t i = 0, j = 0; i < before; ++i) {
      const ElementId element = accepted.common()[i];
      while (j < elements.size() && elements[j] < element) ++j;
      if (j < elements.size() && elements[j] == element) arena.push_back(element);
    }
    next.whole = ValueId::kNone;
    next.first = start;
    next.count = static_cast<std::uint32_t>(arena.size()) - start;
    return next.count > 0;
  }

  Promise promise() const override { return Promise::kCommonElement; }

  void AddDecisive(const Accepted& accepted, std::vector<ElementId>& elements) const override {
    const std::span<const ElementId> common =
        accepted.lists ? accepted.common()
                       : accepted.dictionary.At(accepted.values.front()).elements;
    elements.insert(elements.end(), common.begin(), common.end());
  }
};

const MatchAttribute kMatch;

}  // namespace

const ConstraintType& kMatchAttribute = kMatch;

}  // namespace dray::allocator
