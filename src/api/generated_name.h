// SPDX-License-Identifier: Apache-2.0
//
// Refusals name the object, and a name that a server completes from generateName is another one at
// every attempt. Whoever tells people about them leaves the random part out, so that the same
// refusal is the same text and its events fold into one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace dray::api {

// As Kubernetes completes generateName: five characters that spell no words, on a stem that leaves
// room for them in a DNS label.
inline constexpr std::string_view kNameAlphabet = "bcdfghjklmnpqrstvwxz2456789";
inline constexpr std::size_t kNameSuffixLength = 5;
inline constexpr std::size_t kNameStemMaxLength = 63 - kNameSuffixLength;

// `text` with every name that was completed from `generate_name` cut back to it:
// `claims "pod-x7k2p" is forbidden` becomes `claims "pod-" is forbidden`.
std::string WithoutGeneratedParts(std::string_view text, std::string_view generate_name);
Status WithoutGeneratedParts(const Status& status, std::string_view generate_name);

}  // namespace dray::api
