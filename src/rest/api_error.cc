// SPDX-License-Identifier: Apache-2.0
#include "rest/api_error.h"

#include <utility>

#include "absl/strings/cord.h"
#include "api/json.h"
#include "base/valid_utf8.h"
#include "fmt/format.h"

namespace dray::rest {
namespace {

using api::Field;
using api::Presence;
using api::Struct;
using api::StructInfo;

constexpr absl::string_view kPayload = "dray/api-error";
// A request has room for more faults than anybody reads, and the list of them would be a hundred times
// as long as the request.
constexpr std::size_t kMaxCauses = 1000;

StatusCode CodeOf(const ApiError& error) {
  if (error.reason == "AlreadyExists") return StatusCode::kAlreadyExists;
  if (error.reason == "StorageReadError") return StatusCode::kDataLoss;
  switch (error.code) {
    case 401:
      return StatusCode::kUnauthenticated;
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 409:
      return StatusCode::kAborted;
    case 410:
      return StatusCode::kOutOfRange;
    case 429:
      return StatusCode::kResourceExhausted;
    case 503:
      return StatusCode::kUnavailable;
    case 504:
      return StatusCode::kDeadlineExceeded;
    default:
      return error.code < 500 ? StatusCode::kInvalidArgument : StatusCode::kInternal;
  }
}

struct HttpCode {
  std::int32_t code;
  std::string_view reason;
};
HttpCode HttpOf(StatusCode code) {
  switch (code) {
    case StatusCode::kInvalidArgument:
    case StatusCode::kFailedPrecondition:
      return {400, "BadRequest"};
    case StatusCode::kUnauthenticated:
      return {401, "Unauthorized"};
    case StatusCode::kPermissionDenied:
      return {403, "Forbidden"};
    case StatusCode::kNotFound:
      return {404, "NotFound"};
    case StatusCode::kAlreadyExists:
      return {409, "AlreadyExists"};
    case StatusCode::kAborted:
      return {409, "Conflict"};
    case StatusCode::kOutOfRange:
      return {410, "Expired"};
    case StatusCode::kResourceExhausted:
      return {429, "TooManyRequests"};
    case StatusCode::kUnavailable:
      return {503, "ServiceUnavailable"};
    case StatusCode::kDeadlineExceeded:
      return {504, "Timeout"};
    case StatusCode::kDataLoss:
      return {500, "StorageReadError"};
    default:
      return {500, "InternalError"};
  }
}

Status Of(std::int32_t code, std::string_view reason, std::string_view message,
          std::optional<StatusDetails> details = std::nullopt) {
  return ToStatus({code, std::string(reason), std::string(message), std::move(details)});
}

StatusDetails DetailsOf(const api::KindInfo& kind, std::string_view name) {
  return {.name = std::string(name),
          .group = std::string(kind.group),
          .kind = std::string(kind.plural)};
}

// "DeviceClass.resource.k8s.io"; core kinds have no group to name.
std::string Qualified(std::string_view name, std::string_view group) {
  return group.empty() ? std::string(name) : fmt::format("{}.{}", name, group);
}

}  // namespace

const StructInfo& InfoOf(const StatusCause*) {
  using T = StatusCause;
  static const StructInfo info = Struct<T>(
      "StatusCause",
      {Field<&T::reason>("reason"), Field<&T::message>("message"), Field<&T::field>("field")});
  return info;
}

const StructInfo& InfoOf(const StatusDetails*) {
  using T = StatusDetails;
  static const StructInfo info = Struct<T>(
      "StatusDetails", {Field<&T::name>("name"), Field<&T::group>("group"), Field<&T::kind>("kind"),
                        Field<&T::uid>("uid"), Field<&T::causes>("causes"),
                        Field<&T::retry_after_seconds>("retryAfterSeconds")});
  return info;
}

const StructInfo& InfoOf(const ApiError*) {
  using T = ApiError;
  static const StructInfo info =
      Struct<T>("Status", {Field<&T::message>("message"), Field<&T::reason>("reason"),
                           Field<&T::details>("details"),
                           Field<&T::code>("code", {.presence = Presence::kAlways})});
  return info;
}

namespace {

// Whoever tells why may have begun with what follows from it.
std::string_view Without(std::string_view why, std::string_view beginning) {
  if (why.starts_with(beginning)) why.remove_prefix(beginning.size());
  return why;
}

// Errors quote what was sent, also when that is no text, or cut in the middle of a character.
std::string AsUtf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = base::CharacterSize(text);
    out += size > 0 ? text.substr(0, size) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(size > 0 ? size : 1);
  }
  return out;
}

}  // namespace

std::string ApiError::ToJson() const {
  std::string out;
  api::EncodeJson(api::TypeInfoOf<ApiError>(), this, out,
                  R"("kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure")");
  return AsUtf8(out);
}

Status ToStatus(const ApiError& error) {
  Status status = base::MakeStatus(CodeOf(error), error.message);
  status.SetPayload(kPayload, absl::Cord(AsUtf8(api::EncodeJson(error))));
  return status;
}

ApiError FromStatus(const Status& status) {
  if (const auto payload = status.GetPayload(kPayload)) {
    api::JsonDecoder decoder;
    auto error = decoder.Decode<ApiError>(std::string(*payload));
    if (error.ok()) return *std::move(error);
  }
  const HttpCode http = HttpOf(status.code());
  return {http.code, std::string(http.reason), std::string(base::Message(status)), std::nullopt};
}

std::string QualifiedResource(const api::KindInfo& kind) {
  return Qualified(kind.plural, kind.group);
}

