// SPDX-License-Identifier: Apache-2.0
//
// Status: how work that could not be done is reported. One door to abseil's types, and a bridge for
// its string_view, which in Debian 12's release converts neither from nor to std::string_view.
//
// An answer that is not "yes" is a value, and a wrong object is an error list with paths; neither
// is a Status.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dray {

using Status = absl::Status;
using StatusCode = absl::StatusCode;
template <typename T>
using StatusOr = absl::StatusOr<T>;

namespace base {

inline absl::string_view ToAbsl(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view FromAbsl(absl::string_view s) { return {s.data(), s.size()}; }

inline Status MakeStatus(StatusCode code, std::string_view message) {
  return {code, ToAbsl(message)};
}
inline Status InvalidArgument(std::string_view m) {
  return MakeStatus(StatusCode::kInvalidArgument, m);
}
inline Status NotFound(std::string_view m) { return MakeStatus(StatusCode::kNotFound, m); }
inline Status AlreadyExists(std::string_view m) {
  return MakeStatus(StatusCode::kAlreadyExists, m);
}
// Somebody else has changed it: read again, then decide again.
inline Status Aborted(std::string_view m) { return MakeStatus(StatusCode::kAborted, m); }
inline Status OutOfRange(std::string_view m) { return MakeStatus(StatusCode::kOutOfRange, m); }
inline Status Internal(std::string_view m) { return MakeStatus(StatusCode::kInternal, m); }
inline Status FailedPrecondition(std::string_view m) {
  return MakeStatus(StatusCode::kFailedPrecondition, m);
}
inline Status Unavailable(std::string_view m) { return MakeStatus(StatusCode::kUnavailable, m); }

// The message without the code, for a reader.
inline std::string_view Message(const Status& status) { return FromAbsl(status.message()); }

// The same status with "context: " before its message: the caller adds what it was doing.
inline Status Annotate(const Status& status, std::string_view context) {
  if (status.ok()) return status;
  std::string message(context);
  message.append(": ").append(Message(status));
  return MakeStatus(status.code(), message);
}

}  // namespace base
}  // namespace dray

#define DRAY_STATUS_CONCAT_INNER(a, b) a##b
#define DRAY_STATUS_CONCAT(a, b) DRAY_STATUS_CONCAT_INNER(a, b)

#define DRAY_RETURN_IF_ERROR(expr)                                                  \
  do {                                                                              \
    if (::dray::Status dray_status = (expr); !dray_status.ok()) return dray_status; \
  } while (false)

#define DRAY_ASSIGN_OR_RETURN(lhs, expr) \
  DRAY_ASSIGN_OR_RETURN_IMPL(DRAY_STATUS_CONCAT(dray_status_or_, __LINE__), lhs, expr)
#define DRAY_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                               \
  if (!tmp.ok()) return tmp.status();              \
  lhs = *std::move(tmp)
