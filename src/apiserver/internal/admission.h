// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a request when its head is there and its body is not: the same for every version
// of HTTP.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/authentication.h"
#include "apiserver/http.h"
#include "apiserver/internal/io_thread.h"

namespace dray::apiserver::internal {

// Why a request is answered without its handler.
struct HeadFault {
  int code = 400;
  std::string_view reason = "BadRequest";
  std::string message;
};

// Refusals for size.
HeadFault BodyTooLarge(const ServerOptions& options);
HeadFault HeadTooLarge(const ServerOptions& options);

// Sets path and query.
std::optional<HeadFault> ReadTarget(std::string_view target, Request& request);

// What the client calls the request, or a name for one that has none.
std::string AuditIdFor(std::string_view given);

// Sets the user: also of what is too large it is known who sent it. A body of `body` bytes may follow: they are counted (`charged`, to be given back
// with Release) unless that would be too much.
std::optional<HeadFault> Admit(Shared& shared, const ShownCertificate* certificate,
                               std::uint64_t body, Request& request, std::size_t& charged);
void Release(Shared& shared, std::size_t& charged);

// Gives the request to the handler. Whatever that throws becomes an answer.
void HandOver(Shared& shared, Request request, const std::shared_ptr<Responder>& responder);

// Counts the refusal and tells whoever wants to know. `request` as far as it was read.
void TellRefused(Shared& shared, const HeadFault& fault, std::string_view method,
                 std::string_view target, const Request& request, bool certificate);

}  // namespace dray::apiserver::internal
