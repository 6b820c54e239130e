// SPDX-License-Identifier: Apache-2.0
#include "apiserver/internal/admission.h"

#include <exception>
#include <utility>

#include "apiserver/internal/response_text.h"
#include "base/uuid.h"
#include "fmt/format.h"

namespace dray::apiserver::internal {

HeadFault BodyTooLarge(const ServerOptions& options) {
  return {.code = 413,
          .reason = "RequestEntityTooLarge",
          .message = fmt::format("Request entity too large: limit is {}", options.max_body_bytes)};
}

HeadFault HeadTooLarge(const ServerOptions& options) {
  return {.code = 431,
          .reason = "RequestHeaderFieldsTooLarge",
          .message = fmt::format("the headers are larger than {} bytes", options.max_header_bytes)};
}

std::optional<HeadFault> ReadTarget(std::string_view target, Request& request) {
  if (!target.starts_with('/')) return HeadFault{.message = "the path must begin with /"};
  const std::size_t question = target.find('?');
  if (!IsNormalPath(target.substr(0, question))) {
    return HeadFault{
        .message =
            "the path has an empty part, a part that is . or .., or an escape that is broken "
            "or hides a slash or a control character"};
  }
  request.path = target.substr(0, question);
  if (question != target.npos) request.query = target.substr(question + 1);
  return std::nullopt;
}

// Unique is enough; nobody has to find it hard to guess.
std::string AuditIdFor(std::string_view given) {
  if (const std::string_view valid = ValidAuditId(given); !valid.empty()) return std::string(valid);
  thread_local base::SeededRandomSource random(base::SystemRandomSource().Next());
  return base::NewUuid(random);
}

std::optional<HeadFault> Admit(Shared& shared, const ShownCertificate* certificate,
                               std::uint64_t body, Request& request, std::size_t& charged) {
  const HeadFault unknown{.code = 401, .reason = "Unauthorized", .message = "Unauthorized"};
  request.user = User{.name = "", .groups = {}};
  std::optional<User> user = shared.authenticator->Authenticate(request.headers, certificate);
  if (!user) return unknown;
  request.user = *std::move(user);
  if (body > shared.options.max_body_bytes) return BodyTooLarge(shared.options);
  if (request.user.anonymous() && body > shared.options.max_anonymous_body_bytes) return unknown;
  charged = static_cast<std::size_t>(body);
  if ((shared.receiving_bytes += body) > shared.options.max_receiving_bytes) {
    return HeadFault{.code = 429,
                     .reason = "TooManyRequests",
                     .message = "the server is receiving too much, please try again"};
  }
  return std::nullopt;
}

void Release(Shared& shared, std::size_t& charged) {
  shared.receiving_bytes -= std::exchange(charged, 0);
}

void HandOver(Shared& shared, Request request, const std::shared_ptr<Responder>& responder) {
  ++shared.requests;
  // The rooms below do not throw; what does must not take the other connections with it.
  try {
    shared.handler->Handle(std::move(request), responder);
  } catch (const std::exception&) {
    responder->Send(
        StatusResponse(500, "InternalError", "the server failed to handle the request"));
  }
}

void TellRefused(Shared& shared, const HeadFault& fault, std::string_view method,
                 std::string_view target, const Request& request, bool certificate) {
  ++shared.malformed;
  if (!shared.options.on_refused) return;
  shared.options.on_refused({.remote = request.remote,
                             .audit_id = request.audit_id,
                             .method = method,
                             .target = target,
                             .code = fault.code,
                             .message = fault.message,
                             .request = request.path.empty() ? nullptr : &request,
                             .certificate = certificate});
}

}  // namespace dray::apiserver::internal
