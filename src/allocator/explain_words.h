// SPDX-License-Identifier: Apache-2.0
//
// What an explanation says of one device, beside the rule that dropped it.
#pragma once

#include <optional>
#include <string>

#include "allocator/explanation.h"
#include "allocator/rules.h"

namespace dray::allocator {

struct Finding {
  Drop drop;  // without devices
  std::optional<Amount> short_by;
};

// An exact amount as a reader writes it.
std::string AmountText(Amount amount);
// What is left of something; nothing is left where more was given than there is now.
std::string LeftText(Amount amount);
// The amounts that a request policy gives: "1Gi to 8Gi in steps of 1Gi", "1Gi, 2Gi or 4Gi".
std::string AllowedText(const api::DeviceCapacity& capacity);

}  // namespace dray::allocator