Status BadRequest(std::string_view message) { return Of(400, "BadRequest", message); }

Status NotFound(const api::KindInfo& kind, std::string_view name) {
  return Of(404, "NotFound", fmt::format("{} \"{}\" not found", QualifiedResource(kind), name),
            DetailsOf(kind, name));
}

Status AlreadyExists(const api::KindInfo& kind, std::string_view name) {
  return Of(409, "AlreadyExists",
            fmt::format("{} \"{}\" already exists", QualifiedResource(kind), name),
            DetailsOf(kind, name));
}

Status NoUniqueName(const api::KindInfo& kind, std::string_view name) {
  ApiError error{.code = 409,
                 .reason = "AlreadyExists",
                 .message = fmt::format("{} \"{}\" already exists, the server was not able to "
                                        "generate a unique name for the object",
                                        QualifiedResource(kind), name),
                 .details = DetailsOf(kind, name)};
  error.details->retry_after_seconds = 1;
  return ToStatus(error);
}

Status Conflict(const api::KindInfo& kind, std::string_view name, std::string_view why) {
  return Of(409, "Conflict",
            fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", QualifiedResource(kind),
                        name, why),
            DetailsOf(kind, name));
}

Status Modified(const api::KindInfo& kind, std::string_view name) {
  return Conflict(kind, name,
                  "the object has been modified; please apply your changes to the latest version "
                  "and try again");
}

Status PreconditionFailed(const api::KindInfo& kind, std::string_view name, std::string_view why) {
  StatusDetails details = DetailsOf(kind, name);
  details.kind = kind.kind;
  return Of(409, "Conflict",
            fmt::format("Operation cannot be fulfilled on {} \"{}\": {}",
                        Qualified(kind.kind, kind.group), name, why),
            std::move(details));
}

Status Forbidden(const api::KindInfo& kind, std::string_view name, std::string_view why) {
  const std::string resource = QualifiedResource(kind);
  return Of(403, "Forbidden",
            name.empty() ? fmt::format("{} is forbidden: {}", resource, why)
                         : fmt::format("{} \"{}\" is forbidden: {}", resource, name, why),
            DetailsOf(kind, name));
}

Status Invalid(std::string_view group, std::string_view kind, std::string_view name,
               const api::ErrorList& errors) {
  StatusDetails details{
      .name = std::string(name), .group = std::string(group), .kind = std::string(kind)};
  std::string texts;
  for (const api::FieldError& error : errors) {
    if (details.causes.size() == kMaxCauses) {
      texts += fmt::format(", and {} more", errors.size() - kMaxCauses);
      break;
    }
    const std::string field = error.field.ToString();
    std::string message = error.Message();
    if (!texts.empty()) texts += ", ";
    texts += message;
    if (!field.empty()) message.erase(0, field.size() + 2);  // "field: "
    details.causes.push_back(
        {.reason = std::string(ReasonOf(error.type)), .message = message, .field = field});
  }
  if (errors.size() > 1) texts = fmt::format("[{}]", texts);
  return Of(422, "Invalid",
            fmt::format("{} \"{}\" is invalid: {}", Qualified(kind, group), name, texts),
            std::move(details));
}

Status UnknownResource() {
  return Of(404, "NotFound", "the server could not find the requested resource", StatusDetails{});
}

Status MethodNotAllowed() {
  return Of(405, "MethodNotAllowed",
            "the server does not allow this method on the requested resource", StatusDetails{});
}

Status Unauthorized() { return Of(401, "Unauthorized", "Unauthorized"); }

Status Unprocessable(std::string_view why) {
  return Of(422, "Invalid",
            fmt::format("the server rejected our request due to an error in our request: {}", why),
            StatusDetails{});
}

Status UnsupportedMediaType(std::string_view accepted) {
  return Of(415, "UnsupportedMediaType",
            fmt::format("the body of the request was in an unknown format - accepted media types "
                        "include: {}",
                        accepted));
}

Status NotAcceptable(std::string_view available) {
  return Of(406, "NotAcceptable",
            fmt::format("406: Not Acceptable\n\nAvailable representations: {}", available),
            StatusDetails{});
}

Status TooLarge(std::string_view message) { return Of(413, "RequestEntityTooLarge", message); }

Status Expired(std::string_view message) { return Of(410, "Expired", message); }

Status RevisionTooLarge(std::int64_t asked, std::int64_t current) {
  return Of(504, "Timeout",
            fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current),
            StatusDetails{.causes = {{.reason = "ResourceVersionTooLarge",
                                      .message = "Too large resource version"}},
                          .retry_after_seconds = 1});
}

Status TooManyRequests(std::string_view message, int retry_after_seconds) {
  return Of(429, "TooManyRequests", message,
            StatusDetails{.retry_after_seconds = retry_after_seconds});
}

Status WriteNotDone(std::string_view why) {
  why = Without(why, "nothing was written: ");
  return Of(503, "ServiceUnavailable",
            fmt::format("nothing was written: {}; the request can be sent again", why),
            StatusDetails{.retry_after_seconds = 1});
}

Status WriteUnknown(std::string_view why) {
  why = Without(why, "it is not known whether it was written: ");
  return Of(
      504, "Timeout",
      fmt::format("it is not known whether this was written: {}; look before you send it again",
                  why));
}

Status NewestNotShown(std::string_view why) {
  return Of(504, "Timeout",
            fmt::format("what is stored now cannot be shown: {}; with resourceVersion=0 there is "
                        "what this server knows",
                        why));
}

}  // namespace dray::rest
