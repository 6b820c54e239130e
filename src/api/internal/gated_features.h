// SPDX-License-Identifier: Apache-2.0
//
// The rule that every gated field follows: without its gate it is dropped, unless the old object
// uses the feature anywhere; then nothing of the feature is dropped, not even where it is new.
//
// Spec: docs/spec/api.md section 2, "In-use rule".
#pragma once

#include <optional>
#include <span>

#include "api/gates.h"

namespace dray::api::internal {

// One feature as a kind has it. Functions, not field names: what counts as use differs by field
// (set, set to true, not empty) and status looks into the spec.
template <typename T>
struct GatedFeature {
  Gate gate;
  bool (*in_use)(const T&);
  void (*drop)(T&);
  std::optional<Gate> also_needs = {};
};

// Features are dropped in the order of the table. `old` is null on create.
template <typename T>
void DropDisabled(std::span<const GatedFeature<T>> features, const FeatureGates& gates, T& object,
                  const T* old) {
  for (const GatedFeature<T>& feature : features) {
    const bool enabled =
        gates.Enabled(feature.gate) && (!feature.also_needs || gates.Enabled(*feature.also_needs));
    if (enabled || (old != nullptr && feature.in_use(*old))) continue;
    feature.drop(object);
  }
}

}  // namespace dray::api::internal
