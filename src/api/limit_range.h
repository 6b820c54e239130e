// SPDX-License-Identifier: Apache-2.0
//
// v1 LimitRange: what containers and pods of a namespace may ask for, and what they ask for if they do not say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/box.h"
#include "api/field_table.h"
#include "api/map.h"
#include "api/meta.h"
#include "api/values.h"
#include "base/quantity.h"
#include "base/time.h"

namespace dray::api {

inline constexpr std::string_view kLimitTypeContainer = "Container";
inline constexpr std::string_view kLimitTypePod = "Pod";
inline constexpr std::string_view kLimitTypeClaim = "PersistentVolumeClaim";

// Limits of one type of things.
struct LimitRangeItem {
  std::string type;
  Map<base::Quantity> max;
  Map<base::Quantity> min;
  Map<base::Quantity> default_;
  Map<base::Quantity> default_request;
  Map<base::Quantity> max_limit_request_ratio;
  UnknownFields unknown;
  friend bool operator==(const LimitRangeItem&, const LimitRangeItem&) = default;
};
const StructInfo& InfoOf(const LimitRangeItem*);

// The limits of a namespace.
struct LimitRangeSpec {
  std::vector<LimitRangeItem> limits;
  UnknownFields unknown;
  friend bool operator==(const LimitRangeSpec&, const LimitRangeSpec&) = default;
};
const StructInfo& InfoOf(const LimitRangeSpec*);

// What containers and pods of a namespace may ask for.
struct LimitRange {
  ObjectMeta metadata;
  LimitRangeSpec spec;
  UnknownFields unknown;
  friend bool operator==(const LimitRange&, const LimitRange&) = default;
};
const StructInfo& InfoOf(const LimitRange*);

}  // namespace dray::api
