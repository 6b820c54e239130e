// SPDX-License-Identifier: Apache-2.0
//
// What the fast decoder and the tree decoder do alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "api/values.h"
#include "base/status.h"
#include "base/time.h"

namespace dray::api::internal {

// A quantity may have blanks around it, as in Kubernetes.
inline std::string_view WithoutBlanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// A time that can also be written: an offset may carry a readable text out of the years 0 to 9999.
StatusOr<base::Time> ReadTime(std::string_view text);

// The part of a time that metav1.MicroTime writes.
base::Time TruncateToMicros(base::Time time);

// Of unknown fields with the same name the last one's value stays, in the first one's place. Called
// once per struct: a search per field would make a hostile object cost its size squared.
void SealUnknown(UnknownFields& fields);

}  // namespace dray::api::internal
