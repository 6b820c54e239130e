// SPDX-License-Identifier: Apache-2.0
//
// ApiError: what a server answers when it cannot do what was asked: the code, the reason that
// programs look at, the message that people read, and details.
//
// Verbs return Status like everything else in dray; an ApiError travels inside of one, so that a
// decider sees its usual codes (NotFound, Aborted, ...) and the HTTP side the whole answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/errors.h"
#include "api/field_table.h"
#include "api/kinds.h"
#include "base/status.h"

namespace dray::rest {

struct StatusCause {
  std::string reason;
  std::string message;
  std::string field;
  friend bool operator==(const StatusCause&, const StatusCause&) = default;
};
const api::StructInfo& InfoOf(const StatusCause*);

struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<StatusCause> causes;
  std::int32_t retry_after_seconds = 0;
  friend bool operator==(const StatusDetails&, const StatusDetails&) = default;
};
const api::StructInfo& InfoOf(const StatusDetails*);

// metav1.Status with status Failure. A plain value.
struct ApiError {
  std::int32_t code = 500;
  std::string reason;
  std::string message;
  std::optional<StatusDetails> details;

  // {"kind":"Status","apiVersion":"v1",...}
  std::string ToJson() const;
  friend bool operator==(const ApiError&, const ApiError&) = default;
};
const api::StructInfo& InfoOf(const ApiError*);

// The Status that carries it.
Status ToStatus(const ApiError& error);
// What a Status carries, or what its code is in HTTP. `status` is not OK.
ApiError FromStatus(const Status& status);

// Errors by name. `kind` says of which resource ("deviceclasses" of "resource.k8s.io").
Status BadRequest(std::string_view message);
Status NotFound(const api::KindInfo& kind, std::string_view name);
Status AlreadyExists(const api::KindInfo& kind, std::string_view name);
// All names that were drawn are taken, of which `name` was the last: it is worth trying again.
Status NoUniqueName(const api::KindInfo& kind, std::string_view name);
// Somebody else has written in between.
Status Modified(const api::KindInfo& kind, std::string_view name);
Status Conflict(const api::KindInfo& kind, std::string_view name, std::string_view why);
// A precondition of a deletion: names the kind where others name the resource.
Status PreconditionFailed(const api::KindInfo& kind, std::string_view name, std::string_view why);
Status Forbidden(const api::KindInfo& kind, std::string_view name, std::string_view why);
Status Invalid(std::string_view group, std::string_view kind, std::string_view name,
               const api::ErrorList& errors);
inline Status Invalid(const api::KindInfo& kind, std::string_view name,
                      const api::ErrorList& errors) {
  return Invalid(kind.group, kind.kind, name, errors);
}
Status UnknownResource();
Status MethodNotAllowed();
Status Unauthorized();
// A patch that is well-formed and cannot be done.
Status Unprocessable(std::string_view why);
Status UnsupportedMediaType(std::string_view accepted);
Status NotAcceptable(std::string_view available);
Status TooLarge(std::string_view message);
// 410: the revision has left the history.
Status Expired(std::string_view message);
Status RevisionTooLarge(std::int64_t asked, std::int64_t current);
Status TooManyRequests(std::string_view message, int retry_after_seconds);
// What became of a write whose store says so: nothing, and it may be tried again (503), or nobody
// knows (504).
Status WriteNotDone(std::string_view why);
Status WriteUnknown(std::string_view why);
// 504: what is newest cannot be shown, and what is not would be a lie.
Status NewestNotShown(std::string_view why);

// `resource.k8s.io` of deviceclasses: "deviceclasses.resource.k8s.io"; core: "pods".
std::string QualifiedResource(const api::KindInfo& kind);

}  // namespace dray::rest
