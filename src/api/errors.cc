// SPDX-License-Identifier: Apache-2.0
#include "api/errors.h"

#include <iterator>
#include <utility>

#include "api/internal/json_text.h"
#include "fmt/format.h"

namespace dray::api {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  internal::AppendJsonString(text, out);
  return out;
}

std::string_view TitleOf(ErrorType type) {
  switch (type) {
    case ErrorType::kNotFound:
      return "Not found";
    case ErrorType::kRequired:
      return "Required value";
    case ErrorType::kDuplicate:
      return "Duplicate value";
    case ErrorType::kInvalid:
    case ErrorType::kTypeInvalid:
      return "Invalid value";
    case ErrorType::kNotSupported:
      return "Unsupported value";
    case ErrorType::kForbidden:
      return "Forbidden";
    case ErrorType::kTooLong:
      return "Too long";
    case ErrorType::kTooMany:
      return "Too many";
    case ErrorType::kInternal:
      return "Internal error";
  }
  return "";
}

}  // namespace

std::string_view ReasonOf(ErrorType type) {
  switch (type) {
    case ErrorType::kNotFound:
      return "FieldValueNotFound";
    case ErrorType::kRequired:
      return "FieldValueRequired";
    case ErrorType::kDuplicate:
      return "FieldValueDuplicate";
    case ErrorType::kInvalid:
      return "FieldValueInvalid";
    case ErrorType::kTypeInvalid:
      return "FieldValueTypeInvalid";
    case ErrorType::kNotSupported:
      return "FieldValueNotSupported";
    case ErrorType::kForbidden:
      return "FieldValueForbidden";
    case ErrorType::kTooLong:
      return "FieldValueTooLong";
    case ErrorType::kTooMany:
      return "FieldValueTooMany";
    case ErrorType::kInternal:
      return "InternalError";
  }
  return "";
}

std::string FieldError::Message() const {
  std::string text = field.ToString();
  if (!text.empty()) text += ": ";
  text += TitleOf(type);
  if (!bad_value.empty()) text.append(": ").append(bad_value);
  if (!detail.empty()) text.append(": ").append(detail);
  return text;
}

FieldError Required(base::FieldPath field, std::string_view detail) {
  return {ErrorType::kRequired, std::move(field), "", std::string(detail)};
}
FieldError Invalid(base::FieldPath field, std::string_view value, std::string_view detail) {
  return {ErrorType::kInvalid, std::move(field), Quoted(value), std::string(detail)};
}
FieldError InvalidNumber(base::FieldPath field, std::int64_t value, std::string_view detail) {
  return {ErrorType::kInvalid, std::move(field), std::to_string(value), std::string(detail)};
}
FieldError InvalidValue(base::FieldPath field, std::string_view shown, std::string_view detail) {
  return {ErrorType::kInvalid, std::move(field), std::string(shown), std::string(detail)};
}
FieldError Duplicate(base::FieldPath field, std::string_view value) {
  return {ErrorType::kDuplicate, std::move(field), Quoted(value), ""};
}
FieldError NotFound(base::FieldPath field, std::string_view value) {
  return {ErrorType::kNotFound, std::move(field), Quoted(value), ""};
}
FieldError NotSupported(base::FieldPath field, std::string_view value,
                        std::span<const std::string_view> supported) {
  std::string detail = "supported values: ";
  for (std::size_t i = 0; i < supported.size(); ++i) {
    if (i > 0) detail += ", ";
    detail += Quoted(supported[i]);
  }
  return {ErrorType::kNotSupported, std::move(field), Quoted(value), std::move(detail)};
}
FieldError Forbidden(base::FieldPath field, std::string_view detail) {
  return {ErrorType::kForbidden, std::move(field), "", std::string(detail)};
}
FieldError TooLong(base::FieldPath field, std::size_t max_bytes) {
  return {ErrorType::kTooLong, std::move(field), "",
          fmt::format("may not be more than {} bytes", max_bytes)};
}
FieldError TooMany(base::FieldPath field, std::size_t actual, std::size_t max) {
  return {ErrorType::kTooMany, std::move(field), std::to_string(actual),
          fmt::format("must have at most {} items", max)};
}
FieldError InternalError(base::FieldPath field, std::string_view detail) {
  return {ErrorType::kInternal, std::move(field), "", std::string(detail)};
}

void Append(ErrorList& to, ErrorList from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace dray::api
