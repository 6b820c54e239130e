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

// Whether two JSON texts say the same, whatever blanks and escapes they use. Numbers are the same
// when they are written the same, and the order of keys counts.
bool SameJson(std::string_view a, std::string_view b);

// A JSON value that dray carries but does not look into (driver parameters, device data): JSON text
// without blanks between its tokens, each of which is as its owner wrote it. An API server compares
// bytes when it looks whether somebody changed what nobody may change, so that no escape and no digit
// may become another. Empty means absent, "null" was an explicit null.
struct RawJson {
  std::string text;
  friend bool operator==(const RawJson& a, const RawJson& b) {
    return a.text == b.text || SameJson(a.text, b.text);
  }
};

// A port, a percentage: a JSON number or a JSON string. The two stay apart.
struct IntOrString {
  std::variant<std::int32_t, std::string> value;
  friend bool operator==(const IntOrString&, const IntOrString&) = default;
};

// Bytes of any kind (the values of a Secret): base64 in JSON, as they are in protobuf.
struct Bytes {
  std::string data;
  friend bool operator==(const Bytes&, const Bytes&) = default;
};
std::string Base64Of(const Bytes& bytes);
// False, and nothing is written, when it is not base64 as Go reads it: padded, ends of lines ignored.
bool ReadBase64(std::string_view text, Bytes& bytes);

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
