// SPDX-License-Identifier: Apache-2.0
//
// JSON in and out of API structs, driven by their field tables. The decoder is the fast way in: one
// pass over simdjson's On-Demand values, no tree. It takes only what is plainly right; anything
// else is read again through document.h, which says what is wrong and where.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/document.h"
#include "api/field_table.h"
#include "base/status.h"

namespace dray::api {

// A reader of whole words looks this far past the end of its input.
inline constexpr std::size_t kJsonPadding = 64;

struct DecodeOptions {
  // The memory after the text is readable for kJsonPadding bytes: it need not be copied to a place
  // where that is so.
  bool padded = false;
  bool strict =
      false;  // unknown and repeated fields are errors instead of being kept or taken last
};

// Keeps its buffers between calls. Thread-compatible: one per thread.
class JsonDecoder {
 public:
  JsonDecoder();
  ~JsonDecoder();
  JsonDecoder(JsonDecoder&&) noexcept;
  JsonDecoder& operator=(JsonDecoder&&) noexcept;

  // Reads `json` into a default-constructed `value`. The status of a failure names line, column,
  // field and what would have been right; the value is then unspecified. Missing fields keep their
  // defaults; null is the same as missing.
  Status Decode(std::string_view json, const TypeInfo& type, void* value,
                DecodeOptions options = {});
  template <typename T>
  StatusOr<T> Decode(std::string_view json, DecodeOptions options = {}) {
    T value;
    DRAY_RETURN_IF_ERROR(Decode(json, TypeInfoOf<T>(), &value, options));
    return value;
  }

  // The values of the top-level string fields apiVersion and kind; empty when missing.
  struct TypeMeta {
    std::string api_version;
    std::string kind;
  };
  StatusOr<TypeMeta> PeekType(std::string_view json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Compact JSON: fields in table order, map keys sorted, unknown fields last. `head` is written
// first inside the outermost object (apiVersion and kind).
void EncodeJson(const TypeInfo& type, const void* value, std::string& out,
                std::string_view head = {});
template <typename T>
std::string EncodeJson(const T& value) {
  std::string out;
  EncodeJson(TypeInfoOf<T>(), &value, out);
  return out;
}

// The same text with line breaks and an indent of `spaces`.
std::string IndentJson(std::string_view compact, int spaces = 4);

// One line per diagnostic: "3:7: spec.x: message (hint)".
std::string ToString(const Diagnostic& diagnostic);

}  // namespace dray::api
