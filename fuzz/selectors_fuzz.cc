// SPDX-License-Identifier: Apache-2.0
//
// Properties: a selector that was read, label or field, is written so that reading it again gives
// the same one.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/field_selector.h"
#include "api/label_selector.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using dray::api::FieldSelector;
  using dray::api::LabelMatcher;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto labels = LabelMatcher::Parse(text); labels.ok()) {
    const auto again = LabelMatcher::Parse(labels->ToString());
    DRAY_CHECK(again.ok() && *again == *labels, labels->ToString());
  }
  if (const auto fields = FieldSelector::Parse(text); fields.ok()) {
    const auto again = FieldSelector::Parse(fields->ToString());
    DRAY_CHECK(again.ok() && again->terms() == fields->terms(), fields->ToString());
  }
  return 0;
}
