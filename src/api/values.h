// SPDX-License-Identifier: Apache-2.0
//
// Small wire values that are neither scalars of C++ nor structs of the API.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/box.h"
#include "base/time.h"

namespace dray::api {

// A JSON value that dray carries but does not look into (driver parameters, device data): compact
// JSON text. Empty means absent, "null" was an explicit null.
struct RawJson {
  std::string text;
  friend bool operator==(const RawJson&, const RawJson&) = default;
};

// A port, a percentage: a JSON number or a JSON string. The two stay apart.
struct IntOrString {
  std::variant<std::int32_t, std::string> value;
  friend bool operator==(const IntOrString&, const IntOrString&) = default;
};

// metav1.MicroTime: a time written with six digits after the point.
struct MicroTime {
  base::Time time;
  friend bool operator==(const MicroTime&, const MicroTime&) = default;
};

// An element of a list of booleans; std::vector<bool> has no addressable elements.
struct BoolItem {
  bool value = false;
  friend bool operator==(const BoolItem&, const BoolItem&) = default;
};

// Fields of an object that its field table does not know. They survive a round trip: a newer
// driver's object passes through an older dray unharmed.
struct UnknownField {
  std::string name;
  std::string json;  // compact
  friend bool operator==(const UnknownField&, const UnknownField&) = default;
};
using UnknownFields = Box<std::vector<UnknownField>>;

}  // namespace dray::api
