// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with an object: all faults at once, each with its path, in Kubernetes's vocabulary
// (the reasons of a 422's details.causes) and wording.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/field_path.h"

namespace dray::api {

enum class ErrorType : std::uint8_t {
  kNotFound,
  kRequired,
  kDuplicate,
  kInvalid,
  kTypeInvalid,  // of another type than it must be; shown as invalid
  kNotSupported,
  kForbidden,
  kTooLong,
  kTooMany,
  kInternal,
};

// "FieldValueRequired" and so on; "InternalError".
std::string_view ReasonOf(ErrorType type);

struct FieldError {
  ErrorType type;
  base::FieldPath field;
  std::string bad_value;  // as it is shown; empty for types that carry none
  std::string detail;

  // `spec.count: Invalid value: 0: must be greater than zero`
  std::string Message() const;
  friend bool operator==(const FieldError&, const FieldError&) = default;
};
using ErrorList = std::vector<FieldError>;

// Strings are shown quoted, numbers and booleans plain.
FieldError Required(base::FieldPath field, std::string_view detail = "");
FieldError Invalid(base::FieldPath field, std::string_view value, std::string_view detail);
FieldError InvalidNumber(base::FieldPath field, std::int64_t value, std::string_view detail);
// `shown` is used as it is: a quantity, a struct in JSON, a boolean.
FieldError InvalidValue(base::FieldPath field, std::string_view shown, std::string_view detail);
FieldError Duplicate(base::FieldPath field, std::string_view value);
FieldError NotFound(base::FieldPath field, std::string_view value);
FieldError NotSupported(base::FieldPath field, std::string_view value,
                        std::span<const std::string_view> supported);
FieldError Forbidden(base::FieldPath field, std::string_view detail);
FieldError TooLong(base::FieldPath field, std::size_t max_bytes);
FieldError TooMany(base::FieldPath field, std::size_t actual, std::size_t max);
FieldError InternalError(base::FieldPath field, std::string_view detail);

void Append(ErrorList& to, ErrorList from);

}  // namespace dray::api
